"""Who records operations while a kernel is lowered: the emitter of the language's functions."""

from __future__ import annotations

from typing import Any

from ..values.func import Func
from .emission.context import Context
from .emission.expr import emit
from .visitors.inlining import inline

__all__ = ["Recorder"]


class Recorder:
    """The `Emitter` of one lowering: see `values/protocol.py`."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def _emit(self, name: str, args: tuple[Any, ...], /, **attrs: Any) -> Any:
        return emit(name, args, attrs)

    def _inline(self, func: Func, args: tuple[Any, ...], kwargs: dict[str, Any], owned: bool, /) -> Any:
        return inline(self.context, func, list(args), kwargs, statement=False, owned=owned)
