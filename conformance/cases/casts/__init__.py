"""Conversions between scalar types, and the types of literals."""
