"""A worker that has imported its subject, and forks a process for each charge it is given.

It is told what to do over a socket that keeps messages apart: `{"folder": FOLDER}` with a file descriptor asks for a
process that serves that stream and keeps its output in that folder, and is answered `{"pid": PID}`; `{"reap": PID}` is
answered `{"code": CODE}`, the exit code of such a process, or null while it runs.

What has threads after its import is not forked: a child would lack them, and wait for locks that they held. It takes
one charge itself.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .capture import flush
from .records import Record

__all__ = ["Charge", "can_fork", "control_of", "next_charge", "tell"]

LONGEST_ORDER: Final = 1 << 16
_TASKS: Final = Path("/proc/self/task")


@dataclass(frozen=True)
class Charge:
    """What a process is to serve: the stream of its requests and answers, and the folder of its output."""

    stream: socket.socket
    folder: Path


def control_of(descriptor: int) -> socket.socket | None:
    """The socket behind a file descriptor, which orders come from; None if it is anything else."""
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        return None
    return socket.socket(fileno=os.dup(descriptor))


def can_fork() -> bool:
    """Whether this process, as it is now, may be forked: it has one thread, on a system where that can be known."""
    return sys.platform == "linux" and len(os.listdir(_TASKS)) == 1


def tell(control: socket.socket, message: Record) -> None:
    """Answer an order, or greet."""
    control.sendall(json.dumps(message).encode())


def next_charge(control: socket.socket, forks: bool) -> Charge | None:
    """In a process that is to serve: what. In the one that has forked them all: None, at the end of its orders.

    Args:
        control: where orders come from.
        forks: whether each charge has a process of its own; else this process takes the first.
    """
    codes: dict[int, int | None] = {}
    while True:
        data, descriptors, *_ = socket.recv_fds(control, LONGEST_ORDER, 1)
        if not data:
            _end(pid for pid, code in codes.items() if code is None)
            return None
        order = json.loads(data)
        if "reap" in order:
            tell(control, {"code": _exit_code(order["reap"], codes)})
            continue
        charge = Charge(socket.socket(fileno=descriptors[0]), Path(order["folder"]))
        pid = _fork() if forks else 0
        if pid == 0:
            if not forks:
                tell(control, {"pid": os.getpid()})
            control.close()
            return charge
        codes[pid] = None
        charge.stream.close()
        tell(control, {"pid": pid})


def _fork() -> int:
    """Fork a process that leads a group of its own, so that it can be ended with all that it starts."""
    flush()
    pid = os.fork()
    with suppress(OSError):  # both do it, since either may come first
        os.setpgid(pid, pid or os.getpid())
    return pid


def _exit_code(pid: int, codes: dict[int, int | None]) -> int | None:
    """The exit code of a process that has ended: minus the signal that it died of; None if it has not."""
    if codes[pid] is None:
        ended, status = os.waitpid(pid, os.WNOHANG)
        codes[pid] = os.waitstatus_to_exitcode(status) if ended else None
    return codes[pid]


def _end(pids: Iterable[int]) -> None:
    """Nobody asks these any more: whoever gave the orders is gone."""
    for pid in pids:
        with suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
