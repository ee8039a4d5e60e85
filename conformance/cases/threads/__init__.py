"""Threads: what each has to itself, and what they share."""
