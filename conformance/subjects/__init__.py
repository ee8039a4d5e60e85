"""What can be put under the suite: adstack's own backends, and other implementations of the same language.

Imports adstack's public API and adstack.conformance.harness.
"""
