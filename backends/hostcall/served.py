"""What backends whose launches machine code of the host makes have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

from adstack.runtime.protocol.shortcuts import HostArgument, Shortcut, leaves

from . import calls
from .entry import Entry

__all__ = ["Served"]

E = TypeVar("E")
"""What a backend makes of a program."""


class Served(Generic[E]):
    """The part of a backend by which machine code serves its calls, and follows them.

    Attributes:
        takes_host_memory: whether kernels run on the host's own memory; where they do not, Python copies it.
    """

    takes_host_memory: ClassVar[bool] = False

    def entry_of(self, executable: E) -> Entry | None:
        """How machine code launches an executable; None if Python must look after each of its launches.

        A backend that serves calls has to define it: here it raises NotImplementedError.
        """
        raise NotImplementedError

    def shortcut(self, executable: E, wanted: Shortcut) -> Callable[..., object] | None:
        """See `Serving.shortcut`: it is a builtin that makes launches."""
        if wanted.needs_host and not self.takes_host_memory:
            return None
        entry = self.entry_of(executable)
        return None if entry is None else calls.make(entry, wanted)

    def follower(self, executable: E, wanted: Shortcut) -> calls.Follower | None:
        """See `Following.follower`: it serves calls of a sequence, where a builtin would serve any."""
        if not self.takes_host_memory and any(isinstance(one, HostArgument) for one in leaves(wanted.arguments)):
            return None
        entry = self.entry_of(executable)
        return None if entry is None else calls.follower(entry, wanted)

    def reverses(self, executable: E) -> bool:
        """See `Following.reverses`: machine code makes its launches when a sequence is reversed."""
        return self.entry_of(executable) is not None
