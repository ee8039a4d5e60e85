"""Rules have permanent names: the specification states each one once, and a case or a test is evidence for it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from adstack.conformance.harness.loading import collect

ROOT = Path(__file__).resolve().parents[3]
SPEC = ROOT / "reference" / "spec"
HEADING = re.compile(r"^### (\S+)$", re.MULTILINE)


def stated() -> list[str]:
    return [name for page in sorted(SPEC.glob("*.md")) for name in HEADING.findall(page.read_text())]


def cited_by_cases() -> set[str]:
    return {rule for entry in collect() for rule in entry.case.rules}


def cited_by_tests() -> set[str]:
    texts = [path.read_text() for path in (ROOT / "conformance" / "tests").rglob("test_*.py") if path != Path(__file__)]
    return {
        name
        for name in stated()
        if any(name in t and re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.-])", t) for t in texts)
    }


def test_every_rule_has_one_paragraph():
    assert [name for name, count in Counter(stated()).items() if count > 1] == []


def test_every_rule_a_case_cites_is_stated():
    assert sorted(cited_by_cases() - set(stated())) == []


def test_every_rule_has_a_case_or_a_test_that_cites_it():
    assert sorted(set(stated()) - cited_by_cases() - cited_by_tests()) == []


def test_every_page_of_the_specification_is_in_its_index():
    index = (SPEC / "README.md").read_text()
    assert [page.name for page in SPEC.glob("*.md") if page.name != "README.md" and f"({page.name})" not in index] == []
