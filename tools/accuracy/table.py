"""The tables of reference/spec/math.md, from the results on file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from adstack.ir.types import FLOATS, DType

from .results import ROOT, Result, load
from .truth import TRUTH

__all__ = ["PAGE", "tables", "write"]

PAGE: Final = ROOT / "reference" / "spec" / "math.md"
BEGIN: Final = "<!-- tables: written by python -m adstack.tools.accuracy --table -->"
END: Final = "<!-- end of tables -->"


def tables() -> str:
    """A table per format, as Markdown."""
    return "\n".join(line for dtype in reversed(FLOATS) for line in _table(dtype))


def _table(dtype: DType) -> Iterator[str]:
    records = [r for name in TRUTH if (r := load(name, dtype)) is not None]
    if not records:
        return
    yield f"**{dtype}**\n"
    yield "| function | max ulp | at | tried | by mpmath | float ops | all ops | ns | numpy's ns |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    yield from map(_row, records)
    yield ""


def _row(r: Result) -> str:
    at = ", ".join(f"{float.fromhex(a):.9g}" for a in r.at)
    tried = "all" if r.exhaustive else f"{r.points:.3g}"
    cells = (f"`{r.function}`", f"{r.max_ulp:.4f}", at, tried, r.judged, r.float_ops, r.ops, r.ns, r.numpy_ns)
    return "| " + " | ".join(map(str, cells)) + " |"


def write() -> None:
    """Put the tables into the page, between its marks."""
    text = PAGE.read_text()
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    PAGE.write_text(f"{head}{BEGIN}\n\n{tables()}\n{END}{tail}")
