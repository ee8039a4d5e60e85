"""`adstack dump` and `adstack explain`: what becomes of a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import click
from rich.console import Console

from adstack import inspection

from .loading.programs import Program, ProgramError, sample_arguments, split_target
from .terminal.console import console

__all__ = ["dump", "explain"]

DUMP_EPILOG: Final = """\b
Examples:
  adstack dump program.py:step
  adstack dump program.py:step --stage tasks
  adstack dump program.py:scale --args 'x, 0.5'
  adstack dump program.py --stage frontend > kernels.ir
  adstack dump program.py:step --stage msl > step.metal
  adstack dump program.py:step --stage amdgcn:gfx942
"""
EXPLAIN_EPILOG: Final = """\b
Examples:
  adstack explain program.py
  adstack explain program.py:step
  adstack explain program.py:solver.step --args 'mesh, 10'
"""
TARGET = click.argument("target", metavar="FILE[:KERNEL]", type=click.Path())
ARGS = click.option(
    "--args",
    "arguments",
    metavar="EXPRESSIONS",
    help="Arguments for the kernel, in terms of the program's names. Default: made up from the annotations.",
)


@click.command(epilog=DUMP_EPILOG)
@TARGET
@click.option("--stage", "-s", "stages", multiple=True, metavar="STAGE", help="Only this stage; repeatable.")
@ARGS
def dump(target: str, stages: tuple[str, ...], arguments: str | None) -> None:
    """Print the IR of a kernel at each stage, from "frontend" to "tasks", and what the backend made of it.

    The program runs first, because what a kernel captures is known only then; its own output goes to standard error.
    Without KERNEL, every kernel at module level is shown. On any machine `--stage msl` is the Metal Shading
    Language, `--stage ptx` the code for NVIDIA's GPUs, `--stage spirv` for Vulkan, `--stage amdgcn` for AMD's GPUs.
    """
    out = console()
    for name, kernel, args in _asked(target, arguments):
        texts: dict[str, str] = kernel.stages(*args)
        for stage in set(stages) - texts.keys():
            if stage.partition(":")[0] in inspection.SOURCES:
                texts[stage] = inspection.translated(texts["tasks"], stage)
        unknown = [stage for stage in stages if stage not in texts]
        if unknown:
            raise click.BadParameter(f"{unknown[0]!r}; there are {', '.join(texts)}", param_hint="--stage")
        before = ""
        for stage in stages or texts:
            unchanged = not stages and texts[stage] == before
            _section(out, f"{name}: {stage}", "# as before" if unchanged else texts[stage])
            before = texts[stage]


@click.command(epilog=EXPLAIN_EPILOG)
@TARGET
@ARGS
def explain(target: str, arguments: str | None) -> None:
    """Say how a kernel runs: its tasks, what is parallel and over what, which places it reads and writes.

    The program runs first, because what a kernel captures is known only then; its own output goes to standard error.
    """
    out = console()
    for name, kernel, args in _asked(target, arguments):
        _section(out, name, kernel.explain(*args))


def _asked(target: str, arguments: str | None) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    path, name = split_target(target)
    program = Program.run(path)
    names = [name] if name else program.kernels()
    if not names:
        raise ProgramError(f"{path} has no kernel at module level; name one: {path}:KERNEL")
    for each in names:
        kernel = program.kernel(each)
        values = sample_arguments(kernel) if arguments is None else program.arguments(arguments)
        yield each, kernel, values


def _section(out: Console, title: str, text: str) -> None:
    """A heading and a text; in a pipe the heading is a comment, so that the whole stays readable by programs."""
    if out.is_terminal:
        out.rule(f"[bold]{title}[/]", align="left")
    else:
        click.echo(f"# ==== {title}")
    click.echo(text.rstrip("\n"))
