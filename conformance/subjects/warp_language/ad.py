"""Gradients: a tape that records launches, with Warp's own beneath."""

from __future__ import annotations

from ...case import Data
from .kernels import recording
from .kinds import ABSENT
from .memory import Memory, clear_gradients

__all__ = ["FwdMode", "Tape", "clear_all_gradients"]


class Tape:
    """Records what is launched in its block, and differentiates the loss at its end."""

    def __init__(self, loss: Memory, **others: Data) -> None:
        if others:
            raise ABSENT(f"a tape has no option {', '.join(others)} here")
        self.loss = loss

    def __enter__(self) -> Tape:
        clear_gradients()
        recording.append([])
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        launches = recording.pop()
        if kind is None:
            if self.loss.grad is None:
                raise ABSENT("a loss without a gradient")
            self.loss.grad.fill(1.0)
            for launch in reversed(launches):
                launch.backward()


class FwdMode:
    """There is none."""

    def __init__(self, *args: object, **options: object) -> None:
        raise ABSENT("Warp has no forward mode")


def clear_all_gradients() -> None:
    """Set all gradients to zero."""
    clear_gradients()


def __getattr__(name: str) -> Data:
    raise ABSENT(f"ad.{name} has no counterpart in Warp")
