"""What the works of `adjoint_kernels` and `particle_kernels` have in common."""

from dataclasses import dataclass
from typing import Any


@dataclass
class Work:
    """What is measured.

    Attributes:
        forward: runs all launches.
        reverse: runs their reverse modes, in the opposite order.
        kernel: which the launches are of.
        grads: the gradients that `reverse` reads, and sets to 0 where the launch overwrites the values.
        args: of one launch.
    """

    forward: Any
    reverse: Any
    kernel: Any
    grads: tuple[Any, ...]
    args: tuple[Any, ...] = ()

    def seed(self):
        """Make the gradients that are read 1."""
        for grad in self.grads:
            grad.fill(1.0)
