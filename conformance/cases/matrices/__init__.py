"""Matrices: products, determinants, inverses, decompositions, parts."""
