"""Runs one variant of one case in this process and measures what came out."""

from __future__ import annotations

import importlib
import math
import random
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from ..case import IR, Case, CaseError, Data, Gradient, Oracle, Raises, Run, Variant
from .capture import Capture
from .compare import Measure, measure, measure_identity, measure_text, measure_value, measure_within
from .exact import array_of, digest
from .loading import load_entry
from .records import Record

Language: TypeAlias = Any
"""The module under test: adstack, or a peer of it."""

__all__ = ["MissingError", "Request", "Target", "perform"]

LONGEST_MESSAGE: Final = 4000
DIRECTIONS: Final = 2
"""How many random directions a cell of the mode "dot-product" tries."""
PREFIXES: Final = ("", "Adstack", "Quadrants", "Taichi")
UNAVAILABLE: Final = "BackendUnavailableError"
"""What a subject raises that can't do what it was asked for: it refuses, whatever error a case asks for."""


@dataclass(frozen=True)
class Target:
    """What this process runs cases on: the subject's module, the arch and the options that it is initialised with."""

    qd: Language
    arch: str
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """One cell, as the worker is told of it.

    `bounds` are the error bounds of each run, for subjects that can't compute any: those that adstack computes. So is
    `oracle`, what the tape oracle says of each array that is compared (None where the case says what it must be).
    `ask` is what is wanted beside the result: "" or "programs", or instead of it: "departures" (see `explain`).
    """

    root: str
    path: str
    id: str
    mode: str
    seed: int
    bounds: Sequence[Data] | None = None
    oracle: Sequence[Data] | None = None
    ask: str = ""


class UnexpectedOutcomeError(Exception):
    """Something else happened than the error that a case asks for."""


class MissingError(Exception):
    """The subject has not what the case takes, and says so: that is no failure of either."""


class NoIRError(Exception):
    """A case is written in adstack's IR, and the subject takes none."""


def perform(request: Request, target: Target, capture: Capture) -> Record:
    """Run a cell; a JSON-able observation.

    It has the outcome (see `judge`), measures, message, seconds, the error bounds used, what the oracle said, and
    digests of the bits of all that was compared.
    """
    start = time.perf_counter()
    measures: list[Measure] = []
    bounds: list[Data] = []
    answers: list[Data] = []
    digests: list[str] = []
    outcome, message = "finished", ""
    try:
        entry = load_entry(request.path, request.id, Path(request.root))
        qd = _initialise(target, entry.case, entry.variant, request.seed)
        for number, run in enumerate(_runs(entry.case.function(qd, **entry.variant.arguments(qd)))):
            limits = request.bounds[number] if request.bounds else None
            expected = request.oracle[number] if request.oracle else None
            launch = CaseLaunch(qd, run, number, capture, entry.case.bounded, limits, expected)
            measures += launch.observe(request.mode)
            digests += launch.digests
            bounds.append([np.asarray(bound).tolist() for bound in launch.bounds])
            answers.append([None if answer is None else np.asarray(answer).tolist() for answer in launch.answers])
        qd.sync()  # what is still to be complained of belongs to this cell
    except CaseError as error:
        outcome, message = "broken", str(error)
    except UnexpectedOutcomeError as error:
        outcome, message = "unexpected", str(error)
    except NoIRError as error:
        outcome, message = "unavailable", str(error)
    except MissingError as error:
        outcome, message = "missing", str(error)
    except Exception as error:  # noqa: BLE001 - whatever a subject raises is its answer
        outcome, message = "refused", describe(error)
    seconds = time.perf_counter() - start
    seen = [asdict(m) for m in measures]
    reply = {"outcome": outcome, "measures": seen, "message": message, "seconds": seconds}
    return {**reply, "bounds": bounds, "oracle": answers, "digests": digests}


def _initialise(target: Target, case: Case, variant: Variant, seed: int) -> Data:
    qd = target.qd
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - kernels' host code may draw from numpy's global stream
    types, own = {"default_fp", "default_ip"}, dict(variant.dtypes)
    options = {n: getattr(qd, str(own.get(value, value))) if n in types else value for n, value in case.options.items()}
    qd.init(arch=getattr(qd, target.arch), **{"random_seed": seed, **target.options, **options})
    return qd


def _runs(result: Run | Sequence[Run]) -> list[Run]:
    runs = [result] if isinstance(result, Run) else list(result) if isinstance(result, (list, tuple)) else []
    if not runs or not all(isinstance(run, Run) for run in runs):
        raise CaseError("a case returns a Run, or a list of them")
    return runs


def describe(error: BaseException) -> str:
    """Class and message of an error, and the line of the case that it came from."""
    here = [f for f in traceback.extract_tb(error.__traceback__) if "/cases/" in f.filename.replace("\\", "/")]
    place = f"\n  at {Path(here[-1].filename).name}:{here[-1].lineno}: {here[-1].line}" if here else ""
    return f"{type(error).__name__}: {_said(error)}"[:LONGEST_MESSAGE] + place


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as another:  # noqa: BLE001 - a subject's error may fail at saying what it is
        return f"(its message can't be had: {type(another).__name__})"


class CaseLaunch:
    """One `Run`, carried out; `bounds` are what was used, in the order of what is compared, `answers` the oracle's."""

    def __init__(
        self,
        qd: Language,
        run: Run,
        number: int,
        capture: Capture,
        bounded: bool,
        limits: Sequence[Data] | None,
        expected: Sequence[Data] | None,
    ) -> None:
        self.qd, self.run, self.capture, self.bounded = qd, run, capture, bounded
        self.limits, self.known = limits, expected
        self.bounds: list[Data] = []
        self.answers: list[Data] = []
        self.digests: list[str] = []
        self.kernel = _callable(qd, run.kernel)
        self.label = f"run {number + 1}: " if number else ""

    def observe(self, mode: str) -> list[Measure]:
        """Run the case once in a mode; what was measured, one entry per comparison."""
        _fill(self.run.given)
        if mode == "forward":
            return self._forward()
        if self.run.gradient is None:
            self._call()
            return self._raised()
        ask = {"reverse": self._reverse, "forward-mode": self._forward_mode, "dot-product": self._dot_products}
        return ask[mode]()

    def _forward(self) -> list[Measure]:
        run, bounds, mark = self.run, self._bounds("value", self.run.expect), self.capture.mark()
        returned = self._call()
        printed = self.capture.since(mark)
        measures = self._compare("expect", run.expect, "", bounds)
        measures += self._raised()
        if run.returns is not None:
            self.digests.append(repr(returned))
            measures.append(measure_value(f"{self.label}returns", returned, run.returns, run.returns_dtype, run.budget))
        if run.prints is not None:
            measures.append(measure_text(f"{self.label}prints", printed, run.prints))
        return measures

    def _raised(self) -> list[Measure]:
        met = Measure(f"{self.label}raises", "text", "exact", 0.0, within=True)
        return [] if self.run.raises is None else [met]

    def _call(self) -> Data:
        """Launch and wait, meeting the error that the case asks for."""
        wanted = self.run.raises
        try:
            returned = self.kernel(*self.run.args)
            self.qd.sync()
        except Exception as error:
            if wanted is None or isinstance(error, MissingError):
                raise
            _meet(wanted, error)
            return None
        if wanted is not None:
            raise UnexpectedOutcomeError(f"nothing was raised; expected {_shown(wanted)}")
        return returned

    def _reverse(self) -> list[Measure]:
        asked = self.run.gradient
        assert asked is not None
        bounds = self._backward(asked, asked.expect)
        return self._compare("gradient", asked.expect, "grad", bounds)

    def _backward(self, asked: Gradient, wanted: Data) -> list[Data]:
        """Run in reverse mode from the seeds, or from the loss; the error bounds of the gradients wanted."""
        _fill(asked.seed, "grad")
        if asked.loss is not None:
            asked.loss.grad.fill(1)
        bounds = self._bounds("grad", wanted)
        if asked.by is not None:
            asked.by()
        elif asked.loss is None:
            self.kernel(*self.run.args)
            self.kernel.grad(*self.run.args)
        else:
            with self.qd.ad.Tape(asked.loss):
                self.kernel(*self.run.args)
        return bounds

    def _forward_mode(self) -> list[Measure]:
        asked = self.run.gradient
        assert asked is not None
        param, seed = _direction(asked)
        direction = array_of(seed, np.dtype(np.float64), param.to_numpy().shape)
        bounds = self._tangents(param, direction, asked.forward_expect)
        return self._compare("dual", asked.forward_expect, "dual", bounds)

    def _tangents(self, param: Data, direction: Data, outputs: Data) -> list[Data]:
        """Run in forward mode along a direction; the error bounds of the duals of the outputs."""
        _fill([(param, direction)], "dual")
        bounds = self._bounds("dual", outputs)
        losses = [place for place, _ in _pairs(outputs)]
        with self.qd.ad.FwdMode(loss=losses, param=param, seed=direction.ravel().tolist()):
            self.kernel(*self.run.args)
        return bounds

    def _dot_products(self) -> list[Measure]:
        """<y, J x'> and <J^T y, x'>, for random y and x'."""
        asked = self.run.gradient
        assert asked is not None
        if not self.bounded:
            raise CaseError('the mode "dot-product" compares within error bounds: the case has to be bounded')
        return [self._dot_product(asked, number) for number in range(DIRECTIONS)]

    def _dot_product(self, asked: Gradient, number: int) -> Measure:
        param, _ = _direction(asked)
        outputs = [place for place, _ in _pairs(asked.forward_expect)]
        direction = _eighths(param)
        adjoints = [np.ones(()) if asked.loss is not None else _eighths(place) for place in outputs]
        self._start_over("dual")
        bounds = self._tangents(param, direction, asked.forward_expect)
        forward = [_read(place, "dual") for place in outputs]
        self._start_over("grad")
        weights = Gradient(list(zip(outputs, adjoints, strict=True)) if asked.loss is None else (), loss=asked.loss)
        bounds += self._backward(weights, [(param, None)])
        pairs = [*zip(adjoints, forward, strict=True), (direction, _read(param, "grad"))]
        self.digests += [digest(computed) for _, computed in pairs]
        return measure_identity(f"{self.label}direction {number + 1}", pairs, bounds)

    def _start_over(self, part: str) -> None:
        """Memory as it was before the first launch, and zero gradients or duals."""
        assert self.run.gradient is not None
        _fill(self.run.given)
        self.qd.ad.clear_all_gradients()
        places = [place for place, _ in (*_pairs(self.run.given), *_pairs(self.run.gradient.forward_expect))]
        _fill([(place, 0.0) for place in places if getattr(place, part, None) is not None], part)

    def _compare(self, what: str, expectations: Data, part: str, bounds: list[Data]) -> list[Measure]:
        measures = []
        for index, (place, literals) in enumerate(_pairs(expectations)):
            name, got = f"{self.label}{what}[{index}]", _read(place, part)
            self.digests.append(digest(got))
            if isinstance(literals, Oracle):
                answer = self.answers[len(self.answers) - len(bounds) + index]
                measures.append(measure_within(name, got, answer, 2 * np.asarray(bounds[index])))
            elif self.bounded and got.dtype.kind == "f":
                measures.append(measure_within(name, got, literals, bounds[index]))
            else:
                measures.append(measure(name, got, literals, self.run.budget))
        return measures

    def _bounds(self, of: str, expectations: Data) -> list[Data]:
        """The error bounds of what is compared, for this very run."""
        if not self.bounded:
            return []
        pairs, start = _pairs(expectations), len(self.bounds)
        if self.limits is None:
            answers, bounds = self._enclosures(of, pairs)
        else:
            bounds = list(self.limits[start:][: len(pairs)])
            answers = [None] * len(pairs) if self.known is None else list(self.known[start:][: len(pairs)])
        self.answers += answers
        self.bounds += bounds
        return bounds

    def _enclosures(self, of: str, pairs: list[tuple[Data, Data]]) -> tuple[list[Data], list[Data]]:
        """What the tape oracle says of what is compared, where it is asked, and the error bounds."""
        loss = self.run.gradient.loss if of == "grad" and self.run.gradient is not None else None
        inspection = importlib.import_module(f"{self.qd.__name__}.inspection")
        places = [place for place, _ in pairs]
        enclosures = inspection.enclosures(lambda: self.kernel(*self.run.args), of, places, loss)
        asked = [isinstance(literals, Oracle) for _, literals in pairs]
        values = [one.value if is_asked else None for one, is_asked in zip(enclosures, asked, strict=True)]
        return values, [one.bound for one in enclosures]


def _direction(asked: Gradient) -> tuple[Data, Data]:
    """The one input of forward mode, and its seed."""
    first, *others = _pairs(asked.forward_seed)
    if others:
        raise CaseError("forward mode takes one input at a time: give one forward_seed")
    return first


def _eighths(place: Data) -> Data:
    """Random numbers of few bits for the elements of a place, none of them 0."""
    shape = place.to_numpy().shape
    flat = [random.choice((-1, 1)) * random.randint(1, 16) / 8 for _ in range(math.prod(shape))]
    return np.array(flat).reshape(shape)


def _pairs(values: Data) -> list[tuple[Data, Data]]:
    pairs: Iterable[tuple[Data, Data]] = values.items() if isinstance(values, Mapping) else values
    return list(pairs)


def _read(place: Data, part: str = "") -> Data:
    place = getattr(place, part) if part else place
    return place if isinstance(place, np.ndarray) else place.to_numpy()


def _fill(values: Data, part: str = "") -> None:
    for place, literals in _pairs(values):
        now = _read(place, part)
        content = array_of(literals, now.dtype, now.shape)
        if isinstance(place, np.ndarray):
            place[...] = content
        else:
            (getattr(place, part) if part else place).from_numpy(content)


def _callable(qd: Language, kernel: Data) -> Data:
    """What a run calls; IR becomes a function of the scalar arguments."""
    if not isinstance(kernel, IR):
        return kernel
    try:
        inspection = importlib.import_module(f"{qd.__name__}.inspection")
    except ModuleNotFoundError as missing:
        raise NoIRError(f"{qd.__name__} takes no IR") from missing
    return lambda *scalars: inspection.IRProgram(kernel.text)(kernel.arrays, scalars)


def _meet(wanted: Raises, error: Exception) -> None:
    names = {cls.__name__ for cls in type(error).__mro__}
    named = any(prefix + wanted.name in names for prefix in PREFIXES)
    if named and wanted.phrase in _said(error):
        return
    if UNAVAILABLE in names:
        raise error
    raise UnexpectedOutcomeError(f"raised {describe(error)}\nexpected {_shown(wanted)}") from error


def _shown(wanted: Raises) -> str:
    return f"{wanted.name} with {wanted.phrase!r}" if wanted.phrase else wanted.name
