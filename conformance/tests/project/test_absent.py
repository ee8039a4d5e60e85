"""What other libraries have and adstack has not: messages that say what to use, and the page made of the table."""

from __future__ import annotations

import pytest

import adstack as qd
from adstack import absent
from adstack.errors import AdstackAttributeError
from adstack.tools import differences

OWNERS = {"qd": qd, "qd.types": qd.types, "qd.math": qd.math, "qd.ad": qd.ad, "a level of a layout": qd.root}


def test_the_page_is_that_of_the_table():
    assert differences.PAGE.read_text() == differences.page(), "run python -m adstack.tools.differences --write"


@pytest.mark.parametrize("owner", absent.ABSENT)
def test_every_name_of_the_table_is_absent_and_says_what_to_use(owner):
    for row in absent.ABSENT[owner]:
        for name in row.names:
            assert name not in dir(OWNERS[owner]), f"{owner}.{name} is there: take it out of the table"
            if name in vars(OWNERS[owner]):
                continue  # a module of adstack's own, loaded by another test
            with pytest.raises(AdstackAttributeError, match=f"{owner} has no '{name}'") as raised:
                getattr(OWNERS[owner], name)
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
        getattr(OWNERS[owner], name)


def test_unlike_names_and_protocols_of_python_are_plain():
    with pytest.raises(AttributeError) as raised:
        qd.zzzzzz  # noqa: B018 - to read it is the error
    assert raised.value.do == ""
    assert getattr(qd, "__wrapped__", None) is None


def test_in_a_kernel_the_line_is_told():
    @qd.kernel
    def k():
        qd.simt.block.sync()

    qd.init(arch=qd.reference)
    message = r"qd has no 'simt': shared memory[\s\S]*qd.simt.block.sync\(\)[\s\S]*do: write sums"
    with pytest.raises(qd.AdstackNameError, match=message):
        k()
