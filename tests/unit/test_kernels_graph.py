"""Clusters of graphs that are nothing, one chain, one star, one clique."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.starring import starred

from neardup.kernels import graph
from neardup.stages.cluster import Components


def edges(*pairs: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    sides = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return np.ascontiguousarray(sides[:, 0]), np.ascontiguousarray(sides[:, 1])


def test_rows_without_edges_are_alone():
    assert graph.components(*edges(), 3).tolist() == [0, 1, 2]
    assert starred(*edges(), np.array([2, 0, 1]))[0] == [0, 1, 2]
    assert graph.components(*edges(), 0).tolist() == []
    assert starred(*edges(), np.arange(0))[0] == []


@pytest.mark.parametrize("step", [1, -1])
def test_a_long_chain_is_one_component_whatever_the_order_of_its_edges(step):
    n = 100_000
    left = np.arange(n - 1)[::step].copy()
    assert (graph.components(left, left + 1, n) == 0).all()


def test_a_chain_is_cut_into_stars_in_the_order_given():
    chain = edges((0, 1), (1, 2), (2, 3), (3, 4))
    assert starred(*chain, np.arange(5))[0] == [0, 0, 2, 2, 4]
    assert starred(*chain, np.array([1, 3, 0, 2, 4]))[0] == [1, 1, 1, 3, 3]
    assert starred(*chain, np.array([2, 0, 1, 3, 4]))[0] == [0, 2, 2, 2, 4]


def test_edges_given_twice_change_nothing():
    twice = edges((0, 1), (0, 1), (2, 3), (2, 3))
    assert starred(*twice, np.arange(4))[0] == [0, 0, 2, 2]
    assert graph.components(*twice, 4).tolist() == [0, 0, 2, 2]


def test_connected_chains_members_that_star_keeps_apart():
    chain = edges((0, 1), (1, 2), (2, 3))
    parts = Components(5)
    for left, right in zip(*chain, strict=True):  # in pieces
        parts.join(np.array([left]), np.array([right]))
    assert parts.labels().tolist() == [0, 0, 0, 0, 4]
    rows, label = parts.joined()
    assert (rows.tolist(), label.tolist()) == ([0, 1, 2, 3], [0, 0, 0, 0])
    assert starred(*chain, np.arange(4))[0] == [0, 0, 2, 2]


def test_a_fixed_row_keeps_its_neighbours_though_it_was_taken():
    chain = edges((0, 1), (1, 2), (2, 3))
    assert starred(*chain, np.arange(4), fixed={1})[0] == [0, 0, 1, 3]
    assert starred(*chain, np.arange(4), fixed={3})[0] == [0, 0, 2, 2]


def test_the_similarity_is_that_to_the_keeper():
    keeper, similarity = starred(*edges((0, 2), (1, 2)), np.array([1, 0, 2]), similarity=[0.5, 0.75])
    assert (keeper, similarity) == ([0, 1, 1], [1.0, 1.0, 0.75])


def test_a_run_takes_one_pair_even_beyond_its_budget_and_counts_a_row_once():
    left, right = edges((0, 1), (0, 2), (0, 3))
    cost, seen = np.array([10, 1, 1, 1], dtype=np.int64), np.full(4, -1, dtype=np.int64)
    assert graph.reach(left, right, cost, 0, 5, seen) == 1
    assert graph.reach(left, right, cost, 1, 12, seen) == 3
