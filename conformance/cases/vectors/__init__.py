"""Vectors, matrices and structs."""
