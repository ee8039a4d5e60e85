"""Failures that a running task reports: checks of debug mode, asserts, and accesses that are guarded.

checks.py   checks, asserts, prints, and the record of a failure
guards.py   accesses that may be out of bounds: they do nothing there
accesses.py, notes.py   where they are out of bounds; what is remembered of the first that is, and recorded

May import: function, text.
"""
