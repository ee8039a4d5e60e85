"""The goals of adstack, as data: what is compared with what, the limit, and why one is missed.

Figures are asv's (`asv/recorded.py`): a goal is judged by one run on one machine, the newest that has all it needs.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from .asv.catalogue import Setting

__all__ = ["GOALS", "ROWS_OF_GOALS", "Goal", "Term"]

Term: TypeAlias = tuple[str, Setting]
"""A benchmark and a setting of it."""


@dataclass(frozen=True)
class Goal:
    """One goal.

    Attributes:
        table: "targets", "launches" or "adjoints".
        what: is compared.
        limit: at most that much.
        terms: the figures it takes.
        of: what is computed of these.
        unit: "s" for seconds; "x" for ratios.
        gap: why it is missed, or has not been measured; empty where it is met.
    """

    table: str
    what: str
    limit: float
    terms: tuple[Term, ...]
    of: Callable[[Sequence[float]], float] = lambda values: values[0]
    unit: str = "x"
    gap: str = ""


def _row(arch: str, row: str, who: str = "adstack") -> Term:
    return "recorded.Rows.track_seconds", (repr(arch), repr(who), repr(row))


def _ratio(arch: str, peer: str, row: str) -> Term:
    return "recorded.Ratios.track_ratio", (repr(arch), repr(peer), repr(row))


def _device(arch: str, work: str, who: str = "adstack") -> Term:
    return "recorded.Devices.track_seconds", (repr(arch), repr(who), repr(work))


def _over(values: Sequence[float]) -> float:
    """The first over the second."""
    return values[0] / values[1]


def _rest(values: Sequence[float]) -> float:
    """What a run and its gradient take beyond the run, over the run."""
    return (values[1] - values[0]) / values[0]


_BESIDE: Final = (
    ("cpu", "recurrence", "quadrants", 0.05),
    ("cpu", "recurrence", "jax", 0.2),
    ("cpu", "recurrence-reverse", "quadrants", 0.05),
    ("cpu", "recurrence-reverse", "jax", 0.12),
    ("cpu", "first", "quadrants", 0.5),
    ("cpu", "gradient-many-16", "quadrants", 0.5),
    ("cpu", "gradient-many-64", "quadrants", 0.3),
    ("cpu", "gradient-many-256", "quadrants", 0.1),
    ("vulkan", "nop", "quadrants", 0.5),
    ("vulkan", "recurrence-reverse", "quadrants", 0.8),
    ("vulkan", "gradient-many-64", "quadrants", 0.3),
)
"""Ratios of rows of `adstack bench`: at most so much of the peer's time."""
_HALVES: Final = (
    "Processors that execute vectors of 512 bits in two halves (Zen 4); 0.043 and 0.036 on one that does not (Zen 5)."
)
_BESIDE_GAPS: Final[Mapping[tuple[str, str], str]] = {
    ("cpu", "recurrence"): _HALVES,
    ("cpu", "recurrence-reverse"): _HALVES,
    (
        "cpu",
        "first",
    ): "By little, and not in each run: two thirds of the call are LLVM's code generator, on one thread.",
    ("cpu", "gradient-many-256"): "By little, and not in each run: the code generator of LLVM, on one thread.",
    (
        "vulkan",
        "gradient-many-64",
    ): "Where the driver keeps code on disk: MESA_SHADER_CACHE_DISABLE=true measures the compilers.",
}
"""(arch, row) -> why its goal may be missed."""


def _targets() -> Iterator[Goal]:
    yield Goal("targets", "nop, cpu", 0.3e-6, (_row("cpu", "nop"),), unit="s")
    for arch, row, who, limit in _BESIDE:
        gap = _BESIDE_GAPS.get((arch, row), "")
        yield Goal("targets", f"{row}, {arch}, over {who}", limit, (_ratio(arch, who, row),), gap=gap)
    growth = _row("cpu", "gradient-many-256"), _row("cpu", "gradient-many-64")
    yield Goal(
        "targets", "first gradient of a variable, cpu: of 256 over of 64", 1.1, growth, lambda v: v[0] / v[1] / 4
    )
    yield Goal("targets", "nop, cuda", 3e-6, (_device("cuda", "dispatch nop"),), unit="s")
    for work in ("recurrence forward", "gather forward"):
        by_hand = _device("cuda", work), _device("cuda", work, "by hand")
        yield Goal("targets", f"{work}, cuda, over by hand", 1.1, by_hand, _over)
    yield Goal("targets", "recurrence reverse, cuda", 0.25e-3, (_device("cuda", "recurrence reverse"),), unit="s")
    yield Goal("targets", "recurrence forward, vulkan", 0.3e-3, (_device("vulkan", "recurrence forward"),), unit="s")
    pushed: Term = "heap.Adstacks.track_slot_bytes", ("'cpu'", "'recurrence'")
    yield Goal("targets", "bytes for each f32 that is pushed", 4, (pushed,), unit="bytes")
    slack: Term = "heap.Adstacks.track_slack", ("'cpu'", "'ragged'")
    yield Goal("targets", "ragged: heap over bytes pushed, of a lane", 1.05, (slack,))


_PROGRAMS: Final = (
    *("billiards", "charges", "controlled-robot", "mass-spring", "mpm", "mpm-checkpointed", "rigid-bodies", "rockets"),
    *("smoke", "sph", "wave"),
)
_TAPES_OF_CUDA: Final = (
    "By little, and not in each process: the same commands, its 202 kernels as nodes of graphs, take 0.21 ms in one "
    "process and 0.39 ms in another on the same machine."
)
_OTHER_WORK: Final = (
    "The gradient is of 64 sines, one after the other, which take the device 10 us; the call stores one number, in 0.5 "
    "us, and is left to a later submission. One Python function runs for either."
)
_PROGRAM_GAPS: Final = {
    ("cuda", "mpm-checkpointed"): "1,262 launches outside of tapes, 0.07 ms each, most of it Python's: it keeps what "
    "they overwrite, for gradients that this program does not ask for.",
}
"""(arch, program) -> why its goal is missed."""
_GRADIENT_OF_CUDA: Final = "By little, and not in each run: 1.38 on another host with the same device."
_PARTICLES: Final = "Not in each run: 0.39 in the one before, on another host with such a processor."


def _launches() -> Iterator[Goal]:
    tape = "tape of 100 kernels"
    yield Goal("launches", f"{tape}, cpu, over quadrants", 0.2, (_ratio("cpu", "quadrants", "tape"),))
    yield Goal("launches", "a kernel and its gradient under a tape, cpu", 2e-6, (_row("cpu", "tape"),), _hundredth, "s")
    for arch, gap in (("vulkan", ""), ("cuda", _TAPES_OF_CUDA)):
        terms = (_ratio(arch, "quadrants", "tape"),)
        yield Goal("launches", f"{tape}, {arch}, over quadrants", 0.1, terms, gap=gap)
    bare = _row("cuda", "tape"), _row("cuda", "nop")
    yield Goal("launches", f"{tape}, cuda, over 200 bare launches", 1.3, bare, _over_200)
    yield from _programs()
    for arch, gap in (("vulkan", _OTHER_WORK), ("cuda", _GRADIENT_OF_CUDA)):
        calls = _thousand(arch, "gradient"), _thousand(arch, "nop")
        yield Goal("launches", f".grad() over a call, {arch}", 1.5, calls, _over, gap=gap)
    tensors = _thousand("cpu", "torch"), _thousand("cpu", "args")
    yield Goal("launches", "a torch tensor beyond an ndarray, cpu", 1e-6, tensors, _each_more, "s")


def _programs() -> Iterator[Goal]:
    for arch in ("cpu", "cuda"):
        for name in _PROGRAMS:
            ratio, gap = (_ratio(arch, "quadrants", f"program-{name}"),), _PROGRAM_GAPS.get((arch, name), "")
            yield Goal("launches", f"{name}, later iterations, {arch}, over quadrants", 1.0, ratio, gap=gap)
        every = tuple(_ratio(arch, "quadrants", f"program-{name}") for name in _PROGRAMS)
        yield Goal("launches", f"programs, geometric mean, {arch}", 0.3, every, statistics.geometric_mean)


def _thousand(arch: str, work: str) -> Term:
    return "dispatch.Call.time_thousand_calls", (repr(arch), repr(work))


def _hundredth(values: Sequence[float]) -> float:
    return values[0] / 100


def _over_200(values: Sequence[float]) -> float:
    return values[0] / (200 * values[1])


def _each_more(values: Sequence[float]) -> float:
    """What a call takes more, of thousands of calls."""
    return (values[0] - values[1]) / 1000


_HISTORY: Final = (
    "The history of all steps, 18 MB, and its gradient do not fit in the caches: a step in reverse takes 0.15 ms where "
    "they do and 0.25 ms here. The forward pass, begun again from where it began, takes a third of what it took: the "
    "reverse pass is more times that."
)
_BODIES: Final = "By little, and not in each run: quotients and square roots, which are rounded exactly."
_SPRINGS: Final = (
    "The forward pass is four times as fast as it was. In reverse each launch and gradient outside of a tape "
    "costs about 0.07 ms of Python, and updates of neighbours wait for stores that overlap them."
)
_NEWTON: Final = (
    "In reverse adjoints become subnormal, and stay so, which takes processors 4 to 7 times as long; where they count "
    "as zero, which IEEE 754 does not allow, the ratio is 3.0."
)
_SHARED: Final = "Probably memory: iterations update the same elements; much slower while others use the caches."
_WORKS: Final = {
    "stencil": (4, 0.02, 0.2, _HISTORY),
    "bodies": (5, 0.05, 0.3, _BODIES),
    "springs": (4, 0.25, 0.4, _SPRINGS),
    "product": (5, 0.02, 5, _SHARED),
    "newton": (5, 0.1, 0.1, _NEWTON),
    "table": (4, None, None, ""),
    "sums": (4, None, None, ""),
    "dense": (4, None, None, _SHARED),
    "histogram": (4, None, None, ""),
}
"""Work -> goals: reverse over forward; with the gradient, over Quadrants and over JAX; and why one is missed."""
_ON_CUDA: Final = {
    "stencil": (4, ""),
    "bodies": (5, ""),
    "springs": (
        4,
        "Eight neighbours by atomics, in pairs: to gather them takes twice the work, and is slower. No tiles yet.",
    ),
    "product": (6, ""),
    "newton": (4, ""),
}
"""Work -> its goal of reverse over forward on cuda, and why it is missed."""
_OF_DRIVERS: Final = {
    "stencil": "In reverse, by little, and not in each run: 1.46 in the one before.",
    "bodies": (
        "In reverse: a scheduler has one subgroup, which waits for each result of its own: seven quotients, each with "
        "a branch for rare operands, and sums that a subgroup has to agree on first."
    ),
    "newton": "Forward, by little: 0.01 ms more to launch a graph, and a branch for rare operands of each quotient.",
}
"""Work -> why Vulkan takes more than that."""
_BESIDE_CUDA: Final = 1.5
"""Times what cuda takes, on vulkan."""


def _adjoints() -> Iterator[Goal]:
    for work, (reverse, quadrants, jax, gap) in _WORKS.items():
        both = _row("cpu", f"adjoint-{work}"), _row("cpu", f"adjoint-{work}-both")
        yield Goal("adjoints", f"{work}, cpu: reverse over forward", reverse, both, _rest, gap=gap)
        for peer, limit in (("quadrants", quadrants), ("jax", jax)):
            if limit is not None:
                terms = (_ratio("cpu", peer, f"adjoint-{work}-both"),)
                yield Goal("adjoints", f"{work}, cpu: with its gradient, over {peer}", limit, terms, gap=gap)
    forward = (_ratio("cpu", "quadrants", "adjoint-particles"),)
    yield Goal("adjoints", "particles to grid, cpu: forward, over quadrants", 0.5, forward, gap=_PARTICLES)
    for work, (limit, gap) in _ON_CUDA.items():
        passes = _device_pass("cuda", work, "reverse"), _device_pass("cuda", work, "forward")
        yield Goal("adjoints", f"{work}, cuda: reverse over forward", limit, passes, _over, gap=gap)
    for work in _ON_CUDA:
        for way in ("forward", "reverse"):
            both_archs = _device_pass("vulkan", work, way), _device_pass("cuda", work, way)
            what = f"{work}, {way}: vulkan over cuda"
            yield Goal("adjoints", what, _BESIDE_CUDA, both_archs, _over, gap=_OF_DRIVERS.get(work, ""))


def _device_pass(arch: str, work: str, way: str) -> Term:
    return "recorded.Adjoints.track_seconds", (repr(arch), repr(work), repr(way))


GOALS: Final = (*_targets(), *_launches(), *_adjoints())
ROWS_OF_GOALS: Final = tuple(
    dict.fromkeys(
        setting[2].strip("'") for goal in GOALS for name, setting in goal.terms if name.startswith("recorded.R")
    )
)
"""Rows of `adstack bench` that goals are about."""
