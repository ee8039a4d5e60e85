"""One of GradBench's tools, under the Python of the peers: `PATH peer.py TOOL`, in a checkout of GradBench.

It runs GradBench's own code. A tool in C++ is taken as it has been built, rather than built anew for each eval. JAX
gives back arrays that are still being computed: its functions are wrapped so that they wait for them, which GradBench
doesn't. JAX may use all processors, as PyTorch does.
"""

from __future__ import annotations

import argparse
import importlib
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

Decorate: TypeAlias = Callable[..., Any]


def wait_for_results() -> None:
    """Makes GradBench's timed functions wait for what JAX computes."""
    from gradbench import wrap

    jax: Any = importlib.import_module("jax")

    def waiting(decorator: Decorate) -> Decorate:
        def decorate(**options: Any) -> Decorate:
            timed = decorator(**options)
            return lambda function: timed(lambda value: jax.block_until_ready(function(value)))

        return decorate

    wrap.function, wrap.multiple_runs = waiting(wrap.function), waiting(wrap.multiple_runs)


def compiled(tool: str) -> None:
    """Answers for a tool that has been built."""
    from gradbench import cpp

    cpp.define = lambda *, args, module: {"success": Path("tools", args.tool, "bin", module).exists()}
    cpp.run(argparse.Namespace(tool=tool))


def main(tool: str) -> None:
    """Answers until stdin ends."""
    python = Path.cwd() / "python" / "gradbench"
    script = python / "gradbench" / "tools" / tool / "run.py"
    sys.path.insert(0, str(python))
    if tool not in ("jax", "pytorch"):
        compiled(tool)
        return
    sys.path.insert(0, str(script.parent))
    if tool == "jax":
        wait_for_results()
    sys.argv = [str(script), *(["--multithreaded"] if tool == "jax" else [])]
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1])
