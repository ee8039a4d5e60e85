"""Answers GradBench's protocol: `python -m adstack.conformance.gradbench [ARCH]`, messages on stdin, answers on
stdout.
"""

from __future__ import annotations

import sys

import adstack as qd

from .protocol import answers


def main(arch: str = "cpu") -> None:
    """Answers until stdin ends."""
    qd.init(arch=arch, default_fp=qd.f64, announce=False)
    for line in answers(sys.stdin):
        print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:2])
