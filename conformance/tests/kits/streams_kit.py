"""Random streams of the cpu and of the interpreter, compared."""

from __future__ import annotations

import numpy as np
from cpu_kit import backend, tasks_of
from interpreter_kit import same_bits

from adstack import interpreter
from adstack.runtime.protocol.backend import Bindings
from adstack.runtime.protocol.options import Options


def both(text: str, y: np.ndarray, lanes: int, seed: int, launches: int = 1) -> None:
    """The streams of a few launches in a row agree."""
    program = tasks_of(text)
    executable = backend().compile(program, Options(cpu_lanes=lanes, random_seed=seed, offline_cache=False))
    for _ in range(launches):
        mine, theirs = y.copy(), y.copy()
        backend().launch(executable, (), Bindings({"y": mine}, {"y": y.shape}))
        options = interpreter.RunOptions(seed=seed, launch=backend().launches)
        interpreter.run(program, {"y": theirs}, (), options=options)
        assert same_bits(mine, theirs)
