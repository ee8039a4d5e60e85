"""What is known of the races of a specialisation, through which a derivative flows."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ...analysis.manager import Analyses
from ...autodiff.activities.racing import DISTINCT
from ...ir.structure import Kernel
from ...runtime.racing import Racing

__all__ = ["Races"]


class Races:
    """The races of a kernel on places that are differentiated.

    Args:
        kernel: as the frontend made it.
        names: of these places.

    Attributes:
        apart: the races where all array arguments are different arrays.
    """

    def __init__(self, kernel: Kernel, names: Collection[str]) -> None:
        self._kernel, self._names, self._analyses = kernel, names, Analyses()
        self._known: dict[tuple[tuple[str, str], ...], Racing] = {}
        self.apart = self.under(DISTINCT)

    def under(self, aliases: Mapping[str, str]) -> Racing:
        """The races where some array arguments are one array: the name of each -> the name of the first of them."""
        key = tuple(aliases.items())
        racing = self._known.get(key)
        if racing is None:
            racing = self._known[key] = Racing(self._kernel, self._names, aliases, self._analyses)
        return racing
