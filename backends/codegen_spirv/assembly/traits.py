"""What a device does with floats, as far as it decides what code it is given."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["IEEE", "Traits"]


@dataclass(frozen=True)
class Traits:
    """What holds on a device; what does not hold is computed from operations that do.

    Attributes:
        addresses: memory is reached by buffer device addresses; else by bindings of storage buffers.
        fma32, fma64: the instruction Fma rounds once.
        fma32_normal: the instruction Fma of f32 rounds once where no operand and no result is subnormal.
        div32, div64, sqrt32, sqrt64: the instruction rounds correctly.
        div32_by_steps, sqrt32_by_steps: Newton's steps make the right result of a reciprocal, or of a reciprocal root,
            that is nearly right (see `scalars.steps`).
        round32, round64: Trunc, RoundEven, Floor and Ceil are right.
        half: converting f32 to f16 rounds to nearest even and keeps subnormals.
        half_kept: converting f32 to f16 and back rounds; some compilers leave both out.
        order32, order64: comparisons tell subnormal numbers from zeros.
        zeros: sums and quotients are right where an operand is a constant zero. Mesa's generator for processors takes
            `x + 0` for x, `0 - x` for -x and `0 / x` for 0, and makes nothing of `x / 0`.
        widen: converting f32 to f64 keeps subnormals.
        float_add: there is an atomic addition of f32 that keeps subnormals.
        float_add_large: there is one that is right where what is added is at least 2^-100 in size.
        int64_atomics: there are atomics of 64 bits.
        subgroups: threads that run side by side may combine their values.
        threads, shared: how many threads a workgroup may have that is a block of the program's, and how many bytes of
            memory they share; 0 threads where a block is quicker as one thread, as processors have it.
        endless: loops run as often as they should. Some drivers end every loop once a thread has made a fixed number
            of iterations in all; then a loop that was ended is an error, never a wrong result.
        preserve, nearest, denormals: widths for which a module may ask that signed zeros, infinities and NaNs be kept,
            that rounding be to nearest even, that subnormals be kept.
    """

    addresses: bool = True
    fma32: bool = True
    fma64: bool = True
    fma32_normal: bool = True
    div32: bool = True
    div64: bool = True
    sqrt32: bool = True
    sqrt64: bool = True
    div32_by_steps: bool = True
    sqrt32_by_steps: bool = True
    round32: bool = True
    round64: bool = True
    half: bool = True
    half_kept: bool = True
    order32: bool = True
    order64: bool = True
    zeros: bool = True
    widen: bool = True
    float_add: bool = True
    float_add_large: bool = True
    int64_atomics: bool = True
    subgroups: bool = True
    threads: int = 1024
    shared: int = 32768
    endless: bool = True
    preserve: tuple[int, ...] = (16, 32, 64)
    nearest: tuple[int, ...] = (16, 32, 64)
    denormals: tuple[int, ...] = (16, 32, 64)

    @property
    def dedicated(self) -> bool:
        """Whether this is a device of its own, and no processor that plays one."""
        return self.endless and self.threads > 0


IEEE = Traits()
"""The traits of a device that keeps every rule of IEEE 754."""
