"""Arithmetic on scalars: rounding, division, remainders, powers, elementary functions."""
