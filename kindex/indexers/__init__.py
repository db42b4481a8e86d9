"""Indexers: declarations of what a store files its objects under, and the terms to ask for it."""
