"""Tries an edit on a copy of the sources, in processes of its own: the sources themselves stay as they are.

A copy is made of links to one set of files, so that it costs nothing; the edited file is a file of its own. Tests run
from the likeliest killer to the widest suite, and end with the cases about gradients.
"""

from __future__ import annotations

import compileall
import fnmatch
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from .edits import Edit, applied

__all__ = ["CASES", "Copies", "Found", "unpacked"]

TESTS: Final = (
    "test_ir_derivatives",
    "test_transforms_autodiff_*",
    "test_lang_ad_*",
    "test_lang_gradient",
    "test_conformance_gradients",
    "test_interpreter_tape*",
)
LIKELY: Final = {
    "ir/derivatives.py": ("test_ir_derivatives",),
    "lang/ad/*": ("test_lang_ad_undo", "test_lang_ad_tape", "test_lang_ad_*"),
    "*/replay.py": ("test_transforms_autodiff_replay",),
    "*/before.py": ("test_transforms_autodiff_before",),
    "*/parts.py": ("test_transforms_autodiff_parts", "test_transforms_autodiff_replay", "test_lang_ad_tape"),
    "*/access.py": ("test_transforms_autodiff_access", "test_lang_ad_access"),
    "*/mincut.py": ("test_transforms_autodiff_mincut", "test_transforms_autodiff_reverse"),
    "*/conflicts.py": ("test_transforms_autodiff_conflicts", "test_transforms_autodiff_*"),
    "*": ("test_transforms_autodiff_reverse", "test_transforms_autodiff_traffic"),
}
"""Per edited file, the tests to try first."""

CASES: Final = "gradients/*"
LIMIT: Final = 1800.0
GONE: Final = "pytest ended with 4"
"""The test that killed the edit last time is not there any more."""
BROKEN: Final = ("NameError", "UnboundLocalError", "ImportError", "SyntaxError", "AttributeError: module")


@dataclass(frozen=True)
class Found:
    """What tests said of a copy.

    Attributes:
        by: the first test or case that fails; empty if none does.
        how: what it fails with.
    """

    by: str
    how: str = ""

    @property
    def is_broken(self) -> bool:
        """Whether the copy is no program at all, so that failing says nothing of the tests."""
        return self.how.startswith(BROKEN)


def unpacked(root: Path, folder: Path, revision: str = "HEAD") -> Path:
    """The sources as a revision has them, in the shape of the installed package."""
    folder.mkdir(parents=True)
    names = ["reference", "backends", "conformance", "tools", "pyproject.toml"]
    archive = subprocess.run(["git", "-C", str(root), "archive", revision, *names], capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    (folder / "reference").rename(folder / "adstack")
    for name in ("backends", "conformance", "tools"):
        (folder / name).rename(folder / "adstack" / name)
    compileall.compile_dir(folder, quiet=1)
    return folder


class Copies:
    """Where edits are tried.

    Args:
        sources: what `unpacked` made.
        scratch: a folder for copies.
        tests: patterns of test files.
        cases: a pattern of cases to end with; none if empty.
    """

    def __init__(self, sources: Path, scratch: Path, tests: Sequence[str] = TESTS, cases: str = CASES) -> None:
        self.sources, self.scratch, self.tests, self.cases = sources, scratch, tests, cases

    def tried(self, edit: Edit | None, hint: str = "") -> Found:
        """The first killer of an edit, of none at all if it is None; `hint` is what to try first."""
        with TemporaryDirectory(dir=self.scratch) as folder:
            copy = Path(folder) / "copy"
            shutil.copytree(self.sources, copy, copy_function=os.link)
            if edit is not None:
                _edit(copy, edit)
            for found in self._stages(copy, edit, hint):
                if found.by:
                    return found
        return Found("")

    def _stages(self, copy: Path, edit: Edit | None, hint: str) -> Iterator[Found]:
        if hint.startswith("case "):
            yield self._cases(copy, hint.removeprefix("case ").split(":")[0].split("[")[0] + "*")
        elif "::" in hint:
            yield self._tests(copy, [hint])
        likely = [] if edit is None else self._files(copy, _likely(edit.file))
        if likely:
            yield self._tests(copy, likely)
        yield self._tests(copy, [file for file in self._files(copy, self.tests) if file not in likely])
        if self.cases:
            yield self._cases(copy, self.cases)

    def _files(self, copy: Path, patterns: Sequence[str]) -> list[str]:
        folder = _tests_of(copy)
        found = (path.name for pattern in patterns for path in sorted(folder.glob(f"{pattern}.py")))
        return list(dict.fromkeys(found))

    def _tests(self, copy: Path, tests: Sequence[str]) -> Found:
        """Of tests: files, or one id."""
        if not _tests_of(copy).joinpath(tests[0].split("::")[0]).is_file():
            return Found("")
        out = copy / "found.json"
        out.unlink(missing_ok=True)
        given = [str(_tests_of(copy) / test) for test in tests]
        ended = self._run(copy, ["-m", "adstack.tools.mutation.witness", str(out), *given])
        if not out.is_file():
            return Found(f"no test: {ended}")
        told = json.loads(out.read_text())
        if told["how"] == GONE:
            return Found("")
        return Found(_short(told["first"]), told["how"])

    def _cases(self, copy: Path, pattern: str) -> Found:
        """Of cases, on the interpreter."""
        out = copy / "cases.json"
        command = ["-m", "adstack.tools.cli", "conformance", "-b", "reference", "-j", "1", "-k", pattern]
        ended = self._run(copy, [*command, "--json", str(out)])
        if not out.is_file():
            return Found(f"no case: {ended}") if pattern == self.cases else Found("")
        bad = [cell for cell in json.loads(out.read_text())["cells"] if cell["failed"]]
        return Found(f"case {bad[0]['case']}: {bad[0]['status']}", bad[0]["message"]) if bad else Found("")

    def _run(self, copy: Path, arguments: Sequence[str]) -> str:
        """Run Python on a copy; how it ended."""
        environment = {
            **os.environ,
            "CI": "1",  # hypothesis repeats itself
            "PYTHONPATH": str(copy),
            "PYTHONDONTWRITEBYTECODE": "1",
            "ADSTACK_CACHE_DIR": str(self.scratch / "cache"),
        }
        command = [sys.executable, *arguments]
        try:
            done = subprocess.run(command, cwd=copy, env=environment, timeout=LIMIT, check=False, capture_output=True)
        except subprocess.TimeoutExpired:
            return "it took too long"
        return f"the process ended with {done.returncode}"


def _edit(copy: Path, edit: Edit) -> None:
    target = copy / "adstack" / edit.file
    source = target.read_text()
    target.unlink()  # it is a link to the file of all copies
    target.write_text(applied(source, edit))
    for stale in target.parent.glob(f"__pycache__/{target.stem}.*"):
        stale.unlink()


def _likely(file: str) -> tuple[str, ...]:
    return next(tests for pattern, tests in LIKELY.items() if fnmatch.fnmatch(file, pattern))


def _tests_of(copy: Path) -> Path:
    return copy / "adstack" / "conformance" / "tests"


def _short(test: str) -> str:
    """A test's id without folders: parameters may hold slashes."""
    path, colons, rest = test.partition("::")
    return path.rsplit("/", 1)[-1] + colons + rest
