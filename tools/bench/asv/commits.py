"""Which commit figures are of: what a clone tells, or, where there is no clone, what the user does."""

from __future__ import annotations

import subprocess
from datetime import datetime
from pathlib import Path

from .catalogue import FOLDER
from .results import Commit

__all__ = ["committed", "described", "told"]


def told(digits: str, date: str) -> Commit:
    """A commit of which hash and date (ISO 8601, with its zone) are told; ValueError if they are not such."""
    if len(digits) != 40 or not set(digits) <= set("0123456789abcdef"):
        raise ValueError(f"{digits!r} is not the 40 digits of a commit's hash")
    when = datetime.fromisoformat(date.replace("Z", "+00:00"))  # Python 3.10 does not know Z
    if when.tzinfo is None:
        raise ValueError(f"{date!r} has no zone")
    return Commit(digits, when)


def described(clone: Path = FOLDER.parent) -> str:
    """The commit that adstack was measured at, with "-dirty" where files differ from it; empty outside a clone."""
    if not (clone / ".git").exists():
        return ""
    describe = ["git", "-C", str(clone), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    return subprocess.run(describe, capture_output=True, text=True, check=False).stdout.strip()


def committed(name: str, clone: Path = FOLDER.parent) -> Commit:
    """A commit of a clone, by the first digits of its hash or another name that git knows.

    Raises:
        LookupError: there is none, no clone, or no git.
    """
    try:
        shown = subprocess.run(
            ["git", "-C", str(clone), "show", "--no-patch", "--format=%H %cI", f"{name}^{{commit}}"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise LookupError(f"{clone} has no commit {name!r}") from error
    digits, date = shown.stdout.split()
    return told(digits, date)
