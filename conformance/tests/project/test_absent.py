"""What other libraries have and adstack has not: messages that say what to use, and the page made of the table."""

from __future__ import annotations
import __future__

from types import ModuleType

import pytest

import adstack as qd
from adstack import absent, differing
from adstack.errors import AdstackAttributeError
from adstack.tools import differences


@qd.kernel
def kernel():
    pass


@qd.func
def func():
    pass


Ball = qd.types.struct(mass=qd.f32)
OWNERS = {
    "qd": lambda: qd,
    "qd.types": lambda: qd.types,
    "qd.math": lambda: qd.math,
    "qd.simt": lambda: qd.simt,
    "qd.simt.block": lambda: qd.simt.block,
    "qd.simt.subgroup": lambda: qd.simt.subgroup,
    "qd.ad": lambda: qd.ad,
    "qd.ad.Tape": lambda: qd.ad.Tape,
    "qd.ad.FwdMode": lambda: qd.ad.FwdMode,
    "qd.profiler": lambda: qd.profiler,
    "a level of a layout": qd.FieldsBuilder,
    "a field": lambda: qd.Matrix.field(2, 2, qd.f32, shape=1),
    "a struct field": lambda: Ball.field(shape=1, needs_grad=True),
    "an ndarray": lambda: qd.ndarray(qd.f32, 1),
    "a matrix": lambda: qd.Matrix([[1.0]]),
    "a struct": lambda: Ball(1.0),
    "a vector or matrix type": lambda: qd.math.vec3,
    "a struct type": lambda: Ball,
    "a kernel": lambda: kernel,
    "the gradient of a kernel": lambda: kernel.grad,
    "a func": lambda: func,
}


def of(owner: str) -> object:
    """What the names of an owner are attributes of."""
    qd.init(arch=qd.reference)
    return OWNERS[owner]()


def test_the_pages_are_those_of_the_tables():
    pages = {differences.PAGE: differences.page(), differences.NAMES: differences.by_name()}
    for path, text in pages.items():
        assert path.read_text("utf-8") == text, "run python -m adstack.tools.differences --write"


@pytest.mark.parametrize("peer", ["quadrants", "taichi"])
def test_every_public_name_of_both_peers_is_there_or_in_the_table(peer):
    version, names = differences.peer_names(peer)
    assert version.count(".") == 2
    assert len(names["qd"]) > 180
    for owner, some in names.items():
        there = of(owner)
        lost = [
            name
            for name in some
            if differences.state(owner, name)[0] != "absent"
            and not (hasattr(there, name) or hasattr(type(there), name))
        ]
        assert lost == [], f"{owner}: neither an attribute nor a row of the table"


def test_what_works_differently_is_there():
    for owner, rows in differing.DIFFERENT.items():
        there = of(owner)
        assert [name for one in rows for name in one.names if not hasattr(there, name)] == []
        assert all(differing.difference(owner, name) is one for one in rows for name in one.names)


@pytest.mark.parametrize("owner", [owner for owner in absent.ABSENT if owner != "a number"])
def test_every_name_of_the_table_is_absent_and_says_what_to_use(owner):
    there = of(owner)
    for row in absent.ABSENT[owner]:
        for name in row.names:
            if isinstance(getattr(there, "__dict__", {}).get(name), (ModuleType, type(__future__.annotations))):
                continue  # a module of adstack's own, loaded by another test, or Python's annotations
            with pytest.raises(AdstackAttributeError, match=f"{owner} has no '{name}'") as raised:
                getattr(there, name)
            assert raised.value.do == row.do


def test_no_name_stands_twice():
    for rows in absent.ABSENT.values():
        names = [name for row in rows for name in row.names]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("owner", "name", "near"),
    [
        ("qd", "atomic_ad", "atomic_add"),
        ("qd.math", "smoothstp", "smoothstep"),
        ("qd.ad", "Tap", "Tape"),
        ("qd.types", "vectr", "vector"),
    ],
)
def test_near_names_are_suggested(owner, name, near):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'\n  do: did you mean .*{near}"):
        getattr(of(owner), name)


def test_unlike_names_and_protocols_of_python_are_plain():
    with pytest.raises(AttributeError) as raised:
        qd.zzzzzz  # noqa: B018 - to read it is the error
    assert raised.value.do == ""
    assert getattr(qd, "__wrapped__", None) is None


def test_in_a_kernel_the_line_is_told():
    @qd.kernel
    def k():
        qd.warp.ballot(1)

    qd.init(arch=qd.reference)
    message = r"qd has no 'warp': the size[\s\S]*qd.warp.ballot\(1\)[\s\S]*do: write qd.simt.subgroup"
    with pytest.raises(qd.AdstackNameError, match=message):
        k()


def test_functions_of_the_math_module_are_pointed_to() -> None:
    with pytest.raises(qd.AdstackAttributeError, match=r"qd has no attribute 'popcnt'[^$]*write qd.math.popcnt"):
        qd.popcnt  # noqa: B018
