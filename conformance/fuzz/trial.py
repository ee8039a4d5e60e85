"""One mutant, run: what came of it."""

from __future__ import annotations

import contextlib
import io
import linecache
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import adstack as qd
from adstack.conformance.case import IR, Case, Run
from adstack.conformance.harness.loading import load_module
from adstack.errors import AdstackCompilationError, AdstackError, InternalError

from .mutants import Mutant

__all__ = ["FINDINGS", "Outcome", "serve", "tried"]

FINDINGS: Final = ("internal", "plain", "nowhere", "crashed")
"""Kinds of outcomes that are defects: an InternalError, an exception that is not adstack's, an error while
compiling without a place in the program, the end of the process."""
SECONDS: Final = 1.0


class Stopped(BaseException):
    """The program takes too long. It is no Exception, so that nothing handles it."""


@dataclass(frozen=True)
class Outcome:
    """What came of a mutant.

    Attributes:
        kind: "runs", "refused", "stopped", or one of `FINDINGS`.
        detail: the error, for people.
    """

    kind: str
    detail: str = ""


def serve(pipe: Connection[Outcome, Mutant], arch: str) -> None:
    """Try the mutants that come through a pipe, until it ends."""
    with contextlib.suppress(EOFError):
        while True:
            pipe.send(tried(pipe.recv(), arch))


def tried(mutant: Mutant, arch: str) -> Outcome:
    """Run a mutant in this process."""
    with tempfile.TemporaryDirectory(prefix="adstack-mutant-") as folder, _silence(), _time_limit(SECONDS):
        path = Path(folder) / f"mutant_{mutant.number}.py"
        path.write_text(mutant.text)
        try:
            _perform(mutant, path, arch)
        except Stopped:
            return Outcome("stopped")
        except InternalError:
            return Outcome("internal", traceback.format_exc(limit=-6))
        except AdstackError as error:
            passed = [Path(frame.filename).parts for frame in traceback.extract_tb(error.__traceback__)]
            compiling = any("frontend" in parts for parts in passed) and "data" not in passed[-1]
            nowhere = isinstance(error, AdstackCompilationError) and error.loc is None and compiling
            return Outcome("nowhere" if nowhere else "refused", f"{type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - which exceptions there are is what is to be found out
            ours = traceback.extract_tb(error.__traceback__)[-1].filename != str(path)
            return Outcome("plain" if ours else "refused", traceback.format_exc(limit=-8))
        finally:
            linecache.clearcache()
            sys.modules.pop(path.stem, None)
    return Outcome("runs")


def _perform(mutant: Mutant, path: Path, arch: str) -> None:
    """Launch what the case launches, and what reverse mode makes of it; what comes out is not looked at."""
    case: Case = getattr(load_module(path), mutant.function)
    variant = case.variants[mutant.variant]
    options = {name: _option(name, value, variant.dtypes) for name, value in case.options.items()}
    qd.init(arch=arch, **{"debug": True, "offline_cache": False, **options})
    try:
        runs = case(qd, **variant.arguments(qd))
        for run in runs if isinstance(runs, list) else [runs]:
            if isinstance(run, Run):  # or what a changed line returns instead
                _launch(run)
        qd.sync()
    finally:
        qd.reset()


def _option(name: str, value: Any, dtypes: tuple[tuple[str, str], ...]) -> Any:
    """An option of `init` as a case writes it: types by name, "dtype" being the variant's own."""
    if name not in ("default_fp", "default_ip"):
        return value
    return getattr(qd, dict(dtypes)["dtype"] if value == "dtype" else value)


def _launch(run: Run) -> None:
    kernel = run.kernel
    if isinstance(kernel, IR):
        return
    for target, values in run.given.items() if isinstance(run.given, dict) else run.given:
        _fill(target, values)
    _call(kernel, run.args, run.raises is not None)
    if hasattr(kernel, "grad"):
        kernel.grad(*run.args)


def _fill(target: Any, values: Any) -> None:
    if isinstance(values, (int, float)):
        target.fill(values)


def _call(kernel: Callable[..., Any], args: Any, refused: bool) -> None:
    """Call it; an error that the case itself provokes may be one of Python's."""
    try:
        kernel(*args)
    except (TypeError, ValueError):
        if not refused:
            raise


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise `Stopped` after so many seconds of processor time, which does not depend on who else uses the machine."""

    def stop(*_: object) -> None:
        raise Stopped

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
