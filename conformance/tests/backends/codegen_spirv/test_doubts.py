"""What fast paths of functions take for granted, and what they leave to the way that is always right."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from interpreter_kit import parallel
from vulkan_kit import agree, backend, tasks_of

from adstack.backends.codegen_spirv.assembly.opcodes import Op
from adstack.backends.codegen_spirv.assembly.text import instructions
from adstack.backends.codegen_spirv.assembly.traits import IEEE
from adstack.backends.codegen_spirv.scalars.speculation import ORDINARY
from adstack.backends.codegen_spirv.tasks import emit_program
from adstack.ir.functions import builtin
from adstack.tools.accuracy.jit import Compiled
from adstack.tools.accuracy.ordinary import flags
from adstack.transforms.math.algorithms import PAIRS

WITHOUT = {"fma32": False, "fma32_normal": False}
NORMAL = {"fma32": False, "fma32_normal": True}


def around_quarters():
    """Every multiple of pi/2 that is near, and its neighbours."""
    near = (np.arange(1, int(2.0**17 * 2 / math.pi) + 1) * (math.pi / 2)).astype(np.float32).view(np.int32)
    return np.concatenate([(near + step).view(np.float32) for step in (-1, 0, 1)])


def arguments(least, most):
    """Those, numbers of every size between the bounds, and zeros."""
    rng = np.random.default_rng(1)
    low, high = math.log2(least), math.log2(min(most, 2.0**127))
    anywhere = np.exp2(rng.uniform(low, high, 200_000)).astype(np.float32)
    powers = np.append(np.float32(2) ** np.arange(low, high + 1, dtype=np.float32), np.float32(most))
    points = np.concatenate([around_quarters(), anywhere, powers, np.nextafter(powers, np.float32(0))])
    points = points[(points >= least) & (points <= most)]
    return np.concatenate([points, -points, np.array([0.0, -0.0], np.float32)])


def variants(name):
    """The function, and the one that is taken instead of it, if there is one."""
    other = name.replace(".", ".wide.")
    return [name, other] if builtin(other) else [name]


@pytest.mark.parametrize("name", sorted(ORDINARY))
def test_ordinary_functions_meet_no_subnormal_number_and_take_no_rare_way(name):
    for variant in variants(name):
        assert not Compiled(flags(variant))(arguments(*ORDINARY[name])).any()


@pytest.mark.parametrize("name", ["sin.f32", "exp.f32", "atan.f32"])
def test_subnormal_arguments_are_not_ordinary(name):
    assert Compiled(flags(name))(np.float32([2.0**-149, -(2.0**-130), 1.0])).tolist() == [1, 1, 0]


def test_what_is_far_is_rare():
    assert Compiled(flags("sin.f32"))(np.float32([3e5, -3e5, 2.0])).tolist() == [1, 1, 0]


PLACES = "\n".join(f"place @{n} : f32[?] field" for n in "abcde")
SINGLE = sorted(ORDINARY.keys() - {f"{pair}.f32" for pair in PAIRS})
GROUPS = [SINGLE[k : k + 4] for k in range(0, len(SINGLE), 4)]
SINES = ["sin.f32", "cos.f32"]


def calls(names):
    """A loop that applies functions to @a."""
    lines = ["%a = load @a[%i] : f32"]
    for name, place in zip(names, "bcde", strict=False):
        lines += [f"%{place} = call @{name} %a : f32", f"store @{place}[%i], %{place}"]
    return "\n".join(lines)


def edges():
    """Numbers about where the usual way ends, far ones, and special ones."""
    rng = np.random.default_rng(2)
    some = [np.float32(x) for x in (2.0**-28, 2.0**-29, 2.0**-126, 2.0**-149, 2.0**17, math.inf, math.nan, 0.0, 1e30)]
    beside = [np.nextafter(x, np.float32(to)) for x in some for to in (0, np.inf)]
    anywhere = rng.integers(0, 1 << 32, 4000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    points = np.concatenate([np.array(some + beside, np.float32), anywhere, around_quarters()[::61]])
    return np.concatenate([points, -points])


@pytest.mark.parametrize("traits", [{}, WITHOUT], ids=["as-it-is", "without"])
@pytest.mark.parametrize("names", GROUPS, ids="-".join)
def test_arguments_that_are_not_ordinary_give_the_same_bits(names, traits):
    x = edges()
    buffers = {"a": x} | {place: np.zeros_like(x) for place in "bcde"}
    agree(parallel(calls(names), len(x), PLACES), buffers, device=backend(**traits))


def test_far_arguments_of_f64_are_left_to_the_way_that_is_always_right():
    rng = np.random.default_rng(3)
    x = np.exp2(rng.uniform(-40, 1000, 400)) * rng.choice([-1, 1], 400)
    places = PLACES.replace("f32", "f64")
    buffers = {"a": x} | {place: np.zeros_like(x) for place in "bcde"}
    agree(
        parallel(calls(["sin.f64", "tan.f64"]).replace("f32", "f64"), len(x), places),
        buffers,
        device=backend(**WITHOUT, fma64=False),
    )


def emitted(traits, body=None):
    program = tasks_of(parallel(body or calls(SINES), 8, PLACES))
    (shader,) = emit_program(program, dataclasses.replace(IEEE, **traits)).shaders
    return [op for op, _ in instructions(shader.words)]


def test_what_is_rare_is_left_out_of_quick_functions():
    def branches(ops):
        return ops.count(Op.BranchConditional)

    fast, full = emitted(WITHOUT), emitted({})
    # the fast path of a sine branches where it doubts, its slow one where it is far; the parallel loop adds two
    assert (branches(fast), branches(full)) == (2 * 2 + 2, 2 * 1 + 2)
    assert (fast.count(Op.Function), full.count(Op.Function)) == (5, 3)


def test_only_devices_without_multiply_adds_take_variants_for_them():
    often = "%s0 = load @a[%i] : f32\n" + "".join(f"%s{k + 1} = call @sin.f32 %s{k} : f32\n" for k in range(13))
    often += "store @b[%i], %s13"
    wide, plain, default = (emitted(traits, often).count(Op.FConvert) for traits in (WITHOUT, NORMAL, {}))
    assert wide > 0
    assert plain > wide  # its multiply-adds are done again in f64 where they may be wrong
    assert default == 0
