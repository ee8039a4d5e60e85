"""Pictures of benchmarks, by matplotlib, which the extra [site] has.

bars.py  ratios to peers as bars, and what all pictures have in common

Imports nothing of adstack's.
"""
