"""The functions of scalars that a program calls: each is written once, before what calls it."""

from __future__ import annotations

from collections.abc import Callable

from adstack.ir.structure import Function

from .spelling import symbol, type_name
from .writer import Writer

__all__ = ["Library"]

Write = Callable[[Writer, Function, list[str]], list[str]]
"""Writes the body of a function for such names of its parameters; the texts of its results."""


class Library:
    """Collects functions.

    Attributes:
        texts: of the functions, in the order in which they are to stand.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._names: dict[str, str] = {}

    def name(self, function: Function, write: Write) -> str:
        """What a function is called; it is written when that is asked first."""
        if function.name not in self._names:
            name = f"{symbol(function.name)}_"
            while name in self._names.values():
                name += "_"
            self._names[function.name] = name
            self.texts.append(self._written(function, name, write))
        return self._names[function.name]

    def _written(self, function: Function, name: str, write: Write) -> str:
        w = Writer()
        params = [w.name(arg.name or "x") for arg in function.body.args]
        results = write(w, function, params)
        types = [type_name(dtype) for dtype in function.returns]
        head = ""
        if len(types) == 1:
            (returned,), to = results, types[0]
        else:
            fields = " ".join(f"{kind} result{k};" for k, kind in enumerate(types))
            to, head = f"{name}results", f"struct {name}results {{ {fields} }};\n\n"
            returned = f"{to}{{{', '.join(results)}}}"
        w.line(f"return {returned};")
        listed = ", ".join(f"{type_name(v.dtype)} {n}" for v, n in zip(function.body.args, params, strict=True))
        return head + "\n".join([f"static {to} {name}({listed}) {{", *w.lines, "}"])
