"""What passes share: rebuilding regions (rewrite.py), carried values of loops (carried.py), options.py.

May import: ir, analysis, errors.
"""
