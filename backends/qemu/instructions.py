"""The few functions for aarch64 that no LLVM assembly says: system calls, and where threads and programs begin.

They are written as instructions, since LLVM comes here without an assembler for that processor. The encodings are those
of the "Arm Architecture Reference Manual for A-profile", C6.2.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

__all__ = ["boot", "functions"]

_RETURN, _SYSTEM_CALL, _STACK_IS_9, _JUMP_10, _CALL_9 = 0xD65F03C0, 0xD4000001, 0x9100013F, 0xD61F0140, 0xD63F0120
_LESS_ONE: Final = (0xC85FFC22, 0xD1000442, 0xC803FC22, 0x35FFFFA3)
"""`again: ldaxr x2, [x1]; sub x2, x2, #1; stlxr w3, x2, [x1]; cbnz w3, again`."""
_EXIT, _CLONE, _MAP = 93, 220, 222
_THREAD: Final = 0x50F00
"""CLONE_VM, _FS, _FILES, _SIGHAND, _THREAD, _SYSVSEM."""
_ALL_RIGHTS, _SHARED_FIXED = 7, 0x11


def _copy(to: int, of: int) -> int:
    """`mov xTO, xOF`"""
    return 0xAA0003E0 | of << 16 | to


def _number(to: int, value: int) -> list[int]:
    """`movz`, and `movk` for each further 16 bits: a constant."""
    parts = [value >> 16 * k & 0xFFFF for k in range(4)]
    more = [0xF2800000 | k << 21 | parts[k] << 5 | to for k in (1, 2, 3) if parts[k]]
    return [0xD2800000 | parts[0] << 5 | to, *more]


def _if_not_zero(register: int, distance: int) -> int:
    """`cbnz xREGISTER`, so many instructions on."""
    return 0xB5000000 | distance << 5 | register


def _bytes(code: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(code)}I", *code)


def functions(workers: int) -> dict[str, bytes]:
    """Name -> machine code that may stand anywhere.

    `i64 adstack_system(i64 number, six arguments)` makes a system call. `i64 adstack_spawn(stack, function, number)`
    starts a thread that calls a function with a number, takes 1 off the word at `workers`, and ends.
    """
    system = [_copy(8, 0), *(_copy(k, k + 1) for k in range(6)), _SYSTEM_CALL, _RETURN]
    ended = [*_number(1, workers), *_LESS_ONE, *_number(0, 0), *_number(8, _EXIT), _SYSTEM_CALL]
    child = [_copy(0, 10), _CALL_9, *ended]
    spawn = [_copy(9, 1), _copy(10, 2), _copy(1, 0), *_number(0, _THREAD)]
    spawn += [word for register in (2, 3, 4) for word in _number(register, 0)]
    spawn += [*_number(8, _CLONE), _SYSTEM_CALL, _if_not_zero(0, len(child) + 1), *child, _RETURN]
    return {"adstack_system": _bytes(system), "adstack_spawn": _bytes(spawn)}


def boot(base: int, size: int, stack: int, function: int) -> bytes:
    """A program: map so many bytes of standard input at an address, and go on in a function, with a stack."""
    arguments = (base, size, _ALL_RIGHTS, _SHARED_FIXED, 0, 0)
    code = [word for register, value in enumerate(arguments) for word in _number(register, value)]
    code += [*_number(8, _MAP), _SYSTEM_CALL, *_number(9, stack), _STACK_IS_9, *_number(10, function), _JUMP_10]
    return _bytes(code)
