"""Launches, memory and reports of the cuda backend, with the host playing the device."""

from __future__ import annotations

import ctypes
import gc
import os

import numpy as np
import pytest
from cpu_kit import tasks_of
from cuda_kit import ADDS, agree_on, backend, compiled
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter_kit import parallel, serial

import adstack as qd
from adstack.backends.cuda.adds import LEAST
from adstack.backends.cuda.building import adds_floats
from adstack.backends.cuda.codegen import BLOCK, HEAD, MOST, ROW, WORDS, emit_module
from adstack.backends.cuda.emulator import Emulator
from adstack.backends.cuda.interface.errors import DriverError
from adstack.backends.cuda.toolchain import host_code
from adstack.conformance.fuzz.programs import random_buffers, random_kernel, random_params
from adstack.errors import (
    AdstackCompilationError,
    AdstackMemoryError,
    AdstackOutOfBoundsError,
    AdstackOverflowError,
)
from adstack.ir.types import f32
from adstack.runtime.memory.pages import PAGE

DEPTH = int(os.environ.get("ADSTACK_FUZZ", "1"))


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    yield lambda **options: qd.init(arch=qd.cuda, offline_cache=False, **options)
    qd.reset()


@pytest.mark.parametrize("debug", [False, True], ids=["unchecked", "checked"])
@pytest.mark.parametrize("seed", range(6 * DEPTH))
def test_random_programs_agree_with_the_interpreter(seed, debug):
    kernel = random_kernel(
        seed + 3_000_000, 40, transcendentals=not debug and seed % 3 == 0, traps=debug and seed % 2 == 1
    )
    cases = [(random_buffers(kernel, s), random_params(kernel, s)) for s in (seed, seed + 1_000_000)]
    agree_on(kernel, cases, debug=debug)


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 1000])
def test_threads_share_the_iterations_of_a_loop(n):
    launch = compiled(parallel("%old = atomic add @y[%i], %i : i32", n, "place @y : i32[?] field"))
    y = np.zeros(n + 5, np.int32)
    launch({"y": y})
    assert y.tolist() == [*range(n), 0, 0, 0, 0, 0]


UPDATES = """%v = load @x[%i] : f32
%k = load @at[%i] : i32
%old = atomic add @y[%k], %v : f32
store @seen[%i], %old"""


def test_small_and_large_numbers_added_apart_leave_and_find_the_same_bits(monkeypatch):
    monkeypatch.setattr(backend(), "_adds", {"f32": LEAST})
    places = "place @x : f32[?] field\nplace @seen : f32[?] field\nplace @at : i32[?] field\nplace @y : f32[?] field"
    random = np.random.default_rng(1)
    x = (random.uniform(-2, 2, 300) * 2.0 ** random.choice([-147, -126, -101, -100, -99, 0], 300)).astype(np.float32)
    x[::7], x[5], x[11], x[12] = 0, -LEAST, np.inf, np.nan
    inputs = {"x": x, "seen": np.zeros_like(x), "at": np.arange(300, dtype=np.int32) % 9, "y": np.zeros(9, np.float32)}
    inputs["at"][8:13] = 3
    agree_on(parallel(UPDATES, 300, places), [(inputs, ())])


def test_bounds_that_memory_decides_are_looked_at_on_the_device():
    text = """kernel @k() {
      place @n : i32[] field
      place @y : i32[?] field
      %zero = const 0 : i32
      %n = load @n[] : i32
      parallel_for (%i = %zero to %n) {
        store @y[%i], %i
        yield
      }
      return
    }"""
    launch = compiled(text)
    for n in (0, 7, 100):
        y = np.full(100, -1, np.int32)
        launch({"n": np.array(n, np.int32), "y": y})
        assert y.tolist() == [*range(n), *[-1] * (100 - n)]


def test_temps_start_at_zero_in_every_launch():
    launch = compiled(
        serial("%old = atomic add @t[], %n : i32\nreturn %old", "(%n: i32) -> (i32)", "place @t : i32[] temp")
    )
    assert [launch({}, [5]) for _ in range(3)] == [[0]] * 3


def test_memory_starts_at_zero_and_is_the_devices_own():
    device = backend()
    memory = device.allocate(f32, (3, 4))
    assert device.host_view(memory) is None
    assert device.download(memory).tolist() == [[0.0] * 4] * 3
    device.upload(memory, np.ones((3, 4), np.float32)[:, ::-1])
    assert device.download(memory).tolist() == [[1.0] * 4] * 3
    device.free(memory)


def test_too_much_memory_is_an_error_that_says_for_what():
    with pytest.raises(AdstackMemoryError, match="f32 of shape"):
        backend().allocate(f32, (1 << 40,))


def test_what_fails_is_told_once_and_later_launches_work(cuda):
    cuda(debug=True)
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def at(i: qd.i32):
        for _ in range(1):
            x[i] = 7

    with pytest.raises(AdstackOutOfBoundsError, match=r"\(9\)"):
        at(9)
    at(2)
    qd.sync()
    assert x.to_numpy().tolist() == [0, 0, 7, 0]


def test_a_task_after_one_that_failed_does_nothing(cuda):
    cuda(debug=True)
    x, y = qd.field(qd.i32, shape=4), qd.field(qd.i32, shape=4)

    @qd.kernel
    def both(i: qd.i32):
        for _ in range(1):
            x[i] = 7
        for k in y:
            y[k] = 1

    with pytest.raises(AdstackOutOfBoundsError):
        both(4)
    assert y.to_numpy().tolist() == [0] * 4


def test_prints_come_in_order_and_all_of_them(cuda, capsys):
    cuda()

    @qd.kernel
    def count(n: qd.i32):
        print("from", n)
        for _ in range(1):
            for k in range(n):
                print(k, 0.5, True)

    count(3)
    assert capsys.readouterr().out == "from 3\n0 0.5 True\n1 0.5 True\n2 0.5 True\n"


def test_what_does_not_fit_into_the_buffer_of_prints_is_said_to_be_lost(cuda, capsys, monkeypatch):
    monkeypatch.setattr("adstack.backends.cuda.layout.PRINT_WORDS", 10)
    cuda()

    @qd.kernel
    def count(n: qd.i32):
        for _ in range(1):
            for k in range(n):
                print(k)

    count(7)
    *lines, last = capsys.readouterr().out.splitlines()
    assert lines == ["0", "1", "2", "3", "4"]
    assert "lost" in last
    count(2)
    assert capsys.readouterr().out == "0\n1\n"


def recurrence(n: int):
    x, y = qd.field(qd.f32, shape=n, needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)
    turns = qd.field(qd.i32, shape=())

    @qd.kernel
    def run():
        for i in x:
            v = x[i]
            for _ in range(turns[None]):
                v = v * v * 0.5 + 0.25
            y[None] += v

    x.from_numpy(np.linspace(0, 1, n, dtype=np.float32))
    y.grad[None] = 1
    return x, turns, run


@pytest.mark.parametrize("limit", [0, 4 * 9 * 5], ids=["ample", "waves"])
def test_adstacks_live_in_the_heap_and_grow_with_the_bounds(cuda, limit):
    n, gradients = 100, {}
    for arch in (cuda, lambda **options: qd.init(arch=qd.cpu)):
        arch(ad_stack_heap_limit=limit)
        x, turns, run = recurrence(n)
        grads = []
        for bound in (3, 9, 9, 0, 5):
            turns[None] = bound
            run()
            run.grad()
            grads.append(x.grad.to_numpy())
            x.grad.fill(0)
        gradients[len(gradients)] = np.array(grads)
    assert gradients[0].tobytes() == gradients[1].tobytes()


def test_what_the_device_may_use_is_shared_by_data_and_adstacks(cuda):
    cuda(device_memory_GB=4000 / 2**30)
    x, turns, run = recurrence(100)
    turns[None] = 40
    run()
    run.grad()
    (task,) = run.grad.adstack_report().tasks
    assert 0 < task.allocated <= 4000 - 2 * 4 * 101 - 4
    with pytest.raises(AdstackMemoryError, match="4000 bytes that device_memory_GB allows, 812 are taken by fields"):
        qd.ndarray(qd.f32, 1000)
    assert x.shape == (100,)


def test_depths_that_stand_are_not_read_back(cuda, monkeypatch):
    cuda()
    _, turns, run = recurrence(50)
    turns[None] = 4
    run()
    run.grad()
    read = []
    monkeypatch.setattr(Emulator, "download", lambda self, address, array: read.append(array.nbytes))
    for _ in range(3):
        run.grad()
    assert read == []


def test_an_overflow_comes_with_the_next_thing_done(cuda):
    cuda(ad_stack_size=2)
    _, turns, run = recurrence(5)
    turns[None] = 6
    run()
    run.grad()
    with pytest.raises(AdstackOverflowError, match="6 deep"):
        qd.sync()
    qd.sync()
    turns[None] = 2
    run()
    run.grad()
    qd.sync()


def test_an_overflow_that_nobody_asked_about_ends_no_program(cuda):
    cuda(ad_stack_size=2)
    _, turns, run = recurrence(5)
    turns[None] = 6
    run()
    run.grad()
    qd.reset()
    cuda(ad_stack_size=2)
    x, turns, run = recurrence(5)
    turns[None] = 6
    run()
    run.grad()
    with pytest.raises(AdstackOverflowError):
        x.grad.to_numpy()
    assert x.grad.to_numpy().shape == (5,)


def test_calls_go_to_the_device_without_python(cuda):
    cuda()
    a, b = qd.ndarray(qd.f32, (16,)), qd.ndarray(qd.f32, (5,))
    total = qd.field(qd.f64, shape=())

    @qd.kernel
    def put(a: qd.types.ndarray(dtype=qd.f32, ndim=1), i: qd.i32, v: qd.f32):
        a[i] = v
        total[None] += a.shape[0]

    @qd.kernel
    def get(a: qd.types.ndarray(dtype=qd.f32, ndim=1), i: qd.i32) -> qd.f32:
        return a[i]

    for _ in range(3):
        put(a, 1, 2.0)
        get(a, 1)
    assert [type(kernel.__call__).__name__ for kernel in (put, get)] == ["builtin_function_or_method"] * 2
    put(a, 3, 4.0)
    put(b, 4, 8.0)
    a[5] = 16.0
    assert [get(a, i) for i in (1, 3, 5)] == [2.0, 4.0, 16.0]
    assert (get(b, 4), b[4], total[None]) == (8.0, 8.0, 3 * 16 + 16 + 5)
    array = np.zeros(3, np.float32)
    put(array, 2, 1.0)
    assert array.tolist() == [0.0, 0.0, 1.0]


def test_what_a_launch_in_machine_code_gives_is_raised(cuda, monkeypatch):
    cuda()
    x = qd.field(qd.f32, shape=())

    @qd.kernel
    def put():
        x[None] = 1.0

    refuse = "define i32 @adstack.launch(ptr %f, i32 %gx, i32 %gy, i32 %gz, i32 %bx, i32 %by, i32 %bz, i32 %shared, "
    refuse += "ptr %stream, ptr %params, ptr %extra) {\n  ret i32 2\n}"
    broken = host_code(refuse, ["adstack.launch"], None)
    usual = Emulator.functions
    monkeypatch.setattr(Emulator, "functions", lambda self: [broken.symbols["adstack.launch"], *usual(self)[1:]])

    def check(self, code):
        if code:
            raise DriverError("cuLaunchKernel", code, "out of memory")

    monkeypatch.setattr(Emulator, "check", check)
    for _ in range(3):
        with pytest.raises(AdstackMemoryError, match=r"no memory left for .* GiB are free; adstacks of this process"):
            put()


def test_a_program_that_is_gone_leaves_no_memory_behind():
    driver = backend().driver
    text = serial("%old = atomic add @t[], %n : i32\nreturn %old", "(%n: i32) -> (i32)", "place @t : i32[] temp")
    compiled(text)
    gc.collect()
    before = driver.pieces
    launches = [compiled(text) for _ in range(5)]
    assert [launch({}, [5]) for launch in launches] == [[0]] * 5
    assert driver.pieces == before + 5
    del launches
    gc.collect()
    assert driver.pieces == before


def test_adstacks_may_live_in_memory_of_the_threads(cuda):
    grads = []
    for storage in ("heap", "stack"):
        cuda(ad_stack_storage=storage, ad_stack_size=100_000 if storage == "stack" else 9)
        x, turns, run = recurrence(40)
        turns[None] = 9
        run()
        run.grad()
        grads.append(x.grad.to_numpy().tobytes())
    assert grads[0] == grads[1]
    cuda(ad_stack_storage="stack")
    _, turns, run = recurrence(40)
    run()
    with pytest.raises(AdstackCompilationError, match="ad_stack_storage='heap'"):
        run.grad()


@pytest.mark.parametrize(("share", "in_heap"), [(1, False), (1 << 22, True)], ids=["little", "much"])
def test_adstacks_that_would_take_much_local_memory_of_all_threads_live_in_the_heap(cuda, monkeypatch, share, in_heap):
    monkeypatch.setattr("adstack.backends.cuda.interface.driver._LOCAL_SHARE", share)
    cuda(ad_stack_storage="stack", ad_stack_size=9)
    x, turns, run = recurrence(40)
    turns[None] = 9
    run()
    run.grad()
    (task,) = run.grad.adstack_report().tasks
    assert (task.use is not None) == in_heap
    in_own = x.grad.to_numpy()
    cuda(ad_stack_storage="heap")
    x, turns, run = recurrence(40)
    turns[None] = 9
    run()
    run.grad()
    assert x.grad.to_numpy().tobytes() == in_own.tobytes()


def test_elements_are_read_and_written_without_copying_the_rest(cuda, monkeypatch):
    cuda()
    x, v = qd.field(qd.i16, shape=(3, 5)), qd.Vector.field(2, qd.f64, shape=4)
    x.from_numpy(np.arange(15, dtype=np.int16).reshape(3, 5))

    @qd.kernel
    def more():
        for i, j in x:
            x[i, j] += 100

    assert (x[0, 0], x[2, 4]) == (0, 14)
    moved = []
    for name in ("upload", "download"):
        usual = getattr(Emulator, name)

        def noted(self, address, array, name=name, usual=usual):
            moved.append((name, array.nbytes))
            usual(self, address, array)

        monkeypatch.setattr(Emulator, name, noted)
    x[1, 2] = -5
    assert x[1, 2] == -5
    assert moved == [("upload", 2)]
    v[3] = [1.5, 2.5]
    v[2][1] = 7
    assert v[3][1] == 2.5
    assert moved[1:] == [("upload", 16), ("upload", 8), ("download", 64)]
    for _ in range(3):
        more()
        assert x[1, 2] % 100 == 95
    assert x[1, 2] == 295
    assert v.to_numpy().tolist() == [[0, 0], [0, 0], [0, 7], [1.5, 2.5]]
    x.fill(3)
    assert x[1, 2] == 3


def test_of_large_memory_only_the_pages_looked_at_are_copied(cuda, monkeypatch):
    cuda()
    x = qd.field(qd.f64, shape=(1000, 100))
    x.from_numpy(np.arange(1e5).reshape(1000, 100))

    @qd.kernel
    def more():
        for i, j in x:
            x[i, j] += 1

    moved = []
    usual = Emulator.download

    def noted(self, address, array):
        moved.append(array.nbytes)
        usual(self, address, array)

    monkeypatch.setattr(Emulator, "download", noted)
    page = PAGE // 8
    assert [x[k // 100, k % 100] for k in (0, 1, page - 1, page, 99_999, 0)] == [0, 1, page - 1, page, 99_999, 0]
    assert moved == [PAGE, PAGE, (100_000 % page) * 8]
    x[(page - 1) // 100, (page - 1) % 100] = -1
    assert x[(page - 1) // 100, (page - 1) % 100] == -1
    assert x[page // 100, page % 100] == page
    assert len(moved) == 3
    more()
    assert x[5, 5] == 506
    assert moved[3:] == [PAGE]


def launched(iterations: int, block: int, most: int, spread: int) -> list[tuple[int, int]]:
    """The grid and the block of a kernel of so many iterations."""
    module = emit_module(tasks_of(parallel("", iterations)), debug=False, adds=ADDS, host=False)
    called: list[tuple[int, int]] = []
    word, number = ctypes.c_void_p, ctypes.c_uint

    def launch(function, gx, gy, gz, bx, *rest):
        called.append((gx, bx))
        return 0

    noted = ctypes.CFUNCTYPE(ctypes.c_int, word, *[number] * 7, word, word, word)(launch)
    table = np.zeros(HEAD + ROW, np.int64)
    table[WORDS["launch"]], table[WORDS["spread"]] = ctypes.cast(noted, word).value, spread
    table[HEAD + BLOCK], table[HEAD + MOST] = block, most
    code = host_code(module.launcher, ["run"], None)
    context = np.zeros(module.size, np.int64)
    run = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_int64] * 4)(code.symbols["run"])
    assert run(context.ctypes.data, table.ctypes.data, 0, 1) == 0
    return called


@pytest.mark.parametrize(
    ("iterations", "shape"),
    [(0, []), (1, [(1, 32)]), (320, [(10, 32)]), (321, [(6, 64)]), (2560, [(10, 256)]), (10**6, [(3907, 256)])],
)
def test_blocks_are_small_where_large_ones_would_leave_multiprocessors_idle(iterations, shape):
    assert launched(iterations, 256, 2**31 - 1, 10) == shape


@given(st.integers(1, 10**7), st.sampled_from([1, 5, 32, 128, 256]), st.integers(1, 2000), st.integers(1, 200))
@settings(max_examples=30, deadline=None)
def test_no_more_threads_run_than_may_and_as_many_as_are_wanted(iterations, block, most, spread):
    ((blocks, threads),) = launched(iterations, block, most, spread)
    assert threads <= block
    assert blocks * threads <= block * most
    assert blocks * threads >= min(iterations, block * most - threads + 1)
    assert (blocks - 1) * threads < iterations


@pytest.mark.parametrize(
    ("kind", "dtype", "matters"), [("add", "f32", True), ("add", "i32", False), ("max", "f64", False)]
)
def test_how_memory_adds_floats_is_looked_at_only_where_some_are_added(kind, dtype, matters):
    places = f"place @x : {dtype}[?] field\nplace @y : {dtype}[?] field"
    body = f"%v = load @x[%i] : {dtype}\n%old = atomic {kind} @y[%zero], %v"
    assert adds_floats(tasks_of(parallel(body, 9, places))) is matters
