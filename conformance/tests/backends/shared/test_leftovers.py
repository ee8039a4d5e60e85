"""What Python drops is given back when that is safe: not in the middle of other work with the device."""

from __future__ import annotations

import os
import threading

import pytest

from adstack.backends.shared.leftovers import Leftovers


def test_what_is_dropped_while_nobody_works_goes_at_once():
    done: list[int] = []
    leftovers = Leftovers(threading.RLock())
    leftovers.add(lambda: done.append(1))
    assert done == [1]
    assert len(leftovers) == 0


def test_what_is_dropped_in_the_middle_of_work_waits_until_the_work_says_so():
    done: list[int] = []
    lock = threading.RLock()
    leftovers = Leftovers(lock)
    with lock:
        leftovers.add(lambda: done.append(1))
        assert done == []
        leftovers.sweep()
        assert done == [1]
        leftovers.add(lambda: done.append(2))
    assert done == [1]
    leftovers.add(lambda: done.append(3))
    assert done == [1, 2, 3]


def test_a_thread_never_waits_for_another_one_s_work():
    done: list[int] = []
    lock = threading.RLock()
    leftovers = Leftovers(lock)
    with lock:
        thread = threading.Thread(target=leftovers.add, args=(lambda: done.append(1),))
        thread.start()
        thread.join()
        assert done == []
        leftovers.sweep()
    assert done == [1]


def test_what_is_dropped_while_something_is_given_back_is_given_back_too():
    done: list[int] = []
    leftovers = Leftovers(threading.RLock())

    def first() -> None:
        leftovers.add(lambda: done.append(2))
        done.append(1)

    leftovers.add(first)
    assert done == [1, 2]


def test_a_forked_process_gives_nothing_back(monkeypatch: pytest.MonkeyPatch):
    done: list[int] = []
    leftovers = Leftovers(threading.RLock())
    monkeypatch.setattr(os, "getpid", lambda: -1)
    leftovers.add(lambda: done.append(1))
    assert done == []
    assert len(leftovers) == 0
