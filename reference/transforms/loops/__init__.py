"""Passes over loops: licm.py moves loop-invariant code out.

May import: ir, analysis, transforms.rewriting, errors.
"""
