"""Plain Python functions that a kernel calls: they run once, while compiling, and may not use memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import AdstackSyntaxError, AdstackTypeError
from ..runtime.threads.recording import recording
from .kinds import Operand

__all__ = ["without_memory"]


def without_memory(name: str, run: Callable[[], Operand]) -> Operand:
    """The result of `run()`, which calls the function `name` of Python while a kernel is compiled.

    Raises:
        AdstackTypeError: it reads or writes a field or ndarray.
        AdstackSyntaxError: it calls a kernel.
    """
    with recording(_Refusing(name)):
        return run()


class _Refusing:
    """Refuses what the host does with memory."""

    def __init__(self, name: str) -> None:
        self.name = name

    def call(self, kernel: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> NoReturn:
        """See `Recorder.call`."""
        raise AdstackSyntaxError(
            f"{self.name}(), a function of Python, calls a kernel while another one is compiled",
            do="call both from the host, or make what they share a @qd.func",
        )

    def host_looked(self, array: Any) -> None:
        """The host reads all of an array."""
        self._refuse(array, "read")

    def host_looked_inside(self, array: Any) -> None:
        """The host reads an element of an array."""
        self._refuse(array, "read")

    def host_wrote(self, array: Any, where: object) -> None:
        """See `Recorder.host_wrote`."""
        self._refuse(array, "written")

    def _refuse(self, array: Any, what: str) -> NoReturn:
        raise AdstackTypeError(
            f"{array.label} would be {what} once, while compiling, not whenever the kernel runs",
            note=f"by {self.name}(), a function of Python",
            do=f"decorate {self.name} with @qd.func, or write static(...) if once is meant",
        )
