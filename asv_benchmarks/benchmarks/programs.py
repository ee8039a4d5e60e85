"""Differentiable programs of `conformance/programs`, in their reduced size: iterations of an optimisation.

The programs use what the kernel language has had from its beginning, and are those of this checkout whatever commit of
adstack is measured.
"""

import importlib.util
import sys
from pathlib import Path

from .common import COMPILED, opened

HARNESS = Path(__file__).resolve().parents[2] / "conformance" / "harness" / "programs.py"
NAMES = ("mass-spring", "wave", "mpm", "billiards", "smoke", "sph")


def made(qd, name):
    """A program, made for a started adstack; NotImplementedError, which skips the benchmark, where it can't be."""
    spec = importlib.util.spec_from_file_location("asv_programs", HARNESS)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.make(name, qd, "reduced")


class Program:
    """An iteration: the loss, its gradient, and what is made of it."""

    params = (COMPILED, NAMES)
    param_names = ("backend", "program")

    def setup(self, backend, program):
        made_program = made(opened(backend), program)

        def iteration():
            made_program.differentiate()
            made_program.update()

        self.iteration = iteration
        for _ in range(3):
            iteration()

    def time_later_iteration(self, backend, program):
        self.iteration()
