"""Other implementations of the language as subjects, each under the interpreter that has it installed.

The interpreter is the one given with `--python quadrants=PATH`, else that of the environment variable
ADSTACK_PYTHON_QUADRANTS, else this one. `quadrants:cuda` is Quadrants on another of its arches than the cpu.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..harness.cells import Subject
from .gaps import PEER_GAPS, PEER_OPTIONS

__all__ = ["PEERS", "peer_subject", "variable"]

PEERS: Final = tuple(PEER_GAPS)
_STANDALONE: Final = Path(__file__).resolve().parent.parent / "harness" / "standalone.py"
_ASK: Final = "import sys; from importlib import metadata; print(metadata.version(sys.argv[1]))"


def variable(peer: str) -> str:
    """The environment variable that names the interpreter of a peer."""
    return f"ADSTACK_PYTHON_{peer.upper()}"


def peer_subject(name: str, pythons: Mapping[str, str]) -> Subject:
    """The subject called "quadrants", "taichi" or "quadrants:cuda"; KeyError if there is no such peer."""
    peer, _, arch = name.partition(":")
    known = PEER_GAPS[peer]
    python = pythons.get(peer) or os.environ.get(variable(peer)) or sys.executable
    arch = arch or "cpu"
    gaps, options = known.get(arch, ()), PEER_OPTIONS[peer]
    version, problem = _version(python, peer)
    if problem:
        fix = f"install {peer} and name its interpreter: --python {peer}=PATH, or {variable(peer)}=PATH"
        return Subject(name, peer, arch, kind="unavailable", reason=problem, fix=fix, gaps=gaps)
    device = platform.processor() or platform.machine()
    return Subject(name, peer, arch, (python, str(_STANDALONE)), "native", device, version, gaps=gaps, options=options)


def _version(python: str, peer: str) -> tuple[str, str]:
    """The installed version, or what keeps us from knowing it."""
    try:
        done = subprocess.run([python, "-c", _ASK, peer], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", f"the interpreter {python} does not run: {error}"
    if done.returncode:
        return "", f"{peer} is not installed for {python}"
    lines = done.stdout.decode("utf-8", "replace").split("\n")  # what the interpreter itself prints comes first
    return next((line.strip() for line in reversed(lines) if line.strip()), "unknown"), ""
