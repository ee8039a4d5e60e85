"""What the tests of decompositions share: the rounding error that their own operations may make."""

from __future__ import annotations

import numpy as np
from symbolic import Term, recorded

from adstack.values.matrices.matrix import Matrix

RANDOM = 40


def gamma(operations):
    unit = np.finfo(np.float64).eps / 2
    return operations * unit / (1 - operations * unit)


def bound_of(decompose, size):
    """gamma_n for the number of operations that decomposing a matrix of this size takes."""
    recorded()
    decompose(Matrix([[Term(1.0) for _ in range(size)] for _ in range(size)]))
    return gamma(len(recorded()))
