"""Keeping a store equal to a source."""
