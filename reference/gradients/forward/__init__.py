"""`FwdMode`: launches that compute directional derivatives as well.

dual.py      FwdMode; tangents.py: what the host computes in between; arguments.py: duals of gradients that calls pass
columns.py   the same along several directions at once, for Jacobians and Hessians; lane_memory.py: where their tangents
             and gradients are; lane_launch.py: what a Tape records of such a launch
May import: the rest of gradients but tapes and launches; launch and below.
"""
