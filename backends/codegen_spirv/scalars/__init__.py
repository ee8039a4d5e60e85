"""Scalar operations in SPIR-V, to the bit: integers, floats, and what a device does not round correctly.

May import: adstack.ir, adstack.errors and the room `assembly`.
"""
