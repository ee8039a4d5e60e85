"""How much memory there is: what the system says, and every limit around the process."""

from __future__ import annotations

import sys

import pytest

from adstack.backends.shared.memory_left import memory_left


def system(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return memory_left(root)


MEMINFO = "MemTotal:  9000 kB\nMemFree:   10 kB\nMemAvailable:   4000 kB\n"


def test_the_system_says_what_it_can_give(tmp_path):
    assert system(tmp_path, {"proc/meminfo": MEMINFO}) == 4_096_000


def test_where_nobody_says_nothing_is_known(tmp_path):
    assert system(tmp_path, {}) is None
    assert system(tmp_path, {"proc/meminfo": "MemTotal: 5 kB\n"}) is None


@pytest.mark.parametrize("at", ["", "/a", "/a/b"])
def test_a_group_s_limit_counts_wherever_it_is_set(tmp_path, at):
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "0::/a/b\n",
        f"sys/fs/cgroup{at}/memory.max": "500000\n",
        f"sys/fs/cgroup{at}/memory.current": "200000\n",
        f"sys/fs/cgroup{at}/memory.stat": "anon 150000\nfile 40000\n",
    }
    assert system(tmp_path, files) == 340_000


def test_groups_of_the_first_version_are_asked_too(tmp_path):
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "4:cpu,memory:/x\n3:pids:/\n",
        "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1000\n",
        "sys/fs/cgroup/memory/x/memory.usage_in_bytes": "5000\n",
        "sys/fs/cgroup/memory/x/memory.stat": "cache 7\ntotal_cache 4100\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": "5000\n",
    }
    assert system(tmp_path, files) == 100


def test_a_group_without_a_limit_says_nothing(tmp_path):
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": "max\n",
        "sys/fs/cgroup/memory.current": "1\n",
    }
    assert system(tmp_path, files) == 4_096_000


def test_this_machine_has_some_memory_left():
    left = memory_left()
    assert left is None or left > 2**20
    assert (left is not None) or not sys.platform.startswith("linux")
