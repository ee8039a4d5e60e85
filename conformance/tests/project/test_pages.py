"""Every file and folder that a page names exists: links are not the only thing that goes stale when modules move.

A path is a code span (between backquotes) that ends like a file's name, or that begins with the name of one of the
project's folders. It is looked for beside the page and in the folders of `BASES`. A name without a folder may also
stand in a folder that the same paragraph names.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BASES = [ROOT, ROOT / "reference", ROOT / "backends", ROOT / "conformance" / "tests"]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "asv_benchmarks/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "reference").rglob("*.md")),
    *sorted((ROOT / "backends").rglob("*.md")),
]
# What users and programs have, or what they are told to write: not files of the project.
OUTSIDE = {"program.py", "report.json", "kernel.py", "conformance.json", "results.json", "summary.json"}
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+)`|\]\(([^)#:\s]+)(?:#[^)]*)?\)")
FILE = re.compile(r"[\w./*-]+\.(?:py|md|json|toml|txt|yaml|gaps|cu)")
FOLDER = re.compile(r"\w+(?:/[\w*]+)+/?|\w+/")
COMMAND = re.compile(r"python -m (adstack(?:\.\w+)+)")
FOLDERS = {path.name for base in BASES for path in base.iterdir() if path.is_dir()}


def names_a_path(span: str) -> bool:
    if FILE.fullmatch(span):
        return span not in OUTSIDE
    return FOLDER.fullmatch(span) is not None and span.split("/")[0] in FOLDERS


def exists(span: str, folders: list[Path]) -> bool:
    pattern = span.rstrip("/").removeprefix("./")
    while pattern.startswith("../"):
        pattern, folders = pattern[3:], [folders[0].parent]
    return any(next(folder.glob(pattern), None) is not None for folder in folders)


def folders_of(span: str, bases: list[Path]) -> list[Path]:
    """The folders that a span names: its own, if it is a folder, else the one in which the file stands."""
    paths = [base / span for base in bases if (base / span).exists()]
    return [path if path.is_dir() else path.parent for path in paths]


def missing_paths(text: str, page: Path) -> list[str]:
    missing = []
    for paragraph in re.split(r"\n\s*\n|\n(?=\| |- |\d+\. )", CODE.sub("", text)):
        bases = [page.parent, *BASES]
        for match in SPAN.finditer(paragraph):
            span = match[1] or match[2]
            if match[2] is None and not names_a_path(span):
                continue
            if not exists(span, bases):
                missing.append(span)
            bases += folders_of(span, bases)
    return missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_the_page_names_exists(page):
    assert missing_paths(page.read_text(), page) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_modules_that_the_page_runs_exist(page):
    assert [name for name in COMMAND.findall(page.read_text()) if find_spec(name) is None] == []


def test_a_file_that_has_moved_is_noticed():
    page = ROOT / "README.md"
    text = "See `reference/ir/ops.py`, `ops.py`, [ir](reference/ir), `lang/kernel.py`; not `x/y` or `a.b`.\n\n`ops.py`"
    assert missing_paths(text, page) == ["lang/kernel.py", "ops.py"]


def test_the_glossary_says_of_every_term_where_it_lives():
    lines = (ROOT / "reference" / "spec" / "glossary.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith("| **")]
    assert rows
    assert [row for row in rows if not any(names_a_path(match[1] or "") for match in SPAN.finditer(row))] == []
    terms = [row.split("**")[1].lower() for row in rows]
    assert terms == sorted(terms)
    assert len(terms) == len(set(terms))
