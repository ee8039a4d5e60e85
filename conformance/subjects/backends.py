"""adstack's own backends as subjects: every arch it knows, available here or not."""

from __future__ import annotations

import sys
from importlib import metadata

from adstack import inspection

from ..harness.cells import Gap, Subject

__all__ = ["backend_subject", "backend_subjects"]

WORKER = (sys.executable, "-c", "import sys; from adstack.conformance.harness.worker import main; main(*sys.argv[1:])")


def backend_subject(arch: str) -> Subject:
    """The subject for one of adstack's arches, with the reason if it can't run here."""
    probed = inspection.probe(arch)
    version = metadata.version("adstack")
    if isinstance(probed, inspection.Unavailable):
        return Subject(arch, "adstack", arch, kind="unavailable", version=version, reason=probed.reason, fix=probed.fix)
    gaps = tuple(Gap(covers, reason) for covers, reason in inspection.gaps(arch))
    details = tuple(probed.details.items())
    return Subject(arch, "adstack", arch, WORKER, probed.kind, probed.device, version, gaps=gaps, details=details)


def backend_subjects() -> list[Subject]:
    """One per arch, in adstack's order."""
    return [backend_subject(arch) for arch in inspection.ARCHES]
