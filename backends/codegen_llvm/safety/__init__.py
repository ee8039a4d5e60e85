"""Failures that a running task reports: checks of debug mode, asserts, and accesses that are guarded.

checks.py   checks, asserts, prints, and the record of a failure
guards.py   accesses that may be out of bounds: they do nothing there, and record it

May import: function, text.
"""
