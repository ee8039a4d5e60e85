"""Gradients compared with differences of the loss, within what rounding and the step can explain: nothing to tune.

The loss rounds: running error analysis of the recorded launches bounds by how much. So a central difference over a
step h is within noise / h of that of the exact loss, and the wider the step, the more it tells, until the loss bends.
That shows: as long as the differences over two steps agree within their noise, the step is widened.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ...data.fields import Field
from ...data.ndarrays import Ndarray
from ...errors import AdstackAssertionError, AdstackRuntimeError, AdstackRuntimeTypeError
from ...ir.types import from_numpy
from ...runtime.memory.buffers import Array
from ..memory.undo import identity
from .losses import Loss

if TYPE_CHECKING:
    from ..events import Event

__all__ = ["check_gradients", "to_check"]

WIDER: Final = 8
"""From step to step: how often the loss is computed depends on it, the verdict does not."""


def to_check(fields: object) -> list[Field | Ndarray]:
    """What `grad_check` of a Tape lists: fields and ndarrays with gradients.

    Raises:
        AdstackRuntimeTypeError: it is no list, or something else is listed.
        AdstackRuntimeError: what is listed has no gradient.
    """
    if not isinstance(fields, (list, tuple, set, frozenset)):
        raise AdstackRuntimeTypeError(
            f"grad_check takes a list of fields and ndarrays, got {fields!r}",
            do="write grad_check=[x] to have the gradient of x compared with differences of the loss",
        )
    for data in fields:
        if not isinstance(data, (Field, Ndarray)):
            raise AdstackRuntimeTypeError(
                f"grad_check compares gradients of fields and ndarrays, got {data!r}",
                do="list fields or ndarrays; of a field of structs, its members",
            )
        if data.grad is None:
            raise AdstackRuntimeError(
                f"grad_check: {data.label} of {data.dtype} has no gradient",
                do="make it with needs_grad=True" if data.dtype.is_float else "only real numbers have gradients",
            )
        if isinstance(data.grad, Field) and not data.grad.is_placed:
            raise data.grad.unplaced()
    return list(fields)


def check_gradients(loss: Loss, events: Sequence[Event], fields: Sequence[object]) -> None:
    """Raise AdstackAssertionError where a gradient differs from what differences of the loss say.

    Memory is as it was before the first event, and is again afterwards.
    """
    from .nearness import value_bound  # the error analysis is large, and nothing else needs it

    noise, start = value_bound(events, _memory(loss))
    if not np.isfinite(noise):
        warnings.warn("grad_check says nothing: rounding may move the loss by any amount", stacklevel=2)
        return

    def value() -> float:
        for event in events:
            event.again()
        result = loss.value()
        for buffer, contents in start:
            buffer.write(contents)
        return result

    wrong = [line for field in fields for line in _differences(field, value, noise)]
    if wrong:
        shown = "\n".join(f"  {line}" for line in wrong[:8])
        raise AdstackAssertionError(
            f"{len(wrong)} gradients differ from finite differences:\n{shown}",
            do="look for steps: floor, casts to integers, branches; a custom gradient may be wrong",
        )


def _memory(loss: Loss) -> Hashable:
    """What the loss's memory is known by."""
    if hasattr(loss.data, "detach"):
        array = loss.data.detach().numpy()
        return array.ctypes.data, array.nbytes, from_numpy(array.dtype)
    memory: Hashable = identity(loss.data.buffer)
    return memory


def _differences(field: Any, value: Callable[[], float], noise: float) -> list[str]:
    """What is wrong with the gradient of one field."""
    contents = field.to_numpy()
    gradients = field.grad.to_numpy()
    wrong = []
    for at in np.ndindex(contents.shape):
        found_slope = _widest(_slopes(field, contents, at, value, noise))
        if found_slope is not None and not abs(float(gradients[at]) - found_slope.slope) <= found_slope.doubt:
            place = f"{field.label}.grad[{', '.join(map(str, at))}]"
            said = f"{found_slope.slope:.6g} +- {found_slope.doubt:.2g}"
            wrong.append(f"{place} is {gradients[at]}, differences say {said}")
    field.from_numpy(contents)
    return wrong


class Slope(NamedTuple):
    """A difference quotient, and how far it may be from the derivative."""

    slope: float
    doubt: float


def _widest(slopes: Iterator[Slope]) -> Slope | None:
    """The slope of the widest step that shows no curvature of the loss; its change from the step before adds doubt."""
    narrow, widest = next(slopes, None), None
    for wide in slopes:
        assert narrow is not None
        apart = abs(wide.slope - narrow.slope)
        if apart > wide.doubt + narrow.doubt:
            return Slope(narrow.slope, narrow.doubt + apart)
        narrow, widest = wide, Slope(wide.slope, wide.doubt + apart)
    return widest


def _slopes(
    field: Any, contents: Array, at: tuple[int, ...], value: Callable[[], float], noise: float
) -> Iterator[Slope]:
    """Central differences of the loss along one number, over wider and wider steps, as long as they are defined."""
    x, kind = contents[at], contents.dtype.type
    eps = float(np.finfo(kind).eps)
    step = WIDER * max(abs(float(x)), eps) * eps
    while step <= max(1.0, abs(float(x))):
        with np.errstate(over="ignore"):
            ends = x + kind(step), x - kind(step)
        losses = []
        for moved in ends:
            changed = contents.copy()
            changed[at] = moved
            field.from_numpy(changed)
            losses.append(value())
        width = float(ends[0]) - float(ends[1])
        if not (np.isfinite(losses).all() and 0 < width < np.inf):
            return
        yield Slope((losses[0] - losses[1]) / width, 2 * noise / width)
        step *= WIDER
