"""What a CUDA device is asked for, whoever plays it, and how that fails.

driver.py   the functions of a driver; errors.py: those that fail, and what a program is told

May import: adstack.errors, shared.
"""
