"""Where objects come from: the only room that imports clients, and only when one is used."""

from kindex.sources.making import async_source_of, source_of

__all__ = ["async_source_of", "source_of"]
