"""`FwdMode`: launches compute directional derivatives as well."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from ...errors import AdstackArgumentError, AdstackRuntimeError, AdstackRuntimeTypeError
from ..differentiated import companions, differentiated
from ..fields import Field
from ..hostvalues import number
from ..linked import Linked
from ..ndarrays import Ndarray
from ..recording import RECORDERS, recording
from .clearing import clear_all
from .links import flat_positions
from .reached import check_constants
from .tangents import Tangents, tangent_of

__all__ = ["FwdMode"]


class FwdMode:
    """Directional derivatives: within it, a launch also computes the `.dual` of what it writes.

        with qd.ad.FwdMode(loss=y, param=x, seed=[1.0, 0.0]):
            compute()
        y.dual[None]

    A real number that a kernel returns has its directional derivative at `.dual`, and takes it along where the host
    computes with it and stores it. On leaving, the dual of `param` is zero again, unless `param` is one of the losses.
    Numpy arrays and torch tensors, scalars, and what has no dual are constant.

    Args:
        loss: the field or ndarray whose dual is wanted, or several.
        param: the field or ndarray along which to differentiate.
        seed: the direction, one number for each number in `param`, flat; it may be left out for a single number.
        clear_gradients: whether all duals start from zero.

    Attributes:
        calls: what was launched: (kernel, arguments), in order.
    """

    def __init__(self, loss: Any, param: Any, seed: Any = None, clear_gradients: bool = True) -> None:
        self.losses = list(loss) if isinstance(loss, (list, tuple)) else [loss]
        self.param = param
        self.clear_gradients = clear_gradients
        for data in (*self.losses, param):
            _check(data)
        self.seed = _direction(param, seed)
        self.calls: list[tuple[Any, tuple[Any, ...]]] = []
        self._tangents = Tangents()
        self._open = ExitStack()

    def __enter__(self) -> FwdMode:
        if any(recorder is not None for recorder in RECORDERS):
            raise AdstackRuntimeError("FwdMode can't be entered inside another FwdMode or Tape", do="leave it first")
        if self.clear_gradients:
            clear_all("dual")
        self.param.dual.from_numpy(self.seed)
        self._tangents = Tangents()
        self._open.callback(self._tangents.close)
        self._open.enter_context(recording(self))
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._open.close()
        if not any(loss is self.param for loss in self.losses):
            self.param.dual.fill(0)

    def call(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launch in forward mode; plainly, if nothing that the kernel touches has a dual."""
        made, call, runtime = kernel.prepared(args, kwargs)
        check_constants(made, call)
        self.calls.append((kernel, (*args, *kwargs.values())))
        if not companions(made, "dual"):
            return made.launch(call)
        scalars = differentiated(made, "forward", runtime, strict=False).run(call)
        if made.records is not None:
            made.records.note(call)
        return None if made.returns is None else self._tangents.returned(made.returns, scalars)

    def host_read(self, array: Any, position: tuple[int, ...], value: float) -> Any:
        """What was read moves along the dual of the element."""
        beside = array.dual
        if beside is None or not beside.is_placed:
            return value
        return Linked.of(value, self._tangents, float(beside.buffer.item(position)))

    def host_linked(self, array: Any, where: Any, entries: Sequence[Any]) -> None:
        """What is written moves as it was computed."""
        if array.dual is None or not array.dual.is_placed:
            return
        buffer = array.dual.buffer
        tangents = [tangent_of(entry, self._tangents) for entry in entries]
        positions = flat_positions(buffer, where)
        values = np.array([number(t, buffer.dtype, "a dual") for t in tangents], buffer.dtype.numpy)
        buffer.exchange(positions, np.resize(values, len(positions)))

    def host_wrote(self, array: Any, where: Any) -> None:
        """What the host writes is constant; what it writes to the parameter moves along the seed."""
        dual = None if array is self.param else array.dual
        if dual is not None and dual.is_placed:
            contents = np.array(dual.buffer.read())
            contents[where] = 0
            dual.buffer.write(contents)


def _check(data: Any) -> None:
    if not isinstance(data, (Field, Ndarray)):
        kind = type(data)
        raise AdstackRuntimeTypeError(
            f"FwdMode takes fields and ndarrays, got {kind.__module__}.{kind.__name__}",
            do="copy the data to a field or an ndarray with needs_dual=True",
        )
    if data.dual is None:
        made = isinstance(data, Ndarray) and data.dtype.is_float
        do = "make it with needs_dual=True" if made else "only real numbers have duals"
        raise AdstackRuntimeTypeError(f"{data.label} of {data.dtype} has no dual", do=do)
    if isinstance(data.dual, Field) and not data.dual.is_placed:
        raise data.dual.unplaced()


def _direction(param: Field | Ndarray, seed: Sequence[float] | None) -> Any:
    """The seed as an array of the shape of the parameter's dual."""
    shape = param.shape + param.element_shape
    count = math.prod(shape)
    if seed is None:
        if count != 1:
            raise AdstackRuntimeError(
                f"`seed` is not set, and the parameter {param.label} holds {count} numbers",
                do=f"pass seed=[...] with {count} numbers: the direction along which to differentiate",
            )
        seed = [1.0]
    flat = np.asarray(seed, param.dtype.numpy).reshape(-1)
    if len(flat) != count:
        raise AdstackArgumentError(
            f"`seed` has {len(flat)} numbers, and the parameter {param.label} holds {count}",
            do=f"pass {count} numbers",
        )
    return flat.reshape(shape)
