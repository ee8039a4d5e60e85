"""Gradients compared with finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import AdstackAssertionError
from ...runtime.memory import Array, Buffer
from .losses import Loss

if TYPE_CHECKING:
    from .events import Event

__all__ = ["check_gradients"]

STEPS = (2.0, 1.0, 0.5, 0.25)
"""Times the step that balances the two errors of a central difference: how far their results lie apart tells how much
any of them can be trusted."""
ROUNDINGS = 16
"""How many times the last sums that make up a loss may have rounded it."""


def check_gradients(loss: Loss, events: Sequence[Event], fields: Sequence[Any]) -> None:
    """Raise AdstackAssertionError where a gradient differs from what finite differences say.

    Memory is as it was before the first event, and is again afterwards.
    """
    start = _contents(events)

    def value() -> float:
        for event in events:
            event.again()
        result = loss.value()
        for buffer, contents in start:
            buffer.write(contents)
        return result

    wrong = [line for field in fields for line in _differences(field, value)]
    if wrong:
        shown = "\n".join(f"  {line}" for line in wrong[:8])
        raise AdstackAssertionError(
            f"{len(wrong)} gradients differ from finite differences:\n{shown}",
            do="look for steps: floor, casts to integers, branches; a custom gradient may be wrong",
        )


def _contents(events: Sequence[Event]) -> list[tuple[Buffer, Array]]:
    """Every buffer that the events change, with its contents."""
    buffers = {id(change.buffer): change.buffer for event in events for change in event.changes}
    return [(buffer, np.array(buffer.read())) for buffer in buffers.values()]


def _differences(field: Any, value: Callable[[], float]) -> list[str]:
    """What is wrong with the gradient of one field."""
    contents = field.to_numpy()
    gradients = field.grad.to_numpy()
    found = []
    for at in np.ndindex(contents.shape):
        estimates, noises = zip(*(_slope(field, contents, at, scale, value) for scale in STEPS), strict=True)
        low, high = min(estimates), max(estimates)
        doubt = (high - low) + max(noises)
        if not low - doubt <= gradients[at] <= high + doubt:
            middle = estimates[1]
            found.append(f"{field.label}.grad[{', '.join(map(str, at))}] is {gradients[at]}, differences say {middle}")
    field.from_numpy(contents)
    return found


def _slope(
    field: Any, contents: Array, at: tuple[int, ...], scale: float, value: Callable[[], float]
) -> tuple[float, float]:
    """The central difference of the loss along one number, and how far the rounding of the loss may move it."""
    x = contents[at]
    kind = contents.dtype.type
    step = kind(scale * np.finfo(kind).eps ** (1 / 3) * max(1.0, abs(float(x))))
    losses = []
    for moved in (x + step, x - step):
        changed = contents.copy()
        changed[at] = moved
        field.from_numpy(changed)
        losses.append(value())
    width = float((x + step) - (x - step))
    noise = ROUNDINGS * float(np.finfo(kind).eps) * max(map(abs, losses))
    return (losses[0] - losses[1]) / width, noise / width
