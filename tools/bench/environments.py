"""Environments of peers: which interpreter has one, and a new environment where there is none yet."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from adstack import inspection

__all__ = ["PEERS", "EnvironmentFailedError", "environment", "folder_of_peers", "install", "interpreter"]

PEERS: Final = {"quadrants": ("quadrants==1.3.3",), "taichi": ("taichi==1.7.4",), "jax": ("jax", "numpy")}
"""What is installed for each peer: the versions that results of this project are of."""
_LAST: Final = 400
"""Characters of an installer's last words that are shown."""


class EnvironmentFailedError(Exception):
    """An environment can't be made; the message is the installer's."""


def folder_of_peers() -> Path:
    """Where environments of peers are by default: beside the folder of compiled kernels."""
    return Path(inspection.cache().folder).parent / "adstack-peers"


def interpreter(name: str, pythons: Mapping[str, str], folder: Path) -> str:
    """The interpreter of a peer.

    That of the command line, else of the environment variable ADSTACK_PYTHON_QUADRANTS (and so on), else of the
    environment in the folder, else this one.
    """
    stated = pythons.get(name) or os.environ.get(f"ADSTACK_PYTHON_{name.upper()}")
    own = _python(folder / name)
    return stated or (str(own) if own.exists() else sys.executable)


def install(names: Collection[str], folder: Path) -> None:
    """Make the environments that the folder lacks. EnvironmentFailedError: the installer's last words."""
    for name in names:
        environment(folder / name, PEERS[name])


def environment(folder: Path, requirements: Sequence[str]) -> str:
    """The interpreter of an environment in a folder, made if it is not there, with what is required.

    EnvironmentFailedError: the installer's last words.
    """
    python = _python(folder)
    if not python.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        _run([sys.executable, "-m", "venv", str(folder)])
    _run([str(python), "-m", "pip", "install", "--quiet", *requirements])
    return str(python)


def _python(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EnvironmentFailedError(f"{' '.join(command)}: {(done.stdout + done.stderr).strip()[-_LAST:]}")
