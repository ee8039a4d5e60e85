"""What the tests of reversing structures share: kernels over five threads, in IR text."""

from __future__ import annotations

from transforms_kit import kernel_of, wrap

from adstack.ir.structure import Kernel

HEAD = """kernel @k() {
  place @x : f64[5] field
  place @w : f64[5] field
  place @y : f64[5] field
  place @z : f64[] field
  place @n : i32[5] field
  place @t : f64[] temp"""
FRONT = "\n".join(
    [*(f"%{k} = const {k} : i32" for k in range(6)), "%half = const 0.5 : f64", "%one = const 1.0 : f64", ""]
)


def kernel(body: str) -> Kernel:
    return kernel_of(wrap(f"{FRONT}{body}\nreturn", HEAD))


def threads(body: str, index: str = "i") -> str:
    return f"parallel_for (%{index} = %0 to %5) {{\n{body}\nyield\n}}\n"


START = "%a = load @x[%i]\n%m = load @n[%i]\n%u = load @w[%i]\n"
END = "\nstore @y[%i], %r"
