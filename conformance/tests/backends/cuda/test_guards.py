"""Guarded accesses on CUDA: what was outside is reported while nobody waits, and raised when somebody does."""

from __future__ import annotations

import functools
import gc

import pytest

import adstack as qd
from adstack.errors import AdstackOutOfBoundsError


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    yield lambda **options: qd.init(arch=qd.cuda, offline_cache=False, **options)
    qd.reset()


def test_what_is_outside_is_raised_later_and_once(cuda):
    cuda()
    x, out = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=())

    @qd.kernel
    def put(i: qd.i32):
        x[i] = 7

    @qd.kernel
    def after():
        out[None] += 1

    for look in (qd.sync, x.to_numpy, after):
        put(1)
        put(1)
        assert type(put.__call__).__name__ == "builtin_function_or_method"
        with pytest.raises(AdstackOutOfBoundsError, match=r"at \(8\), outside its extents \(8\)"):
            [step() for step in (functools.partial(put, 8), look)]
        qd.sync()
    assert x.to_numpy().tolist() == [0, 7, 0, 0, 0, 0, 0, 0]


def test_what_is_outside_is_raised_though_the_kernel_is_gone(cuda):
    cuda()
    x = qd.field(qd.i32, shape=8)

    def launched():
        @qd.kernel
        def put(i: qd.i32):
            x[i] = 7

        return put

    put = launched()
    put(8)
    del put
    gc.collect()
    with pytest.raises(AdstackOutOfBoundsError):
        qd.sync()
    qd.sync()


def test_of_several_accesses_outside_the_first_one_is_raised(cuda):
    cuda()
    x, y, out = qd.field(qd.i32, shape=9), qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=4)

    @qd.kernel
    def read(n: qd.i32, m: qd.i32):
        for i in out:
            total = x[n] + y[m]
            if n > 3:
                total += y[n]
            out[i] = total

    for n, m, extent in ((9, 8, 9), (8, 9, 8), (8, 7, 8), (3, 8, 8), (9, 0, 9)):
        with pytest.raises(AdstackOutOfBoundsError, match=rf"outside its extents \({extent}\)"):
            [step() for step in (functools.partial(read, n, m), qd.sync)]
    read(8 - 1, 0)
    qd.sync()
