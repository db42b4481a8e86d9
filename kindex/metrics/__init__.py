"""Metrics: what stores and informers do, for Prometheus, on the registry of whoever asks for it."""

try:
    from kindex.metrics.collector import Metrics
    from kindex.metrics.subjects import MetricsError
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "prometheus_client":
        raise
    sentence = "kindex.metrics needs prometheus-client: pip install 'kube-kindex[metrics]'"
    raise ModuleNotFoundError(sentence, name=error.name) from error

__all__ = ["Metrics", "MetricsError"]
