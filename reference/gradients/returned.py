"""The adjoint of what a kernel returned, where `.grad()` is called without one."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import AdstackRuntimeError
from ..launch.arguments import Call
from ..launch.specialisation import Specialisation
from ..runtime.memory.buffers import Buffer
from ..runtime.threads.capturing import CAPTURING
from ..values.specs import ScalarSpec
from .modes.companions import companion_memory, companions
from .seeds import SEED

__all__ = ["default_seeds"]


def default_seeds(specialisation: Specialisation, call: Call) -> tuple[float, ...]:
    """1 for one real number that is all that is differentiated; otherwise an error that says what to write.

    Where memory that the kernel writes has an adjoint as well, nobody but the caller knows which of the two is meant.
    """
    title = specialisation.kernel.name
    if not isinstance(specialisation.returns, ScalarSpec):
        raise AdstackRuntimeError(
            f"{title}.grad(): the kernel returns several numbers, and none of them was given an adjoint",
            loc=specialisation.kernel.loc,
            do=f"pass {SEED}= with an adjoint for every number that the kernel returns",
        )
    for name, gradient in _written(specialisation, call):
        if CAPTURING or gradient.read().any():
            label = specialisation.kernel.places[name].label or name
            raise AdstackRuntimeError(
                f"{title}.grad(): the kernel returns a real number and writes {label}, which has a gradient"
                + (" in a graph" if CAPTURING else " that is not zero"),
                loc=specialisation.kernel.loc,
                do=f"say what the adjoint of the returned number is: {SEED}=1.0, or {SEED}=0.0 to leave it out",
            )
    return (1.0,)


def _written(specialisation: Specialisation, call: Call) -> Iterator[tuple[str, Buffer]]:
    """Places with a gradient that the kernel writes, and the memory of these gradients."""
    for name, place in companions(specialisation, "grad").items():
        if name in specialisation.plan.compiled.written:
            yield name, companion_memory(specialisation, call, name, place, "grad")
