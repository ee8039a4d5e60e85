"""Adstacks of any depth and of every type, for as many lanes as there are."""

import numpy as np

from adstack.conformance.case import IR, Run, case

ALL = ["u1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"]


def factors(count):
    """Powers of two whose products stay within 2^-12 .. 2^12: (factors, exponents of the products before each)."""
    found, before, at = [], [], 0
    for k in range(count):
        step = 1 if (k * 7 + k // 5) % 3 else -1
        step = -step if abs(at + step) > 12 else step
        before.append(at)
        found.append(2.0**step)
        at += step
    return found, [*before, at]


@case(rules=["heap.capacity"], params={"n": [1, 4096]}, timeout=120)
def b1_eight_variables(qd, n):
    """v_k <- v_k * w[k, j], n times: the adjoint of w[k, j] is v_k at the end over w[k, j]."""
    x = qd.field(qd.f32, shape=8, needs_grad=True)
    w = qd.field(qd.f32, shape=(8, n), needs_grad=True)
    y = qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def k(n: qd.i32):
        for i in range(1):
            a, b, c, d = x[i], x[1], x[2], x[3]
            e, f, g, h = x[4], x[5], x[6], x[7]
            for j in range(n):
                a, b, c, d = a * w[0, j], b * w[1, j], c * w[2, j], d * w[3, j]
                e, f, g, h = e * w[4, j], f * w[5, j], g * w[6, j], h * w[7, j]
            y[None] = a + b + c + d + e + f + g + h

    def both():
        y.grad.fill(1)
        k(n)
        k.grad(n)

    all_, exponents = factors(8 * n + 8)
    rows = [all_[v * n : v * n + n] for v in range(8)]
    ends = [2.0 ** (exponents[v * n + n] - exponents[v * n]) for v in range(8)]
    expect = {x.grad: ends, w.grad: [[ends[v] / u for u in row] for v, row in enumerate(rows)]}
    return Run(both, given={x: 1, w: rows}, expect=expect)


@case(rules=["heap.capacity"], timeout=300)
def b1_a_very_deep_stack(qd):
    """65,536 slots for each of four variables."""
    n = 65536
    x = qd.field(qd.f32, shape=4, needs_grad=True)
    w = qd.field(qd.f32, shape=n, needs_grad=True)
    y = qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def k(n: qd.i32):
        for i in range(1):
            a, b, c, d = x[i], x[1], x[2], x[3]
            for j in range(n):
                a, b, c, d = a * w[j], b * w[j], c * w[j], d * w[j]
            y[None] = a + b + c + d

    def both():
        y.grad.fill(1)
        k(n)
        k.grad(n)

    values, exponents = factors(n)
    end, total = 2.0 ** exponents[n], 15.0
    return Run(
        both, given={x: [1, 2, 4, 8], w: values}, expect={x.grad: end, w.grad: [total * end / v for v in values]}
    )


SLOTS = """
program @slots {
  place @x : TYPE[2, 40] field
  place @y : TYPE[2, 40] field
  task @slots.work parallel () {
    %zero = const 0 : i32
    %two = const 2 : i32
    %forty = const 40 : i32
    %room = const 40 : i64
    %other = const 7 : i64
    parallel_for (%i = %zero to %two) {
      %s = stack.alloca %room : stack<TYPE>
      %t = stack.alloca %room : stack<u8>
      %u = stack.alloca %other : stack<f64>
      for %j = %zero to %forty {
        %v = load @x[%i, %j]
        %at = cast %j : i64
        %byte = cast %j : u8
        stack.put %s, %at, %v
        stack.put %t, %at, %byte
        yield
      }
      for %k = %zero to %forty {
        %at = cast %k : i64
        %v = stack.get %s, %at : TYPE
        %byte = stack.get %t, %at : u8
        %place = cast %byte : i32
        store @y[%i, %place], %v
        yield
      }
      yield
    }
    return
  }
}
"""


@case(rules=["heap.types", "adstack.put"], params={"dtype": ALL})
def b7_every_scalar_type(qd, dtype):
    """What was put comes back, beside stacks of other types."""
    to = {"u1": np.bool_, "f16": np.float16, "f32": np.float32, "f64": np.float64}.get(dtype)
    to = to or getattr(np, {"i": "int", "u": "uint"}[dtype[0]] + dtype[1:])
    whole = np.arange(80).reshape(2, 40)
    x = (whole % 3 == 0) if dtype == "u1" else (whole * 3 - (100 if dtype[0] != "u" else 0)).clip(-128, 127).astype(to)
    y = np.zeros((2, 40), to)
    return Run(IR(SLOTS.replace("TYPE", dtype), {"x": x.astype(to), "y": y}), expect=[(y, x.tolist())])


@case(rules=["heap.types", "grad.loop"], params={"kind": ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]})
def b7_carried_integers_of_every_type(qd, kind):
    """An index that wanders in its own type says which factor comes next, and which comes back."""
    dtype = getattr(qd, kind)
    x, y = qd.field(qd.f32, shape=2, needs_grad=True), qd.field(qd.f32, shape=2, needs_grad=True)
    w = qd.field(qd.f32, shape=8, needs_grad=True)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            at = qd.cast(i, dtype)
            for _ in range(n):
                s = s * w[qd.cast(at, qd.i32)]
                at = qd.cast((at * qd.cast(3, dtype) + qd.cast(1, dtype)) % qd.cast(8, dtype), dtype)
            y[i] = s

    def both():
        y.grad.fill(1)
        k(6)
        k.grad(6)

    # from 0: 0 1 4 5 0 1; from 1: 1 4 5 0 1 4; w = 1/2 2 1 1 4 1/2 1 1
    values = [0.5, 2, 1, 1, 4, 0.5, 1, 1]
    ends = [0.5 * 2 * 4 * 0.5 * 0.5 * 2, 2 * 4 * 0.5 * 0.5 * 2 * 4]
    times = [[2, 2, 0, 0, 1, 1, 0, 0], [1, 2, 0, 0, 2, 1, 0, 0]]
    of_w = [sum(e * t[m] for e, t in zip(ends, times)) / values[m] for m in range(8)]
    return Run(both, given={x: 1, w: values}, expect={x.grad: ends, w.grad: of_w})
