"""The rows in JAX: `python jax_scan.py jax ARCH`, with the requests and answers of `language.py`.

Loops are `lax.scan`, kernels are jitted functions. A row that has no meaning in JAX is answered with an error.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Jax: TypeAlias = Any
"""The module, or an array of it: it has no types here."""
Record: TypeAlias = dict[str, Any]
"""A JSON object."""

Work = Callable[[], object]
"""Starts the work of one call, and gives what to wait for."""

THREADS = 65536
STEPS = 64
MANY_THREADS = 1024
MANY_GRADIENT = "gradient-many-"
ADJOINT = "adjoint-"
_WARM = 0.3  # seconds of untimed calls before a row that is not of first calls


def _nop(jax: Jax) -> Work:
    compiled: Work = jax.jit(lambda: jax.numpy.float32(1.0))
    return compiled


def _args(jax: Jax) -> Work:
    array = jax.numpy.zeros(16, np.float32)
    store = jax.jit(lambda a, s: a.at[0].set(s))
    return lambda: store(array, 2.0)


def _nop_reverse(jax: Jax) -> Work:
    return _jitted(jax, lambda x: x * x, jax.numpy.float32(2.0), gradient=True)


def _args_reverse(jax: Jax) -> Work:
    array = jax.numpy.zeros(16, np.float32)
    both = jax.jit(jax.value_and_grad(lambda x, s: x[1] * s))
    return lambda: both(array, 2.0)


def _recurrence(jax: Jax, *, gradient: bool = False) -> Work:
    x = jax.numpy.asarray(np.linspace(0.0, 1.0, THREADS).astype(np.float32))

    def step(v: Jax, _: Jax) -> Jax:
        return jax.numpy.sin(v) * np.float32(0.9) + np.float32(0.1), None

    return _jitted(jax, lambda x: jax.numpy.sum(jax.lax.scan(step, x, None, length=STEPS)[0]), x, gradient)


def _jitted(jax: Jax, forward: Callable[[Jax], Jax], x: Jax, gradient: bool) -> Work:
    """The function of `x`; or its gradient, after a call of the function."""
    compiled = jax.jit(forward)
    if gradient:
        jax.block_until_ready(compiled(x))
        compiled = jax.jit(jax.grad(lambda x: jax.numpy.sum(forward(x))))
    return lambda: compiled(x)


def _gather(jax: Jax) -> Work:
    draw = np.random.default_rng(0)
    x, w = (jax.numpy.asarray(draw.random(THREADS, dtype=np.float32)) for _ in range(2))
    deg = jax.numpy.asarray(draw.integers(0, 17, THREADS).astype(np.int32))
    col = jax.numpy.asarray(draw.integers(0, THREADS, (THREADS, 16)).astype(np.int32))

    def body(x: Jax, w: Jax, deg: Jax, col: Jax) -> Jax:
        wanted = jax.numpy.arange(16)[None, :] < deg[:, None]
        return jax.numpy.sum(jax.numpy.where(wanted, w[col], 0), axis=1) * x

    forward = jax.jit(body)
    return lambda: forward(x, w, deg, col)


def _many(jax: Jax, count: int, *, gradient: bool = False) -> Work:
    x = jax.numpy.zeros(MANY_THREADS, np.float32)

    def step(carried: Jax, _: Jax) -> Jax:
        following: list[Jax] = []
        for k in range(count):
            after = (following + carried[k:])[(k + 1) % count]
            following.append(jax.numpy.sin(carried[k]) * np.float32(0.9) + after * np.float32(0.1))
        return following, None

    def body(x: Jax) -> Jax:
        last, _ = jax.lax.scan(step, [x + np.float32(k) for k in range(count)], None, length=3)
        return sum(last[:64])

    return _jitted(jax, body, x, gradient)


ROWS: dict[str, Callable[[Jax], Work]] = {
    "nop": _nop,
    "args": _args,
    "nop-reverse": _nop_reverse,
    "args-reverse": _args_reverse,
    "recurrence": _recurrence,
    "recurrence-reverse": lambda jax: _recurrence(jax, gradient=True),
    "gather": _gather,
    "first": _recurrence,
    "first-nop": _nop,
    "first-gradient": lambda jax: _recurrence(jax, gradient=True),
}


def _prepare(jax: Jax, row: str) -> Work:
    """The work of a row; NotImplementedError if JAX has none."""
    if row.startswith("many"):
        return _many(jax, int(row.removeprefix("many")))
    if row.startswith(MANY_GRADIENT):
        return _many(jax, int(row.removeprefix(MANY_GRADIENT)), gradient=True)
    if row.startswith(ADJOINT):
        beside = importlib.import_module("jax_adjoints")  # this file is run as a program, in its folder
        adjoint: Work = beside.prepare(jax, row.removeprefix(ADJOINT))
        return adjoint
    if row not in ROWS:
        raise NotImplementedError(f"{row} has no counterpart in JAX")
    return ROWS[row](jax)


def _timed(jax: Jax, work: Work, calls: int) -> dict[str, float]:
    """Seconds per call, everything finished at the end."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(calls):
        result = work()
    jax.block_until_ready(result)
    return {"wall": (time.perf_counter() - wall) / calls, "cpu": (time.process_time() - cpu) / calls}


def _answer(jax: Jax, ready: dict[str, Work], request: Record) -> Record:
    row = request["row"]
    if row == "about":
        return {"name": "jax", "version": jax.__version__, "python": platform.python_version()}
    if row not in ready:
        ready[row] = _prepare(jax, row)
        jax.block_until_ready(jax.numpy.zeros(1) + 1)  # the device is open
        if request["kind"] != "cold":
            start = time.perf_counter()
            while time.perf_counter() - start < _WARM:
                _timed(jax, ready[row], 1)
    return _timed(jax, ready[row], request["calls"])


def main() -> None:
    """Answer until the input ends."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.environ["JAX_PLATFORMS"] = sys.argv[2]
    import jax

    ready: dict[str, Work] = {}
    for line in sys.stdin:
        try:
            reply = _answer(jax, ready, json.loads(line))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this row's answer
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
