"""Files that processes share, and that programs run code from: the one module that reads and writes them.

Who can write such a file decides what the next process runs. What is read is therefore a regular file, not a link, that
belongs to this user (or to root, who can do everything anyway), in folders of which the same is true, and that nobody
else may write; it begins with a hash that binds its name, adstack's version and its contents, so that a file that was
damaged, cut short or exchanged for another one is taken for none. Nothing here is opened that could block, and nothing
is read beyond `LARGEST` bytes. A file is written under another name and renamed, so that a reader sees all of it or
nothing.

The folder of the cache is checked first, then each folder in it, then the file: where all that comes before is safe,
nobody else can exchange what comes after. Systems without users' numbers (Windows) have no such checks; what the user's
own folder has there is protected by its access list.

Whatever goes wrong, the program goes on without the file. A warning, once in a process, names what was refused.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from adstack.version import VERSION

__all__ = [
    "DEVICES",
    "LARGEST",
    "default_folder",
    "device_files",
    "files",
    "read",
    "refusal",
    "remove",
    "remove_unfinished",
    "write",
]

DEVICES = "vulkan"
"""The folder of what drivers keep, and of what is known of devices."""
LARGEST: Final = 128 << 20
"""Bytes that a file may have; a larger one is neither written nor read."""
_UNFINISHED = ".writing-"
_ABANDONED_SECONDS: Final = 3600
"""A file that is still being written after so long belongs to a process that has ended."""
_HASH_BYTES: Final = 32
_SHARED_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_CAREFUL: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_WARNED: set[Path] = set()
"""Folders of which something was refused, and the user was told."""


class _UnsafeError(Exception):
    """A file or folder that may be somebody else's: the message says which, why, and what helps."""


def home() -> Path:
    """The user's folder; for a user without a name or a home, as in containers, one among the temporary files."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"adstack-{os.getuid()}"


def default_folder() -> Path:
    """$ADSTACK_CACHE_DIR, or adstack in the user's cache folder."""
    folder = os.environ.get("ADSTACK_CACHE_DIR")
    if folder:
        return Path(folder)
    base = os.environ.get("XDG_CACHE_HOME") or home() / ".cache"
    return Path(base) / "adstack"


def read(folder: Path, name: str) -> bytes | None:
    """The contents of a file, by its path from the folder on; None if it is not there, damaged, or not safe to use."""
    with _going_on_without(folder):
        for each in _folders(folder, name):
            _check_folder(each, folder)
        data = _contents(folder / name)
        body = data[_HASH_BYTES:]
        if data[:_HASH_BYTES] == _seal(name, body):
            return body
    return None


def write(folder: Path, name: str, body: bytes) -> None:
    """Make or replace a file; where that can't be done, or would not be safe, do nothing."""
    if len(body) > LARGEST:
        return
    with _going_on_without(folder):
        for each in (parent for parent in reversed(folder.parents) if not parent.exists()):
            _make_folder(each)
        for each in _folders(folder, name):
            _make_folder(each)
            _check_folder(each, folder)
        _replace(folder / name, _seal(name, body) + body)


def remove(folder: Path, name: str) -> None:
    """Remove a file, unless another process was faster; where its folder is not safe to use, do nothing."""
    with _going_on_without(folder):
        for each in _folders(folder, name):
            _check_folder(each, folder)
        (folder / name).unlink(missing_ok=True)


def files(folder: Path, within: str) -> list[tuple[str, os.stat_result]]:
    """The regular files of a folder within the cache's, and of the folders in that one: (path from `folder` on, state).

    Links are not followed, and folders that are not safe to use are left out.
    """
    entries: list[tuple[str, os.stat_result]] = []
    with _going_on_without(folder):
        _check_folder(folder, folder)
        entries += _walked(folder, within)
    return entries


def device_files(folder: Path) -> list[tuple[str, int]]:
    """What is kept of devices and for their drivers: (path from `folder` on, size in bytes), in order."""
    return sorted((name, state.st_size) for name, state in files(folder, DEVICES))


def remove_unfinished(folder: Path, within: str, *, all_of_them: bool = False) -> None:
    """Remove what processes have left that ended while they wrote; `all_of_them`: also what is being written now."""
    oldest = time.time() - (0 if all_of_them else _ABANDONED_SECONDS)
    for name, state in files(folder, within):
        if name.rpartition("/")[2].startswith(_UNFINISHED) and (all_of_them or state.st_mtime < oldest):
            remove(folder, name)


def refusal(folder: Path) -> str:
    """Why nothing is read from this folder or written to it, and what helps; "" if it is safe, or not there."""
    with suppress(OSError):
        try:
            _check_folder(folder, folder)
        except _UnsafeError as unsafe:
            return str(unsafe)
    return ""


@contextmanager
def _going_on_without(folder: Path) -> Iterator[None]:
    """End the block at what the system or the checks refuse; of the checks the user is told once per folder."""
    try:
        yield
    except _UnsafeError as unsafe:
        if folder not in _WARNED:
            _WARNED.add(folder)
            warnings.warn(f"the cache of compiled kernels goes without a file: {unsafe}", stacklevel=4)
    except OSError:  # not there, not allowed, no space
        return


def _folders(folder: Path, name: str) -> Iterator[Path]:
    """The folder, and those in it on the way to a file, outermost first."""
    yield folder
    for part in name.split("/")[:-1]:
        folder = folder / part
        yield folder


def _make_folder(path: Path) -> None:
    """Make a folder of this user's alone, unless there is one."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)


def _check_folder(path: Path, root: Path) -> None:
    """Raise what is wrong with a folder. The cache's own may be a link, if it is not another user's."""
    state = os.lstat(path)
    if path == root:
        if stat.S_ISLNK(state.st_mode):
            _check_owner(path, state)
            state = os.stat(path)
        if not stat.S_ISDIR(state.st_mode):
            raise NotADirectoryError(path)
    _check(path, state, stat.S_ISDIR, "a folder")


def _check(path: Path, state: os.stat_result, is_kind: Callable[[int], bool], kind: str) -> None:
    """Raise what is wrong with a file or folder; its path is written so that it stays on one line."""
    if not is_kind(state.st_mode):
        raise _UnsafeError(f"{str(path)!r} is {_kind(state.st_mode)} and should be {kind}; remove it")
    _check_owner(path, state)
    if hasattr(os, "geteuid") and state.st_mode & _SHARED_WRITE:
        mode = stat.S_IMODE(state.st_mode)
        raise _UnsafeError(f"other users may write to {str(path)!r} (mode {mode:03o}); remove it, or chmod go-w")


def _kind(mode: int) -> str:
    names = {stat.S_IFLNK: "a link", stat.S_IFIFO: "a pipe", stat.S_IFDIR: "a folder", stat.S_IFREG: "a file"}
    return names.get(stat.S_IFMT(mode), "a device or socket")


def _check_owner(path: Path, state: os.stat_result) -> None:
    if state.st_uid not in trusted():
        own = "set ADSTACK_CACHE_DIR to a folder of your own, or remove it"
        raise _UnsafeError(f"{str(path)!r} belongs to another user (number {state.st_uid}); {own}")


def trusted() -> tuple[int, ...] | range:
    """The numbers of the users whose files are used: this one, and root; every number where users have none."""
    return (os.geteuid(), 0) if hasattr(os, "geteuid") else range(1)


def _contents(path: Path) -> bytes:
    """A file's bytes, no more than may be; looked at before it is opened, as to open a device may do something."""
    _check(path, os.lstat(path), stat.S_ISREG, "a regular file")
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _CAREFUL)) as file:
        state = os.fstat(file.fileno())
        _check(path, state, stat.S_ISREG, "a regular file")
        if state.st_size > LARGEST + _HASH_BYTES:
            return b""
        data = file.read(LARGEST + _HASH_BYTES + 1)
        if os.utime in os.supports_fd:
            with suppress(OSError):
                os.utime(file.fileno())  # what is used last is trimmed last
    return data


def _seal(name: str, body: bytes) -> bytes:
    """What stands in front of a file's contents."""
    digest = hashlib.sha256()
    for part in (b"adstack", VERSION.encode(), name.encode()):
        digest.update(len(part).to_bytes(8, "little") + part)
    digest.update(body)
    return digest.digest()


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=_UNFINISHED)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _walked(folder: Path, within: str) -> Iterator[tuple[str, os.stat_result]]:
    """See `files`; what vanishes meanwhile is left out."""
    here = folder / within
    with _going_on_without(folder):
        _check_folder(here, folder)
        with os.scandir(here) as entries:
            names = sorted(entry.name for entry in entries)
        for name in names:
            with suppress(OSError):
                state = os.lstat(here / name)
                if stat.S_ISDIR(state.st_mode):
                    yield from _walked(folder, f"{within}/{name}")
                elif stat.S_ISREG(state.st_mode):
                    yield f"{within}/{name}", state
