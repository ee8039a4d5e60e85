"""Runs a case on a subject in a process of its own, compares with the reference, and records what happened.

Imports adstack's public API and other parts of adstack.conformance.
"""
