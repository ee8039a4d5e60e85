"""What a device does with floats and loops: found out by running a shader that tries, and kept on disk.

Vulkan lets a driver round quotients, roots and fma as it likes, and what it declares says less than what it does.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from adstack.backends.codegen_spirv.assembly.code import Code
from adstack.backends.codegen_spirv.assembly.module import Module
from adstack.backends.codegen_spirv.assembly.opcodes import BUILTIN, Storage
from adstack.backends.codegen_spirv.assembly.opcodes import Op as Spv
from adstack.backends.codegen_spirv.assembly.traits import Traits
from adstack.backends.codegen_spirv.memory import WORDS, memory_of
from adstack.backends.codegen_spirv.memory import Memory as Reached
from adstack.backends.codegen_spirv.trials import CASES, TRIALS, Trial, operands
from adstack.backends.shared import kept
from adstack.ir.types import Array, u8, u32, u64

from .capability import SUBGROUPS
from .layout import Memory, Piece
from .stream import Stream
from .toolchain import Pipelines

__all__ = ["declared", "measured"]

_REGION: Final = 8 * CASES
"""Bytes of the operands, or of the results, of one trial."""
_LOCAL: Final = 64


def declared(
    features: frozenset[str], controls: frozenset[str], limits: Mapping[str, int], *, is_cpu: bool
) -> dict[str, Any]:
    """What a device says of itself."""

    def widths(what: str) -> tuple[int, ...]:
        return tuple(bits for bits in (16, 32, 64) if f"shader{what}Float{bits}" in controls)

    return {
        "addresses": "bufferDeviceAddress" in features,
        "int64_atomics": "shaderBufferInt64Atomics" in features,
        "subgroups": SUBGROUPS in features,
        "threads": 0 if is_cpu else limits["threads"],
        "shared": limits["shared"],
        "preserve": widths("SignedZeroInfNanPreserve"),
        "nearest": widths("RoundingModeRTE"),
        "denormals": widths("DenormPreserve"),
    }


def measured(memory: Memory, stream: Stream, pipelines: Pipelines, folder: Path | None) -> Traits:
    """What a device can do: what it declares, and what trials on it have found, now or earlier.

    Args:
        memory: of the device, for the trials.
        stream: runs them.
        pipelines: compiles them; its name tells devices and drivers apart.
        folder: where what was found before is kept; None to try again.
    """
    physical = memory.device.physical
    traits = declared(physical.features, physical.controls, physical.limits, is_cpu=physical.is_cpu)
    name = f"{kept.DEVICES}/{pipelines.name}.traits"
    examined = None if folder is None else _read(folder, name)
    if examined is None:
        examined = _tried(memory, stream, pipelines, physical.features, Traits(**traits))
        if folder is not None:
            kept.write(folder, name, json.dumps(examined).encode())
    return Traits(**{**traits, **examined})


def _read(folder: Path, name: str) -> dict[str, bool] | None:
    """What a file knows of a device, or None if there is none, or if it is of other trials."""
    names = {trial.name for trial in TRIALS}
    body = kept.read(folder, name)
    traits = {} if body is None else json.loads(body)
    return {name: bool(traits[name]) for name in names} if set(traits) == names else None


def _tried(
    memory: Memory, stream: Stream, pipelines: Pipelines, features: frozenset[str], base: Traits
) -> dict[str, bool]:
    trials = [trial for trial in TRIALS if features.issuperset(trial.needs)]
    piece = memory.piece(u8, (5 * _REGION * len(trials),), visible=True)
    tables = [operands(trial.dtype) for trial in trials]
    for k, triple in enumerate(tables):
        for which, array in enumerate(triple):
            _region(piece, k, which, array.dtype)[:] = array
        _region(piece, k, 4, triple[0].dtype)[:] = triple[0]
    tried = []
    for k, trial in enumerate(trials):  # each alone: what a shader asks for one width may change what it does in others
        m, reached = _shader(trial, k, base, zlib.crc32(memory.device.physical.identity))
        what = f"the examination of the device ({trial.name})"
        tried.append(pipelines.make(m.words, _LOCAL, m.capabilities, what, buffers=reached.buffers))
        stream.bind(tried[-1], (piece.block,))
        stream.dispatch(tried[-1], piece.address, CASES // _LOCAL)
    stream.finish()
    holds = {trial.name: False for trial in TRIALS}
    with np.errstate(all="ignore"):
        for k, (trial, triple) in enumerate(zip(trials, tables, strict=True)):
            got, want = _region(piece, k, 3, trial.to.numpy), trial.wanted(*triple)
            bits = f"u{trial.to.size}"
            same = (got.view(bits) == want.view(bits)) | ((got != got) & (want != want))
            holds[trial.name] = bool(same.all())
    for pipeline in tried:
        pipelines.destroy(pipeline)
    memory.free(piece)
    return holds


def _region(piece: Piece, trial: int, which: int, dtype: npt.DTypeLike) -> Array:
    """Operands 0 to 2, results, or the memory that a trial may change."""
    return np.frombuffer(piece.block.host, dtype, CASES, piece.offset + (5 * trial + which) * _REGION)


def _shader(trial: Trial, k: int, base: Traits, mark: int) -> tuple[Module, Reached]:
    """Thread i tries the i-th operands of the k-th trial.

    A mark of the device is left in memory, so that its code is no other device's: what a driver keeps on disk may be of
    vectors of another width.
    """
    m = Module(base)
    c, memory = Code(m), memory_of(base)
    block = m.push_constants((m.type(u64), 0))
    pointer = m.pointer(Storage.PushConstant, m.type(u64))
    pushed = c.let(Spv.Load, u64, c.raw(Spv.AccessChain, pointer, block, m.word(0)))
    start = memory.of(WORDS, pushed)
    three = m.vector(u32, 3)
    invocation = c.raw(Spv.Load, three, m.builtin(BUILTIN["GlobalInvocationId"], three))
    thread = c.let(Spv.CompositeExtract, u32, invocation, 0).resize(u64)
    at = [(start + (5 * k + which) * _REGION).elements(thread, trial.dtype.size) for which in range(5)]
    operands = tuple(address.load(trial.dtype) for address in at[:3])
    result = (start + (5 * k + 3) * _REGION).elements(thread, trial.to.size)
    result.store(trial.run(c, at[4], operands), trial.to)
    at[4].store(c.const(mark, u32), u32)
    c.do(Spv.Return)
    main = m.new()
    m.add(c.function(main, m.void, m.signature(m.void)))
    m.entry(main, _LOCAL)
    return m, memory
