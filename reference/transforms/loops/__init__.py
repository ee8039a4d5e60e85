"""Passes over loops: licm.py moves loop-invariant code out, hold.py sums of one element.

May import: ir, analysis, transforms.rewriting, errors.
"""
