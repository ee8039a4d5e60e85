"""Runs cases in one process, as many as time allows, for tools that watch it: `adstack.tools.device.cases`."""

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
    """The first variant of every case, then the second ones and so on, each time spread over the topics."""
    entries = [entry for entry in collect() if not topics or entry.topic in topics]
    variants, turn = Counter[str](), Counter[tuple[int, str]]()
    order = {}
    for entry in entries:
        case = entry.id.partition(":")[0]
        which = variants[case]
        variants[case] += 1
        order[entry.id] = which, turn[which, entry.topic]
        turn[which, entry.topic] += 1
    return sorted(entries, key=lambda entry: order[entry.id])


def main() -> int:
    """Run cases until the time is over; how they ended, by outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="cuda")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--topic", action="append", default=[])
    asked = parser.parse_args()
    capture = SimpleNamespace(mark=lambda: 0, since=lambda mark: "")
    entries, outcomes = chosen(asked.topic), Counter[str]()
    reached, end = 0, time.monotonic() + asked.seconds
    for entry in entries:
        if time.monotonic() > end:
            break
        reached += 1
        for mode in entry.case.modes:
            with contextlib.redirect_stdout(io.StringIO()):
                request = Request(str(CASES), entry.path, entry.id, mode, 1)
                outcomes[perform(request, Target(qd, asked.arch), capture)["outcome"]] += 1  # type: ignore[arg-type]
    qd.reset()
    print(f"{sum(outcomes.values())} runs of {reached} variants of {len(entries)}: {dict(outcomes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
