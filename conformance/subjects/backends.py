"""adstack's own backends as subjects: every arch it knows, available here or not."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import metadata

from adstack import inspection

from ..harness.cells import Gap, Refusal, Subject

__all__ = ["NAMES", "backend_subject", "backend_subjects"]

_MAIN = "from adstack.conformance.harness.worker import main; main(*sys.argv[1:])"
WORKER = (sys.executable, "-c", f"import sys; {_MAIN}")


NAMES = tuple(
    name
    for arch in inspection.ARCHES
    for name in (arch, *(one for one in inspection.EMULATED if one.partition(":")[0] == arch))
)
"""What a run may be asked for: each arch, and behind it those that emulate it."""


def backend_subject(name: str) -> Subject:
    """The subject for one of adstack's arches, or its emulated ones, with the reason if it can't run here."""
    arch, _, processor = name.partition(":")
    probed = inspection.probe(name)
    version = metadata.version("adstack")
    if isinstance(probed, inspection.Unavailable):
        return Subject(name, "adstack", arch, kind="unavailable", version=version, reason=probed.reason, fix=probed.fix)
    gaps = tuple(Gap(covers, reason) for covers, reason in inspection.gaps(arch))
    refusals = tuple(Refusal(words, reason) for words, reason in inspection.refusals(arch))
    details = tuple(probed.details.items())
    command = _worker(inspection.EMULATED[name], processor) if processor else WORKER
    subject = Subject(name, "adstack", arch, command, probed.kind, probed.device, version, details=details)
    return replace(subject, gaps=gaps, refusals=refusals, dtypes=tuple(dtype.name for dtype in probed.dtypes))


def _worker(variable: str, value: str) -> tuple[str, ...]:
    """A worker with an environment variable."""
    return sys.executable, "-c", f"import os, sys; os.environ[{variable!r}] = {value!r}; {_MAIN}"


def backend_subjects() -> list[Subject]:
    """One per arch, in adstack's order, each with those that emulate it behind it."""
    return [backend_subject(name) for name in NAMES]
