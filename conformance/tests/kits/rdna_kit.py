"""What the tests of the emulated processors share: one instruction, assembled by LLVM, run on many operands."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from adstack.backends.amdgpu.capability import offered
from adstack.backends.amdgpu.emulator import Emulator, started
from adstack.backends.amdgpu.layout import kernels_of
from adstack.backends.amdgpu.linker import linked
from adstack.backends.amdgpu.runtime import AmdgpuBackend
from adstack.backends.rdna.machine import Code
from adstack.backends.rdna.processors import PROCESSORS
from adstack.backends.shared.clang import compiler

Array = npt.NDArray[Any]
EACH = pytest.mark.parametrize("processor", PROCESSORS)
_WORDS = {
    32: {"{vcc}": "vcc_lo", "{exec}": "exec_lo", "{mask}": "s40", "{b}": "b32", "{nc}": "nc_"},
    64: {"{vcc}": "vcc", "{exec}": "exec", "{mask}": "s[40:41]", "{b}": "b64", "{nc}": ""},
}
"""By threads of a wave: registers that have a bit of each, and the type of those in names of instructions."""
_LLVM = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}
_HEAD = """target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
"""
_KERNEL = """
define amdgpu_kernel void @{symbol}(ptr addrspace(1) %out, ptr addrspace(1) %flags{parameters}) {{
  %item = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %before = mul i32 %group, {threads}
  %k = add i32 %before, {item}
{loads}
{body}
  ret void
}}
"""


@dataclass(frozen=True)
class One:
    """A kernel around an instruction.

    Attributes:
        text: in assembly; "$0" is the result, and others follow. "{vcc}", "{exec}" and "{mask}" are registers with a
            bit of each thread of a wave, "{b}" their type; "{nc}" is in names of sums of integers.
        result: numpy's type of it, if there is one.
        operands: types of the operands.
        flags: numpy's type of a second result, if there is one.
        kind: of registers, "v" or "s".
        clobbers: which registers it changes besides.
    """

    text: str
    result: Any
    operands: Sequence[Any]
    flags: Any = None
    kind: str = "v"
    clobbers: str = ""

    def threads(self, lanes: int) -> int:
        """Of a workgroup, where a wave has so many."""
        return threads_of(lanes) if self.kind == "v" else 1

    def kernel(self, symbol: str, lanes: int) -> str:
        """LLVM's text, for waves of so many threads."""
        types = [np.dtype(ty) for ty in self.operands]
        loads = "\n".join(
            f"  %at.{k} = getelementptr {_LLVM[ty.itemsize]}, ptr addrspace(1) %in.{k}, i32 %k\n"
            f"  %x.{k} = load {_LLVM[ty.itemsize]}, ptr addrspace(1) %at.{k}"
            for k, ty in enumerate(types)
        )
        parameters = "".join(f", ptr addrspace(1) %in.{k}" for k in range(len(types)))
        body = self._call(types, lanes)
        item = "%item" if self.kind == "v" else 0  # which is the same for the whole wave
        head = {"symbol": symbol, "parameters": parameters, "threads": self.threads(lanes), "item": item}
        return _KERNEL.format(**head, loads=loads, body=body)

    def _call(self, types: Sequence[np.dtype[Any]], lanes: int) -> str:
        text = self.text
        for word, register in _WORDS[lanes].items():
            text = text.replace(word, register)
        goals = [(_LLVM[np.dtype(self.result).itemsize], "out")] if self.result is not None else []
        goals += [(_LLVM[np.dtype(self.flags).itemsize], "flags")] if self.flags is not None else []
        shown = goals[0][0] if len(goals) == 1 else "{" + ", ".join(ty for ty, _ in goals) + "}"
        arguments = ", ".join(f"{_LLVM[ty.itemsize]} %x.{k}" for k, ty in enumerate(types))
        constraints = ",".join([*(f"=&{self.kind}" for _ in goals), *(self.kind for _ in types)]) + self.clobbers
        lines = [f'  %r = call {shown} asm sideeffect "{text}", "{constraints}"({arguments})']
        for k, (ty, where) in enumerate(goals):
            if len(goals) > 1:
                lines.append(f"  %r.{k} = extractvalue {shown} %r, {k}")
            value = "%r" if len(goals) == 1 else f"%r.{k}"
            lines.append(f"  %to.{k} = getelementptr {ty}, ptr addrspace(1) %{where}, i32 %k")
            lines.append(f"  store {ty} {value}, ptr addrspace(1) %to.{k}")
        return "\n".join(lines)


def assembled(text: str, processor: str) -> bytes:
    """The code object of LLVM's text, by clang: LLVM as llvmlite has it reads no assembly of these processors."""
    there = compiler()
    assert there is not None
    command = [there[0], "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-nogpulib", "-O1", "-x", "ir", "-c"]
    done = subprocess.run([*command, "-o", "-", "-"], input=text.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[:2000]
    return linked(done.stdout)


class Batch:
    """Kernels that are assembled together."""

    def __init__(self, kernels: Mapping[str, One], processor: str = "gfx1100") -> None:
        self.kernels = kernels
        self.processor = processor
        self.lanes = PROCESSORS[processor].lanes

    @cached_property
    def _image(self) -> bytes:
        text = _HEAD + "".join(one.kernel(name, self.lanes) for name, one in self.kernels.items())
        return assembled(text, self.processor)

    @cached_property
    def _code(self) -> Code:
        return Code(self._image)

    def run(self, name: str, operands: Sequence[Array], *, skew: int = 0) -> tuple[Array, Array]:
        """The result of an instruction for each of the operands' elements, and what else it gives."""
        one, count = self.kernels[name], len(operands[0])
        threads = one.threads(self.lanes)
        assert count % threads == 0
        out, flags = np.zeros(count, one.result or np.uint32), np.zeros(count, one.flags or np.uint32)
        words = np.array([array.ctypes.data for array in (out, flags, *operands)], np.uint64)
        start = started(kernels_of(self._image)[name].descriptor)
        self._code.dispatch(start, words.ctypes.data, count // threads, threads, skew)
        return out, flags


def threads_of(lanes: int) -> int:
    """Of a workgroup: a wave, and a part of one."""
    return lanes + 8


def random_of(kind: type, count: int, seed: int = 0) -> Array:
    """Numbers of all sizes: any bits, edges, numbers near one, and subnormal ones or small integers."""
    rng = np.random.default_rng([seed, np.dtype(kind).num])
    unsigned = np.dtype(f"u{np.dtype(kind).itemsize}")
    anything: Array = rng.integers(0, np.iinfo(unsigned).max, count, dtype=unsigned, endpoint=True).view(kind)
    if np.dtype(kind).kind != "f":
        info = np.iinfo(kind)
        edges: Array = np.array([0, 1, 2, info.max, info.max - 1, info.min, info.min + 1, info.max // 2], kind)
        small: Array = rng.integers(0, 70, count).astype(kind)
        return np.select(
            [rng.random(count) < 0.4, rng.random(count) < 0.5], [anything, small], rng.choice(edges, count)
        )
    info = np.finfo(kind)
    half = [info.max / 2, info.max / 3, info.tiny / 2, info.tiny / 4]
    few = [info.smallest_subnormal, info.tiny, info.tiny * kind(1.5), info.max, np.inf, 0, 1, 3, 7, np.nan, *half]
    edges = np.array([*few, *(-x for x in few)], kind)
    near = kind(1) + rng.integers(0, 1 << info.nmant, count).astype(kind) * info.eps
    subnormal: Array = rng.integers(0, 1 << info.nmant, count).astype(unsigned).view(kind)
    which = rng.integers(0, 4, count)
    picked = np.select([which == 0, which == 1, which == 2], [anything, rng.choice(edges, count), near], subnormal)
    return picked.astype(kind)


def same(a: Array, b: Array) -> bool:
    """Whether two arrays have the same bits, any NaN being like any other."""
    if a.dtype.kind == "f":
        a, b = np.where(np.isnan(a), np.nan, a).astype(a.dtype), np.where(np.isnan(b), np.nan, b).astype(b.dtype)
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


@cache
def device_of(processor: str, group: int | None = None) -> AmdgpuBackend:
    """An emulated processor as a device, whose workgroups have so many threads."""
    driver = Emulator(processor, group)
    return AmdgpuBackend(offered(driver, {}), driver)
