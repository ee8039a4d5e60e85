"""What commands need that speak to a scheduler of Dask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from adstack.conformance.cluster.run import OtherCodeError, announced
from adstack.conformance.harness.cells import Subject

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["announced_subjects", "connected"]


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address; click.UsageError if there is none."""
    from distributed import Client

    try:
        client = Client(address, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise click.UsageError(f"there is no scheduler at {address}: {error}") from error
    with client:
        yield client


def announced_subjects(client: Client, names: Sequence[str]) -> list[Subject]:
    """The subjects that workers have: those with these names, or all. One that nobody has is unavailable."""
    try:
        subjects = {subject.name: subject for subject in announced(client)}
    except OtherCodeError as error:
        raise click.UsageError(str(error)) from error
    if not subjects:
        raise click.UsageError("the scheduler has no worker of the suite: start one by adstack worker ADDRESS")
    return [subjects.get(name) or _lacking(name) for name in names] if names else list(subjects.values())


def _lacking(name: str) -> Subject:
    fix = "start adstack worker ADDRESS where it is"
    return Subject(name, "", "", kind="unavailable", reason="no worker has announced it", fix=fix)
