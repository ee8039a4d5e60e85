"""Machine code that records launches: it calls Vulkan just as `Stream` does, word for word."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from vulkan_kit import backend, shared_of

from adstack.backends.vulkan.driver.api import ffi
from adstack.backends.vulkan.driver.pipeline import PUSHED
from adstack.backends.vulkan.hostcode import recorder, state
from adstack.backends.vulkan.hostcode.counting import TASK
from adstack.backends.vulkan.hostcode.plan import PLAN
from adstack.backends.vulkan.hostcode.recorder import enter
from adstack.backends.vulkan.stream import Stream, aligned

Log = list[tuple[Any, ...]]
_WORD, _INT, _NOTHING = ctypes.c_void_p, ctypes.c_uint32, None


class Lock:
    """A lock that somebody else may have."""

    def __init__(self) -> None:
        self.free = True
        self.calls: list[Any] = []

    def acquire(self, blocking: bool = True) -> bool:
        self.calls.append(blocking)
        return self.free

    def release(self) -> None:
        self.calls.append("released")


class Pipeline:
    """What a stream needs of one."""

    def __init__(self, number: int, *, repeats: bool) -> None:
        self.number, self.repeats = number, repeats


def calls_of(log: Log) -> dict[str, Any]:
    """Vulkan's functions, which note what they are called with."""

    def order(*args: Any) -> None:
        log.append(("order", *args))

    def bind(*args: Any) -> None:
        log.append(("bind", *args))

    def push(commands: int, layout: int, stages: int, offset: int, size: int, values: int) -> None:
        log.append(("push", commands, layout, stages, offset, ctypes.string_at(values, size)))

    def dispatch(*args: Any) -> None:
        log.append(("dispatch", *args))

    barrier = (_WORD, _INT, _INT, _INT, _INT, _WORD, _INT, _WORD, _INT, _WORD)
    return {
        "order": ctypes.CFUNCTYPE(_NOTHING, *barrier)(order),
        "bind": ctypes.CFUNCTYPE(_NOTHING, _WORD, _INT, _WORD)(bind),
        "push": ctypes.CFUNCTYPE(_NOTHING, _WORD, _WORD, _INT, _INT, _INT, _WORD)(push),
        "dispatch": ctypes.CFUNCTYPE(_NOTHING, _WORD, _INT, _INT, _INT)(dispatch),
    }


@pytest.fixture
def stream() -> Iterator[Stream]:
    """A stream of its own, with nothing on it."""
    shared = shared_of(backend())
    fresh = Stream(shared.device, shared.memory, shared.pipelines.layout)
    fresh.open()
    yield fresh
    fresh.state.pipeline = fresh.state.commands = 0
    shared.device.vk["vkEndCommandBuffer"](fresh.current.commands)


class Recorded:
    """A program of some tasks, recorded by machine code."""

    def __init__(self, stream: Stream, tasks: list[tuple[Pipeline, int]], words: int, size: int, uses: int = 0) -> None:
        self.stream, self.lock = stream, Lock()
        self.methods = self.lock.acquire, self.lock.release
        self.noted = np.zeros(uses, np.uint64)
        self.frame = np.zeros(1 + words + uses, np.uint64)
        self.words = self.frame[1 : 1 + words]
        self.frame[1 + words :] = self.noted.ctypes.data + 8 * np.arange(uses)
        self.tasks = np.zeros((len(tasks), len(TASK)), np.uint64)
        for row, (pipeline, groups) in zip(self.tasks, tasks, strict=True):
            row[TASK["pipeline"]], row[TASK["groups"]] = pipeline.number, groups
            row[TASK["repeats"]] = pipeline.repeats
        self.plan, self.repeated = np.zeros(len(PLAN), np.uint64), np.zeros(1, np.uint64)
        plan = {
            "state": stream.state.place, "words": words, "size": aligned(size), "zeros": -(-size // 8) - words,
            "marks": uses, "tasks": self.tasks.ctypes.data, "task_count": len(tasks),
            "acquire": id(self.methods[0]), "release": id(self.methods[1]), "false": id(False), "true": id(True),
            "repeated": self.repeated.ctypes.data,
        }  # fmt: skip
        for name, value in plan.items():
            self.plan[PLAN[name]] = value
        self.frame[0] = self.plan.ctypes.data

    def launch(self, *, held: bool = False) -> int:
        """Record a launch."""
        return enter()(self.words.ctypes.data, held)


def by_machine_code(stream: Stream, log: Log) -> Callable[..., None]:
    """Record by machine code."""
    calls = calls_of(log)
    for name, call in calls.items():
        setattr(stream.state, name, ctypes.cast(call, ctypes.c_void_p).value)
    stream.state.layout = 77

    def launch(tasks: list[tuple[Pipeline, int]], size: int) -> None:
        recorded = Recorded(stream, tasks, size // 8, size)
        assert recorded.launch() == 0

    launch.keep = calls
    return launch


def by_python(stream: Stream, log: Log, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Record by the stream's own methods."""
    calls = calls_of(log)
    monkeypatch.setattr(stream, "_barrier", lambda *args: calls["order"](*[number(x) for x in args]))
    monkeypatch.setattr(stream, "_bind", lambda *args: calls["bind"](*[number(x) for x in args]))
    monkeypatch.setattr(stream, "_push", lambda *args: calls["push"](*[number(x) for x in args]))
    monkeypatch.setattr(stream, "_dispatch", lambda *args: calls["dispatch"](*[number(x) for x in args]))
    stream.layout = 77

    def launch(tasks: list[tuple[Pipeline, int]], size: int) -> None:
        piece = stream.words(size)
        for pipeline, groups in tasks:
            if groups:
                stream.dispatch(pipeline, piece.address, groups)

    return launch


def number(value: Any) -> int:
    """A number, or a handle or an address as one."""
    return value if isinstance(value, int) else int(ffi().cast("uintptr_t", value))


@pytest.mark.parametrize("seed", range(6))
def test_both_call_vulkan_alike(seed: int, stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    serial = [Pipeline(0x1000 + k, repeats=True) for k in range(2)]
    pipelines = [*serial, Pipeline(0x2000, repeats=False), Pipeline(0x3000, repeats=False)]
    programs = []
    for _ in range(4):
        tasks = [(p, 1 if p.repeats else draw.randint(0, 5)) for p in draw.choices(pipelines, k=draw.randint(1, 3))]
        programs.append((tasks, 8 * draw.randint(1, 40)))
    programs.append(([(serial[0], 1)], 64))
    turns = [k for k in draw.choices(range(5), k=40) for _ in range(draw.choice((1, 1, 3, 70 if k == 4 else 2)))]
    arena = stream.current.arena.address
    logs = []
    for how in (lambda log: by_python(stream, log, monkeypatch), lambda log: by_machine_code(stream, log)):
        log: Log = []
        launch, recorded = how(log), stream.state.recorded
        for k in turns:
            if stream.state.dispatches + 3 < state.LAUNCHES:
                launch(*programs[k])
        logs.append((log, stream.state.used, stream.state.dispatches, stream.state.recorded - recorded))
        assert stream.state.address == arena
        stream.state.pipeline = stream.state.bound = stream.state.used = stream.state.dispatches = 0
    assert logs[0] == logs[1]
    assert any(name == "bind" for name, *_ in logs[0][0])
    assert any(counted[-1][8:12] != b"\1\0\0\0" for counted in logs[0][0] if counted[0] == "push")


def test_the_words_of_a_launch_stand_in_the_arena(stream: Stream) -> None:
    log: Log = []
    launcher = by_machine_code(stream, log)
    recorded = Recorded(stream, [(Pipeline(5, repeats=True), 1)], 7, 100, uses=3)
    recorded.words[:] = np.arange(10, 17)
    host = np.frombuffer((ctypes.c_char * 4096).from_address(stream.state.host), np.uint64)
    host[:] = 99
    assert recorded.launch() == 0
    assert host[:7].tolist() == list(range(10, 17))
    assert host[7:13].tolist() == [0] * 6  # as many as 100 bytes take
    assert host[13:20].tolist() == [99] * 7
    assert stream.state.used == 128
    assert recorded.noted.tolist() == [stream.batch] * 3
    assert recorded.lock.calls == [False, "released"]
    del launcher


def test_what_machine_code_can_not_do_is_left_as_it_is(stream: Stream) -> None:
    log: Log = []
    launcher = by_machine_code(stream, log)
    recorded = Recorded(stream, [(Pipeline(5, repeats=False), 1)], 4, 32, uses=1)

    def refuses(**words: int) -> bool:
        before = {name: getattr(stream.state, name) for name in words}
        for name, value in words.items():
            setattr(stream.state, name, value)
        everything = bytes(stream.state)
        refused = recorded.launch() == 1 and bytes(stream.state) == everything and recorded.noted[0] == 0
        for name, value in before.items():
            setattr(stream.state, name, value)
        return refused

    assert refuses(commands=0)
    assert refuses(dispatches=state.LAUNCHES)
    assert refuses(used=state.ARENA - 63)
    assert not refuses(used=state.ARENA - 64)
    recorded.noted[0] = 0
    recorded.lock.free, recorded.lock.calls[:] = False, []
    assert refuses()
    assert recorded.lock.calls == [False]
    assert recorded.launch(held=True) == 0
    assert recorded.lock.calls == [False]
    del launcher


def test_a_lock_that_raises_is_one_that_is_taken(stream: Stream) -> None:
    recorded = Recorded(stream, [], 4, 32)
    raising = ().index
    recorded.plan[PLAN["acquire"]] = id(raising)
    assert recorded.launch() == 1


def test_as_much_is_pushed_as_is_told() -> None:
    assert f"i32 0, i32 {PUSHED}, ptr %pushed" in recorder.text()
