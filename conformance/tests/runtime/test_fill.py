"""Filling memory and copying it: the device does both where it can, and the bits are those of the host's way."""

from __future__ import annotations

import numpy as np
import pytest

import adstack as qd
from adstack.runtime.memory.clearing import fill

ARCHS = ("reference", "cpu", "cuda", "vulkan")
DEVICES = ("cuda", "vulkan")
TYPES = ("f16", "f32", "f64", "i8", "u8", "i16", "i32", "u32", "i64", "u64", "u1")


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    yield lambda arch: qd.init(arch=getattr(qd, arch))
    qd.reset()


@pytest.fixture
def alone(start, monkeypatch: pytest.MonkeyPatch):
    """A device to which the host may not send anything."""

    def opened(arch: str) -> None:
        start(arch)
        backend = qd.field(qd.f32, shape=1).buffer.backend

        def refused(*args: object) -> None:
            raise AssertionError("the host sends what the device could write")

        monkeypatch.setattr(type(backend), "upload", refused)

    return opened


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("arch", ARCHS)
def test_every_element_gets_the_value(arch, dtype, start):
    start(arch)
    x, y = (qd.field(getattr(qd, dtype), shape=(7, 5)) for _ in range(2))
    for value in (1, 0) if dtype == "u1" else (1, 0, 3, 100):
        x.fill(value)
        y.copy_from(x)
        assert (x.to_numpy() == value).all()
        assert (y.to_numpy() == value).all()


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(("dtype", "value"), [("f64", 0.1), ("i64", -5), ("i64", 1 << 40), ("u64", 1 << 63)])
def test_values_of_64_bits_whose_halves_differ_are_whole(arch, dtype, value, start):
    start(arch)
    x = qd.field(getattr(qd, dtype), shape=11)
    x.fill(value)
    assert (x.to_numpy() == value).all()


@pytest.mark.parametrize("arch", ARCHS)
def test_vectors_scalars_and_arrays_are_filled(arch, start):
    start(arch)
    v, s, a = qd.Vector.field(3, qd.f32, shape=9), qd.field(qd.f32, shape=()), qd.ndarray(qd.f32, (4,))
    v.fill(2.5)
    assert (v.to_numpy() == 2.5).all()
    v.fill([1, 2, 3])
    assert (v.to_numpy() == [1, 2, 3]).all()
    s.fill(4)
    assert s[None] == 4
    a.fill(0.0)
    a.fill(-0.0)
    assert np.signbit(a.to_numpy()).all()
    a.fill(float("nan"))
    assert np.isnan(a.to_numpy()).all()


@pytest.mark.parametrize("arch", DEVICES)
def test_a_device_does_it_by_itself(arch, alone):
    alone(arch)
    x, y, v = qd.field(qd.f32, shape=9), qd.field(qd.f32, shape=9), qd.Vector.field(3, qd.f64, shape=9)
    x.fill(2)
    v.fill(0)
    y.copy_from(x)
    y.copy_from(y)
    assert y.to_numpy().tolist() == [2.0] * 9
    assert (v.to_numpy() == 0).all()


@pytest.mark.parametrize("arch", ARCHS)
def test_it_is_in_order_with_launches(arch, start):
    start(arch)
    x, y = qd.field(qd.i32, shape=1000), qd.field(qd.i32, shape=1000)

    @qd.kernel
    def more():
        for i in x:
            x[i] += i

    for k in range(3):
        x.fill(k)
        more()
        y.copy_from(x)
        x.fill(-1)
    assert (y.to_numpy() == np.arange(1000) + 2).all()
    assert (x.to_numpy() == -1).all()


@pytest.mark.parametrize("arch", ARCHS)
def test_elements_of_another_type_or_shape_go_through_the_host(arch, start):
    start(arch)
    x, y, z = qd.field(qd.i32, shape=4), qd.field(qd.f32, shape=4), qd.field(qd.i32, shape=5)
    x.fill(3)
    y.copy_from(x)
    assert y.to_numpy().tolist() == [3.0] * 4
    with pytest.raises(qd.AdstackError):
        z.copy_from(x)


@pytest.mark.parametrize("arch", ARCHS)
def test_what_cannot_be_converted_leaves_everything_as_it_was(arch, start):
    start(arch)
    x = qd.ndarray(qd.f32, (4,))
    x.fill(1)
    with pytest.raises((ValueError, TypeError)):
        x.buffer.write(np.array([2.0, 2.0, "no", 2.0], object))
    assert x.to_numpy().tolist() == [1.0] * 4


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("arch", ARCHS)
def test_several_memories_get_one_number_together(arch, number, start):
    start(arch)
    fields = [qd.field(getattr(qd, name), shape=(3, k + 1)) for k, name in enumerate(("f32", "i32", "u8", "u1", "i64"))]
    for field in fields:
        field.fill(1 - number)
    buffers = [field.buffer for field in fields]
    versions = [buffer.version for buffer in buffers]
    fill(buffers, number)
    for field, version in zip(fields, versions, strict=True):
        assert (field.to_numpy() == number).all()
        assert field[2, 0] == number
        assert field.buffer.version != version
    fill([], number)
