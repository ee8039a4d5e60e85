"""What a run is asked for: backends, and other implementations, in environments that are made for them.

`--subject NAME==VERSION@ARCH,ARCH` is the form of the latter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, Final

import click

from adstack.conformance.harness.cells import Subject
from adstack.conformance.subjects.backends import backend_subject, backend_subjects
from adstack.conformance.subjects.peers import GROUP, PEERS, peer_subject

from .bench.environments import EnvironmentFailedError, environment, folder_of_peers
from .scheduler import announced_subjects

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Choice", "asked_peers", "chosen_subjects", "deterministic"]

PART: Final = "one variant of each case; --every-variant gives it all of them"

_FORM: Final = re.compile(r"([\w.-]+)(?:==([\w.+!]+))?(?:@(\w+(?:,\w+)*))?")


@dataclass(frozen=True)
class Choice:
    """What a run is asked for on the command line: see `adstack conformance --help`."""

    backends: Sequence[str]
    peers: Sequence[str]
    pythons: Mapping[str, str]
    every_variant: bool
    deterministic: bool


def chosen_subjects(choice: Choice, client: Client | None) -> list[Subject]:
    """The subjects of a run: those asked for, or all there are here, or on the workers of a scheduler."""
    if choice.deterministic and choice.peers:
        raise click.UsageError("--deterministic is about the backends of adstack; leave --subject away")
    subjects = _there(choice) if client is None else announced_subjects(client, _names(choice))
    if not choice.backends and not choice.peers and not choice.every_variant:
        subjects = [replace(one, part=PART) if one.kind == "emulated" else one for one in subjects]
    return [deterministic(subject) for subject in subjects] if choice.deterministic else subjects


def _there(choice: Choice) -> list[Subject]:
    """On this machine."""
    if not choice.backends and not choice.peers:
        return [subject for subject in backend_subjects() if subject.is_available]
    mine = [backend_subject(arch) for arch in dict.fromkeys(choice.backends)]
    return mine + asked_peers(choice.peers, choice.pythons)


def deterministic(subject: Subject) -> Subject:
    """The same subject, with results that depend on nothing but the program."""
    return replace(subject, options=(*subject.options, ("deterministic", True)))


def asked_peers(words: Sequence[str], pythons: Mapping[str, str]) -> list[Subject]:
    """The subjects that are asked for.

    Args:
        words: NAME, one of `PEERS` or of an entry point of this environment; NAME==VERSION, which has an environment of
            its own, made if it is not there; either with @ARCH,ARCH behind it, where the default is the cpu.
        pythons: interpreters by name, which are taken where no version is stated.

    Raises:
        click.BadParameter: a word is none of these.
        click.UsageError: an environment can't be made.
    """
    return [subject for word in dict.fromkeys(words) for subject in _of(word, pythons)]


def _names(choice: Choice) -> list[str]:
    """What the subjects are called that are asked for: "cpu", "quadrants", "quadrants:vulkan"."""
    parts = [_parts(word) for word in choice.peers]
    peers = [_called(name, arch) for name, _, arches in parts for arch in arches]
    return list(dict.fromkeys([*choice.backends, *peers]))


def _parts(word: str) -> tuple[str, str | None, list[str]]:
    """The name, the version and the arches of a word; click.BadParameter if it has another form."""
    match = _FORM.fullmatch(word)
    if match is None:
        raise click.BadParameter(f"{word!r} is not NAME, NAME==VERSION or one with @ARCH,ARCH", param_hint="--subject")
    name, version, arches = match.groups()
    return name, version, (arches or "cpu").split(",")


def _called(name: str, arch: str) -> str:
    return name if arch == "cpu" else f"{name}:{arch}"


def _of(word: str, pythons: Mapping[str, str]) -> list[Subject]:
    name, version, arches = _parts(word)
    peers = [*PEERS, *(point.name for point in metadata.entry_points(group=GROUP))]
    if version is None and name not in peers and name not in pythons:
        raise click.BadParameter(f"{name!r}; there are {', '.join(peers)}, and NAME==VERSION", param_hint="--subject")
    if version is not None:
        pythons = {**pythons, name: _environment(name, version)}
    return [peer_subject(_called(name, arch), pythons) for arch in arches]


def _environment(name: str, version: str) -> str:
    """The interpreter of an environment with this version of a peer."""
    try:
        return environment(folder_of_peers() / f"{name}-{version}", [f"{name}=={version}", "numpy"])
    except EnvironmentFailedError as error:
        raise click.UsageError(f"{name}=={version} can't be installed: {error}") from error
