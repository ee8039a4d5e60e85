"""What a kernel of a random history is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from .numbers import Number

__all__ = ["Fields", "Form", "N", "Plain"]

N: Final = 4
Plain: TypeAlias = Callable[..., "Number | None"]
Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Form:
    """A kernel.

    Attributes:
        name: of the kernel.
        kernel: what is called.
        plain: the same program: it takes a `Program`, and what the kernel takes.
        roles: what it takes: "array" or "ints", any array of reals or integers; "field", any field; "i32", "f64" or
            "static", a small number.
        kept: whether it overwrites what its reverse pass needs, so that launches keep it.
        rereads: whether its reverse pass reads what it writes, so that there must have been a launch.
        refused: whether it may be refused for its arguments alone.
    """

    name: str
    kernel: Any
    plain: Plain
    roles: tuple[str, ...] = ()
    kept: bool = False
    rereads: bool = False
    refused: bool = False
