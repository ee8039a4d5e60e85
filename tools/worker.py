"""`adstack worker`: this machine takes part in runs of the conformance suite."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Final

import click

from adstack.conformance.cluster.member import serve
from adstack.conformance.subjects.backends import NAMES, backend_subject, backend_subjects
from adstack.conformance.subjects.peers import PEERS

from .subjects import asked_peers
from .terminal.extras import needs
from .terminal.pythons import python_option

__all__ = ["worker"]

EPILOG: Final = """\b
Examples:
  dask scheduler                                           on one machine: it says at which address
  adstack worker tcp://10.0.0.1:8786                       on each machine
  adstack conformance --scheduler tcp://10.0.0.1:8786      anywhere
"""


def _checked(context: click.Context, parameter: click.Parameter, address: str) -> str:
    """The address of a scheduler; click.BadParameter if nothing can be reached under it."""
    needs("distributed", "distributed")(context, parameter, address)
    from distributed.comm.addressing import get_address_host_port

    try:
        get_address_host_port(address)
    except (ValueError, NotImplementedError) as error:
        raise click.BadParameter(f"{address!r} is no address such as tcp://10.0.0.1:8786: {error}") from error
    return address


@click.command(epilog=EPILOG)
@click.argument("address", callback=_checked)
@click.option("--backend", "-b", "backends", multiple=True, type=click.Choice(NAMES), help="Announce this; repeatable.")
@click.option(
    "--subject", "-s", "peers", multiple=True, metavar="NAME[==VERSION][@ARCH,...]", help="Announce this, too."
)
@python_option(PEERS)
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Batches run at a time. Default: one per core.")
def worker(
    address: str, backends: tuple[str, ...], peers: tuple[str, ...], pythons: dict[str, str], jobs: int | None
) -> None:
    """Run cells for the Dask scheduler at ADDRESS, until it ends.

    What is announced is what cells are sent here for: without -b and -s, all backends that are available here. A worker
    may be added and taken away at any time. Whoever reaches the scheduler can run code here: let it listen only where
    all are trusted, or protect it by Dask's TLS.
    """
    mine = [backend_subject(name) for name in backends] + asked_peers(peers, pythons)
    subjects = mine or [subject for subject in backend_subjects() if subject.is_available]
    lacking = [subject for subject in subjects if not subject.is_available]
    if lacking:
        raise click.UsageError(f"{lacking[0].name} is unavailable: {lacking[0].reason}; {lacking[0].fix}")
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(address, subjects, jobs or os.cpu_count() or 1, click.echo))
