"""Compiled objects on disk: whole or not there at all, whoever writes at the same time."""

from __future__ import annotations

import multiprocessing
import os
import pwd
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from cache_kit import write_and_read
from click.testing import CliRunner
from cpu_kit import backend, tasks_of
from interpreter_kit import parallel

from adstack.backends.cpu import capability, toolchain
from adstack.backends.shared import jit
from adstack.backends.shared.kept import default_folder
from adstack.backends.shared.object_cache import ObjectCache
from adstack.runtime.protocol.backend import Bindings
from adstack.runtime.protocol.options import Options
from adstack.tools.commands import cli


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    backend()  # what serves all kernels is kept elsewhere
    monkeypatch.setenv("ADSTACK_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("objects/*/*.o"))


def launch(addend: int = 1, *, offline_cache: bool = True) -> int:
    """Compile and run a kernel that is another one for every number; what it computes."""
    text = parallel(f"%v = const {addend} : i32\nstore @y[%i], %v", 100, "place @y : i32[?] field")
    executable = backend().compile(tasks_of(text), Options(offline_cache=offline_cache))
    y = np.zeros(100, np.int32)
    backend().launch(executable, (), Bindings({"y": y}, {"y": y.shape}))
    assert len(set(y)) == 1
    return int(y[0])


def no_compiler(*_):
    raise AssertionError("compiled")


def test_what_was_written_is_read(folder):
    kept = ObjectCache(folder)
    key = kept.key("a", "b")
    assert kept.read(key) is None
    kept.write(key, b"code")
    assert kept.read(key) == b"code"
    kept.write(key, b"other")
    assert kept.read(key) == b"other"


def test_a_key_tells_texts_and_their_borders_apart():
    keys = [ObjectCache.key(*parts) for parts in (("ab", "c"), ("a", "bc"), ("abc",), ("ab", "d"), ("abc", ""))]
    assert len(set(keys)) == len(keys)


def test_a_kernel_is_compiled_once(folder, monkeypatch):
    assert launch(1) == 1
    (kept,) = files(folder)
    monkeypatch.setattr(toolchain, "compiled", no_compiler)
    assert launch(1) == 1
    assert files(folder) == [kept]
    with pytest.raises(AssertionError, match="compiled"):
        launch(2)


def test_without_the_option_nothing_is_kept(folder):
    assert launch(1, offline_cache=False) == 1
    assert not folder.exists()


@pytest.mark.parametrize("what", ["processor", "features", "llvm", "passes"])
def test_another_processor_or_compiler_has_entries_of_its_own(folder, monkeypatch, what):
    launch(1)
    name, features = capability.host()
    if what == "processor":
        monkeypatch.setattr(jit, "host", lambda: (name + "2", features))
    elif what == "features":
        monkeypatch.setattr(jit, "host", lambda: (name, features + ",+none"))
    elif what == "llvm":
        monkeypatch.setattr(toolchain.llvm, "llvm_version_info", (99, 0, 0))
    else:
        monkeypatch.setattr(toolchain, "passes", lambda length: ("sroa",))
    monkeypatch.setattr(toolchain, "compiled", no_compiler)
    with pytest.raises(AssertionError, match="compiled"):
        launch(1)


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:20], lambda b: b"", lambda b: b[:-1] + b"!"])
def test_a_damaged_entry_is_made_anew(folder, damage):
    launch(3)
    (path,) = files(folder)
    content = path.read_bytes()
    path.write_bytes(damage(content))
    assert launch(3) == 3
    assert path.read_bytes() == content


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("ADSTACK_CACHE_DIR", str(tmp_path / "file"))
    assert launch(4) == 4
    assert launch(4) == 4


def test_a_full_disk_leaves_no_half_entry(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert launch(5) == 5
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_entries_that_were_exchanged_are_made_anew(folder):
    assert [launch(10), launch(11)] == [10, 11]
    one, other = files(folder)
    bodies = one.read_bytes(), other.read_bytes()
    one.write_bytes(bodies[1])
    other.write_bytes(bodies[0])
    assert [launch(10), launch(11)] == [10, 11]
    assert (one.read_bytes(), other.read_bytes()) == bodies


def test_what_interrupted_writes_have_left_is_trimmed(folder):
    kept = ObjectCache(folder)
    kept.write("ab", b"code")
    within = folder / "objects" / "ab"
    for name, age in (("old", 7200), ("new", 60)):
        (within / f".writing-{name}").write_bytes(b"half")
        os.utime(within / f".writing-{name}", (time.time() - age,) * 2)
    kept.trim()
    assert sorted(path.name for path in within.iterdir()) == [".writing-new", "ab.o"]
    assert kept.clear() == 1
    assert list(within.iterdir()) == []


def test_processes_may_write_read_and_trim_at_once(folder):
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.map(write_and_read, [folder] * 3) == [0, 0, 0]


def test_trimming_removes_what_was_used_longest_ago(folder):
    kept = ObjectCache(folder)
    keys = [kept.key(str(k)) for k in range(4)]
    for age, key in enumerate(keys):
        kept.write(key, b"x" * 968)  # 1000 bytes with the hash in front
        os.utime(folder / "objects" / key[:2] / f"{key}.o", ns=(age, age))
    assert kept.read(keys[0]) is not None  # used now
    kept.trim(2000)
    assert [kept.read(key) is not None for key in keys] == [True, False, False, True]


def test_the_cache_does_not_grow_without_end(folder, monkeypatch):
    monkeypatch.setattr(ObjectCache.trim, "__defaults__", (10_000,))
    kept = ObjectCache(folder)
    for k in range(1500):
        kept.write(f"{k % 256:02x}{k:030x}", b"x" * 968)
    assert len(kept.entries()) < 256


def test_the_folder_is_the_users_unless_the_environment_says_otherwise(monkeypatch):
    monkeypatch.delenv("ADSTACK_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_folder() == Path("/somewhere/adstack")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_folder() == Path.home() / ".cache" / "adstack"


def adstack(*words: str) -> str:
    result = CliRunner().invoke(cli, ["cache", *words])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_tells_what_is_kept_and_removes_it(folder):
    assert re.search(r"kernels +0", adstack("info"))
    launch(6)
    launch(7)
    shown = adstack("info")
    assert str(folder) in shown
    assert re.search(r"kernels +2", shown)
    assert "2 kernels removed" in adstack("clear")
    assert files(folder) == []
    assert "0 kernels removed" in adstack("clear")
    assert launch(6) == 6


SCRIPT = """
import adstack as qd
qd.init(arch=qd.cpu)
x = qd.field(qd.f32, 100)

@qd.kernel
def fill(a: qd.f32):
    for i in x:
        x[i] = qd.sin(a * i)

fill(0.5)
print(x[3])
"""


def test_another_process_starts_with_what_one_has_compiled(folder, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(SCRIPT))
    outputs = []
    for _ in range(2):
        done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True)
        outputs.append((done.stdout, len(files(folder))))
    assert outputs[0] == outputs[1]
    assert outputs[0][1] >= 1


def test_machines_of_several_kinds_share_a_folder(folder, monkeypatch):
    """What one has kept would end another's process."""
    code = "define i64 @f() {\n  ret i64 7\n}\n"
    jit.runtime_library(code, ["f"], ObjectCache(folder))
    launch(40)
    kept = files(folder)
    monkeypatch.setattr(jit.llvm, "get_process_triple", lambda: "another-machine")
    jit.runtime_library(code, ["f"], ObjectCache(folder))
    launch(40)
    assert len(kept) == 2
    assert len(files(folder)) == 4


def test_a_user_without_a_name_and_a_home_has_a_folder_among_the_temporary_files(monkeypatch):
    def unknown(uid):
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    for name in ("HOME", "XDG_CACHE_HOME", "ADSTACK_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert default_folder() == Path(tempfile.gettempdir()) / f"adstack-{os.getuid()}" / ".cache" / "adstack"
