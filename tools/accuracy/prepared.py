"""Writes reference/transforms/math/prepared: the functions of the math library as they are after the passes.

python -m adstack.tools.accuracy.prepared
"""

from __future__ import annotations

from pathlib import Path

from adstack.ir.builder import Builder
from adstack.ir.ops import CALL
from adstack.ir.structure import Function, Kernel, Region, Value
from adstack.ir.text.printer import print_ir
from adstack.transforms.math.library import NAMES, from_source
from adstack.transforms.math.prepared import FOLDER, FORMATS

__all__ = ["text_of", "texts", "write"]


def texts() -> dict[str, str]:
    """The name of each function that is kept -> its text, made from its source."""
    kept = (name for name, (_, dtype, _) in NAMES.items() if dtype in FORMATS)
    return {name: text_of(Function(name, from_source(*NAMES[name]))) for name in kept}


def text_of(function: Function) -> str:
    """A function in the text form of IR: what stands before a kernel that calls it."""
    b = Builder(Region([Value(dtype) for dtype in function.params]))
    b.append(CALL, b.region.args, function.returns, {"function": function})
    b.return_()
    text = print_ir(Kernel("caller", b.region), locs=False)
    return text[: text.index("kernel @caller")]


def write(folder: Path = FOLDER) -> None:
    """Write every file, and remove those of functions that are no more."""
    files = {f"{name}.ir": text for name, text in texts().items()}
    for path in folder.glob("*.ir"):
        if path.name not in files:
            path.unlink()
    for name, text in files.items():
        (folder / name).write_text(text, "ascii")


if __name__ == "__main__":
    write()
