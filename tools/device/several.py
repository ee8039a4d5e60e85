"""Whether every device of a machine can be chosen: `python -m adstack.tools.device.several FILE`.

For each variable that chooses a device, and each of NVIDIA's devices, a process of its own fills memory; `nvidia-smi`
tells on which device that memory is. A variable works if one device has it each time, and never the same one twice.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from adstack.conformance.harness.records import Record

__all__ = ["chosen", "main", "used"]

VARIABLES: Final = {"ADSTACK_CUDA_DEVICE": "cuda", "CUDA_VISIBLE_DEVICES": "cuda", "ADSTACK_VULKAN_DEVICE": "vulkan"}
"""Variable -> the backend whose device it chooses."""
SECONDS: Final = 60
"""How long filling may take."""
_MIB: Final = 1024
"""What is filled."""
_WORK: Final = """
import sys
import adstack as qd

qd.init(arch=sys.argv[1])
x = qd.field(qd.f32, shape=int(sys.argv[2]) << 18)
x.fill(1.0)
assert x[5] == 1.0
qd.sync()
print("ready", flush=True)
sys.stdin.read()
"""


def used() -> list[int]:
    """MiB in use on each device of the machine."""
    query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return [int(line) for line in subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()]


@contextmanager
def _filling(arch: str, variable: str, device: int) -> Iterator[str]:
    """While a process holds memory of the device chosen; what went wrong with it, if anything."""
    command = [sys.executable, "-c", _WORK, arch, str(_MIB)]
    pipe = subprocess.PIPE
    surroundings = {**os.environ, variable: str(device)}
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=surroundings)
    late = threading.Timer(SECONDS, process.kill)
    late.start()
    assert process.stdout is not None
    ready = process.stdout.readline() == "ready\n"
    slow = not late.is_alive()
    late.cancel()
    yield "" if ready else f"not done in {SECONDS} s" if slow else "it ended before it was ready"
    _, errors = process.communicate()
    if errors:
        print(errors, file=sys.stderr)


def chosen(variable: str, taken: Callable[[], list[int]]) -> Record:
    """What each value of a variable led to: MiB more than before on each device, or an error; whether it works."""
    results: Record = {}
    places = []
    for device in range(len(taken())):
        before, start = taken(), time.monotonic()
        with _filling(VARIABLES[variable], variable, device) as error:
            seconds = round(time.monotonic() - start, 1)
            more = [now - then for now, then in zip(taken(), before, strict=True)]
        results[str(device)] = {"error": error} if error else {"MiB more on each device": more, "seconds": seconds}
        places.append([at for at, mib in enumerate(more) if mib >= _MIB and not error])
    distinct = {place for place, *others in filter(None, places) if not others}
    return {**results, "works": len(distinct) == len(places)}


def main(file: str) -> int:
    """Try all variables, and keep what was found; 1 if one does not work."""
    results = {variable: chosen(variable, used) for variable in VARIABLES}
    Path(file).write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))
    return int(not all(one["works"] for one in results.values()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
