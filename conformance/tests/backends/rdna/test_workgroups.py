"""What threads of a workgroup do together on the emulated processors: the sum of a whole loop, added to memory once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from amdgpu_kit import lines, module_of, tasks_of
from immediate_kit import Array, compiled
from interpreter_kit import parallel
from rdna_kit import EACH, device_of

from adstack.backends.amdgpu.groups import Group
from adstack.backends.amdgpu.toolchain import PROCESSORS as COMPILED
from adstack.backends.amdgpu.toolchain import assembly
from adstack.backends.rdna.processors import PROCESSORS
from adstack.ir.types import by_name

SUM = "%v = load @x[%i] : {t}\n%old = atomic {kind} @y[], %v : {t}"
PLACES = "place @x : {t}[?] field\nplace @y : {t}[] field"


def program(dtype: str, count: int, kind: str = "add") -> str:
    """All elements of x, added to y."""
    text = parallel(SUM, count, PLACES)
    return text.replace("{t}", dtype).replace("{kind}", kind)


def ran(processor: str, group: int, dtype: str, values: Array, kind: str = "add", first: Any = 0) -> Any:
    """What is in y in the end, on workgroups of so many threads, two of them at most."""
    memory = {"x": values, "y": np.array(first, by_name(dtype).numpy)}
    compiled(device_of(processor, group), tasks_of(program(dtype, len(values), kind)))(memory)
    return memory["y"][()]


def tree(values: Array, width: int) -> Array:
    """The first ones of so many values, to which those half as far away are added each time."""
    left, step = list(values), width // 2
    while step:
        left[: max(len(left) - step, 0)] = [a + b for a, b in zip(left, left[step:], strict=False)]
        step //= 2
    return left[0]


def grouped(values: Array, group: int, lanes: int) -> Array:
    """Each thread adds up its own; waves, then workgroups, then memory add up what there is."""
    threads = min(len(values), 2 * group)
    own = values[:threads].copy()
    for start in range(threads, len(values), threads):
        part = values[start : start + threads]
        own[: len(part)] += part
    size = group if threads % group == 0 or threads > 256 else threads
    total = values.dtype.type(0)
    for first in range(0, threads, size):
        block = own[first : first + size]
        waves = [tree(block[at : at + lanes], lanes) for at in range(0, len(block), lanes)]
        total += tree(np.array(waves, values.dtype), lanes)
    return total


@EACH
@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
@pytest.mark.parametrize(
    ("group", "count"),
    [(256, 512), (256, 2000), (256, 256), (256, 200), (256, 1), (128, 300), (100, 200), (100, 70), (64, 127), (1, 2)],
    ids=str,
)
def test_floats_are_added_in_a_fixed_order(processor, group, count, dtype):
    """Whole groups, a part of one, waves that have a part of their threads, groups of one thread."""
    values = np.random.default_rng(count).standard_normal(count).astype(by_name(dtype).numpy)
    wanted = grouped(values, group, PROCESSORS[processor].lanes)
    assert ran(processor, group, dtype, values).tobytes() == wanted.tobytes()


@EACH
@pytest.mark.parametrize("dtype", ["i8", "u16", "i32", "u64"])
@pytest.mark.parametrize("kind", ["add", "mul", "min", "max", "and", "or", "xor"])
def test_integers_of_every_size_are_combined(processor, kind, dtype):
    number = by_name(dtype).numpy.type
    combine = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}.get(kind)
    combine = combine or getattr(np, f"bitwise_{kind}")
    limits = np.iinfo(number)
    values = np.random.default_rng(3).integers(limits.min, limits.max, 300, dtype=number) | number(1)
    with np.errstate(over="ignore"):
        wanted = combine.reduce(values, initial=number(5), dtype=number)
    assert ran(processor, 200, dtype, values, kind, 5) == wanted


@EACH
def test_threads_without_iterations_add_nothing(processor):
    """The device alone knows how many iterations there are: all threads start, and whole waves find nothing to do."""
    text = program("i64", 0).replace("%n = const 0 : i32", "%n = load @n[] : i32")
    text = text.replace("place @x", "place @n : i32[] field\nplace @x")
    run = compiled(device_of(processor, 256), tasks_of(text))
    for count in (0, 1, 31, 32, 65, 256, 257, 511, 700):
        memory = {"x": np.arange(1, 701), "y": np.array(-1), "n": np.array(count, np.int32)}
        run(memory)
        assert memory["y"] == count * (count + 1) // 2 - 1


SEVERAL = """%v = load @x[%i] : i32
%f = cast %v : f64
%a = atomic add @y[], %v : i32
%b = atomic max @most[], %v : i32
%c = atomic add @z[], %f : f64
%d = atomic add @w[], %f : f64"""
TYPES = {"x": "i32[?]", "y": "i32[]", "most": "i32[]", "z": "f64[]", "w": "f64[]"}


def several(processor: str) -> list[float]:
    """What four sums of one loop come to, of which the values are exact: they use the same words one after another."""
    text = parallel(SEVERAL, 500, "\n".join(f"place @{name} : {ty} field" for name, ty in TYPES.items()))
    memory = {name: np.zeros((), by_name(ty[:3]).numpy) for name, ty in TYPES.items()}
    memory["x"] = np.arange(1, 501, dtype=np.int32)
    compiled(device_of(processor, 256), tasks_of(text))(memory)
    return [float(memory[name]) for name in ("y", "most", "z", "w")]


SEEN = [125250.0, 500.0, 125250.0, 125250.0]


@EACH
def test_several_sums_of_a_loop(processor):
    assert several(processor) == SEEN


@EACH
@pytest.mark.parametrize("missing", [0, 1])
def test_a_barrier_that_is_missing_is_seen(monkeypatch, processor, missing):
    """Each sum waits twice: for those who still read the words of the one before, and for those who write them."""
    wait, count = Group.wait, iter(range(1000))
    monkeypatch.setattr(Group, "wait", lambda self, w: next(count) % 2 == missing or wait(self, w))
    assert several(processor) != SEEN


def barriers(code: str) -> Sequence[str]:
    """Where the waves of a workgroup wait for each other: on gfx1201, those that have come say so before."""
    return [line for line in lines(code, "s_barrier") if not line.startswith("s_barrier_signal")]


@pytest.mark.parametrize("processor", COMPILED)
def test_a_workgroup_updates_memory_once(processor):
    code = assembly(module_of(program("i32", 1000)).text, processor)
    assert len(barriers(code)) == 2
    assert len(lines(code, "ds_store_b32", "ds_write_b32")) == 1
    assert len(lines(code, "global_atomic_add")) == 1
    assert ".group_segment_fixed_size: 256" in code


@pytest.mark.parametrize("processor", COMPILED)
def test_what_is_not_the_sum_of_a_loop_takes_no_memory_of_workgroups(processor):
    text = parallel("%v = load @x[%i] : f32\n%s = mul %v, %v : f32\nstore @x[%i], %s", 9, "place @x : f32[9] field")
    code = assembly(module_of(text).text, processor)
    assert lines(code, "s_barrier", "ds_") == []
    assert ".group_segment_fixed_size: 0" in code
