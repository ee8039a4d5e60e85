"""Sparse fields take memory by the page where something is active, give it back, and say so."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

import numpy as np
import pytest

import adstack as qd


@pytest.mark.alone
@pytest.mark.parametrize("arch", [qd.cpu, qd.vulkan, qd.cuda])
def test_memory_is_taken_by_the_page_as_elements_are_written(arch, monkeypatch) -> None:
    """A GiB of elements: what is written takes pages, the rest does not."""
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    qd.init(arch=arch, offline_cache=False)
    x = qd.field(qd.f32)
    qd.root.pointer(qd.i, 1 << 14).dense(qd.i, 1 << 14).place(x)

    @qd.kernel
    def write(n: qd.i32):
        for i in range(n):
            x[i << 14] = 1.0

    write(1)
    before = _resident()
    write(64)
    x[1 << 27] = 2.0
    x.fill(5.0)
    taken = _resident() - before
    assert 63 * (1 << 16) <= taken < 64 << 20
    assert x[(1 << 14) + 1] == 5.0
    qd.reset()


@pytest.mark.parametrize("arch", [qd.cpu, qd.reference, qd.vulkan])
def test_memory_is_given_back_when_everything_is_deactivated(arch) -> None:
    qd.init(arch=arch)
    x = qd.field(qd.f32)
    level = qd.root.pointer(qd.i, 1 << 10).dense(qd.i, 1 << 14)
    level.place(x, x.grad)
    for each in (x, x.grad):
        each.from_numpy(np.ones(1 << 24, np.float32))
        assert _pages_of(each) >= 1 << 14
    qd.root.deactivate_all()
    assert max(_pages_of(x), _pages_of(x.grad)) <= 2
    assert x[5] == 0.0
    assert x.grad[5] == 0.0
    assert not qd.is_active(level.parent(), 0)
    x[5] = 3.0
    assert x.to_numpy()[:7].tolist() == [0, 0, 0, 0, 0, 3, 0]
    qd.reset()


@pytest.mark.parametrize("arch", [qd.cpu, qd.reference, qd.vulkan])
def test_memory_of_what_kernels_deactivate_is_given_back_on_demand(arch) -> None:
    qd.init(arch=arch)
    x = qd.Vector.field(2, qd.f32)
    blocks = qd.root.pointer(qd.ij, (64, 32))
    blocks.bitmasked(qd.ij, (64, 64)).place(x)
    values = np.zeros((1 << 12, 1 << 11, 2), np.float32)
    values[::3, :1] = 2.0
    values[:, 64 * 31 :] = 5.0
    x.from_numpy(values)
    qd.root.give_back()

    @qd.kernel
    def thin():
        for i in range(64):
            if i != 40:
                qd.deactivate(blocks, [i, 31])

    thin()
    before, expected = _pages_of(x), x.to_numpy()
    qd.root.give_back()
    rows, kept = 1 << 12, 64
    assert before >= rows
    assert _pages_of(x) <= -(-rows // 3) + 2 * kept
    assert np.array_equal(x.to_numpy(), expected)
    assert expected[40 * 64, -1, 0] == 5.0
    assert expected[3, 0, 0] == 2.0
    assert not expected[:2560, 1024:].any()
    qd.reset()


@pytest.mark.alone
@pytest.mark.parametrize("arch", [qd.cpu, qd.vulkan])
def test_gradients_take_pages_where_something_is_active_however_often_a_tape_clears_them(arch) -> None:
    qd.init(arch=arch)
    x, loss = qd.field(qd.f32), qd.field(qd.f32, shape=(), needs_grad=True)
    qd.root.pointer(qd.i, 1 << 12).dense(qd.i, 1 << 14).place(x, x.grad)

    @qd.kernel
    def total():
        for i in x:
            loss[None] += x[i] * x[i]

    x[5] = x[1 << 24] = 3.0
    for _ in range(3):
        with qd.ad.Tape(loss):
            total()
        assert [x.grad[5], x.grad[1 << 24], x.grad[6]] == [6.0, 6.0, 0.0]
    assert _pages_of(x.grad) < 1 << 12  # of 65,536; a system may take large pages
    qd.reset()


@pytest.mark.parametrize("arch", [qd.cpu, qd.reference, qd.vulkan])
def test_where_the_system_takes_no_pages_back_zeros_are_written_and_none_are_taken(arch, monkeypatch) -> None:
    qd.init(arch=arch)
    monkeypatch.setattr("sys.platform", "other")
    x = qd.field(qd.f32)
    level = qd.root.pointer(qd.i, 1 << 10).dense(qd.i, 1 << 14)
    level.place(x)
    x[5] = x[1 << 20] = 1.0
    before = _pages_of(x)
    qd.root.give_back()
    assert _pages_of(x) == before
    assert x[5] == 1.0
    level.parent().deactivate_all()
    assert [x[5], x[1 << 20], qd.is_active(level.parent(), 0)] == [0.0, 0.0, False]
    assert _pages_of(x) < 1 << 13  # of 16,384; a system may take large pages
    qd.reset()


@pytest.mark.alone
def test_memory_of_a_tree_that_is_destroyed_is_given_back() -> None:
    qd.init(arch=qd.cpu)
    builder, x = qd.FieldsBuilder(), qd.field(qd.f32)
    builder.pointer(qd.i, 1 << 10).dense(qd.i, 1 << 14).place(x)
    tree = builder.finalize()
    x.from_numpy(np.ones(1 << 24, np.float32))
    before = _resident()
    tree.destroy()
    assert _resident() - before < -(60 << 20)
    qd.reset()


def test_where_a_device_keeps_its_pages_what_is_active_is_written_and_no_others_are_taken(monkeypatch) -> None:
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    qd.init(arch=qd.cuda, offline_cache=False)
    x = qd.Vector.field(2, qd.f32)
    blocks = qd.root.pointer(qd.ij, (64, 32))
    blocks.bitmasked(qd.ij, (64, 64)).place(x)

    @qd.kernel
    def write(i: qd.i32, j: qd.i32):
        x[i, j] = [1.0, 2.0]

    for at in (0, 0), (700, 2047), (4095, 5):
        write(*at)
    before = _pages_of(x)
    blocks.deactivate_all()
    assert _pages_of(x) <= before + 3 * 512 < 1 << 13  # of 16,384; chunks of 2 MiB
    assert not any(qd.is_active(blocks, at[0] // 64, at[1] // 64) for at in ((0, 0), (700, 2047), (4095, 5)))
    assert not x.to_numpy().any()
    write(700, 2047)
    assert x[700, 2046][0] == 0.0
    assert np.count_nonzero(x.to_numpy()) == 2
    qd.reset()


def test_the_report_says_how_much_is_active_and_how_memory_is_taken(monkeypatch) -> None:
    qd.init(arch=qd.cpu)
    x, loss = qd.field(qd.f32, name="x"), qd.field(qd.f32, shape=(), needs_grad=True)
    blocks = qd.root.pointer(qd.i, 1 << 10)
    blocks.dense(qd.i, 1 << 10).place(x, x.grad)

    @qd.kernel
    def total():
        for i in x:
            loss[None] += x[i] * x[i]

    assert total.grad.adstack_report().sparse[0].startswith("field x: 0 of 1,048,576 elements are active, 0 of")
    x[5] = 3.0
    with qd.ad.Tape(loss):
        total()
    how = "1,024 of 1,048,576 elements are active, 4,096 of 4,194,304 bytes; pages in which nothing was ever written "
    of_field, of_gradient = total.grad.adstack_report().sparse
    assert of_field == f"field x: {how}take no memory"
    assert of_gradient == f"field x.grad: {how}take no memory"
    monkeypatch.setattr(type(x.buffer), "is_by_page", False)
    assert total.grad.adstack_report().sparse[0].endswith("4,096 of 4,194,304 bytes; all of these are taken")
    assert str(total.grad.adstack_report()).count("elements are active") == 2
    qd.reset()


def _pages_of(field) -> int:
    """How many pages the elements of a field take."""
    contents = field.buffer.view()
    begin = field.buffer.handle().address if contents is None else contents.ctypes.data  # of a device the host plays
    first = begin // mmap.PAGESIZE * mmap.PAGESIZE
    size = begin + field.buffer.nbytes - first
    there = np.zeros(-(-size // mmap.PAGESIZE), np.uint8)
    address, mincore = ctypes.c_void_p(first), ctypes.CDLL(None).mincore
    assert mincore(address, ctypes.c_size_t(size), ctypes.c_void_p(there.ctypes.data)) == 0
    return int((there & 1).sum())


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
