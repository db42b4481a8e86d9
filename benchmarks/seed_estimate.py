"""The public estimate of what indexing labels takes, checked: ``python -m benchmarks.seed_estimate``.

When a label index was proposed for client-go's cache, its price was estimated for a large cluster: 150,000 pods, each
with ten labels of its own (such as a pod's own name) and ten that it shares with others. About 128 MB, and 200 MB with
overhead, it was said, as "a rough estimate"; nobody could say more, and the proposal ended there. Here is that cluster:
the estimate, what kindex forecasts without building, what it says when it has built, what its process really grows by,
and what the proposed index takes in client-go.
"""

from __future__ import annotations

import argparse

import attrs

from benchmarks.bench_memory import run
from benchmarks.memory_shapes import SIZE, Shape

ESTIMATE_MB = (128.0, 200.0)


def main() -> None:
    """Print all of them, for independent values and for those that go together."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=SIZE)
    shape = Shape(unique=10, n=parser.parse_args().pods)
    client_go_mb = shape.client_go_mb or 0.0
    print(f"{shape.n:,} pods, 10 labels unique to each and 10 shared; MB of the label index")
    print(f"{'the public estimate, values':<62} {ESTIMATE_MB[0]:>8.1f}")
    print(f"{'the public estimate, with overhead':<62} {ESTIMATE_MB[1]:>8.1f}")
    print(f"{'client-go, measured (at 150,000)':<62} {client_go_mb:>8.1f}")
    for each in (shape, attrs.evolve(shape, together=True)):
        kind = "shared labels go together" if each.together else "shared labels independent"
        expected = run("foretold", **attrs.asdict(each))
        built = run("added", **attrs.asdict(each))
        lines = {
            f"kindex, forecast from all pods ({kind})": expected["all"],
            f"kindex, forecast from {expected['sample']:,} pods": expected["sampled"],
            "kindex, as memory() counts it": built["counted"],
            "kindex, as its process grows (RSS)": built["grown"],
        }
        for what, size in lines.items():
            print(f"{what:<62} {size / 1e6:>8.1f}")
        print(f"{'client-go / kindex':<62} {client_go_mb * 1e6 / built['counted']:>8.1f}")


if __name__ == "__main__":
    main()
