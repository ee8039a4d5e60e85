"""ADSTACK_DUMP_IR: every program that a process compiles, stage by stage, in files that are easy to find."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import adstack as qd
from adstack.backends.cpu.runtime import CpuBackend
from adstack.ir.text.parser import parse_ir
from adstack.runtime import dumps
from adstack.runtime.protocol.backend import Unavailable
from adstack.runtime.protocol.registry import probe

ARCHES = ["reference", "cpu", "cuda"] + ["vulkan"] * (not isinstance(probe("vulkan"), Unavailable))


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("ADSTACK_DUMP_IR", str(tmp_path / "new" / "dump"))
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    return tmp_path / "new" / "dump"


def programs(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


@pytest.mark.parametrize("arch", ARCHES)
def test_every_stage_of_a_kernel_and_of_its_gradient_is_written_in_order(folder, arch):
    qd.init(arch=getattr(qd, arch))
    x, y = qd.field(qd.f32, 4, needs_grad=True), qd.field(qd.f32, 4, needs_grad=True)

    @qd.kernel
    def sines(n: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                v = qd.sin(v)
            y[i] = v

    sines(3)
    sines.grad(3)
    dumped = programs(folder)
    assert all(re.fullmatch(rf"{os.getpid()}-\d{{4}}-[\w.-]*sines[\w.-]*", path.name) for path in dumped)
    assert len(dumped) >= 2
    for program in dumped:
        names = [path.name for path in sorted(program.iterdir())]
        assert [int(name[:2]) for name in names] == list(range(len(names)))
        stages = [name[3:] for name in names]
        assert stages.index("math.ir") < stages.index("tasks.ir") < stages.index("sized.ir")
        assert len(stages) - 1 - stages.index("sized.ir") >= (arch != "reference")
        for path in program.glob("*.ir"):
            parse_ir(path.read_text())
    count = len(dumped)
    sines(4)
    assert len(programs(folder)) == count  # what is compiled already is not compiled again


def test_without_the_variable_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.delenv("ADSTACK_DUMP_IR", raising=False)
    monkeypatch.chdir(tmp_path)
    assert dumps.dump_of("k") is None
    monkeypatch.setenv("ADSTACK_DUMP_IR", "")
    assert dumps.dump_of("k") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../../k", "a/b", "k<lambda>\0\n", "\udc80", "", ".", "x" * 300, "sp ace\\k:1"])
def test_names_stay_within_the_folder(tmp_path, name):
    dump = dumps.Dump(tmp_path, name)
    dump.text(name, "\udc80 text")
    assert dump.folder.parent == tmp_path
    (path,) = dump.folder.iterdir()
    assert path.read_text() == "\\udc80 text\n"
    assert re.fullmatch(r"[\w.-]+", dump.folder.name + path.name, re.ASCII)


def test_what_was_there_stays(tmp_path, monkeypatch):
    first = dumps.Dump(tmp_path, "k")
    number = int(first.folder.name.split("-")[1])
    monkeypatch.setattr(dumps, "_NUMBERS", iter([number, number + 1]))
    assert dumps.Dump(tmp_path, "k").folder.name.split("-")[1] == f"{number + 1:04}"


def test_a_folder_that_cannot_be_is_an_error_that_names_the_variable(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ADSTACK_DUMP_IR", str(tmp_path / "file" / "below"))
    qd.init(arch=qd.reference)

    @qd.kernel
    def k() -> qd.i32:
        return 1

    with pytest.raises(qd.AdstackRuntimeError, match="where IR can't be written: Not a directory") as caught:
        k()
    assert "unset it" in str(caught.value)


def test_stages_that_are_asked_for_are_written_alone_and_nothing_else_is_made(folder, monkeypatch):
    monkeypatch.setenv("ADSTACK_DUMP_STAGES", "frontend,sized")
    qd.init(arch=qd.cpu)

    def listing(self, executable):
        raise AssertionError("nobody asked for it")

    monkeypatch.setattr(CpuBackend, "listing", listing)

    @qd.kernel
    def k() -> qd.i32:
        return 1

    assert k() == 1
    (program,) = programs(folder)
    assert sorted(path.name for path in program.iterdir()) == ["00-frontend.ir", "01-sized.ir"]
