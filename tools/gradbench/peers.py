"""GradBench's own tools: how they are built in a checkout, the command of each, and which versions they are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from adstack.conformance.gradbench.session import TOOL
from adstack.conformance.harness.records import Record

__all__ = ["COMPILED", "TOOLS", "asked", "build", "command", "packages", "versions"]

COMPILED: Final = ("manual", "manual-openmp", "tapenade", "adol-c", "finite")
"""The tools in C++ and C; `manual-openmp` is `manual`, built for several threads."""
TOOLS: Final = ("adstack", *COMPILED, "pytorch", "jax")

_ONLY: Final = {"finite": ("particle", "saddle")}
"""Finite differences are no derivatives, and stand where the other tools in C++ have no program."""
_JSON: Final = "/usr/include/nlohmann"
_PEER: Final = Path(__file__).with_name("peer.py")
_ASK: Final = """
import importlib.metadata, json
print(json.dumps({name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "numpy", "torch")}))
"""


def asked(tool: str, name: str) -> bool:
    """Whether the tool is asked for an eval; that it has a program for it is another question."""
    return name in _ONLY.get(tool, (name,))


def command(tool: str, python: str) -> Sequence[str]:
    """The command that answers GradBench's protocol; it runs in the checkout."""
    return TOOL.split() if tool == "adstack" else [python, str(_PEER), tool]


def build(checkout: Path) -> None:
    """Builds the tools that `make` knows, as far as they can be built here; what is up to date stays.

    The library of JSON is Debian's `nlohmann-json3-dev`; ADOL-C is `libadolc-dev`.
    """
    tools = checkout / "tools"
    if not (tools / "manual-openmp").exists():
        shutil.copytree(tools / "manual", tools / "manual-openmp", ignore=shutil.ignore_patterns("bin", "*.o"))
    environment = {**os.environ, "CPATH": os.pathsep.join(filter(None, (_JSON, os.environ.get("CPATH"))))}
    for tool in COMPILED:
        threads = "yes" if tool == "manual-openmp" else "no"
        make = ["make", "--keep-going", "--silent", "-C", str(tools / tool), f"MULTITHREADED={threads}"]
        if subprocess.run(make, env=environment, capture_output=True, check=False).returncode:
            print(f"{tool}: not all of it can be built", file=sys.stderr)


def versions(checkout: Path, python: str) -> Record:
    """What identifies the peers: the commit of GradBench, the compiler, and the packages of the peers' Python."""
    return {
        "gradbench": _output(["git", "-C", str(checkout), "rev-parse", "--short=12", "HEAD"]),
        "compiler": _output([os.environ.get("CXX", "c++"), "--version"]).partition("\n")[0],
        "adol-c": _output(["dpkg-query", "--show", "--showformat=${Version}", "libadolc-dev"]),
        **packages(python),
    }


def packages(python: str) -> Record:
    """The versions of the packages that a Python has of those that the tools need."""
    answer: Record = json.loads(_output([python, "-c", _ASK]))
    return answer


def _output(arguments: Sequence[str]) -> str:
    """What a command prints; empty if there is no such command, or it fails."""
    if shutil.which(arguments[0]) is None:
        return ""
    return subprocess.run(arguments, capture_output=True, text=True, check=False).stdout.strip()
