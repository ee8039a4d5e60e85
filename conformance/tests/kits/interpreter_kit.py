"""What the interpreter's tests share: programs written as IR text, run and compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from adstack.interpreter import RunOptions, run
from adstack.ir.structure import Kernel, Program
from adstack.ir.text.parser import parse_ir
from adstack.ir.verify.verifier import verify

Array = npt.NDArray[Any]


def read(text: str) -> Kernel | Program:
    """The verified kernel or program of a text."""
    program = parse_ir(text)
    verify(program)
    return program


def run_text(text: str, buffers: dict[str, Array] | None = None, scalars: Any = (), **options: Any) -> tuple[Any, ...]:
    """Run a text."""
    return run(read(text), buffers or {}, scalars, options=RunOptions(**options))


def serial(body: str, signature: str = "", places: str = "") -> str:
    """A kernel with the given parameters, results and places around serial ops that end with `return`."""
    return f"kernel @k{signature or '()'} {{\n{places}\n{body}\n}}\n"


def parallel(body: str, n: int, places: str = "", params: str = "", index: str = "i32") -> str:
    """A kernel that runs `body` for %i from 0 to n in parallel."""
    return f"""kernel @k({params}) {{
{places}
      %zero = const 0 : {index}
      %n = const {n} : {index}
      parallel_for (%i = %zero to %n) {{
{body}
        yield
      }}
      return
    }}
"""


def same_bits(a: Any, b: Any) -> bool:
    """Equal in type and value, signed zeros told apart, any NaN like any other."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool(np.all(a == b))
    number = (a == b) & (np.signbit(a) == np.signbit(b))
    return bool(np.all(number | (np.isnan(a) & np.isnan(b))))
