"""The analysis manager: facts about regions, computed when they are first asked for, kept until a pass changes the IR.

    analyses = Analyses()
    effects = analyses.get(mod_ref, body)  # computed
    effects = analyses.get(mod_ref, body)  # the same object
    analyses.invalidate({draws_random})    # a pass has run, which preserves nothing but that

An analysis is a function of a region; its result has an equality, so that `check` can compare. The design is that of
LLVM's new pass manager and of MLIR: passes say what they preserve, and all else is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

from ..errors import IRError
from ..ir.structure import Region

__all__ = ["Analyses", "Analysis", "Preserved"]

T = TypeVar("T")

Analysis = Callable[[Region], Any]
"""Computes a fact about a region from nothing but the region; whoever gets the result does not change it."""

Preserved = Collection[Analysis]
"""The analyses whose results a pass has left as they were: all else must be computed again."""


class Analyses:
    """Results of analyses, by the analysis and the region.

    Whoever changes a region says so by `invalidate`, before anybody asks again.
    """

    def __init__(self) -> None:
        self._results: dict[tuple[Analysis, Region], Any] = {}

    def get(self, analysis: Callable[[Region], T], region: Region) -> T:
        """The result of an analysis of a region: computed now, or before."""
        key = analysis, region
        if key not in self._results:
            self._results[key] = analysis(region)
        result: T = self._results[key]
        return result

    def invalidate(self, preserved: Preserved = ()) -> None:
        """Forget all results but those of the analyses that are preserved: the IR has changed."""
        self._results = {key: result for key, result in self._results.items() if key[0] in preserved}

    def check(self) -> None:
        """Compute every result that is kept once more; IRError if one has changed, which names the analysis.

        For tests: a pass that claims to preserve an analysis, and does not, is found here.
        """
        for (analysis, region), result in self._results.items():
            if analysis(region) != result:
                name = getattr(analysis, "__name__", repr(analysis))
                raise IRError(f"the analysis {name} is said to be preserved, and its result has changed")
