"""Integers: wrapping, shifts, bitwise operations, every width and signedness."""
