"""The `adstack` command.

Imports adstack's public API and adstack.conformance, like a user.
"""
