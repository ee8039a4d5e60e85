"""Structs: members, nesting, copies, fields of them."""
