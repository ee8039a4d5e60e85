"""`adstack fuzz`: random kernels, differentiated by backends and other subjects and by the reference."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from adstack.conformance.cluster.search import Share, run_share, search_on
from adstack.conformance.fuzz.differential.grammar import FEATURES
from adstack.conformance.fuzz.differential.reports import record, text, write
from adstack.conformance.fuzz.differential.search import Outcome
from adstack.conformance.harness.cells import Subject
from adstack.conformance.subjects.backends import NAMES
from adstack.conformance.subjects.peers import PEERS

from .scheduler import connected
from .subjects import Choice, chosen_subjects
from .terminal.extras import needs
from .terminal.pythons import python_option

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["fuzz"]

EPILOG: Final = """\b
Examples:
  adstack fuzz -b cpu -b vulkan --time 10m
  adstack fuzz --subject quadrants==1.3.3 --time 10m --seed 3 --out findings
  adstack fuzz --scheduler tcp://10.0.0.1:8786 -b vulkan --time 1h

Exit status: 0 if no program failed, 1 if one did, 2 if the command line is wrong.
"""
MODES: Final = ("forward", "reverse", "forward-mode")
PEER_MODES: Final = ("forward", "reverse")
UNKNOWN: Final = {
    "quadrants": ("overwriting", "while", "leaving"),
    "taichi": ("overwriting", "while", "leaving"),
}
"""What a peer says that its reverse mode does not take: programs with it would all be refused."""
_UNITS: Final = {"s": 1, "m": 60, "h": 3600}


def _seconds(context: click.Context, parameter: click.Parameter, value: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", value)
    if match is None:
        raise click.BadParameter(f"{value!r} is not a number of seconds, or one with s, m or h behind it")
    return float(match[1]) * _UNITS[match[2] or "s"]


@click.command(epilog=EPILOG)
@click.option("--backend", "-b", "backends", multiple=True, type=click.Choice(NAMES), help="A backend; repeatable.")
@click.option(
    "--subject", "-s", "peers", multiple=True, metavar="NAME[==VERSION][@ARCH,...]", help="Another one; repeatable."
)
@python_option(PEERS)
@click.option(
    "--time", "seconds", default="60s", metavar="TIME", callback=_seconds, show_default=True, help="90, 90s, 10m, 1h."
)
@click.option("--count", type=click.IntRange(min=1), help="End after so many programs.")
@click.option("--first", default=0, help="Begin with the program of this number.")
@click.option(
    "--reduce", "patience", default=120.0, show_default=True, help="Seconds that one program is reduced at most."
)
@click.option("--seed", default=0, show_default=True, help="Another seed gives other programs.")
@click.option("--dtype", default="f64", show_default=True, type=click.Choice(["f32", "f64"]), help="Of all floats.")
@click.option("--without", multiple=True, type=click.Choice(FEATURES), help="Leave this out; repeatable.")
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    callback=needs("distributed", "distributed"),
    help="Run programs on the workers (adstack worker) of this Dask scheduler.",
)
@click.option("--timeout", default=120.0, show_default=True, help="How many seconds eight programs may take together.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="A folder for cases and reports.")
@click.pass_context
def fuzz(
    context: click.Context,
    /,
    backends: tuple[str, ...],
    peers: tuple[str, ...],
    pythons: dict[str, str],
    **rest: Any,
) -> None:
    """Run random kernels on backends and other subjects, in reverse mode above all, beside the tape oracle.

    What fails is made small: a case file and a draft of a bug report come of it, in the folder --out. Programs that
    have all that a finding is made of, and fail in the same way, are counted, and not reduced again.
    """
    client = context.with_resource(connected(rest["scheduler"])) if rest["scheduler"] else None
    failed = False
    for subject in chosen_subjects(Choice(backends, peers, pythons, True, False), client):
        if not subject.is_available:
            raise click.UsageError(f"{subject.name} is unavailable: {subject.reason}; {subject.fix}")
        outcome = _searched(subject, rest, client)
        failed |= bool(outcome.failures)
        _tell(subject, outcome)
        if rest["out"] is not None:
            _keep(subject, outcome, rest)
    context.exit(int(failed))


def _searched(subject: Subject, rest: dict[str, Any], client: Client | None) -> Outcome:
    """What a search on a subject came to."""
    share = Share(
        subject=subject.name,
        modes=MODES if subject.module == "adstack" else PEER_MODES,
        seed=rest["seed"],
        without=_without(subject, rest),
        dtype=rest["dtype"],
        timeout=rest["timeout"],
        patience=rest["patience"],
        first=rest["first"],
        count=rest["count"],
        seconds=rest["seconds"],
    )
    return run_share(share, subject, click.echo) if client is None else search_on(client, share, click.echo)


def _without(subject: Subject, rest: dict[str, Any]) -> tuple[str, ...]:
    return (*rest["without"], *UNKNOWN.get(subject.module, ()))


def _tell(subject: Subject, outcome: Outcome) -> None:
    click.echo(f"{subject.name} {subject.version}: {outcome.programs} programs in {outcome.seconds:.0f} s")
    for failure, count in outcome.failures.most_common():
        click.echo(f"  {count} {failure.status.value} in {failure.mode} {failure.phrase}".rstrip())
    click.echo(f"  {len(outcome.findings)} reduced, {outcome.alike} like one of them")
    click.echo("  made of: " + ", ".join(f"{name} {count}" for name, count in outcome.constructs.most_common()))


def _keep(subject: Subject, outcome: Outcome, rest: dict[str, Any]) -> None:
    folder: Path = rest["out"] / subject.name.replace(":", "-")
    write(outcome, subject, folder, rest["dtype"])
    head = {"seed": rest["seed"], "dtype": rest["dtype"], "without": list(_without(subject, rest))}
    (folder / "findings.json").write_text(text(record(outcome, subject, head)), "utf-8")
