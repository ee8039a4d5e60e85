"""The build backend of pyproject.toml: setuptools, whose editable wheels type checkers understand, too.

The folders are named by job and the import names by project, so that setuptools' editable wheel is an import hook,
which nothing but a running Python can follow. A second `.pth` file therefore names a tree of links in the shape of the
package, which Python, mypy and pyright search like any folder. The hook stays behind it, for what the tree doesn't
show: a module that was added beside `reference/__init__.py` since, or all of them once the folder `build` is gone.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import sys
import zipfile
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

PATHS = "adstack_sources.pth"
"""The file of the editable wheel that names the tree."""


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Builds setuptools' editable wheel, and adds the tree of links to it; returns its file name (PEP 660).

    Where links can't be made, as on Windows without the right to, a message says so and the wheel is setuptools' own.
    """
    name = build_meta.build_editable(wheel_directory, config_settings, metadata_directory)
    try:
        tree = link_sources()
    except OSError as error:
        print(
            f"adstack: no links to the sources can be made ({error}): programs run, but type checkers will not find"
            " adstack. On Windows, turn on the developer mode and install again.",
            file=sys.stderr,
        )
        return name
    add_file(Path(wheel_directory, name), PATHS, f"{tree}\n".encode())
    return name


def link_sources() -> Path:
    """Makes the tree of links that `python -m adstack.tools.check` looks at, by its function; returns its folder."""
    path = Path(__file__).resolve().parent.parent / "tools" / "check.py"
    spec = importlib.util.spec_from_file_location("check", path)
    assert spec is not None
    assert spec.loader is not None
    check = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check)
    tree: Path = check.link_sources()
    return tree


def add_file(wheel: Path, name: str, data: bytes) -> None:
    """Adds a file to a wheel, and its row to RECORD. Members of a zip file can't be replaced: it is written anew."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    with zipfile.ZipFile(wheel) as old:
        members = [(member, old.read(member)) for member in old.infolist()]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr(name, data)
        for member, text in members:
            is_record = member.filename.endswith(".dist-info/RECORD")
            new.writestr(member, text + f"{name},sha256={digest},{len(data)}\n".encode() if is_record else text)
