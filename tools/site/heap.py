"""Heap reports: what gradients keep, as the language itself tells of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

__all__ = ["heap"]

_KERNELS: Final = """
import adstack as qd

qd.init(arch=qd.cpu)
x = qd.field(qd.f32, shape=4096, needs_grad=True)
y = qd.field(qd.f32, shape=4096, needs_grad=True)
n = qd.field(qd.i32, shape=4096)
n.fill(16)


@qd.kernel
def recurrence():
    for i in x:
        v = x[i]
        for _ in range(64):
            v = qd.sin(v) * 0.9 + 0.1
        y[i] = v


@qd.kernel
def ragged():
    for i in x:
        v = x[i]
        for j in range(n[i]):
            for _ in range(j):
                v = qd.sin(v) * 0.9 + 0.1
        y[i] = v


@qd.kernel
def square():
    for i in x:
        y[i] = x[i] * x[i]
"""


def heap(folder: Path) -> str:
    """The page of heap reports: kernels, and what `adstack_report` says of their gradients; they run on the processor.

    Args:
        folder: where the program is written: kernels are read from their sources.
    """
    path = folder / "heap_program.py"
    path.write_text(_KERNELS, "utf-8")
    names: dict[str, Any] = {"__name__": "heap_program", "__file__": str(path)}
    exec(compile(_KERNELS, str(path), "exec"), names)
    parts = ["# What gradients keep", _HEAP, f"```python{_KERNELS}```"]
    for name in ("recurrence", "ragged", "square"):
        kernel = names[name]
        kernel()
        kernel.grad()
        parts.append(f"## {name}\n\n```text\n{kernel.grad.adstack_report(use=True)}\n```")
    return "\n\n".join(parts) + "\n"


_HEAP: Final = """\
`kernel.grad.adstack_report()` says of every adstack what it keeps, for which line, why and how deep, and what memory
the last launch took. These reports were made when this site was built."""
