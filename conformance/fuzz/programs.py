"""Random kernels: by seed, by size, and as a hypothesis strategy."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st

from adstack.ir.structure import Kernel
from adstack.ir.types import ALL, INTS, DType
from adstack.ir.verify.verifier import verify

from .generator import Generator
from .values import random_buffers, random_params

__all__ = ["kernels", "random_buffers", "random_kernel", "random_params", "sized_kernel"]


def random_kernel(
    seed: int,
    size: int = 60,
    transcendentals: bool = True,
    traps: bool = True,
    types: Sequence[DType] = ALL,
    sums: Sequence[DType] = INTS,
) -> Kernel:
    """A verified kernel of about `size` ops; equal seeds give equal kernels.

    With `traps=False`, it runs in debug mode without an error. Its values are of `types`, and what iterations add up
    together is of `sums`.
    """
    kernel = Generator(Random(seed), transcendentals, traps, types, sums).kernel(size)
    verify(kernel)
    return kernel


def sized_kernel(n_ops: int, seed: int = 0) -> Kernel:
    """A kernel of about `n_ops` ops, alike in kind at every size: for measuring how the cost of a pass grows."""
    return random_kernel(seed, n_ops)


def kernels(max_size: int = 60, transcendentals: bool = True) -> st.SearchStrategy[Kernel]:
    """Random verified kernels that hypothesis can shrink."""

    def grow(random: Random, size: int) -> Kernel:
        kernel = Generator(random, transcendentals).kernel(size)
        verify(kernel)
        return kernel

    return st.builds(grow, st.randoms(use_true_random=False), st.integers(1, max_size))
