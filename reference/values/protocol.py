"""How the functions of the language reach the frontend: what a runtime value is, and who records operations.

A function such as `sin` does not know kernels. It hands its operation and arguments to the first runtime value among
them; if there is none but a kernel is being compiled, to the emitter in charge; otherwise it computes on the host.
"""

from __future__ import annotations

from inspect import getattr_static
from typing import Final, Protocol

from ..ir.opdef import OpDef
from ..ir.types import DType
from ..runtime.threads.scopes import Scopes, Within
from .kinds import KernelObject, Operand

__all__ = [
    "AtomicTarget",
    "Emitter",
    "ExprLike",
    "current_emitter",
    "emitting",
    "is_expr",
    "lowered",
    "lowering",
    "own",
]


_ABSENT: Final = object()


class Emitter(Protocol):
    """Records operations of the kernel being compiled."""

    def __adstack_emit__(self, row: OpDef, args: tuple[Operand, ...], /, **attrs: Operand) -> Operand:
        """The result of an operation of the language: a row of the table, or one of `operations.py`.

        `args` are runtime values and numbers (weak literals). Types are promoted, integers given to functions of reals
        are cast to the default float type, here. `to` in `attrs` is a `DType`, or Python's int, float or bool, which
        stand for the default types.
        """

    def inline(
        self, func: KernelObject, args: tuple[Operand, ...], kwargs: dict[str, Operand], owned: bool, /
    ) -> Operand:
        """The result of a `@func`, whose body is recorded here; if `owned`, its first argument is its object."""


class ExprLike(Emitter, Protocol):
    """A runtime scalar: has arithmetic, a type, and records what is done with it.

    Its operators return NotImplemented for vectors, matrices and structs, which then do the operation elementwise.
    """

    @property
    def dtype(self) -> DType:
        """The scalar type, after promotion."""


class AtomicTarget(Protocol):
    """What an atomic operation may change: an element of a place, or a local of a kernel."""

    def __adstack_atomic__(self, kind: str, values: tuple[Operand, ...], /) -> Operand:
        """Combine `values` into it as one step; the result is the old value. Kinds are those of `ir.ops.ATOMICS`."""


_EMITTERS: Final[Scopes[Emitter | None]] = Scopes(asks=True)
"""What records operations now, in each thread. A kernel that is called meanwhile is not launched."""
_LOWERINGS: Final[Scopes[object]] = Scopes()


def current_emitter() -> Emitter | None:
    """Who records operations now; None on the host."""
    return _EMITTERS.innermost() if _EMITTERS else None


def lowered() -> object:
    """What is being lowered: see `frontend.current`; None on the host."""
    return _LOWERINGS.innermost() if _LOWERINGS else None


def lowering(context: object) -> Within[object]:
    """Within this block `lowered` gives the context of a lowering."""
    return Within(_LOWERINGS, context)


def emitting(emitter: Emitter | None) -> Within[Emitter | None]:
    """Within this block functions of plain numbers are recorded by `emitter` (None: computed at once)."""
    return Within(_EMITTERS, emitter)


def own(value: object, name: str, default: KernelObject = None) -> KernelObject:
    """An attribute that an object has itself or by its type; else the default.

    That is how to ask what an object of the program's is: one that makes up its attributes (`__getattr__`) has every
    attribute, or fails.
    """
    if hasattr(type(value), name) or getattr_static(value, name, _ABSENT) is not _ABSENT:
        return getattr(value, name, default)
    return default


def is_expr(value: object) -> bool:
    """Whether `value` is a runtime scalar."""
    return hasattr(type(value), "__adstack_emit__")
