"""Random histories of launches, gradients and changes of memory: all is right, or refused with a reason."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from adstack.conformance.fuzz.histories.numbers import Number, RoundedError, pull
from adstack.conformance.fuzz.histories.play import main, play, player
from adstack.conformance.fuzz.histories.simulated import Program
from adstack.conformance.fuzz.histories.world import Call, DifferenceError, World
from adstack.errors import AdstackError


@pytest.fixture(autouse=True)
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    none = Counter[str]()
    monkeypatch.setattr(World, "counts", none)
    return none


@pytest.mark.parametrize("options", [{}, {"debug": True}, {"ad_snapshot": True}], ids=str)
@pytest.mark.parametrize("arch", ["reference", "cpu", "vulkan", "cuda"])
def test_nothing_is_silently_wrong(arch: str, options: Any, counts: Counter[str]) -> None:
    one = player(arch, 0, options)
    for seed in range(10):
        play(one, seed)
    assert counts["right"] > 20
    assert counts["refused"] > 8 or "ad_snapshot" in options
    assert min(counts[what] for what in ("tapes", "forward", "graphs")) > 0


def test_a_gradient_that_is_another_one_is_found() -> None:
    one = player("reference", 0, {})
    call = Call(one.world.forms["weigh"], ())
    one.world.launch(call)
    one.world.gradient(call)
    ((key, known),) = one.world.seen.items()
    one.world.seen[key] = replace(known, state={**known.state, "w": [7.0] * 4})
    with pytest.raises(DifferenceError, match=r"x.grad is .*, and should be"):
        one.world.gradient(call)


def test_a_refusal_without_a_reason_is_found() -> None:
    one = player("reference", 0, {})
    call = Call(one.world.forms["weigh"], ())
    one.world.launch(call)
    seen = dict(one.world.seen)
    one.world.memory.rewrite("w")
    one.world.memory.rewrite("w")
    now = {name: list(values) for name, values in one.world.memory.state.items()}
    one.world.seen = {key: type(known)(now, known.writes, known.is_outside) for key, known in seen.items()}
    with pytest.raises(DifferenceError, match="refused, but nothing has changed"):
        one.world.gradient(call)


def test_a_zero_of_another_sign_is_a_change() -> None:
    world = player("reference", 0, {}).world
    world.memory.real["w"][1] = world.memory.state["w"][1] = 0.0
    before = {name: list(values) for name, values in world.memory.state.items()}
    assert not world.has_changed(before)
    world.memory.real["w"][1] = -0.0
    with pytest.raises(DifferenceError, match="w is"):
        world.check_memory()
    world.memory.state["w"][1] = -0.0
    world.check_memory()
    assert world.has_changed(before)


@pytest.mark.parametrize(("argument", "has_changed"), [(2, False), (2, True), (None, True)])
def test_a_gradient_without_a_launch_may_be_refused_once_memory_of_others_has_changed(
    argument: int | None, has_changed: bool
) -> None:
    world = player("reference", 0, {}).world
    before = {name: list(values) for name, values in world.memory.state.items()}
    world.note(Call(world.forms["trips"], (1,)), before, True)
    world.memory.state["x"][0] += has_changed
    call = Call(world.forms["weigh"], ()) if argument is None else Call(world.forms["trips"], (argument,))
    is_allowed = has_changed and argument is not None
    with nullcontext() if is_allowed else pytest.raises(DifferenceError, match="refused, but nothing has changed"):
        world.check_refused(call, None, world.memory.beside("grad"), AdstackError("refused"))


def test_histories_of_a_backend_are_played_and_counted() -> None:
    told = CliRunner().invoke(main, ["reference", "--count", "2"])
    assert told.exit_code == 0
    assert "2 histories of 24 steps on reference: 0 differ" in told.output


def test_numbers_know_what_they_were_computed_from() -> None:
    x, y = Number(0.5, 1.0), Number(-2.0)
    z = x * y + x * x * 3.0 - y
    assert (z.value, z.tangent) == (0.5 * -2 + 0.75 + 2, -2.0 + 3.0)
    adjoints = pull([(z, 2.0)])
    assert (adjoints[x], adjoints[y]) == (2 * (-2.0 + 3.0), 2 * (0.5 - 1.0))
    with pytest.raises(RoundedError):
        Number(2.0**-20) * Number(2.0**-20)


def test_what_the_host_writes_into_a_program_is_an_input_too() -> None:
    program = Program({"x": [1.0, 2.0], "w": [3.0]}, {"x"})
    program["x"][0] = program["x"][1] * 2.0
    program.write("x", 1, 5.0)
    program["w"][0] = program["x"][0]
    program["x"][0] = program["x"][0] + program["w"][0]
    assert program.state == {"x": [8.0, 5.0], "w": [4.0]}
    assert program.pulled({"x": [1.0, 10.0]}) == {"x": [0.0, 12.0]}
