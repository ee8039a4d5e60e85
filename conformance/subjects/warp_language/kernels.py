"""Kernels: a call is translated, compiled by Warp, launched, and recorded for its gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ...case import Data
from .device import DEVICE, WP, loaded
from .expressions import Anything
from .functions import Func
from .kinds import ABSENT, Kind, settings
from .memory import Memory
from .scopes import Host, Program, Value
from .tasks import Task, tasks_of

__all__ = ["Kernel", "Launch", "func", "kernel", "recording"]


@dataclass(frozen=True)
class Launch:
    """What a call has launched, as Warp's tape has it."""

    tape: Data

    def backward(self) -> None:
        """From the gradients of what was written to those of what was read."""
        self.tape.backward()


recording: Final[list[list[Launch]]] = []
"""What tapes in force record; the last is the innermost."""


class Kernel:
    """What `@kernel` makes."""

    def __init__(self, function: Callable[..., Data]) -> None:
        self._func, self.__name__ = Func(function), function.__name__
        self._compiled: dict[tuple[Data, ...], tuple[Program, list[Task], Data]] = {}
        self._last: Launch | None = None

    def __call__(self, *args: Data, **named: Data) -> Data:
        """Translate and launch. MissingError: it can't be translated."""
        annotations = self._func.annotations()
        if len(args) != len(annotations) or named:
            raise ABSENT(f"{self._func.name} is called with default values, or by name")
        given = [_argument(value, wanted) for value, (_, wanted) in zip(args, annotations, strict=True)]
        key = tuple([id(one.object) if isinstance(one, Host) else args[k] for k, one in enumerate(given)])
        if key not in self._compiled:
            program = Program()
            tasks = tasks_of(
                self._func, program, given, dict(zip([name for name, _ in annotations], args, strict=True))
            )
            self._compiled[key] = program, tasks, loaded(program.source(), f"kernel_{id(program)}")
        scalars = [one.kind(value) for value, one in zip(args, given, strict=True) if isinstance(one, Value)]
        return self._launched(*self._compiled[key], scalars)

    def _launched(self, program: Program, tasks: list[Task], module: Data, scalars: list[object]) -> Data:
        returned, tape = None, WP.Tape()
        arrays = [memory.array for memory in program.arrays.values()]
        with tape:
            for task in tasks:
                results = []
                if task.returns is not None:
                    returned = WP.zeros(1, dtype=task.returns.dtype, device=DEVICE)
                    results = [returned]
                if 0 not in task.shape:
                    inputs = [*scalars, *results, *arrays]
                    WP.launch(getattr(module, task.name), dim=task.shape, inputs=inputs, device=DEVICE)
        self._last = Launch(tape)
        if recording:
            recording[-1].append(self._last)
        return None if returned is None else returned.numpy()[0].item()

    def grad(self, *args: Data, **named: Data) -> None:
        """The gradient of the last call."""
        if self._last is None or named:
            raise ABSENT("a gradient of what was not called before")
        self._last.backward()


def _argument(value: Data, wanted: Data) -> Anything:
    """A number, as what its parameter is; or something of the host's."""
    if isinstance(value, Memory):
        return Host(value)
    if wanted in (int, float) or isinstance(wanted, Kind):
        kind: Data = {int: settings.whole, float: settings.real}.get(wanted, wanted)
        if not kind.is_float and not isinstance(value, (int, bool)):
            raise ABSENT(f"{value!r} for a whole number")
        return Value("", kind)
    if isinstance(value, (int, float)):
        return Host(value)
    raise ABSENT(f"an argument of type {type(value).__name__} is not translated")


def kernel(function: Callable[..., Data] | None = None, **options: Data) -> Kernel:
    """See `adstack.kernel`. MissingError: it has options."""
    if function is None or options:
        raise ABSENT(f"kernels have no option {', '.join(options)} here")
    return Kernel(function)


def func(function: Callable[..., Data]) -> Func:
    """See `adstack.func`."""
    return Func(function)
