"""Clusters of graphs that are nothing, one chain, one star, one clique."""

from __future__ import annotations

import numpy as np
import pytest

from neardup.kernels import graph
from neardup.stages.cluster import link
from neardup.types import Pairs


def edges(*pairs: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    sides = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return np.ascontiguousarray(sides[:, 0]), np.ascontiguousarray(sides[:, 1])


def test_rows_without_edges_are_alone():
    assert graph.components(*edges(), 3).tolist() == [0, 1, 2]
    assert graph.stars(*edges(), np.array([2, 0, 1]), 3).tolist() == [0, 1, 2]
    assert graph.components(*edges(), 0).tolist() == []
    assert graph.stars(*edges(), np.arange(0), 0).tolist() == []


@pytest.mark.parametrize("step", [1, -1])
def test_a_long_chain_is_one_component_whatever_the_order_of_its_edges(step):
    n = 100_000
    left = np.arange(n - 1)[::step].copy()
    assert (graph.components(left, left + 1, n) == 0).all()


def test_a_chain_is_cut_into_stars_in_the_order_given():
    chain = edges((0, 1), (1, 2), (2, 3), (3, 4))
    assert graph.stars(*chain, np.arange(5), 5).tolist() == [0, 0, 2, 2, 4]
    assert graph.stars(*chain, np.array([1, 3, 0, 2, 4]), 5).tolist() == [1, 1, 1, 3, 3]
    assert graph.stars(*chain, np.array([2, 0, 1, 3, 4]), 5).tolist() == [0, 2, 2, 2, 4]


def test_edges_given_twice_change_nothing():
    twice = edges((0, 1), (0, 1), (2, 3), (2, 3))
    assert graph.stars(*twice, np.arange(4), 4).tolist() == [0, 0, 2, 2]
    assert graph.components(*twice, 4).tolist() == [0, 0, 2, 2]


@pytest.mark.parametrize("rule", ["star", "connected"])
def test_labels_are_the_smallest_rows_and_keepers_the_first_in_order(rule):
    left, right = edges((1, 3), (2, 4))
    clusters = link(Pairs(left, right, np.ones(2)), np.array([4, 3, 2, 1, 0]), 5, rule=rule)
    assert clusters.label.tolist() == [0, 1, 2, 1, 2]
    assert clusters.keeper.tolist() == [0, 3, 4, 3, 4]


def test_connected_chains_members_that_star_keeps_apart():
    left, right = edges((0, 1), (1, 2), (2, 3))
    pairs = Pairs(left, right, np.ones(3))
    assert link(pairs, np.arange(4), 4, rule="connected").label.tolist() == [0, 0, 0, 0]
    assert link(pairs, np.arange(4), 4, rule="star").label.tolist() == [0, 0, 2, 2]


def test_a_run_takes_one_pair_even_beyond_its_budget_and_counts_a_row_once():
    left, right = edges((0, 1), (0, 2), (0, 3))
    cost, seen = np.array([10, 1, 1, 1], dtype=np.int64), np.full(4, -1, dtype=np.int64)
    assert graph.reach(left, right, cost, 0, 5, seen) == 1
    assert graph.reach(left, right, cost, 1, 12, seen) == 3
