"""What quick functions take for granted, and what they leave to the way that is always right."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from interpreter_kit import parallel
from vulkan_kit import agree, backend, tasks_of

from adstack.backends.spirv.doubts import ORDINARY
from adstack.backends.spirv.opcodes import Op
from adstack.backends.spirv.tasks import emit_program
from adstack.backends.spirv.text import instructions
from adstack.backends.spirv.traits import IEEE
from adstack.ir.functions import builtin

WITHOUT = {"fma32": False, "fma32_normal": False}
NORMAL = {"fma32": False, "fma32_normal": True}
LEAST = 2.0**-126


def around_quarters():
    """Every multiple of pi/2 that is near, and its neighbours."""
    near = (np.arange(1, int(2.0**17 * 2 / math.pi) + 1) * (math.pi / 2)).astype(np.float32).view(np.int32)
    return np.concatenate([(near + step).view(np.float32) for step in (-1, 0, 1)])


def arguments(least, most):
    """Those, numbers of every size between the bounds, and zeros."""
    rng = np.random.default_rng(1)
    anywhere = np.exp2(rng.uniform(math.log2(least), math.log2(most), 100_000)).astype(np.float32)
    powers = np.float32(2) ** np.arange(math.log2(least), math.log2(most) + 1, dtype=np.float32)
    ends = np.concatenate([powers, np.nextafter(powers, np.float32(np.inf))])
    found = np.concatenate([around_quarters(), anywhere, ends])
    found = found[(found >= least) & (found <= most)]
    return np.concatenate([found, -found, np.array([0.0, -0.0], np.float32)])


def multiply_adds(body, x):
    """(operands, result) of each, in the usual way: the first side of every `if`."""
    values, found = {body.args[0]: x}, []

    def run(region):
        for op in region.ops[:-1]:
            operands = [values[v] for v in op.operands]
            if op.name == "const":
                values[op.result] = np.array([op.attrs["value"]], op.attrs["to"].numpy)
            elif op.regions:
                assert operands[0].all()
                values.update(zip(op.results, run(op.regions[0]), strict=True))
            else:
                values[op.result] = op.opdef.meaning(op.result.dtype, *operands)
            if op.name == "fma":
                found.append((operands, values[op.result]))
        return [values[v] for v in region.terminator.operands]

    run(body)
    return found


@pytest.mark.parametrize("variant", ["", ".wide"])
@pytest.mark.parametrize("name", sorted(ORDINARY))
def test_ordinary_functions_meet_no_subnormal_number_and_take_no_rare_way(name, variant):
    body = builtin(name.replace(".", f"{variant}.")).body
    with np.errstate(all="ignore"):
        fused = multiply_adds(body, arguments(*ORDINARY[name]))
        for operands, result in fused:
            for number in (*operands, result):
                assert np.min(np.abs(number), where=number != 0, initial=1.0) >= LEAST
            a, b, c = (v.astype(np.float64) for v in operands)
            assert not np.any((result == 0) & (a * b + c != 0))  # nor one that is too small to be seen
    assert len(fused) >= 6


SINE = """%a = load @a[%i] : f32
%s = call @sin.f32 %a : f32
%c = call @cos.f32 %a : f32
store @r[%i], %s
store @q[%i], %c"""
PLACES = "\n".join(f"place @{n} : f32[?] field" for n in "arq")


def edges():
    """Numbers about where the usual way ends, far ones, and special ones."""
    rng = np.random.default_rng(2)
    some = [np.float32(x) for x in (2.0**-28, 2.0**-29, 2.0**-126, 2.0**-149, 2.0**17, math.inf, math.nan, 0.0, 1e30)]
    beside = [np.nextafter(x, np.float32(to)) for x in some for to in (0, np.inf)]
    anywhere = rng.integers(0, 1 << 32, 4000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    found = np.concatenate([np.array(some + beside, np.float32), anywhere, around_quarters()[::61]])
    return np.concatenate([found, -found])


@pytest.mark.parametrize("traits", [{}, WITHOUT], ids=["as-it-is", "without"])
def test_arguments_that_are_not_ordinary_give_the_same_bits(traits):
    x = edges()
    buffers = {"a": x, "r": np.zeros_like(x), "q": np.zeros_like(x)}
    agree(parallel(SINE, len(x), PLACES), buffers, device=backend(**traits))


def emitted(traits, body=SINE):
    program = tasks_of(parallel(body, 8, PLACES))
    (shader,) = emit_program(program, dataclasses.replace(IEEE, **traits)).shaders
    return [op for op, _ in instructions(shader.words)]


def test_what_is_rare_is_left_out_of_quick_functions():
    def branches(ops):
        return ops.count(Op.BranchConditional)

    quick, whole = emitted(WITHOUT), emitted({})
    # a quick sine branches where it doubts, its slow one where it is far; the parallel loop adds two
    assert (branches(quick), branches(whole)) == (2 * 2 + 2, 2 * 1 + 2)
    assert (quick.count(Op.Function), whole.count(Op.Function)) == (5, 3)


def test_only_devices_without_multiply_adds_take_variants_for_them():
    often = "%s0 = load @a[%i] : f32\n" + "".join(f"%s{k + 1} = call @sin.f32 %s{k} : f32\n" for k in range(13))
    often += "store @r[%i], %s13"
    wide, plain, whole = (emitted(traits, often).count(Op.FConvert) for traits in (WITHOUT, NORMAL, {}))
    assert wide > 0
    assert plain > wide  # its multiply-adds are done again in f64 where they may be wrong
    assert whole == 0
