"""Who records operations while a kernel is lowered: the emitter of the language's functions."""

from __future__ import annotations

from ..ir.opdef import OpDef
from ..values.func import Func
from ..values.kinds import Operand
from .emission.context import Context
from .emission.expr import emit
from .visitors.inlining import inline

__all__ = ["Recorder"]


class Recorder:
    """The `Emitter` of one lowering: see `values/protocol.py`."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def __adstack_emit__(self, row: OpDef, args: tuple[Operand, ...], /, **attrs: object) -> Operand:
        return emit(row, args, attrs)

    def inline(self, func: Func, args: tuple[Operand, ...], kwargs: dict[str, Operand], owned: bool, /) -> Operand:
        """See `Emitter.inline` in `values/protocol.py`."""
        return inline(self.context, func, list(args), kwargs, statement=False, owned=owned)
