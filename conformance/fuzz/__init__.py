"""Random well-typed kernels, and the reduction of those that fail to minimal ones.

May import adstack.ir, adstack.transforms and adstack.interpreter besides adstack's public API.
"""
