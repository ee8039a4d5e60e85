"""The errors that the lanes of a frame can cause, in words."""

from __future__ import annotations

from ..errors import AdstackAssertionError, AdstackOutOfBoundsError
from ..ir.location import Loc
from .frame import Frame
from .lanes import Array
from .messages import listed, located


def trapped(message: str, frame: Frame, at: int, loc: Loc) -> AdstackAssertionError:
    """A check of debug mode, or an assert, failed at position `at` of the frame."""
    where = frame.team.iteration(int(frame.lanes[at]))
    return AdstackAssertionError(message + where, loc=located(loc))


def out_of_bounds(
    what: str, index: list[Array], extents: tuple[int, ...], frame: Frame, loc: Loc
) -> AdstackOutOfBoundsError:
    """An index of some lane lies outside the extents; the first such lane is reported."""
    rows = [frame.spread(axis).tolist() for axis in index]
    outside = [
        any(not 0 <= i < extent for i, extent in zip(row, extents, strict=True)) for row in zip(*rows, strict=True)
    ]
    position = outside.index(True)
    where = frame.team.iteration(int(frame.lanes[position]))
    return AdstackOutOfBoundsError(
        f"Accessing {what} at {listed(row[position] for row in rows)}, outside its extents {listed(extents)}{where}",
        loc=located(loc),
        do="keep every index at 0 or above and below the extent of its axis",
    )
