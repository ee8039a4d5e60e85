"""Where memory is short, LLVM runs in a process of its own: what it gives is the same, and that it ends is an error."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import adstack as qd
from adstack.backends.shared import compiling
from adstack.backends.shared.compiler import Recipe, code
from adstack.backends.shared.compiling import compiled
from adstack.backends.shared.jit import host_target
from adstack.errors import AdstackMemoryError, InternalError

TEXT = "define i64 @run(i64 %x) {\n  %y = mul i64 %x, 7\n  ret i64 %y\n}\n"


def recipe(*, assembly: bool = False) -> Recipe:
    return Recipe(host_target(), ("sroa", "simplify_cfg"), assembly)


@pytest.fixture
def scarce(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "has_room", lambda size: False)


def interpreter(folder: Path, script: str, name: str = "python") -> str:
    """A program in place of Python's."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return str(path)


@pytest.mark.usefixtures("scarce")
@pytest.mark.parametrize("assembly", [False, True])
def test_another_process_gives_the_same_bytes(assembly: bool):
    assert compiled(TEXT, recipe(assembly=assembly)) == code(TEXT, recipe(assembly=assembly))


@pytest.mark.usefixtures("scarce")
def test_what_llvm_refuses_there_is_a_defect_here():
    with pytest.raises(InternalError, match="expected top-level entity"):
        compiled("nonsense", recipe())


def test_with_ample_memory_no_process_is_started(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compiling, "has_room", lambda size: size < 300 << 20)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert compiled(TEXT, recipe()) == code(TEXT, recipe())
    with pytest.raises(AdstackMemoryError, match="no process can be started"):
        compiled(TEXT + "\n" * (1 << 16), recipe())


@pytest.mark.usefixtures("scarce")
def test_a_program_with_python_in_it_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", interpreter(tmp_path, "exit 1", "modeller"))
    assert compiled(TEXT, recipe()) == code(TEXT, recipe())


@pytest.mark.usefixtures("scarce")
def test_a_system_without_memory_for_it_is_not_asked(monkeypatch: pytest.MonkeyPatch):
    from adstack.backends.shared import room

    monkeypatch.setattr(room, "memory_left", lambda: 1 << 20)
    with pytest.raises(AdstackMemoryError, match="no memory for compiling a kernel: it may take"):
        compiled(TEXT, recipe())


@pytest.mark.usefixtures("scarce")
@pytest.mark.parametrize("arch", ["cpu", "cuda"])
def test_a_kernel_whose_compiler_ended_is_refused_and_works_afterwards(
    arch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    qd.init(arch=arch, offline_cache=False)
    x = qd.field(qd.f32, 4)

    @qd.kernel
    def k():
        for i in x:
            x[i] += 2.0

    with monkeypatch.context() as broken:
        broken.setattr(sys, "executable", interpreter(tmp_path, "kill -KILL $$"))
        with pytest.raises(AdstackMemoryError, match="the process that does so ended with -9"):
            k()
    k()
    assert x.to_numpy().tolist() == [2.0] * 4


@pytest.mark.usefixtures("scarce")
def test_at_every_limit_the_process_gives_the_same_or_the_kernel_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = "".join(TEXT.replace("@run", f"@run{k}") for k in range(500))
    expected, python, came = code(text, recipe()), sys.executable, set[bool]()
    for limit in range(8, 288, 8):
        script = f'ulimit -v {limit * 1024}; exec {python} "$@"'
        monkeypatch.setattr(sys, "executable", interpreter(tmp_path, script))
        try:
            assert compiled(text, recipe()) == expected
            came.add(True)
        except AdstackMemoryError:
            came.add(False)
    assert came == {True, False}
