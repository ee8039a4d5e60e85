"""What the tests of journals share: launches that log, and their gradients compared with those of the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from reverse_kit import gradients_of

from adstack.autodiff.journaled import Journaled, journaled
from adstack.autodiff.overwrite.updates import ordered_updates
from adstack.autodiff.places import WANTED
from adstack.error_analysis.bounds import gradient_bound
from adstack.interpreter import RunOptions, run
from adstack.ir.structure import Kernel
from adstack.ir.verify.verifier import verify
from adstack.transforms.pipeline import lower, optimize

Array = npt.NDArray[Any]
Buffers = dict[str, Array]
QUIET = RunOptions(stdout=lambda text: None)


def launched(logged: Journaled, before: Buffers, sizes: Array) -> tuple[Buffers, Array]:
    """Memory after the launch with so much room for logs, and how much room it wanted."""
    memory = {name: buffer.copy() for name, buffer in before.items()}
    for log in logged.logs:
        shape = tuple(max(1, n) for n in sizes[2 * log.sheet : 2 * log.sheet + 2])
        memory[log.place.name] = np.full(shape, 77, log.place.dtype.numpy)
    wanted = np.zeros(2 * logged.sheets, np.uint64)
    run(lower(logged.forward), {**memory, WANTED: wanted}, options=QUIET)
    return memory, wanted


def check(kernel: Kernel, before: Buffers, adjoints: Buffers) -> Journaled:
    """The launch does what the kernel does, and the gradient is the oracle's within the error bounds of both."""
    kernel = ordered_updates(kernel)
    logged = journaled(optimize(kernel, keep_accesses=True), gradients_of(kernel))
    verify(logged.forward)
    verify(logged.backward)
    _, wanted = launched(logged, before, np.zeros(2 * logged.sheets, np.uint64))
    memory, again = launched(logged, before, wanted)
    assert (wanted == again).all()
    plain = {name: buffer.copy() for name, buffer in before.items()}
    run(lower(kernel), plain, options=QUIET)
    assert all(np.array_equal(plain[name], memory[name], equal_nan=True) for name in before)
    memory.update({f"{name}.grad": adjoint.copy() for name, adjoint in adjoints.items()})
    run(lower(logged.backward), memory)
    truth = gradient_bound(kernel, before, (), adjoints)
    for name, gradient in truth.values.items():
        assert (np.abs(memory[f"{name}.grad"] - gradient) <= 2 * truth.bounds[name]).all(), name
    return logged
