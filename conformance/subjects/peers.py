"""Other implementations as subjects, each under the interpreter that has it installed.

The interpreter is the one given with `--python quadrants=PATH`, else that of the environment variable
ADSTACK_PYTHON_QUADRANTS, else this one. `quadrants:cuda` is Quadrants on another of its arches than the cpu.

Quadrants and Taichi speak the language, and cases import them. Any other compiler has an entry point, of the group
"adstack.subjects", and is told of launches over a pipe: see README.md.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from ..harness.cells import Subject
from ..harness.records import Record
from .gaps import PEER_GAPS, PEER_OPTIONS

__all__ = ["GROUP", "PEERS", "peer_subject", "variable"]

PEERS: Final = tuple(PEER_GAPS)
_MODULES: Final = {"warp-lang": "adstack.conformance.subjects.warp_language"}
"""What cases import of those that do not speak the language."""
_STANDALONE: Final = Path(__file__).resolve().parent.parent / "harness" / "standalone.py"
_PIPED: Final = "import sys; from adstack.conformance.harness.piped import main; main(*sys.argv[1:])"
GROUP: Final = "adstack.subjects"
"""Of entry points."""
_ASK: Final = """
import json, sys
from importlib import metadata
group, name = sys.argv[1:]
points = list(metadata.entry_points(group=group, name=name))
told = points[0].load()() if points else {"version": metadata.version(name)}
print(json.dumps(told))
"""


def variable(peer: str) -> str:
    """The environment variable that names the interpreter of a peer."""
    return f"ADSTACK_PYTHON_{peer.upper()}"


def peer_subject(name: str, pythons: Mapping[str, str]) -> Subject:
    """The subject called "quadrants", "taichi", "quadrants:cuda", or as an entry point is called in its environment."""
    peer, _, arch = name.partition(":")
    python = pythons.get(peer) or os.environ.get(variable(peer)) or sys.executable
    arch = arch or "cpu"
    gaps, options = PEER_GAPS.get(peer, {}).get(arch, ()), PEER_OPTIONS.get(peer, ())
    answer, problem = _told(python, peer)
    if problem:
        fix = f"install {peer} and name its interpreter: --python {peer}=PATH, or {variable(peer)}=PATH"
        return Subject(name, peer, arch, kind="unavailable", reason=problem, fix=fix, gaps=gaps)
    device = platform.processor() or platform.machine()
    about = Subject(
        name, _MODULES.get(peer, peer), arch, (python, str(_STANDALONE)), "native", device, answer["version"]
    )
    if "command" in answer:
        command = (sys.executable, "-c", _PIPED, json.dumps(answer["command"]))
        return replace(about, module="adstack", arch="reference", command=command, device=answer.get("device", device))
    return replace(about, gaps=gaps, options=options)


def _told(python: str, peer: str) -> tuple[Record, str]:
    """What a peer says of itself: the version that is installed, at least; or what keeps us from knowing it."""
    try:
        done = subprocess.run([python, "-c", _ASK, GROUP, peer], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {}, f"the interpreter {python} does not run: {error}"
    if done.returncode:
        return {}, f"{peer} is not installed for {python}"
    lines = done.stdout.decode("utf-8", "replace").split("\n")  # what the interpreter itself prints comes first
    answer: Record = json.loads(next(line for line in reversed(lines) if line.strip()))
    return answer, ""
