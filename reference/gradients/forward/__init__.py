"""`FwdMode`: launches that compute directional derivatives as well.

dual.py      FwdMode; tangents.py: what the host computes in between; arguments.py: duals of gradients that calls pass
columns.py   the same along several directions at once, for Jacobians; lane_memory.py: where their tangents are
May import: the rest of gradients but tapes and launches; launch and below.
"""
