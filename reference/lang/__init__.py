"""What a user writes: kernels, functions, fields, ndarrays, vectors, matrices, math.

specs.py is the seam between the host side (data, calls) and frontend/ (Python source -> IR).
May import: ir, runtime, errors.
"""
