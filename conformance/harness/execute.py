"""Runs one variant of one case in this process and measures what came out."""

from __future__ import annotations

import importlib
import random
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..case import IR, Case, CaseError, Gradient, Raises, Run, Variant
from .capture import Capture
from .compare import Measure, measure, measure_text, measure_value, measure_within
from .exact import array_of
from .loading import load_entry

__all__ = ["Request", "Target", "perform"]

LONGEST_MESSAGE: Final = 4000
PREFIXES: Final = ("", "Adstack", "Quadrants", "Taichi")


@dataclass(frozen=True)
class Target:
    """What this process runs cases on: the subject's module, and the arch it is initialised with."""

    qd: Any
    arch: str


@dataclass(frozen=True)
class Request:
    """One cell, as the worker is told of it.

    `bounds` are the error bounds of each run, for subjects that can't compute any: those that adstack computes.
    """

    root: str
    path: str
    id: str
    mode: str
    seed: int
    bounds: Sequence[Any] | None = None


class UnexpectedOutcomeError(Exception):
    """Something else happened than the error that a case asks for."""


class NoIRError(Exception):
    """A case is written in adstack's IR, and the subject takes none."""


def perform(request: Request, target: Target, capture: Capture) -> dict[str, Any]:
    """Run a cell; a JSON-able observation: outcome (see `judge`), measures, message, seconds, error bounds used."""
    start = time.perf_counter()
    measures: list[Measure] = []
    bounds: list[Any] = []
    outcome, message = "finished", ""
    try:
        entry = load_entry(request.path, request.id, Path(request.root))
        qd = _initialise(target, entry.case, entry.variant, request.seed)
        for number, run in enumerate(_runs(entry.case.function(qd, **entry.variant.arguments(qd)))):
            given = request.bounds[number] if request.bounds else None
            launch = _Launch(qd, run, number, capture, entry.case.bounded, given)
            measures += launch.observe(request.mode)
            bounds.append([np.asarray(bound).tolist() for bound in launch.bounds])
    except CaseError as error:
        outcome, message = "broken", str(error)
    except UnexpectedOutcomeError as error:
        outcome, message = "unexpected", str(error)
    except NoIRError as error:
        outcome, message = "unavailable", str(error)
    except Exception as error:  # noqa: BLE001 - whatever a subject raises is its answer
        outcome, message = "refused", describe(error)
    seconds = time.perf_counter() - start
    seen = [asdict(m) for m in measures]
    return {"outcome": outcome, "measures": seen, "message": message, "seconds": seconds, "bounds": bounds}


def _initialise(target: Target, case: Case, variant: Variant, seed: int) -> Any:
    qd = target.qd
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - kernels' host code may draw from numpy's global stream
    types, own = {"default_fp", "default_ip"}, dict(variant.dtypes)
    options = {n: getattr(qd, own.get(value, value)) if n in types else value for n, value in case.options.items()}
    qd.init(arch=getattr(qd, target.arch), **{"random_seed": seed, **options})
    return qd


def _runs(made: Any) -> list[Run]:
    runs = list(made) if isinstance(made, (list, tuple)) else [made]
    if not runs or not all(isinstance(run, Run) for run in runs):
        raise CaseError("a case returns a Run, or a list of them")
    return runs


def describe(error: BaseException) -> str:
    """Class and message of an error, and the line of the case that it came from."""
    here = [f for f in traceback.extract_tb(error.__traceback__) if "/cases/" in f.filename.replace("\\", "/")]
    place = f"\n  at {Path(here[-1].filename).name}:{here[-1].lineno}: {here[-1].line}" if here else ""
    return f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE] + place


class _Launch:
    """One `Run`, carried out; `bounds` are what was used, in the order of what is compared."""

    def __init__(
        self, qd: Any, run: Run, number: int, capture: Capture, bounded: bool, given: Sequence[Any] | None
    ) -> None:
        self.qd, self.run, self.capture, self.bounded, self.given = qd, run, capture, bounded, given
        self.bounds: Sequence[Any] = ()
        self.kernel = _callable(qd, run.kernel)
        self.label = f"run {number + 1}: " if number else ""

    def observe(self, mode: str) -> list[Measure]:
        _fill(self.run.given)
        if mode == "forward":
            return self._forward()
        if self.run.gradient is None:
            self._call()
            return self._raised()
        return self._reverse() if mode == "reverse" else self._forward_mode()

    def _forward(self) -> list[Measure]:
        run, bounds, mark = self.run, self._bounds("value", self.run.expect), self.capture.mark()
        returned = self._call()
        printed = self.capture.since(mark)
        measures = self._compare("expect", run.expect, "", bounds)
        measures += self._raised()
        if run.returns is not None:
            measures.append(measure_value(f"{self.label}returns", returned, run.returns, run.returns_dtype, run.budget))
        if run.prints is not None:
            measures.append(measure_text(f"{self.label}prints", printed, run.prints))
        return measures

    def _raised(self) -> list[Measure]:
        met = Measure(f"{self.label}raises", "text", "exact", 0.0, within=True)
        return [] if self.run.raises is None else [met]

    def _call(self) -> Any:
        """Launch and wait, meeting the error that the case asks for."""
        wanted = self.run.raises
        try:
            returned = self.kernel(*self.run.args)
            self.qd.sync()
        except Exception as error:
            if wanted is None:
                raise
            _meet(wanted, error)
            return None
        if wanted is not None:
            raise UnexpectedOutcomeError(f"nothing was raised; expected {_shown(wanted)}")
        return returned

    def _reverse(self) -> list[Measure]:
        asked = self.run.gradient
        assert asked is not None
        _fill(asked.seed, "grad")
        if asked.loss is not None:
            return self._recorded(asked)
        bounds = self._bounds("grad", asked.expect)
        self.kernel(*self.run.args)
        self.kernel.grad(*self.run.args)
        return self._compare("gradient", asked.expect, "grad", bounds)

    def _recorded(self, asked: Gradient) -> list[Measure]:
        asked.loss.grad.fill(1)
        bounds = self._bounds("grad", asked.expect)
        with self.qd.ad.Tape(asked.loss):
            self.kernel(*self.run.args)
        return self._compare("gradient", asked.expect, "grad", bounds)

    def _forward_mode(self) -> list[Measure]:
        asked = self.run.gradient
        assert asked is not None
        (param, seed), *others = _pairs(asked.forward_seed)
        if others:
            raise CaseError("forward mode takes one input at a time: give one forward_seed")
        shape = param.to_numpy().shape
        flat = array_of(seed, np.dtype(np.float64), shape).ravel().tolist()
        outputs = [place for place, _ in _pairs(asked.forward_expect)]
        _fill(asked.forward_seed, "dual")
        bounds = self._bounds("dual", asked.forward_expect)
        with self.qd.ad.FwdMode(loss=outputs, param=param, seed=flat):
            self.kernel(*self.run.args)
        return self._compare("dual", asked.forward_expect, "dual", bounds)

    def _compare(self, what: str, expectations: Any, part: str, bounds: list[Any]) -> list[Measure]:
        measures = []
        for index, (place, literals) in enumerate(_pairs(expectations)):
            name, got = f"{self.label}{what}[{index}]", _read(place, part)
            if self.bounded and got.dtype.kind == "f":
                measures.append(measure_within(name, got, literals, bounds[index]))
            else:
                measures.append(measure(name, got, literals, self.run.budget))
        return measures

    def _bounds(self, of: str, expectations: Any) -> list[Any]:
        """The error bounds of what is compared, for this very run."""
        if not self.bounded:
            return []
        if self.given is None:
            inspection = importlib.import_module(f"{self.qd.__name__}.inspection")
            places = [place for place, _ in _pairs(expectations)]
            self.bounds = inspection.error_bounds(lambda: self.kernel(*self.run.args), of, places)
        else:
            self.bounds = self.given
        return list(self.bounds)


def _pairs(values: Any) -> list[tuple[Any, Any]]:
    pairs: Iterable[tuple[Any, Any]] = values.items() if isinstance(values, Mapping) else values
    return list(pairs)


def _read(place: Any, part: str = "") -> Any:
    place = getattr(place, part) if part else place
    return place if isinstance(place, np.ndarray) else place.to_numpy()


def _fill(values: Any, part: str = "") -> None:
    for place, literals in _pairs(values):
        now = _read(place, part)
        content = array_of(literals, now.dtype, now.shape)
        if isinstance(place, np.ndarray):
            place[...] = content
        else:
            (getattr(place, part) if part else place).from_numpy(content)


def _callable(qd: Any, kernel: Any) -> Any:
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
    if not named or wanted.phrase not in str(error):
        raise UnexpectedOutcomeError(f"raised {describe(error)}\nexpected {_shown(wanted)}") from error


def _shown(wanted: Raises) -> str:
    return f"{wanted.name} with {wanted.phrase!r}" if wanted.phrase else wanted.name
