"""Jacobians and Hessians whose columns are computed together, beside one at a time: the bits are to be the same."""

from __future__ import annotations

import importlib.util
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from interpreter_kit import same_bits

import adstack as qd
from adstack.conformance.case import Run
from adstack.conformance.fuzz.differential.casefile import case_text
from adstack.conformance.fuzz.differential.search import drawn

Array = npt.NDArray[Any]


def one_at_a_time(function: Callable[[], object], output: Any, param: Any) -> Array:
    """The Jacobian, in forward mode along one direction after the other."""
    start, shape = param.to_numpy(), output.to_numpy().shape
    columns = []
    for direction in np.eye(math.prod(start.shape)):
        with qd.ad.FwdMode(loss=output, param=param, seed=direction):
            function()
        columns.append(output.dual.to_numpy())
        param.from_numpy(start)
    return np.stack(columns, axis=-1).reshape(shape + start.shape)


def check_columns(function: Callable[[], object], output: Any, param: Any) -> Array:
    """The Jacobian; AssertionError if it is not what one column at a time gives, or the parameter has changed."""
    start = param.to_numpy()
    wanted = one_at_a_time(function, output, param)
    jacobian = qd.ad.jacobian(function, output, param)
    assert same_bits(jacobian, wanted)
    assert same_bits(param.to_numpy(), start)
    return jacobian


def check_random_program(number: int, arch: str, dtype: str) -> None:
    """`check_columns` of a random program of one or two kernels, for each of its outputs."""
    run = random_run(number, arch, dtype)
    (param,) = run.gradient.forward_seed
    for output in run.expect:
        check_columns(lambda: _started(run, param), output, param)


def products(function: Callable[[], object], loss: Any, param: Any) -> Array:
    """The Hessian, by its products with one unit vector after the other."""
    shape = param.to_numpy().shape
    columns = [qd.ad.hvp(function, loss, param, direction) for direction in np.eye(math.prod(shape))]
    return np.stack(columns, axis=-1).reshape(shape + shape)


def check_hessian(function: Callable[[], object], loss: Any, param: Any) -> Array:
    """The Hessian; AssertionError if it is not what products give, or the parameter or its gradient are others."""
    start = param.to_numpy()
    wanted, gradient = products(function, loss, param), param.grad.to_numpy()
    hessian = qd.ad.hessian(function, loss, param)
    assert same_bits(hessian, wanted)
    assert same_bits(param.grad.to_numpy(), gradient)
    assert same_bits(param.to_numpy(), start)
    return hessian


def check_random_hessian(number: int, arch: str, dtype: str) -> None:
    """`check_hessian` of the squares of what a random program of one or two kernels computes, for each output."""
    run = random_run(number, arch, dtype)
    assert run.gradient is not None
    (param,) = run.gradient.forward_seed
    loss = qd.field(getattr(qd, dtype), shape=(), needs_grad=True, needs_dual=True)
    for output in run.expect:
        squares = _squares(output, loss)

        def function(squares: Callable[[], object] = squares) -> None:
            _started(run, param)
            squares()

        check_hessian(function, loss, param)


def _squares(output: Any, loss: Any) -> Callable[[], object]:
    @qd.kernel
    def of_one() -> None:
        loss[None] += output[None] * output[None]

    @qd.kernel
    def of_all() -> None:
        for i in output:
            loss[None] += output[i] * output[i]

    return of_all if output.shape else of_one


def random_run(number: int, arch: str, dtype: str) -> Run:
    """A run of the random program with this number, in a runtime of its own."""
    program = drawn(20, number)
    snapshot = {"ad_snapshot": True} if program.names("w") else {}
    qd.init(arch=getattr(qd, arch), default_fp=getattr(qd, dtype), **snapshot)
    with tempfile.TemporaryDirectory() as folder:  # kernels are read from files
        path = Path(folder) / f"columns_{number}.py"
        path.write_text(case_text([program], "columns", "Columns", dtype, ["forward"]))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        run: Run = module.columns(qd, getattr(qd, dtype))
        _started(run, None)  # compiles the kernels while the file is there
        return run


def _started(run: Run, param: Any) -> None:
    """Launch everything, with what places hold before; all but the parameter's contents, which others set."""
    for place in {**run.expect, **run.given}:
        if place is not param:
            place.from_numpy(np.broadcast_to(run.given.get(place, 0.0), place.shape))
    run.kernel()
