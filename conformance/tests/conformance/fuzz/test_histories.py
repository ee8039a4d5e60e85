"""Random histories of launches, gradients and changes of memory: all is right, or refused with a reason."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adstack.conformance.fuzz.histories import command, many, results
from adstack.conformance.fuzz.histories.numbers import Number, RoundedError, pull
from adstack.conformance.fuzz.histories.play import play, player
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
    ((key, record),) = one.world.seen.items()
    one.world.seen[key] = replace(record, state={**record.state, "w": [7.0] * 4})
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
    one.world.seen = {key: replace(record, state=now) for key, record in seen.items()}
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
    world.note(Call(world.forms["trips"], (1,)), before, before, True)
    world.memory.state["x"][0] += has_changed
    call = Call(world.forms["weigh"], ()) if argument is None else Call(world.forms["trips"], (argument,))
    is_allowed = has_changed and argument is not None
    with nullcontext() if is_allowed else pytest.raises(DifferenceError, match="refused, but nothing has changed"):
        world.check_refused(call, None, world.memory.beside("grad"), AdstackError("refused"))


def run(*arguments: object) -> str:
    result = CliRunner().invoke(command.main, [*map(str, arguments)])
    assert result.exit_code == 0
    return result.output


def test_histories_of_a_backend_are_played_and_counted() -> None:
    assert "2 histories of 24 steps on reference: 0 differ" in run("reference", "--count", 2)


def test_a_file_has_what_was_played_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "histories.json"
    for commit in ("abc", "abc", "def"):
        monkeypatch.setattr(command, "standing", lambda commit=commit: commit)
        run("reference", "--seed", 3, "--count", 1, "--json", file)
    assert "1 histories" in run("reference", "--seed", 2, "--count", 2, "--json", file)
    first, second = (entry["backends"]["reference"] for entry in json.loads(file.read_text())["runs"])
    assert (first["seeds"], first["histories"], first["differ"]) == ([[3, 4]], 1, 0)
    assert (second["seeds"], second["histories"]) == ([[2, 4]], 2)
    assert second["refused"] + second["right"] > first["refused"] + first["right"] > 0


def test_a_file_lists_the_seeds_that_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def differ(*arguments: object) -> None:
        raise DifferenceError("it differs")

    monkeypatch.setattr(many, "play", differ)
    file = tmp_path / "histories.json"
    result = CliRunner().invoke(command.main, ["reference", "--count", "2", "--json", str(file)])
    assert (result.exit_code, result.output.count("DifferenceError: it differs")) == (1, 2)
    assert '"differ": 2' in file.read_text()
    assert '"differing": [0, 1]' in file.read_text()


def test_a_pool_counts_what_one_process_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "CHUNK", 25)
    monkeypatch.setattr(many, "ProcessPoolExecutor", lambda jobs, mp_context: ThreadPoolExecutor(1))
    assert many.chunks(24, 26) == [(24, 25), (25, 26)]
    alone, together = (list(many.play_many("reference", many.chunks(24, 26), jobs)) for jobs in (1, 2))
    assert sorted(together, key=lambda one: one.first) == alone
    assert all(one.counts["right"] for one in alone)


def test_ranges_of_seeds_are_cut_and_joined() -> None:
    assert many.chunks(240, 760) == [(240, 250), (250, 500), (500, 750), (750, 760)]
    assert results.joined([[5, 7], [0, 2], [2, 3], [6, 9]]) == [[0, 3], [5, 9]]
    assert results.without([0, 9], [3, 5]) == [[0, 3], [5, 9]]
    assert results.without([3, 5], [0, 9]) == []
    assert results.without([3, 5], [5, 9]) == [[3, 5]]


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
