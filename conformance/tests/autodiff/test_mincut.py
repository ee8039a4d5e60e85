"""The minimum cut: it separates, nothing cheaper does, and of equals those nearest to what is needed are cut."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import combinations

import pytest

from adstack.autodiff.saving.mincut import cheapest_cut

Graph = Mapping[int, Sequence[int]]


def reached(edges: Graph, start: set[int], cut: set[int]) -> set[int]:
    reachable = start - cut
    work = list(reachable)
    while work:
        new = {target for target in edges.get(work.pop(), ()) if target not in reachable and target not in cut}
        reachable |= new
        work += new
    return reachable


def cheapest(costs: Mapping[int, int], edges: Graph, sources: set[int], sinks: set[int]) -> int:
    """By trying all sets."""
    cuts = (set(cut) for size in range(len(costs) + 1) for cut in combinations(costs, size))
    return min(sum(costs[n] for n in cut) for cut in cuts if not reached(edges, sources, cut) & sinks)


@pytest.mark.parametrize("seed", range(60))
def test_the_cut_separates_and_nothing_cheaper_does(seed: int) -> None:
    chance = random.Random(seed)
    n = chance.randint(2, 9)
    costs = {node: chance.choice([1, 2, 4, 8]) for node in range(n)}
    edges = {a: [b for b in range(a + 1, n) if chance.random() < 0.4] for a in range(n)}
    sources = {node for node in range(n) if chance.random() < 0.3} | {0}
    sinks = {node for node in range(n) if chance.random() < 0.3} | {n - 1}
    cut = cheapest_cut(costs, edges, sources, sinks)
    assert not reached(edges, sources, cut) & sinks
    assert sum(costs[node] for node in cut) == cheapest(costs, edges, sources, sinks)


def test_ways_that_cross_are_found_by_taking_back_what_was_pushed() -> None:
    # the shortest way 0-2-5-7 blocks two longer ones
    edges = {0: [1, 2], 1: [3], 3: [5], 2: [5, 4], 4: [6], 5: [7], 6: [7]}
    costs = {0: 8, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 8}
    cut = cheapest_cut(costs, edges, [0], [7])
    assert sum(costs[node] for node in cut) == 2


def test_of_equals_those_nearest_to_what_is_needed_are_cut() -> None:
    assert cheapest_cut({0: 4, 1: 4, 2: 4}, {0: [1], 1: [2]}, [0], [2]) == {2}


def test_what_can_not_be_computed_again_and_is_needed_is_cut_itself() -> None:
    assert cheapest_cut({0: 8}, {}, [0], [0]) == {0}


def test_what_depends_on_nothing_is_not_cut() -> None:
    assert cheapest_cut({0: 4, 1: 4}, {0: [1]}, [], [1]) == set()
