"""Kernels with loops of every shape, to be reversed with checkpoints and without; `n` holds trip counts of lanes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

import adstack as qd
from adstack.autodiff.reverse import Checkpoints, reverse
from adstack.interpreter import run
from adstack.ir.structure import Kernel, Place, Program
from adstack.ir.verify.verifier import verify
from adstack.transforms.pipeline import lower, optimize

Array = npt.NDArray[Any]
Buffers = dict[str, Array]

T = qd.template()
LANES = 6
ROOM = 20
"""Elements of local arrays: too many for them to become values."""


def places(kernel: Kernel) -> dict[str, Place]:
    """The gradients of a kernel's floats."""
    return {
        p.name: replace(p, name=f"{p.name}.grad", role="grad", of=p.name)
        for p in kernel.places.values()
        if p.dtype.is_float and p.kind != "temp"
    }


def backward(kernel: Kernel, checkpoints: Checkpoints | None = None) -> Program:
    """The reverse kernel's program."""
    gradient = reverse(kernel, places(kernel), checkpoints=checkpoints)
    verify(gradient)
    return lower(gradient)


def buffers(kernel: Kernel, trips: list[int], seed: int = 0) -> Buffers:
    """What memory holds before a reverse launch: trip counts by lane, everything else at random."""
    random = np.random.default_rng(seed)
    by_name = {p.name: p for p in (*kernel.places.values(), *places(kernel).values()) if p.kind != "temp"}
    return {
        name: np.asarray(random.uniform(0.5, 1.4, place.shape), place.dtype.numpy)
        if place.dtype.is_float
        else np.resize(np.asarray(trips, np.int32), place.shape)
        for name, place in by_name.items()
    }


def gradients(program: Program, memory: Buffers) -> dict[str, bytes]:
    """The bits of the gradients that a launch leaves."""
    memory = {name: buffer.copy() for name, buffer in memory.items()}
    run(program, memory)
    return {name: buffer.tobytes() for name, buffer in memory.items() if name.endswith(".grad")}


@qd.kernel
def recurrence(x: T, w: T, y: T, n: T, total: T):
    for i in x:
        v = x[i]
        for k in range(n[i]):
            v = qd.sin(v) * w[i] + 0.1 * k
        y[i] = v
        total[None] += v * v


@qd.kernel
def shifted(x: T, w: T, y: T, n: T, total: T):
    for i in x:
        v = x[i]
        for k in range(-3, n[i] - 3):
            v = qd.sin(v) * w[(k + 60) % LANES] + 0.1
        y[i] = v * v


@qd.kernel
def serial(x: T, w: T, y: T, n: T, total: T):
    v = x[0]
    k = 0
    while k < n[1]:
        v = qd.sin(v) * w[k % LANES] + 0.1
        for j in range(k % 3):
            v += w[j] * v
        k += 1
    y[0] = v * v


@qd.kernel
def condition(x: T, w: T, y: T, n: T, total: T):
    for i in x:
        v = x[i]
        k = 0
        while k < n[i] and v < 50.0:
            v = v * w[i] * 1.5 + qd.cos(v)
            k += 1
        y[i] = v


@qd.kernel
def leaving(x: T, w: T, y: T, n: T, total: T):
    for i in x:
        v = x[i]
        last = 0.0
        for k in range(n[i]):
            if k == 17:
                break
            if v > 0.9:
                v = v * 0.1
                continue
            last = v
            v = v * v + w[i] * 0.3
        y[i] = v * last


@qd.kernel
def ragged(x: T, w: T, y: T, n: T, total: T):
    for i in x:
        v = x[i]
        for k in range(n[i]):
            for j in range((k * 7) % 5):
                v = qd.sin(v) * w[j] + 0.01 * j
            u = v
            for j in range((k * 3) % 4):
                u = qd.tanh(u * v) + w[j]
            v = v + 0.5 * u
        y[i] = v


@qd.kernel
def inner_while(x: T, w: T, y: T, n: T, total: T):
    for i in x:
        v = x[i]
        c = 0
        while c < n[i]:
            j = 0
            while j < c % 4 and v > -2.0:
                v = qd.sin(v) * w[j] + 0.01 * j
                j += 1
            if v > 0.3:
                for q in range(c % 3):
                    v = v * w[q]
                    total[None] += v
            c += 1
        y[i] = v


@qd.kernel
def siblings(x: T, w: T, y: T, n: T, total: T):
    for i in x:
        v = x[i]
        for _ in range(n[i]):
            v = qd.sin(v) * w[i]
        u = v * w[i]
        for k in range(n[i] + 1):
            u = qd.cos(u) * v
            for j in range(k % 2):
                u = u * v + w[j]
        for _ in range(n[i] // 3):
            v = qd.sin(v) * u
        y[i] = u + v


@qd.kernel
def edges(x: T, w: T, y: T, n: T, total: T):
    for i in x:
        v = x[i]
        for k in range(n[i]):
            r = qd.sqrt(v - 0.7)
            v = qd.max(r * w[i], v * 0.0) if k % 2 == 0 else v * r
        y[i] = v


@qd.kernel
def branches(x: T, w: T, y: T, n: T, total: T):
    for i in x:
        v = x[i]
        s = 0.0
        if n[i] % 2 == 0:
            c = qd.exp(v * 0.1)
            m = n[i]
            for k in range(m):
                s += qd.sin(v + s) * c
            if s > 0.0:
                e = s * c
                while m > 0:
                    s = qd.sin(s) * e
                    m -= 1
                for k in range(n[i]):
                    s = s * e + qd.cos(s)
        else:
            for k in range(n[i]):
                v = qd.sin(v) * w[i]
        y[i] = v * s + v


@qd.kernel
def arrays(x: T, w: T, y: T, n: T, total: T):
    for i in x:
        a = qd.Vector([0.0] * ROOM)
        a[2] = x[i]
        a[3] = w[i]
        for k in range(n[i]):
            a[k % ROOM] = qd.sin(a[(k + 3) % ROOM]) * w[i] + a[(k * k + 2) % ROOM] * 0.5
        s = 0.0
        for k in range(ROOM):
            s += a[k] * a[(k + 1) % ROOM]
        y[i] = s


@qd.kernel
def arrays_written_later(x: T, w: T, y: T, n: T, total: T):
    for i in x:
        a = qd.Vector([0.0] * ROOM)
        m = qd.Vector([0] * ROOM)
        for k in range(ROOM):
            a[k] = x[i] * k * 0.1
            m[k] = k * k % 7
        v = x[i]
        for k in range(n[i]):
            v = qd.sin(v) * a[(k + m[k % ROOM]) % ROOM]
        for k in range(ROOM):
            a[k] += 1.0
        for k in range(n[i]):
            a[k % ROOM] = a[(k + 1) % ROOM] * v + 0.1
            m[k % ROOM] += k
        u = v
        for k in range(n[i] // 2):
            u = u * a[k % ROOM] + qd.cos(u)
        y[i] = u + v


@qd.kernel
def arrays_of_a_branch(x: T, w: T, y: T, n: T, total: T):
    for i in x:
        v = x[i]
        if n[i] % 2 == 1:
            a = qd.Vector([0.0] * ROOM)
            d = qd.Vector([0.0] * ROOM)
            for k in range(ROOM):
                a[k] = x[i] * k * 0.1
                d[k] = v * k
            for k in range(n[i]):
                a[k % ROOM] = qd.sin(a[(k + 1) % ROOM]) + d[k % ROOM] * v
                if k % 3 == 0:
                    q = qd.Vector([0.0] * ROOM)
                    for j in range(k % 5 + 1):
                        q[j] = a[j] * v
                    for j in range(5):
                        v += q[j] * q[j] * 0.1
            if v > 0.0:
                for k in range(n[i] + 3):
                    v = v * 0.9 + a[k % ROOM] * d[(k * 2) % ROOM]
        y[i] = v


@qd.kernel
def nests(x: T, w: T, y: T, n: T, total: T):
    for i in x:
        v = x[i]
        a = qd.Vector([0.1] * ROOM)
        for k in range(n[i] // 3):
            u = v * w[i]
            b = qd.Vector([0.2] * ROOM)
            if k % 3 == 1:
                e = qd.exp(u * 0.1)
                c = 0
                while c < 5 + k % 4 and u < 50.0:
                    b[c % ROOM] = u * e + a[(c + 1) % ROOM]
                    for j in range((c + k) % 5):
                        u = qd.sin(u) * e + b[j % ROOM] * w[j]
                        a[(j + k) % ROOM] = a[(j + k) % ROOM] * 0.5 + u
                    c += 1
                for j in range(4 + k % 3):
                    u = u * 0.9 + b[j] * qd.cos(u)
            else:
                for j in range(k % 6):
                    u = qd.tanh(u) + a[j % ROOM] * v
                    total[None] += u
            a[k % ROOM] = u * v
            v = v * 0.7 + u
        for k in range(3):
            for j in range(n[i] // 4):
                v = qd.sin(v + a[j % ROOM]) * w[k]
        y[i] = v


@cache
def kernels() -> dict[str, Kernel]:
    """By name, optimised as `reverse` wants them."""
    qd.init(arch=qd.reference)
    x, w, y = (qd.field(qd.f32, shape=LANES, needs_grad=True, name=name) for name in "xwy")
    n = qd.field(qd.i32, shape=LANES)
    total = qd.field(qd.f32, shape=(), needs_grad=True, name="total")
    functions = (recurrence, shifted, serial, condition, leaving, ragged, inner_while, siblings, edges, branches)
    functions += (arrays, arrays_written_later, arrays_of_a_branch, nests)
    return {k.__name__: optimize(k.prepared((x, w, y, n, total), {})[0].kernel, keep_accesses=True) for k in functions}
