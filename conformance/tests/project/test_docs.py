"""The examples in the documents run, and the commands in them are the ones that continuous integration runs.

All ```python blocks of a page run in order in one namespace, as one module would; a block that begins with `>>>` is a
doctest whose output must match. Blocks that begin with "```python with torch" need that library, and run where it is.
What can't run is marked as another language (```text).
"""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "reference" / "spec").glob("*.md")),
]
FENCE = re.compile(r"^```python(?: with (\w+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WITH = {library: ROOT / "docs" / f"from_{library}.md" for library in ("torch", "jax")}
LINK = re.compile(r"\[[^\]]*\]\(([^)#:]+)(?:#[^)]*)?\)")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block of Python, the line of the page on which its code begins, counted from 0, the library it needs."""

    text: str
    line: int
    library: str = ""

    @property
    def is_session(self) -> bool:
        return self.text.lstrip().startswith(">>>")


def blocks_of(page: str) -> list[Block]:
    return [Block(match[2], page.count("\n", 0, match.start(2)), match[1] or "") for match in FENCE.finditer(page)]


def as_source(page: str) -> str:
    """The page with everything but the plain blocks blanked out: line numbers are those of the page."""
    lines = [""] * (page.count("\n") + 1)
    for block in blocks_of(page):
        if not block.is_session:
            code = block.text.splitlines()
            lines[block.line : block.line + len(code)] = code
    return "\n".join(lines)


def run_page(page: str, path: Path, module: types.ModuleType, library: str = "") -> None:
    """Runs the blocks of `page` in `module`, whose file is `path`: kernels are read back from their source.

    With a library those that need it are among them.
    """
    path.write_text(as_source(page))
    for block in blocks_of(page):
        if block.library not in ("", library):
            continue
        if block.is_session:
            run_session(block, path, module)
        else:
            code = compile("\n" * block.line + block.text, str(path), "exec")
            exec(code, module.__dict__)


def run_session(block: Block, path: Path, module: types.ModuleType) -> None:
    session = doctest.DocTestParser().get_doctest(block.text, {}, path.stem, str(path), block.line)
    # get_doctest copies the names; the page's blocks share them.
    session.globs = module.__dict__
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(session, out=report.append, clear_globs=False)
    if result.failed:
        raise AssertionError("".join(report))


@pytest.fixture
def module() -> Iterator[types.ModuleType]:
    module = types.ModuleType("adstack_document")
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_the_page_run(page, module, tmp_path):
    module.__file__ = str(tmp_path / f"{page.stem}.py")
    run_page(page.read_text(), Path(module.__file__), module)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("library", [pytest.param(name, marks=pytest.mark.library(name)) for name in WITH])
def test_the_examples_with_a_library_run(library, module, tmp_path):
    page = WITH[library]
    module.__file__ = str(tmp_path / f"{page.stem}.py")
    run_page(page.read_text(), Path(module.__file__), module, library)


def test_blocks_that_need_a_library_are_on_the_page_about_it():
    needed = {(page, block.library) for page in PAGES for block in blocks_of(page.read_text()) if block.library}
    assert needed == {(page, library) for library, page in WITH.items()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_the_page_lead_to_files(page):
    missing = [target for target in LINK.findall(page.read_text()) if not (page.parent / target).exists()]
    assert missing == []


def test_a_wrong_example_is_found(module, tmp_path):
    page = "# Title\n\n```python\nx = 1\n```\n\n```python\n>>> x\n2\n```\n"
    with pytest.raises(AssertionError, match="Expected:"):
        run_page(page, tmp_path / "page.py", module)


def test_a_failing_example_shows_the_line_of_the_page(module, tmp_path):
    page = "# Title\n\n```python\nx = 1\nassert x == 2\n```\n"
    with pytest.raises(AssertionError) as info:
        run_page(page, tmp_path / "page.py", module)
    assert info.traceback[-1].lineno + 1 == 5


def test_the_first_screen_of_the_readme_has_a_kernel_and_the_two_commands():
    screen = "\n".join((ROOT / "README.md").read_text().splitlines()[:60])
    assert "@qd.kernel" in screen
    assert "adstack conformance" in screen
    assert "python -m pytest" in screen


def test_the_commands_of_the_readme_are_those_of_continuous_integration():
    script = (ROOT / ".ci" / "run").read_text()
    (shown,) = re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[:1]
    commands = [part.strip() for line in shown.splitlines() for part in line.split("#")[0].split("&&") if part.strip()]
    assert commands
    assert [command for command in commands if command not in script] == []


def test_the_command_of_the_readme_exists():
    from importlib.metadata import entry_points

    (command,) = entry_points(group="console_scripts", name="adstack")
    assert command.value == "adstack.tools.cli:main"
    assert callable(importlib.import_module("adstack.tools.cli").main)


@pytest.mark.parametrize("file", ["tox.ini", ".pre-commit-config.yaml", ".ci/run"])
def test_every_check_is_run_by_name(file):
    checks = importlib.import_module("adstack.tools.check").CHECKS
    lines = [line for line in (ROOT / file).read_text().splitlines() if "adstack.tools.check" in line]
    assert {shlex.split(line)[-1] for line in lines} == set(checks)
