"""The arrows between packages hold, and the check that says so can fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adstack.tools import check

ROOT = Path(__file__).resolve().parents[3]


def test_the_contracts_hold(capfd):
    status = check.imports()
    assert status == 0, capfd.readouterr().out


def test_every_package_stands_in_a_contract():
    contracts = (ROOT / "pyproject.toml").read_text().split("[tool.importlinter]")[1]
    named = set(re.findall(r"\badstack\.\w+", contracts))
    rooms = {path.parent.name for path in (ROOT / "reference").glob("*/__init__.py")}
    assert {f"adstack.{room}" for room in (*rooms, *check.BESIDE_REFERENCE)} <= named


def test_the_tree_shows_every_module(tmp_path):
    tree = check.link_sources(tmp_path / "tree") / "adstack"
    assert (tree / "errors.py").read_text() == (ROOT / "reference" / "errors.py").read_text()
    assert (tree / "backends" / "cpu" / "__init__.py").is_file()


def test_the_tree_forgets_modules_that_are_gone(tmp_path):
    tree = check.link_sources(tmp_path / "tree")
    (tree / "adstack" / "gone.py").symlink_to(tmp_path / "gone.py")
    check.link_sources(tree)
    assert not (tree / "adstack" / "gone.py").is_symlink()


def test_an_unknown_check_is_refused_by_name():
    with pytest.raises(SystemExit, match="unknown check 'typos'"):
        check.main(["typos"])


def test_every_module_of_the_command_is_held_to_the_public_api():
    contracts = (ROOT / "pyproject.toml").read_text().split("[tool.importlinter]")[1]
    modules = {f'"adstack.tools.{path.stem}"' for path in (ROOT / "tools").glob("*.py") if path.stem != "__init__"}
    assert [module for module in modules if module not in contracts] == []
