"""What steps work on: frames of lanes that take the same path.

Where the paths of lanes part, each side goes on in a frame that holds only its own lanes: no step ever sees an
inactive lane.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from .lanes import Array, Team
from .launch import Launch

Slot: TypeAlias = Any
"""What a slot of a frame holds: an array, the adstacks of a team, or None until its step has run."""


class Frame:
    """Lanes that run together, and their values.

    Attributes:
        launch: what all frames of a launch share.
        team: the chunk that the lanes belong to.
        lanes: their positions in the team, ascending.
        count: how many.
        values: by slot: an array with one element per lane, or with a single element if all lanes agree; or the handle
            of thread-local memory, which covers the whole team.
    """

    __slots__ = ("count", "lanes", "launch", "team", "values")

    def __init__(self, launch: Launch, team: Team, lanes: Array, values: list[Slot]) -> None:
        self.launch = launch
        self.team = team
        self.lanes = lanes
        self.count = len(lanes)
        self.values = values

    def take(self, chosen: Array, slots: Iterable[int]) -> Frame:
        """A frame of the lanes at the positions `chosen`; of the values, those in `slots` follow."""
        values = self.values.copy()
        for slot in slots:
            value = self.values[slot]
            if len(value) > 1:
                values[slot] = value[chosen]
        return Frame(self.launch, self.team, self.lanes[chosen], values)

    def spread(self, value: Array) -> Array:
        """`value` with one element per lane."""
        return value if len(value) == self.count else np.broadcast_to(value, (self.count,))
