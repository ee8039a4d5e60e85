"""What can be put under the suite: adstack's own backends, and other implementations of the same language.

backends, peers: the subjects. gaps: what peers are known not to do, read from the lists `*.gaps` by gap_lists; record
writes one of these lists from a run.

Imports adstack's public API and adstack.conformance.harness.
"""
