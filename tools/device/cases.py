"""Runs one variant of every case in one process, for tools that watch it: `python -m adstack.tools.device.cases`."""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import time
from collections import Counter
from types import SimpleNamespace

import adstack as qd
from adstack.conformance.harness.execute import Request, Target, perform
from adstack.conformance.harness.loading import CASES, Entry, collect

__all__ = ["main"]


def chosen(topics: list[str]) -> list[Entry]:
    """The first variant of every case, spread over the topics."""
    found: dict[str, Entry] = {}
    for entry in collect():
        if not topics or entry.topic in topics:
            found.setdefault(entry.id.partition(":")[0], entry)
    turn: Counter[str] = Counter()
    order = {}
    for entry in found.values():
        turn[entry.topic] += 1
        order[entry.id] = turn[entry.topic]
    return sorted(found.values(), key=lambda entry: order[entry.id])


def main() -> int:
    """Run cases until the time is over; how they ended, by outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="cuda")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--topic", action="append", default=[])
    asked = parser.parse_args()
    end, outcomes = time.monotonic() + asked.seconds, Counter[str]()
    capture = SimpleNamespace(mark=lambda: 0, since=lambda mark: "")
    entries = chosen(asked.topic)
    for entry in entries:
        for mode in entry.case.modes:
            if time.monotonic() > end:
                break
            with contextlib.redirect_stdout(io.StringIO()):
                request = Request(str(CASES), entry.path, entry.id, mode, 1)
                outcomes[perform(request, Target(qd, asked.arch), capture)["outcome"]] += 1  # type: ignore[arg-type]
    qd.reset()
    print(f"{sum(outcomes.values())} runs of {len(entries)} cases: {dict(outcomes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
