"""The command line: ``kindex query``, ``kindex explain``, ``kindex demo``."""
