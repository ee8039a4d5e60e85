"""What the toy device runs: programs as they are, with memory for the depths of their adstacks."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from adstack.ir.structure import Program
from adstack.runtime.protocol.backend import Array
from adstack.runtime.protocol.options import Options


@dataclass
class Executable:
    program: Program
    options: Options
    depths: dict[str, Array]
    ran: dict[str, int] = field(default_factory=dict)


def executable(program: Program, options: Options) -> Executable:
    places = [place for place in program.places.values() if place.kind == "depths"]
    depths = {place.name: np.zeros([extent or 0 for extent in place.shape], np.int64) for place in places}
    return Executable(program, options, depths)
