"""Who needs to know what other threads write: tapes and forward mode, as long as they are in force."""

from __future__ import annotations

from typing import Final, Protocol

from ..threads.scopes import Scopes
from .blocks import Block

__all__ = ["OBSERVERS", "Observer", "tell_all", "tell_others"]


class Observer(Protocol):
    """Who needs to know what other threads write."""

    def before_others(self, buffer: Block) -> None:
        """Others, such as another thread, whose turn it is, are about to write a buffer."""


OBSERVERS: Final[Scopes[Observer]] = Scopes()
"""The observers of all threads."""


def tell_others(buffer: Block) -> None:
    """Before this thread writes a buffer."""
    for observer in OBSERVERS.others():
        observer.before_others(buffer)


def tell_all(buffer: Block) -> None:
    """Before others can write a buffer, at any time and without a word."""
    for observer in (*OBSERVERS.own(), *OBSERVERS.others()):
        observer.before_others(buffer)
