"""Clients made of a kubeconfig, or of what a pod in the cluster has; whatever is wrong with that is one sentence."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any, Final

from kindex.errors import KindexError
from kindex.sources.api_clients import AnyApiClient

_VARIABLE: Final = "KUBECONFIG"
_DEFAULT: Final = "~/.kube/config"
_IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"
_PREFIX: Final = "Invalid kube-config file. "


class KubeconfigError(KindexError, ValueError):
    """A kubeconfig that does not lead to a cluster; the sentence names the file and what is wrong with it."""


def client_of(kubeconfig: str | None = None, context: str | None = None) -> AnyApiClient:
    """Make an ApiClient as kubectl finds its cluster.

    Args:
        kubeconfig: a file; None for those that ``$KUBECONFIG`` names, or ``~/.kube/config``, or else the service
            account of the pod that this runs in.
        context: one of it; None for its current one.

    Raises:
        KubeconfigError: a file is not there or broken, it has no such context, its credentials cannot be had.

    >>> client_of("nowhere.yaml")
    Traceback (most recent call last):
    ...
    kindex.sources.kubeconfigs.KubeconfigError: kubeconfig nowhere.yaml: no such file
    """
    place = _place_of(kubeconfig)
    if place is None:
        return _client_in_cluster(context)
    from kubernetes.config import ConfigException, new_client_from_config  # noqa: PLC0415 - it takes a second

    heard = _Heard()
    root = logging.getLogger()
    root.addHandler(heard)  # the client only logs it when a plugin gives no credentials, and goes on without
    try:
        client = new_client_from_config(config_file=place, context=context)  # type: ignore[no-untyped-call]
    except ConfigException as error:
        raise KubeconfigError(f"kubeconfig {place}: {_reason_of(error, place, context)}") from error
    except OSError as error:
        raise KubeconfigError(f"kubeconfig {place}: {_text_of(error)}") from error
    except Exception as error:  # the client trusts what it reads: broken YAML and odd shapes raise anything
        raise KubeconfigError(f"kubeconfig {place} cannot be read: {_text_of(error)}") from error
    finally:
        root.removeHandler(heard)
    if heard.errors:
        raise KubeconfigError(f"kubeconfig {place} gives no credentials: {'; '.join(heard.errors)}")
    return client


def way_of(kubeconfig: str | None = None, context: str | None = None) -> str:
    """Say by which file and which context of it ``client_of`` would find its cluster.

    Raises:
        KubeconfigError: there is no file.
    """
    place = _place_of(kubeconfig)
    if place is None:
        return "the service account of this pod"
    if context is None:
        from kubernetes.config import list_kube_config_contexts  # noqa: PLC0415 - it takes a second

        current: Any  # the client has no types
        _, current = list_kube_config_contexts(place)  # type: ignore[no-untyped-call]
        return f"{place}, its current context {current['name']}"
    return f"{place}, context {context}"


def _place_of(kubeconfig: str | None) -> str | None:
    """Give the files to read, as one text; None where there are none, and a cluster is around."""
    if kubeconfig is not None:
        if not Path(kubeconfig).expanduser().exists():
            raise KubeconfigError(f"kubeconfig {kubeconfig}: no such file")
        return kubeconfig
    if named := os.environ.get(_VARIABLE):
        if not any(path and Path(path).expanduser().exists() for path in named.split(os.pathsep)):
            raise KubeconfigError(f"${_VARIABLE} is {named}: no such file")
        return named
    if Path(_DEFAULT).expanduser().exists():
        return _DEFAULT
    if os.environ.get(_IN_CLUSTER):
        return None
    raise KubeconfigError(
        f"there is no kubeconfig: ${_VARIABLE} is not set, {_DEFAULT} is not there, and this is no pod of a cluster"
    )


def _client_in_cluster(context: str | None) -> AnyApiClient:
    if context is not None:
        raise KubeconfigError(f"there is no context {context!r}: in a pod, without a kubeconfig, there are none")
    from kubernetes.client import ApiClient, Configuration  # noqa: PLC0415 - it takes a second
    from kubernetes.config import ConfigException, load_incluster_config  # noqa: PLC0415

    configuration = Configuration()
    try:
        load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except (ConfigException, OSError) as error:
        raise KubeconfigError(f"this pod has no service account to ask its cluster with: {_text_of(error)}") from error
    return ApiClient(configuration)


def _reason_of(error: Exception, place: str, context: str | None) -> str:
    """Say what the client refused; of a context that is not there, which ones are."""
    from kubernetes.config import list_kube_config_contexts  # noqa: PLC0415 - it takes a second

    text = _text_of(error).removeprefix(_PREFIX)
    if text.startswith("Expected key current-context"):
        return "it has no current context, so one has to be named"
    if context is None or "/contexts list" not in text:
        return text
    try:
        contexts: Any  # the client has no types
        contexts, _ = list_kube_config_contexts(place)  # type: ignore[no-untyped-call]
        there = ", ".join(sorted(str(each["name"]) for each in contexts)) or "none"
    except Exception:  # noqa: BLE001 - the client lists none where the current one is wrong, too
        return f"there is no context {context!r}"
    return f"there is no context {context!r}; there are: {there}"


def _text_of(error: Exception) -> str:
    """Give what an error says, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return " ".join(str(error).split()) or type(error).__name__


class _Heard(logging.Handler):
    """Hears the errors that are logged."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.errors: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.errors.append(" ".join(record.getMessage().split()))
