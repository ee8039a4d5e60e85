"""The conformance suite: cases, the harness that runs them on a subject in isolation, and the reports.

It uses adstack's public API, like a user; only `fuzz` and `tests` look inside.
"""
