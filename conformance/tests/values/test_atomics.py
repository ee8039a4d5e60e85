"""Atomics reach what they are given, by kind, and refuse what can't be changed."""

import pytest

from adstack.errors import AdstackTypeError
from adstack.ir.ops import ATOMICS
from adstack.values import atomics
from adstack.values.elements import Elements
from adstack.values.matrices.matrix import Vector


class Slot:
    def __init__(self, value):
        self.value = value
        self.log = []

    def __adstack_atomic__(self, kind, values):
        self.log.append((kind, values))
        return self.value


NAMED = {k: v for k, v in vars(atomics).items() if k.startswith("atomic_")}


def test_there_is_a_function_for_every_kind_of_atomic():
    assert set(ATOMICS) | {"sub"} == set(atomics.KIND_OF.values())
    assert set(atomics.KIND_OF) == set(NAMED.values())


@pytest.mark.parametrize("name", sorted(set(NAMED) - {"atomic_cas"}))
def test_an_atomic_gives_its_kind_and_operand_to_the_target(name):
    slot = Slot(5)
    assert NAMED[name](slot, 3) == 5
    assert slot.log == [(atomics.KIND_OF[NAMED[name]], (3,))]


def test_compare_and_swap_has_two_operands():
    slot = Slot(5)
    atomics.atomic_cas(slot, 1, 2)
    assert slot.log == [("cas", (1, 2))]


@pytest.mark.parametrize("target", [1, 2.5, "x", Vector([1, 2])])
def test_a_value_is_no_target(target):
    with pytest.raises(AdstackTypeError, match="atomic_add must be an element of a field or ndarray"):
        atomics.atomic_add(target, 1)


class Slots:
    def __init__(self, slots):
        self.slots = slots

    def __len__(self):
        return len(self.slots)

    def __getitem__(self, k):
        return self.slots[k].value

    def target(self, k):
        return self.slots[k]


def test_atomics_of_live_vectors_go_element_by_element():
    slots = [Slot(1), Slot(2)]
    live = Elements.over(Slots(slots), (2,))
    assert atomics.atomic_add(live, [10, 20]).to_list() == [1, 2]
    assert atomics.atomic_max(live, 5).to_list() == [1, 2]
    assert [s.log for s in slots] == [[("add", (10,)), ("max", (5,))], [("add", (20,)), ("max", (5,))]]


def test_atomics_of_vectors_check_shapes():
    with pytest.raises(AdstackTypeError, match="operands of atomic_add must share a shape"):
        atomics.atomic_add(Elements.over(Slots([Slot(1)]), (1,)), [1, 2])
