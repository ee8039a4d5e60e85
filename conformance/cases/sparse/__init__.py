"""Sparse fields: what is active, lists, loops over what is active, gradients."""
