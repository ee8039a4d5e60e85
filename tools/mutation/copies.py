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
from collections.abc import Iterable, Iterator, Sequence
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
    "*/mincut.py": ("test_transforms_autodiff_mincut",),
    "*/activity.py": ("test_transforms_autodiff_activity",),
    "*/conflicts.py": ("test_transforms_autodiff_conflicts",),
    "*": ("test_transforms_autodiff_reverse", "test_transforms_autodiff_traffic"),
}
"""Per edited file, the tests to try first."""

CASES: Final = "gradients/*"
LIMIT: Final = 1800.0
TESTS_FOLDER: Final = "adstack/conformance/tests"
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
    """Where edits are tried, one at a time.

    Args:
        sources: what `unpacked` made.
        scratch: a folder for copies.
        tests: patterns of test files.
        cases: a pattern of cases to end with; none if empty.
    """

    def __init__(self, sources: Path, scratch: Path, tests: Sequence[str] = TESTS, cases: str = CASES) -> None:
        self.sources, self.scratch, self.tests, self.cases = sources, scratch, tests, cases
        self.environment = {
            **os.environ,
            "CI": "1",  # hypothesis repeats itself
            "PYTHONDONTWRITEBYTECODE": "1",
            "ADSTACK_CACHE_DIR": str(scratch / "cache"),
        }
        program = [sys.executable, str(Path(__file__).with_name("witness.py"))]
        self._witness = subprocess.Popen(
            program, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Copies:
        return self

    def __exit__(self, *error: object) -> None:
        self._witness.communicate()

    def tried(self, edit: Edit, hint: str = "") -> Found:
        """The first killer of an edit; `hint` is what to try first."""
        with TemporaryDirectory(dir=self.scratch) as folder:
            copy = Path(folder) / "copy"
            shutil.copytree(self.sources, copy, copy_function=os.link)
            _edit(copy, edit)
            return next((found for found in self._stages(copy, edit, hint) if found.by), Found(""))

    def untouched(self, killers: Iterable[str]) -> Found:
        """The first of these tests and cases that fails without any edit."""
        tests = sorted(killer for killer in killers if "::" in killer)
        cases = sorted({_case(killer) for killer in killers if killer.startswith("case ")})
        found = [self._tests(self.sources, tests)] if tests else []
        found += [self._cases(self.sources, case) for case in cases]
        return next((one for one in found if one.by), Found(""))

    def _stages(self, copy: Path, edit: Edit, hint: str) -> Iterator[Found]:
        if hint.startswith("case "):
            yield self._cases(copy, _case(hint))
        elif "::" in hint:
            yield self._tests(copy, [hint])
        likely = self._files(_likely(edit.file))
        yield self._tests(copy, likely)
        yield self._tests(copy, [file for file in self._files(self.tests) if file not in likely])
        if self.cases:
            yield self._cases(copy, self.cases)

    def _files(self, patterns: Sequence[str]) -> list[str]:
        folder = self.sources / TESTS_FOLDER
        return list(dict.fromkeys(path.name for pattern in patterns for path in sorted(folder.glob(f"{pattern}.py"))))

    def _tests(self, copy: Path, tests: Sequence[str]) -> Found:
        """Of tests: files, or ids."""
        there = [test for test in tests if (copy / TESTS_FOLDER / test.split("::")[0]).is_file()]
        if not there:
            return Found("")
        request = {"copy": str(copy), "tests": [str(copy / TESTS_FOLDER / test) for test in there], "limit": LIMIT}
        assert self._witness.stdin is not None
        assert self._witness.stdout is not None
        print(json.dumps(request), file=self._witness.stdin, flush=True)
        told = json.loads(self._witness.stdout.readline())
        return Found("") if told["how"] == GONE else Found(_short(told["first"]), told["how"])

    def _cases(self, copy: Path, pattern: str) -> Found:
        """Of cases, on the interpreter."""
        out = copy / "cases.json"
        out.unlink(missing_ok=True)
        command = [sys.executable, "-m", "adstack.tools.cli", "conformance", "-b", "reference", "-j", "1"]
        environment = {**self.environment, "PYTHONPATH": str(copy)}
        done = subprocess.run(
            [*command, "-k", pattern, "--json", str(out)], cwd=copy, env=environment, check=False, capture_output=True
        )
        if not out.is_file():
            return Found(f"no case: {done.stderr!r}") if pattern == self.cases else Found("")
        bad = [cell for cell in json.loads(out.read_text())["cells"] if cell["failed"]]
        return Found(f"case {bad[0]['case']}: {bad[0]['status']}", bad[0]["message"]) if bad else Found("")


def _edit(copy: Path, edit: Edit) -> None:
    target = copy / "adstack" / edit.file
    source = target.read_text()
    target.unlink()  # it is a link to the file of all copies
    target.write_text(applied(source, edit))
    for stale in target.parent.glob(f"__pycache__/{target.stem}.*"):
        stale.unlink()


def _likely(file: str) -> tuple[str, ...]:
    return next(tests for pattern, tests in LIKELY.items() if fnmatch.fnmatch(file, pattern))


def _case(killer: str) -> str:
    """A pattern for the case that is named as a killer."""
    return killer.removeprefix("case ").split(":")[0] + "*"


def _short(test: str) -> str:
    """A test's id without folders: parameters may hold slashes."""
    path, colons, rest = test.partition("::")
    return path.rsplit("/", 1)[-1] + colons + rest
