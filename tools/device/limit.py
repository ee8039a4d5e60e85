"""Builds and runs the kernels written by hand: `python -m adstack.tools.device.limit FILE`, in a clone of adstack."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from .__main__ import tool

__all__ = ["main"]

SOURCE = Path("asv_benchmarks/limits/recurrence.cu")


def main(file: str) -> int:
    """Write the milliseconds that they take to a file, as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "recurrence"
        subprocess.run([tool("nvcc"), "-O3", "-arch=native", "-o", str(program), str(SOURCE)], check=True)
        text = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    Path(file).write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
