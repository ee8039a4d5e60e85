"""Files that processes share: whole or not there."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from adstack.backends.shared import kept
from adstack.tools.cli import cli


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ADSTACK_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_what_was_written_last_is_read(folder):
    path = folder / "a" / "b"
    assert kept.read(path) is None
    for body in (b"", b"one", b"another"):
        kept.write(path, body)
        assert kept.read(path) == body
    kept.remove(path)
    kept.remove(path)
    assert kept.read(path) is None


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:31], lambda b: b"", lambda b: b + b"!"])
def test_what_is_damaged_is_not_there(folder, damage):
    path = folder / "a"
    kept.write(path, b"one")
    path.write_bytes(damage(path.read_bytes()))
    assert kept.read(path) is None


def test_a_write_that_fails_leaves_what_was_there(folder, monkeypatch):
    path = folder / "a"
    kept.write(path, b"one")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept.os, "replace", full)
    kept.write(path, b"other")
    assert kept.read(path) == b"one"
    assert list(folder.iterdir()) == [path]


def test_the_command_knows_the_files_about_devices(folder):
    def adstack(*words: str) -> str:
        return CliRunner().invoke(cli, ["cache", *words]).output

    kept.write(folder / kept.DEVICES / "one.bin", bytes(3 << 20))
    (folder / kept.DEVICES / ".writing-x").write_bytes(b"half")
    assert re.search(r"devices +2 files, 3\.0 MiB", adstack("info"))
    assert adstack("clear") == "0 kernels, 2 files about devices removed\n"
    assert re.search(r"devices +0 files", adstack("info"))
