"""Adstacks that are too small: an exception, once, and nothing is left of it."""
