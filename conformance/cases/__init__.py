"""One small readable file per topic: kernels, their inputs, and what is asked of them.

A case imports adstack's public API (or a subject that offers the same one) and adstack.conformance.harness.
"""
