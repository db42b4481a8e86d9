"""Where objects come from: the only room that imports clients."""
