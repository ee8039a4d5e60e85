"""Instructions of compiling and of launching, counted by valgrind: `python -m adstack.tools.instructions [--write]`.

A process runs under callgrind, which counts nothing until the work begins: imports cost little. Counts repeat within
the limit, whatever else the machine does; they differ between versions of Python, numpy and LLVM, which the golden file
names: where these are others, counts inform. A run takes a minute of an idle processor, so that it is for the night.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Final

import click

from .bench.asv.catalogue import FOLDER

__all__ = ["GOLDEN", "LIMIT", "counted", "environment", "main", "moved", "parts"]

GOLDEN: Final = FOLDER / "instructions.json"
LIMIT: Final = 0.01
_WORK: Final = "adstack.tools.counted_work"
_PART: Final = re.compile(r"^desc: Trigger: Client Request: ([^\n]+)$.*?^summary: (\d+)$", re.MULTILINE | re.DOTALL)


def environment() -> dict[str, str]:
    """What counts depend on: versions of what is counted, and of what counts."""
    version = subprocess.run(["valgrind", "--version"], check=True, capture_output=True, text=True).stdout.strip()
    libraries = {name: metadata.version(name) for name in ("llvmlite", "numpy")}
    return {"python": platform.python_version(), **libraries, "valgrind": version.removeprefix("valgrind-")}


def counted() -> dict[str, int]:
    """Instructions of each work of `counted_work`, in a process of its own.

    Raises:
        subprocess.CalledProcessError: the process fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/part"]
        fixed = {**os.environ, "PYTHONHASHSEED": "0"}  # the order of sets decides what compiling does
        subprocess.run([*valgrind, sys.executable, "-m", _WORK], check=True, env=fixed, stderr=subprocess.DEVNULL)
        return parts(Path(folder))


def parts(folder: Path) -> dict[str, int]:
    """Instructions by name, of the files that callgrind wrote upon requests."""
    matches = (_PART.search(path.read_text("utf-8")) for path in sorted(folder.glob("part.*")))
    return {match[1]: int(match[2]) for match in matches if match}


def moved(golden: Mapping[str, int], counts: Mapping[str, int]) -> list[str]:
    """A line for each count that is off by more than a hundredth, or that only one side knows."""
    lines = [f"{name}: {golden[name]:,} -> not counted" for name in golden if name not in counts]
    for name, count in counts.items():
        before = golden.get(name)
        if before is None:
            lines.append(f"{name}: not there -> {count:,}")
        elif abs(count - before) > LIMIT * before:
            lines.append(f"{name}: {before:,} -> {count:,}, {count / before - 1:+.1%}")
    return lines


@click.command()
@click.option("--write", is_flag=True, help="Write what is counted into the golden file.")
def main(write: bool) -> None:
    """Compare counts with the golden file, within 1 %; exit status 1 if one moved, with the same versions of all."""
    if shutil.which("valgrind") is None:
        raise click.ClickException("no valgrind here: apt-get install valgrind")
    here, counts = environment(), counted()
    if write:
        GOLDEN.write_text(json.dumps({"environment": here, "instructions": counts}, indent=1) + "\n")
        return
    golden = json.loads(GOLDEN.read_text())
    lines = moved(golden["instructions"], counts)
    click.echo("\n".join(lines) or f"{len(counts)} counts are as they were, within {LIMIT:.0%}")
    if golden["environment"] != here:
        click.echo(f"the golden file is of {golden['environment']}, this is {here}: counts inform")
    elif lines:
        sys.exit(1)


if __name__ == "__main__":
    main()
