"""What a pod takes in each form, against what ``object_bytes`` says: ``python -m benchmarks.memory_objects``.

A process for each form: it makes the bodies of a list, reads RSS, decodes all of them as an informer does, in pages of
500, reads RSS again, and then times a full collection. The bodies themselves are there all the time. On Linux only.

Options: ``--texts FILE`` (gzipped, one object a line) instead of generated pods; with ``--form NAME`` only that one.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.memory_process import rss
from benchmarks.pod_texts import list_bodies, pod_texts
from kindex.decoding import Decoder, DictDecoder, LazyDecoder
from kindex.footprints import object_bytes
from kindex.transforms import intern_strings, keep_paths, strip_managed_fields

if TYPE_CHECKING:
    from collections.abc import Callable

TWO_PATHS = ["spec.nodeName", "status.phase"]
FORMS: dict[str, Callable[[], Decoder[Any]]] = {
    "lazy": LazyDecoder,
    "lazy-paths": lambda: LazyDecoder(TWO_PATHS),
    "lazy-stripped": lambda: LazyDecoder(TWO_PATHS, transform=strip_managed_fields),
    "lazy-interned": lambda: LazyDecoder(TWO_PATHS, transform=[strip_managed_fields, intern_strings]),
    "lazy-kept": lambda: LazyDecoder(TWO_PATHS, transform=keep_paths(*TWO_PATHS)),
    "dict": DictDecoder,
    "dict-stripped": lambda: DictDecoder(transform=strip_managed_fields),
}
LINE = "{:14} {:>8} {:>8} {:>6} {:>8} {:>6} {:>9} {:>9}"


def measure(form: str, path: Path) -> None:
    """Print the line of one form."""
    texts = gzip.decompress(path.read_bytes()).splitlines()
    count, mean, bodies = len(texts), sum(map(len, texts)) / len(texts), list(list_bodies(texts))
    del texts
    FORMS[form]().decode_list(next(list_bodies([b"{}"])))  # what Python makes once is no object's
    before, collection = rss(), full_collection()
    decoder = FORMS[form]()
    objects = [obj for body in bodies for obj in decoder.decode_list(body).objects]
    grown = (rss() - before) / count
    counted = sum(object_bytes(obj) or 0 for obj in objects) / count
    milliseconds = (full_collection() - collection) * 1e3
    sizes = [round(mean), round(grown), f"{grown / mean:.2f}", round(counted), f"{counted / grown - 1:+.1%}"]
    print(LINE.format(form, *sizes, f"{milliseconds:.1f}", round(decoder.saved_bytes / count)))


def full_collection() -> float:
    """Give the seconds of CPU that a full collection takes, at best of five."""
    times = []
    for _ in range(5):
        began = time.process_time()
        gc.collect()
        times.append(time.process_time() - began)
    return min(times)


def main() -> None:
    """Measure one form, or each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--form", choices=FORMS)
    parser.add_argument("--texts", type=Path)
    chosen = parser.parse_args()
    if chosen.form and chosen.texts:
        measure(chosen.form, chosen.texts)
        return
    print(LINE.format("bytes a pod", "JSON", "RSS", "x JSON", "counted", "off", "gc, ms", "dropped"), flush=True)
    with tempfile.NamedTemporaryFile(suffix=".gz") as made:
        path = chosen.texts or Path(made.name)
        if chosen.texts is None:
            # Handed over in a file: what making them leaves free in a process would be taken by the objects.
            path.write_bytes(gzip.compress(b"\n".join(pod_texts()), compresslevel=1))
        for form in [chosen.form] if chosen.form else FORMS:
            command = [sys.executable, "-P", "-m", "benchmarks.memory_objects", "--form", form, "--texts", str(path)]
            subprocess.run(command, check=True)  # noqa: S603 - this module


if __name__ == "__main__":
    main()
