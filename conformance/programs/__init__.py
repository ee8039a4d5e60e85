"""Differentiable programs as users write them: many small launches a step, under a `Tape`, in an optimisation loop.

Each module is one program. It imports the language as `qd` and numpy, nothing else, and uses only what adstack,
Quadrants and Taichi have in common: `harness/programs.py` loads the same file on any of them. It has

- SIZES, by name ("reduced": small enough for the oracle; "full": as it is measured), keyword arguments of
- Program(**size), which makes fields and kernels and has: `loss`, a place with one number; `inputs`, the places that
  are optimised, by name; `forward()`, which launches everything from the inputs to the loss; `differentiate()`, which
  computes the loss and, in the `grad` of the inputs, its gradient, and returns the loss; and `update()`, which changes
  the inputs.

An iteration is `differentiate()` and `update()`. May import: what is measured, and numpy.
"""
