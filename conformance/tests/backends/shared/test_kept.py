"""Files that processes share, and run code from (process.cache): whole, of that very name, nobody else's, or none."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from adstack import inspection
from adstack.backends.shared import kept
from adstack.tools.commands import cli

NAME = "a/one"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("ADSTACK_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


def refused(folder: Path, name: str = NAME) -> str:
    """Read what must not be used; what the user is told, once."""
    with pytest.warns(UserWarning, match="the cache of compiled kernels goes without a file") as caught:
        assert kept.read(folder, name) is None
    (warning,) = caught
    assert kept.read(folder, name) is None  # a second time without a word: warnings are errors here
    message = str(warning.message)
    assert "\n" not in message
    return message


def test_what_was_written_last_is_read(folder):
    assert kept.read(folder, NAME) is None
    for body in (b"", b"one", b"another"):
        kept.write(folder, NAME, body)
        assert kept.read(folder, NAME) == body
    kept.remove(folder, NAME)
    kept.remove(folder, NAME)
    assert kept.read(folder, NAME) is None


@given(st.binary(max_size=200), st.data())
def test_what_is_damaged_is_not_there(tmp_path_factory, body, data):
    folder = tmp_path_factory.mktemp("kept")
    kept.write(folder, NAME, body)
    content = (folder / NAME).read_bytes()
    at = data.draw(st.integers(0, len(content) - 1))
    damage = data.draw(st.sampled_from(["cut", "bit", "more"]))
    changed = bytearray(content)
    changed[at] ^= 1 << data.draw(st.integers(0, 7))
    (folder / NAME).write_bytes({"cut": content[:at], "bit": bytes(changed), "more": content + b"!"}[damage])
    assert kept.read(folder, NAME) is None
    (folder / NAME).write_bytes(content)
    assert kept.read(folder, NAME) == body


def test_a_body_under_another_name_is_not_there(folder):
    kept.write(folder, NAME, b"one")
    kept.write(folder, "a/other", b"other")
    (folder / NAME).replace(folder / "a" / "another")
    (folder / "a" / "other").replace(folder / NAME)
    assert kept.read(folder, "a/another") is None
    assert kept.read(folder, NAME) is None


def test_a_body_of_another_version_is_not_there(folder, monkeypatch):
    kept.write(folder, NAME, b"one")
    monkeypatch.setattr(kept, "VERSION", "0.0.9")
    assert kept.read(folder, NAME) is None


def test_folders_and_files_are_the_users_alone(folder):
    old = os.umask(0)
    try:
        kept.write(folder / "deep", NAME, b"one")
    finally:
        os.umask(old)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "deep", folder / "deep" / "a")]
    assert modes == [0o700] * 3
    assert stat.S_IMODE((folder / "deep" / NAME).stat().st_mode) == 0o600


@pytest.mark.parametrize("part", [".", "a", NAME])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_what_others_may_write_is_refused(folder, part, mode):
    kept.write(folder, NAME, b"one")
    os.chmod(folder / part, stat.S_IMODE((folder / part).stat().st_mode) | mode)
    assert re.search(r"other users may write to '.*kept.*' \(mode [67]..\); remove it, or chmod go-w", refused(folder))


@pytest.mark.parametrize("part", [".", "a", NAME])
def test_what_belongs_to_others_is_refused(folder, part, monkeypatch):
    kept.write(folder, NAME, b"one")
    state, path = os.lstat, folder / part
    alien = state(path).st_ino
    trusted = kept.trusted()

    def lstat(name):
        actual = state(name)
        return os.stat_result((*actual[:4], max(trusted) + 1, *actual[5:10])) if actual.st_ino == alien else actual

    monkeypatch.setattr(kept.os, "lstat", lstat)
    assert f"{str(path)!r} belongs to another user (number {max(trusted) + 1})" in refused(folder)


def test_a_pipe_does_not_hang_and_is_replaced(folder):
    kept.write(folder, NAME, b"one")
    (folder / NAME).unlink()
    os.mkfifo(folder / NAME)
    assert f"{str(folder / NAME)!r} is a pipe and should be a regular file" in refused(folder)
    kept.write(folder, NAME, b"two")
    assert kept.read(folder, NAME) == b"two"


def test_links_are_not_followed(folder):
    kept.write(folder, "b/one", b"one")
    kept.write(folder, NAME, b"one")
    content = (folder / NAME).read_bytes()
    (folder / "a" / "real").write_bytes(content)
    (folder / NAME).unlink()
    (folder / NAME).symlink_to("real")
    assert "is a link and should be a regular file" in refused(folder)
    kept.write(folder, NAME, b"two")  # the link is replaced, not what it points to
    assert (folder / "a" / "real").read_bytes() == content
    assert kept.read(folder, NAME) == b"two"


def test_a_folder_within_that_is_a_link_is_neither_read_nor_emptied(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine.o").write_bytes(b"work")
    kept.write(folder, "objects/bb/x.o", b"one")
    (folder / "objects" / "aa").symlink_to(tmp_path / "elsewhere")
    assert [name for name, _ in kept.files(folder, "objects")] == ["objects/bb/x.o"]
    assert inspection.clear_cache() == (1, 0)
    assert (tmp_path / "elsewhere" / "mine.o").read_bytes() == b"work"
    assert "is a link and should be a folder" in refused(folder, "objects/aa/mine.o")


def test_the_users_own_folder_may_be_a_link(folder, tmp_path):
    (tmp_path / "disk").mkdir()
    folder.symlink_to(tmp_path / "disk")
    kept.write(folder, NAME, b"one")
    assert kept.read(folder, NAME) == b"one"


def test_what_is_too_large_is_neither_written_nor_read(folder, monkeypatch):
    kept.write(folder, NAME, b"one")
    monkeypatch.setattr(kept, "LARGEST", 2)
    assert kept.read(folder, NAME) is None
    kept.write(folder, NAME, b"other")
    monkeypatch.setattr(kept, "LARGEST", 3)
    assert kept.read(folder, NAME) == b"one"
    os.truncate(folder / NAME, 1 << 40)  # a hole: nothing is on the disk
    assert kept.read(folder, NAME) is None


def test_a_write_that_fails_leaves_what_was_there(folder, monkeypatch):
    kept.write(folder, NAME, b"one")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept.os, "replace", full)
    kept.write(folder, NAME, b"other")
    assert kept.read(folder, NAME) == b"one"
    assert list((folder / "a").iterdir()) == [folder / NAME]


def test_an_interrupt_leaves_nothing_behind(folder, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(kept.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kept.write(folder, NAME, b"one")
    assert list((folder / "a").iterdir()) == []


@pytest.mark.parametrize("where", ["file", "file/below", "x" * 300, "/dev/null", "/proc/none"])
def test_where_no_folder_can_be_nothing_is_kept(tmp_path, where):
    (tmp_path / "file").write_text("no folder")
    kept.write(tmp_path / where, NAME, b"one")
    assert kept.read(tmp_path / where, NAME) is None
    kept.remove(tmp_path / where, NAME)
    assert kept.files(tmp_path / where, "a") == []
    assert kept.refusal(tmp_path / where) == ""


def test_folders_may_vanish_at_any_moment(folder):
    """One thread removes what another writes, reads and lists: what is read is what was written, or nothing."""
    ended = threading.Event()

    def vanish() -> None:
        while not ended.is_set():
            for path in (folder / NAME, folder / "a", folder):
                with suppress(OSError):  # not empty, or gone
                    path.rmdir() if path.is_dir() else path.unlink()

    thread = threading.Thread(target=vanish)
    thread.start()
    try:
        seen = set()
        for _ in range(300):
            kept.write(folder, NAME, b"one")
            seen.add(kept.read(folder, NAME))
            kept.files(folder, "a")
            kept.remove(folder, NAME)
    finally:
        ended.set()
        thread.join()
    assert seen <= {b"one", None}


PROGRAM = """
import adstack as qd
qd.init(arch=qd.cpu)

@qd.kernel
def add(a: qd.i32, b: qd.i32) -> qd.i32:
    return a + b

print(add(3, 4))
"""


def test_a_program_goes_on_without_a_folder_that_others_may_write(folder, tmp_path):
    folder.mkdir()
    folder.chmod(0o777)
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "7\n"
    assert done.stderr.count("other users may write to") == 1
    assert list(folder.iterdir()) == []


def adstack(*words: str) -> str:
    return CliRunner().invoke(cli, ["cache", *words]).output


def test_the_command_knows_the_files_about_devices(folder):
    kept.write(folder, f"{kept.DEVICES}/one.bin", bytes(3 << 20))
    (folder / kept.DEVICES / ".writing-x").write_bytes(b"half")
    assert re.search(r"devices +2 files, 3\.0 MiB", adstack("info"))
    assert adstack("clear") == "0 kernels, 2 files about devices removed\n"
    assert re.search(r"devices +0 files", adstack("info"))


def test_the_command_says_why_a_folder_is_refused(folder):
    kept.write(folder, "objects/aa/x.o", b"one")
    folder.chmod(0o775)
    assert re.search(r"refused +other users may write to", adstack("info"))
    assert "other users may write to" in adstack("clear")
    assert (folder / "objects" / "aa" / "x.o").exists()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert kept.read(folder, "objects/aa/x.o") is None
