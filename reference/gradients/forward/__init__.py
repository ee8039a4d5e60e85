"""`FwdMode`: launches that compute directional derivatives as well.

dual.py      FwdMode; tangents.py: what the host computes in between
May import: the rest of gradients but tapes and launches; launch and below.
"""
