"""Runs a user's program to look at its kernels, and makes up arguments for them."""

from __future__ import annotations

import contextlib
import re
import runpy
import sys
import traceback
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import adstack
from adstack.errors import AdstackError

Kernel: TypeAlias = Any
"""Something that a user's program made: a kernel, or an argument for one."""

__all__ = ["Program", "ProgramError", "sample_arguments", "split_target"]


class ProgramError(Exception):
    """A user's program, or what was asked about it, is at fault."""


@dataclass(frozen=True)
class Program:
    """A program that has been run: its global names."""

    path: Path
    names: dict[str, Kernel]

    @classmethod
    def run(cls, path: Path, arguments: Sequence[str] = ()) -> Program:
        """Run a file as a script with such arguments in `sys.argv`; what it prints goes to standard error."""
        if not path.is_file():
            raise ProgramError(f"there is no file {path}")
        sys.path.insert(0, str(path.parent))
        before, sys.argv = sys.argv, [str(path), *arguments]
        try:
            with contextlib.redirect_stdout(sys.stderr):
                return cls(path, runpy.run_path(str(path), run_name="__main__"))
        except (AdstackError, KeyboardInterrupt):
            raise
        except SystemExit as leaving:
            raise ProgramError(f"{path} ended itself with sys.exit({leaving.code!r})") from leaving
        except BaseException as error:
            raise ProgramError(_where(error, path)) from error
        finally:
            sys.argv = before
            sys.path.remove(str(path.parent))

    def kernels(self) -> list[str]:
        """Names of the kernels at module level."""
        return [name for name, value in self.names.items() if isinstance(value, adstack.Kernel)]

    def kernel(self, name: str) -> Kernel:
        """The kernel called so; "solver.step" is a method of an object."""
        value: Kernel = self.names.get(name.split(".")[0])
        for part in name.split(".")[1:]:
            value = getattr(value, part, None)
        if not hasattr(value, "stages"):
            names = ", ".join(self.kernels()) or "none at module level"
            raise ProgramError(f"{self.path} has no kernel {name!r}; its kernels: {names}")
        return value

    def arguments(self, text: str) -> tuple[Kernel, ...]:
        """The arguments that an expression like "x, 3" means among the program's names."""
        try:
            return tuple(eval(f"({text},)" if text.strip() else "()", dict(self.names)))
        except Exception as error:
            raise ProgramError(f"--args {text!r}: {type(error).__name__}: {error}") from error


def split_target(target: str) -> tuple[Path, str | None]:
    """FILE[:KERNEL] as a path and a name."""
    parts = re.fullmatch(r"(.+\.py):([A-Za-z_][\w.]*)", target)
    return (Path(parts[1]), parts[2]) if parts else (Path(target), None)


def _where(error: BaseException, path: Path) -> str:
    """The error with the last line of the user's own file that led to it."""
    mine = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
    line = f":{mine[-1].lineno}" if mine else ""
    source = f"\n    {mine[-1].line}" if mine else ""
    return f"{path}{line}: {type(error).__name__}: {error}{source}"


def sample_arguments(kernel: Kernel) -> tuple[Kernel, ...]:
    """Arguments of the annotated types: ones, and arrays of 4 elements an axis (one axis if it is left open)."""
    decorated: Kernel = getattr(kernel, "kernel", kernel)
    function: Callable[..., object] = decorated.function
    hints = typing.get_type_hints(function)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return tuple(_sample(name, hints.get(name)) for name in names if name != "self")


def _sample(name: str, annotation: Kernel) -> Kernel:
    if annotation in (int, float, bool) or isinstance(annotation, adstack.DType):
        return 1
    if annotation is adstack.types.ndarray or isinstance(annotation, adstack.types.ndarray):
        return _sample_array(annotation)
    if isinstance(annotation, adstack.types.MatrixType):
        return annotation(1)
    raise ProgramError(f"parameter {name!r} has no made-up argument; give the arguments: --args 'EXPRESSION, ...'")


def _sample_array(annotation: Kernel) -> Kernel:
    open_ = isinstance(annotation, type)
    shape = (4,) * ((None if open_ else annotation.ndim) or 1)
    dtype = (None if open_ else annotation.dtype) or adstack.f32
    needs_grad = bool(not open_ and annotation.needs_grad)
    if isinstance(dtype, adstack.types.MatrixType):
        return dtype.ndarray(shape, needs_grad=needs_grad)
    return adstack.ndarray(dtype, shape, needs_grad=needs_grad)
