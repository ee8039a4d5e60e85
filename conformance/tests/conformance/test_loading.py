"""Every case file is found, every case has one id, and mistakes in files are named."""

from __future__ import annotations

import ast
import re
from typing import ClassVar

import pytest
from suites import write_suite

from adstack.conformance.case import Case, CaseError, case
from adstack.conformance.harness.loading import CASES, case_files, collect, load_entry
from adstack.conformance.harness.plan import seed_of, select

SIMPLE = '@case(rules=["t.x"])\ndef {}(qd):\n    return Run(lambda: None)\n'


def test_every_case_file_on_disk_is_collected():
    on_disk = {path.relative_to(CASES).as_posix() for path in CASES.rglob("*.py") if path.name != "__init__.py"}
    assert {entry.path for entry in collect()} == on_disk


def test_every_decorated_function_on_disk_is_collected():
    decorated = 0
    for path in case_files():
        functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
        decorated += sum(any("case" in ast.unparse(d) for d in function.decorator_list) for function in functions)
    assert len({entry.id.partition(":")[0] for entry in collect()}) == decorated


@pytest.mark.parametrize("path", case_files(), ids=lambda path: path.relative_to(CASES).as_posix())
def test_a_case_file_has_a_title_and_stays_small(path):
    assert ast.get_docstring(ast.parse(path.read_text()))
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, node.name


def test_ids_are_topics_and_names_with_dashes():
    for entry in collect():
        assert re.fullmatch(r"[a-z0-9-]+/[a-z0-9-]+(:[^\s]+)?", entry.id), entry.id


def test_parameters_make_variants(tmp_path):
    text = (
        '@case(rules=["t.x"], dtypes=["f32", "f64"], params={"n": [1, 2]})\ndef x_y(qd, dtype, n):\n    return None\n'
    )
    ids = [entry.id for entry in collect(write_suite(tmp_path, {"a/b.py": text}))]
    assert ids == ["a/x-y:f32,1", "a/x-y:f32,2", "a/x-y:f64,1", "a/x-y:f64,2"]


def test_two_cases_with_one_id_are_refused(tmp_path):
    root = write_suite(tmp_path, {"a/b.py": SIMPLE.format("same"), "a/c.py": SIMPLE.format("same")})
    with pytest.raises(CaseError, match=r"two cases have the same id: a/same"):
        collect(root)


def test_variants_of_one_name_stand_in_one_file(tmp_path):
    varied = '@case(rules=["t.x"], dtypes=["f32"])\ndef same(qd, dtype):\n    return None\n'
    with pytest.raises(CaseError, match=r"two cases have the same id: a/same"):
        collect(write_suite(tmp_path, {"a/b.py": SIMPLE.format("same"), "a/c.py": varied}))


def test_a_file_without_a_case_is_refused(tmp_path):
    with pytest.raises(CaseError, match=r"b\.py holds no case"):
        collect(write_suite(tmp_path, {"a/b.py": "x = 1"}))


def test_a_file_outside_a_topic_is_refused(tmp_path):
    with pytest.raises(CaseError, match=r"stray\.py"):
        collect(write_suite(tmp_path, {"a/b.py": SIMPLE.format("x"), "stray.py": SIMPLE.format("y")}))


def test_an_entry_is_found_by_its_id(tmp_path):
    root = write_suite(tmp_path, {"a/b.py": SIMPLE.format("x")})
    assert load_entry("a/b.py", "a/x", root).title == "x"
    with pytest.raises(CaseError, match="has no case a/z"):
        load_entry("a/b.py", "a/z", root)


def test_a_case_without_rules_or_with_an_unknown_mode_is_refused():
    with pytest.raises(CaseError, match="at least one rule"):
        case(rules=[])
    with pytest.raises(CaseError, match="unknown modes"):
        case(rules=["t.x"], modes=["backward"])


def test_a_case_is_still_a_function():
    @case(rules=["t.x"])
    def doubled(qd, n):
        """Twice, in words."""
        return qd * n

    assert isinstance(doubled, Case)
    assert doubled(2, 3) == 6
    assert doubled.title == "Twice, in words."


class TestSelect:
    FILES: ClassVar = {
        "a/b.py": '@case(rules=["arith.add"], dtypes=["f32", "f64"])\ndef add(qd, dtype): ...\n'
        '@case(rules=["arith.sub"])\ndef sub(qd): ...\n',
        "c/d.py": '@case(rules=["control.for", "arith.add"])\ndef loop(qd): ...\n',
    }

    def ids(self, folder, *patterns: str, rules: tuple[str, ...] = ()) -> list[str]:
        return [entry.id for entry in select(collect(write_suite(folder, self.FILES)), patterns, rules)]

    def test_without_patterns_everything(self, tmp_path):
        assert len(self.ids(tmp_path)) == 4

    def test_by_pattern(self, tmp_path):
        assert self.ids(tmp_path, "c/*", "a/s*") == ["a/sub", "c/loop"]

    def test_a_plain_name_stands_for_all_variants(self, tmp_path):
        assert self.ids(tmp_path, "a/add") == ["a/add:f32", "a/add:f64"]
        assert self.ids(tmp_path, "a/add:f64") == ["a/add:f64"]

    def test_by_rule(self, tmp_path):
        assert self.ids(tmp_path, rules=("arith.add",)) == ["a/add:f32", "a/add:f64", "c/loop"]
        assert self.ids(tmp_path, "a/*", rules=("control.*",)) == []


def test_seeds_differ_between_cases_and_runs_but_not_otherwise():
    assert seed_of("a/b", 0) == seed_of("a/b", 0)
    assert len({seed_of("a/b", 0), seed_of("a/c", 0), seed_of("a/b", 1)}) == 3
