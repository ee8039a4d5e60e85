"""The picture of the rooms in reference/README.md is the one that the sources give."""

from __future__ import annotations

import pytest

from adstack.tools import rooms


def test_the_picture_of_the_page_is_that_of_the_sources():
    page = rooms.PAGE.read_text()
    assert page == rooms.PICTURE.put(page, rooms.picture(rooms.arrows())), "run python -m adstack.tools.rooms --write"


def test_imports_of_types_and_inside_of_functions_count():
    source = """
from ..ir import ops
if TYPE_CHECKING:
    from adstack.errors import AdstackError
def f():
    from . import fold
    import adstack as qd
"""
    expected = {"adstack.ir.ops", "adstack.errors.AdstackError", "adstack.transforms.fold", "adstack"}
    assert set(rooms.imported(source, "adstack.transforms")) == expected


def test_names_of_the_public_api_and_modules_of_the_root_are_told_apart():
    all_rooms = rooms.rooms()
    names = ["adstack.ir.ops", "adstack.backends.cpu.runtime", "adstack.field", "adstack.errors", "adstack", "numpy"]
    expected = ["adstack.ir", "adstack.backends.cpu", "adstack", None, "adstack", None]
    assert [rooms.room_of(name, all_rooms) for name in names] == expected


def test_an_arrow_that_follows_from_others_is_left_out():
    graph = {"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset()}
    assert rooms.reduced(graph) == {"a": {"b"}, "b": {"c"}, "c": set()}


def test_a_circle_is_refused_by_the_names_of_its_rooms():
    graph = {"a": frozenset("b"), "b": frozenset("a"), "c": frozenset("a")}
    with pytest.raises(ValueError, match="a, b"):
        rooms.reduced(graph)
