"""Runs the parts."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from adstack.conformance.harness.records import Record

from .results import NAME, results

_TAIL: Final = 6000
_SANITIZER: Final = "compute-sanitizer"
_TOOLKITS: Final = ("/usr/local/cuda/bin", "/opt/cuda/bin")


@dataclass(frozen=True)
class Part:
    """One thing to do.

    Attributes:
        name: how it is asked for.
        seconds: that it may take.
        command: what runs.
        file: JSON written by it.
    """

    name: str
    seconds: float
    command: tuple[str, ...]
    file: str = ""


def parts(out: Path, arch: str, jobs: int) -> list[Part]:
    """All parts, the most important first.

    Args:
        out: the folder that they write results to.
        arch: the backend.
        jobs: processes of the suite at a time.
    """
    python = (sys.executable, "-m")
    suite = (*python, "adstack.tools.cli", "conformance", "-b", arch, "-j", str(jobs), "--timeout", "40")
    cases = (*python, "adstack.tools.device.cases", "--arch", arch, "--seconds")
    sanitized = (tool(_SANITIZER), "--target-processes", "all", "--error-exitcode", "9", "--tool")
    return [
        Part("smoke", 100, (*python, "adstack.tools.device.smoke", arch)),
        Part("driver", 100, (*python, "adstack.tools.device.driver")),
        Part("conformance", 300, (*suite, "--json", str(out / "conformance.json")), "conformance.json"),
        Part("limit", 60, (*python, "adstack.tools.device.limit", str(out / "limit.json")), "limit.json"),
        Part(
            "throughput",
            100,
            (*python, "adstack.tools.device.throughput", arch, str(out / "throughput.json")),
            "throughput.json",
        ),
        Part("exchange", 60, (*python, "adstack.tools.device.exchange", str(out / "exchange.json")), "exchange.json"),
        Part("peers", 200, (*python, "adstack.tools.device.peers", arch, str(out / "peers.json")), "peers.json"),
        Part("several", 200, (*python, "adstack.tools.device.several", str(out / "several.json")), "several.json"),
        Part("memcheck", 200, (*sanitized, "memcheck", *cases, "170")),
        Part("racecheck", 80, (*sanitized, "racecheck", *cases, "50", "--topic", "parallel", "--topic", "memory")),
    ]


def tool(name: str) -> str:
    """A program of CUDA's toolkit, which may not be on the path."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *_TOOLKITS])
    return shutil.which(name, path=path) or name


def run(part: Part, seconds: float, log: TextIO) -> Record:
    """Run a part.

    Args:
        part: what to run.
        seconds: after so many it is stopped, with code 124.
        log: gets what the part writes.

    Returns:
        The exit code ("code"), the time it took in seconds, and the end of what it wrote.
    """
    log.write(f"==== {part.name}: {' '.join(part.command)}\n")
    log.flush()
    start = time.monotonic()
    try:
        done = subprocess.run(
            part.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False
        )
        code, said = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
        code, said = 124, output.decode(errors="replace") if isinstance(output, bytes) else output
    except OSError as error:
        code, said = 127, str(error)
    log.write(said + "\n")
    log.flush()
    return {"code": code, "seconds": round(time.monotonic() - start, 1), "end": said[-_TAIL:]}


def main() -> int:
    """Run what is asked for, within the time there is; 0 if everything went well."""
    parser = argparse.ArgumentParser(prog="python -m adstack.tools.device", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="where the findings go")
    parser.add_argument("--arch", default="cuda")
    parser.add_argument("--part", action="append", help="only this part; repeatable")
    parser.add_argument("--seconds", type=float, default=560, help="for everything (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=min(12, os.cpu_count() or 1), help="of the suite")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + asked.seconds
    summary: Record = {}
    wanted = parts(asked.out, asked.arch, asked.jobs)
    files = {part.name: part.file for part in wanted}
    with (asked.out / "log.txt").open("w") as log:
        for part in wanted:
            if asked.part and part.name not in asked.part:
                continue
            left = end - time.monotonic()
            summary[part.name] = (
                run(part, min(part.seconds, left), log) if left > 1 else {"code": -1, "end": "no time left"}
            )
            (asked.out / "summary.json").write_text(json.dumps(summary, indent=1))
            (asked.out / NAME).write_text(json.dumps(results(asked.out, files, summary), indent=1) + "\n")
            print(part.name, summary[part.name]["code"], summary[part.name].get("seconds"), flush=True)
            print(summary[part.name]["end"][-1500:], flush=True)
    return int(any(part["code"] for part in summary.values()))


if __name__ == "__main__":
    sys.exit(main())
