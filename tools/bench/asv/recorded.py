"""What records say, in terms of the benchmarks in `asv_benchmarks/benchmarks/recorded.py`.

There are those of `adstack bench --json`, of `adstack.tools.device.peers` and `throughput`, and of
`asv_benchmarks.benchmarks.adjoints`; `conformance/results/bench` has some of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from adstack.conformance.harness.records import Record

from .catalogue import Setting
from .results import Figures, Point

__all__ = ["Recorded", "of_record", "of_run"]

_MICROSECONDS: Final = 1e-6
_MILLISECONDS: Final = 1e-3
_OTHER_WORK: Final = {("product", "290f1e8"), ("product", "71c698e")}
"""Works that were others at that commit: the product was without its norm."""


@dataclass(frozen=True)
class Recorded:
    """A part of a record: what was measured at one commit on one machine.

    Attributes:
        commit: its hash, or the first digits.
        about: the machine, as the record has it.
        gpu: the device; empty where that is the processor.
        figures: by benchmark and setting.
        variables: of the environment, with which it ran.
    """

    commit: str
    about: Record
    gpu: str
    figures: Figures
    variables: Mapping[str, str] = field(default_factory=dict)


def of_record(record: Record | list[Record]) -> Iterator[Recorded]:
    """The parts of a file that are figures of one of the kinds that are known; there may be none."""
    for run in record if isinstance(record, list) else [record]:
        about = dict(run.get("machine", {}))
        gpu = _device(str(run.get("device", about.pop("device", ""))))
        if "rows" in run:
            yield Recorded(str(run["commit"]), about, gpu, of_run(run), run.get("environment", {}))
        elif isinstance(run.get("runs"), list):
            for one in run["runs"]:
                yield Recorded(str(one["commit"]), about, gpu, {_ADJOINTS: dict(_adjoints(one))})
        else:
            yield from _parts(run, about, gpu)


def _device(text: str) -> str:
    """A GPU's name, without its driver."""
    return text.partition(",")[0].strip()


def _parts(run: Record, about: Record, gpu: str) -> Iterator[Recorded]:
    """What several tools wrote on one device, side by side: the name of each begins with the backend."""
    for name, part in run.items():
        arch = name.partition(":")[0].partition(",")[0]
        if not isinstance(part, dict):
            continue
        if "rows" in part:
            yield Recorded(str(part["commit"]), about, gpu, of_run(part))
        elif "peers" in part:
            yield Recorded(str(run["commit"]), about, gpu, {_DEVICES: _peers(part["peers"])})
        elif "device.throughput" in name:
            yield Recorded(str(part["commit"]), about, gpu, {_DEVICES: dict(_throughput(arch, part))})


_DEVICES: Final = "recorded.Devices.track_seconds"
_ADJOINTS: Final = "recorded.Adjoints.track_seconds"


def of_run(run: Record) -> Figures:
    """The figures of one run of `adstack bench`, as its JSON has them."""
    seconds: dict[Setting, Point] = {}
    ratios: dict[Setting, Point] = {}
    for row in run["rows"]:
        for name, result in row["results"].items() if not row.get("target") else ():
            setting = _setting(run["arch"], name, row["name"])
            if row.get("size") != "reduced" and "wall" in result:
                seconds[setting] = Point(result["wall"]["median"], tuple(result["samples"]))
            if row.get("size") != "reduced" and "ratio" in result:
                ratios[setting] = Point(result["ratio"]["median"])
    return {"recorded.Rows.track_seconds": seconds, "recorded.Ratios.track_ratio": ratios}


def _setting(*values: str) -> Setting:
    return tuple(map(repr, values))


def _peers(peers: Mapping[str, Record]) -> dict[Setting, Point]:
    """The least of some runs, and all of them, of everyone on CUDA."""
    points = {}
    for name, mine in peers.items():
        for work, value in mine["least"].items():
            group, _, row = work.partition(" ")
            scale, of = _scale(group), _reader(group, row)
            samples = tuple(scale * figure for run in mine["runs"] if (figure := of(run)) is not None)
            points[_setting("cuda", name, work)] = Point(scale * value, samples)
    return points


def _scale(group: str) -> float:
    return _MICROSECONDS if group == "dispatch" else _MILLISECONDS


def _reader(group: str, row: str) -> Callable[[Record], float | None]:
    """What reads a row of a group of a run; kernels written by hand have those of the recurrence outside of groups."""

    def read(run: Record) -> float | None:
        figure = run.get(group, run).get(row)
        return float(figure) if isinstance(figure, (int, float)) else None

    return read


def _throughput(arch: str, part: Record) -> Iterator[tuple[Setting, Point]]:
    """One implementation's figures, or those of several by name."""
    several = {"adstack": part} if "dispatch" in part else {k: one for k, one in part.items() if isinstance(one, dict)}
    for name, one in several.items():
        for group in ("dispatch", "recurrence", "gather"):
            for row, value in one[group].items():
                if not row.endswith("off by"):
                    yield _setting(arch, name, f"{group} {row}"), Point(_scale(group) * value)


def _adjoints(run: Record) -> Iterator[tuple[Setting, Point]]:
    for work, figures in run["works"].items():
        if (work, run["commit"]) not in _OTHER_WORK:
            for direction in ("forward", "reverse"):
                yield _setting(run["arch"], work, direction), Point(_MILLISECONDS * figures[direction])
