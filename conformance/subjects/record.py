"""Keeps what a run of a peer found: `python -m adstack.conformance.subjects.record LOG VERSION`.

LOG is what `adstack conformance --subject PEER --log LOG` wrote. It becomes `results/peers/PEER-VERSION.json` (with
`-ARCH` behind the version, of another arch than the cpu), counts and a line per case that did not pass (see
`..report.compact`). What a peer that speaks the language did not pass on the cpu, and stands in no other list of gaps,
goes into the table of gaps in `runs.gaps`; what that table has of cells that were not run stays. Results in f32 stand
for those in f64 there. In what the run differs from the file that was there is printed.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from ..harness.cells import Gap
from ..harness.loading import Entry, collect
from ..harness.records import Record
from ..report.compact import Outcome, compact, differences, text
from ..report.log import Log
from ..report.summary import machine, suite_sources
from .gap_lists import gaps_of, listed
from .gaps import PEER_OPTIONS, TOLD_GAPS

__all__ = ["keep", "kept", "merged", "patterns", "runs"]

HERE: Final = Path(__file__).resolve().parent
LONGEST: Final = 120
"""Characters of a message that are kept."""
REASONS: Final = {
    "not match the numpy array shape": "forward mode takes no parameter of two axes",
    "MatrixPtrStmt": "the compiler fails on local vectors",
    "AllocaStmt>": "the compiler fails on local vectors",
    "Unrecognized keyword": "there is no such option",
    "unexpected keyword": "there is no such option",
    "IR broken": "the compiler breaks its own code",
    "Mixed usage": "reverse mode takes no statements beside loops",
    "RandStmt": "random numbers are not differentiated, not even by where they are constant",
    "no error bounds": "there are no error bounds",
    "has no attribute": "there is no such function",
    "Not supported": "there is no derivative of a statement",
}
"""What words of a refusal mean."""
STATES: Final = {
    "wrong gradient": "wrong gradient",
    "wrong value": "wrong",
    "crashed": "the process dies",
    "timed out": "the compiler does not end",
}


def latest(records: Iterable[Record], entries: Mapping[str, Entry]) -> dict[tuple[str, str], Record]:
    """The last result of each cell that still exists."""
    last = {(one["case"], one["mode"]): one for one in records}
    return {cell: last[cell] for cell in sorted(last) if cell[0] in entries and cell[1] in entries[cell[0]].case.modes}


def kept(peer: str, version: str, results: Mapping[tuple[str, str], Record]) -> Record:
    """What is committed of a peer's results: how many came to what, what did not pass, and digests of all states.

    How exact a peer's results are is not kept: it claims no budget. Nor are topics, where there is one alone.
    """
    cells = [Outcome(case, mode, one["status"], reason=_told(one)) for (case, mode), one in results.items()]
    matrix = compact(cells)
    del matrix["exactness"], matrix["digests"]["measured"]
    if len(matrix["topics"]) == 1:
        del matrix["topics"]
    head = {"peer": peer, "version": version, "options": dict(PEER_OPTIONS.get(peer.partition(":")[0], ()))}
    return {**head, "types": _types({cell.case for cell in cells}), **matrix}


def _types(cases: Iterable[str]) -> dict[str, int]:
    """How many cases there are of each floating-point type; "" for those that have one type alone."""
    return dict(sorted(Counter("".join(re.findall(r"[:,](f(?:16|32|64))(?=,|$)", case)[:1]) for case in cases).items()))


def _told(one: Record) -> str:
    """What was measured, without what differs from machine to machine; nothing of a pass."""
    if one["status"] == "pass":
        return ""
    message = re.sub(r" \(-?0x[^)]*\)", "", " ".join(one["message"].split()))
    message = re.sub(r"\[[\w.]+:\w+@\d+\] ", "", message)
    return re.sub(r"(File )?\"?/[^ \"]*/", "", message)[:LONGEST].rstrip()


def reason(one: Record) -> str:
    """Why, in a sentence for a gap."""
    if one["status"] in STATES:
        return STATES[one["status"]]
    reasons = [why for words, why in REASONS.items() if words in one["message"]]
    return reasons[0] if reasons else "refused: " + one["message"].partition(":")[0]


def patterns(
    results: Mapping[tuple[str, str], Record], gaps: Iterable[Gap], entries: Mapping[str, Entry]
) -> dict[tuple[str, str], list[str]]:
    """By mode and reason, what did not pass and is in no other list."""
    of_entry = {_any_float(case): case.partition(":")[0] for case in entries}
    sizes = Counter(of_entry.values())
    gaps, failed = tuple(gaps), defaultdict(set)
    for (case, mode), one in results.items():
        if one["status"] != "pass" and not any(gap.matches(entries[case], mode) for gap in gaps):
            failed[mode, reason(one), case.partition(":")[0]].add(_any_float(case))
    table: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (mode, why, slug), wanted in sorted(failed.items()):
        table[mode, why] += (
            [f"{slug}*"] if len(wanted) == sizes[slug] and not _is_prefix(slug, sizes) else sorted(wanted)
        )
    return table


def _is_prefix(slug: str, slugs: Iterable[str]) -> bool:
    return any(other != slug and other.startswith(slug) for other in slugs)


def _any_float(case: str) -> str:
    return re.sub(r"([:,])f(?:32|64)(?=,|$)", r"\1f*", case)


def runs(gaps: Mapping[str, Mapping[tuple[str, str], list[str]]]) -> str:
    """The text of `runs.gaps`: by peer, then by mode and reason, what the gaps cover."""
    return HEADER + "".join("\n" + listed([peer], gaps[peer]) for peer in sorted(gaps))


HEADER: Final = """\
# What peers did not pass in a run of all gradients, beside what other lists explain.
# Written by `python -m adstack.conformance.subjects.record`; see conformance/results/peers.
"""


def main(log: str, version: str) -> None:
    """Write both files."""
    entries = {entry.id: entry for entry in collect()}
    records = Log(Path(log)).records()
    (subject,) = {one["subject"] for one in records}
    peer, _, arch = subject.partition(":")
    results = latest(records, entries)
    name = "-".join(part for part in (peer, version, arch) if part)
    keep(HERE.parent / "results" / "peers" / f"{name}.json", kept(subject, version, results))
    if not arch and peer in TOLD_GAPS:
        gaps = {name: _by_reason(gaps_of_peer) for name, gaps_of_peer in gaps_of("runs").items()}
        new = patterns(results, TOLD_GAPS[peer], entries)
        gaps[peer] = merged(new, gaps_of("runs").get(peer, ()), results, entries)
        (HERE / "runs.gaps").write_text(runs(gaps), "utf-8")


def merged(
    new: Mapping[tuple[str, str], list[str]],
    old: Iterable[Gap],
    results: Mapping[tuple[str, str], Record],
    entries: Mapping[str, Entry],
) -> dict[tuple[str, str], list[str]]:
    """New gaps, by mode and reason, and those of the old ones that are about other cells than the results and these."""
    table = defaultdict(list, {key: list(covers) for key, covers in new.items()})
    fresh = [Gap(covers, why, mode) for (mode, why), names in new.items() for covers in names]
    for gap in old:
        matched = [(entry, mode) for entry in entries.values() for mode in entry.case.modes if gap.matches(entry, mode)]
        told = any((entry.id, mode) in results for entry, mode in matched)
        if not told and not any(one.matches(entry, mode) for entry, mode in matched for one in fresh):
            table[gap.mode, gap.reason].append(gap.covers)
    return {key: sorted(table[key]) for key in sorted(table)}


def keep(file: Path, matrix: Record) -> None:
    """Write a matrix, and say in what it differs from the one that the file has."""
    changes = differences(json.loads(file.read_text("utf-8")), matrix) if file.is_file() else ["there was none before"]
    print("\n".join(changes) or "the same as before")
    today = {"date": datetime.date.today().isoformat(), "sources": suite_sources(), "machine": machine()}
    file.write_text(text({**today, **matrix}), "utf-8")


def _by_reason(gaps: Iterable[Gap]) -> dict[tuple[str, str], list[str]]:
    """By mode and reason, what gaps cover."""
    table: dict[tuple[str, str], list[str]] = defaultdict(list)
    for gap in gaps:
        table[gap.mode, gap.reason].append(gap.covers)
    return table


if __name__ == "__main__":
    main(*sys.argv[1:])
