"""Checks of adstack's own sources: `python -m adstack.tools.check [lint] [format] [types] [imports]`, all by default.

The folders are named by job and the import names by project, a mapping that type checkers and import linters
can't read. So they are shown the sources through a tree of links (`build/tree`) in the shape of the installed package,
which `pip install -e .` shows to the checkers of users' programs as well.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
TREE: Final = ROOT / "build" / "tree"
BESIDE_REFERENCE: Final = ("backends", "conformance", "tools")


def link_sources(tree: Path = TREE) -> Path:
    """Makes `tree`/adstack a folder of links to the sources, as they are now; returns `tree`.

    The build backend makes an editable installation of it. OSError where links can't be made.
    """
    package = tree / "adstack"
    package.mkdir(parents=True, exist_ok=True)
    sources = [path for path in (ROOT / "reference").iterdir() if path.name != "__pycache__"]
    wanted = {path.name: path for path in [*sources, *(ROOT / name for name in BESIDE_REFERENCE)]}
    for link in filter(Path.is_symlink, package.iterdir()):  # others are Python's: it keeps bytecode there
        if wanted.get(link.name) != link.readlink():  # a module that is gone, or a clone that was moved
            link.unlink()
    for name, path in wanted.items():
        if not (package / name).is_symlink():
            (package / name).symlink_to(path, target_is_directory=path.is_dir())
    return tree


def lint() -> int:
    """Ruff's rules; see pyproject.toml for which and why."""
    return subprocess.call([sys.executable, "-m", "ruff", "check", "."], cwd=ROOT)


def layout() -> int:
    """Ruff's formatting: whether `ruff format` would change a file."""
    return subprocess.call([sys.executable, "-m", "ruff", "format", "--check", "."], cwd=ROOT)


def types() -> int:
    """Mypy, strictly, over the whole package."""
    config = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    return subprocess.call([sys.executable, "-m", "mypy", *config, "-p", "adstack"], cwd=link_sources())


def imports() -> int:
    """The arrows between packages: the contracts in pyproject.toml."""
    tree = link_sources()
    # Ahead of the installed package, so that the linter finds every part of it under one folder.
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    arguments = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    return subprocess.call([*command, *arguments], cwd=tree, env=environment)


CHECKS: Final[dict[str, Callable[[], int]]] = {"lint": lint, "format": layout, "types": types, "imports": imports}


def main(names: list[str]) -> int:
    """Runs the checks of these names, all of them if there are none; returns how many failed."""
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        sys.exit(f"unknown check {unknown[0]!r}; there are {', '.join(CHECKS)}")
    if not (ROOT / "pyproject.toml").is_file():
        sys.exit(f"{ROOT} is no clone of adstack: run this in one, installed with pip install -e '.[dev]'")
    failed = [name for name in names or CHECKS if CHECKS[name]() != 0]
    if failed:  # last, as what the others print hides it
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
