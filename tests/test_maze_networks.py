"""The solution space of networks: draws, mutations and their rates, against an oracle of dictionaries and lists."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from maze_oracle import OracleNetwork
from tesselite.problems.maze_navigation import Mutation, Networks, maze
from tesselite.spaces.solutions import SolutionSpace

SPACE = Networks()
NONE = dict.fromkeys(("weight", "rewire", "bias", "add", "delete", "split", "delete_neuron"), 0.0)
FALSE_ALARM = 1e-6  # of each statistical test


def only(**rates):
    return Networks(mutation=Mutation(**{**NONE, **rates}))


def as_lists(row, space=SPACE):
    """The oracle's view of a row: hidden count, biases, and a list of (source, target, weight)."""
    row = [int(v) for v in row]
    at, c = 4 + space.max_hidden, space.max_connections
    connections = [(row[at + i], row[at + c + i], row[at + 2 * c + i] / 2) for i in range(row[1])]
    return row[0], [b / 2 for b in row[2 : 4 + row[0]]], connections


def drawn(n, seed=1, space=SPACE):
    return space.random(n, np.random.default_rng(seed))


def binomial_fits(successes, trials, p):
    return stats.binomtest(int(successes), int(trials), p).pvalue > FALSE_ALARM


def test_it_is_a_solution_space():
    assert isinstance(SPACE, SolutionSpace)
    assert SPACE.random(3, np.random.default_rng(0)).shape == (3, SPACE.width)
    assert SPACE.random(0, np.random.default_rng(0)).shape == (0, SPACE.width)


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(0, 30))
def test_draws_and_offspring_are_networks_of_the_space(seed, rounds):
    rng = np.random.default_rng(seed)
    rows = SPACE.random(50, rng)
    for _ in range(rounds):
        before = rows.copy()
        children = SPACE.vary(rows, rng)
        assert np.array_equal(before, rows)
        rows = children
    assert np.array_equal(SPACE.validate(rows), rows)


def test_same_seed_same_rows_and_a_row_does_not_depend_on_its_neighbours():
    assert np.array_equal(drawn(100, seed=5), drawn(100, seed=5))
    assert not np.array_equal(drawn(100, seed=5), drawn(100, seed=6))
    assert np.array_equal(drawn(100, seed=5)[:40], drawn(40, seed=5))
    rows = drawn(100)
    one, two = (SPACE.vary(rows[:n], np.random.default_rng(2)) for n in (100, 30))
    assert np.array_equal(one[:30], two)


def test_random_networks_have_the_papers_numbers_before_pruning():
    """Counts of hidden neurons can be seen where nothing is pruned: without connections, biases tell them apart."""
    space = Networks(initial_hidden=20, initial_connections=40)
    rows = drawn(20_000, space=space)
    hidden, connections = rows[:, 0], rows[:, 1]
    assert hidden.min() == 0
    assert hidden.max() <= 20
    assert connections.max() <= 40
    # Without hidden neurons, there are 14 possible connections: the number is uniform in 0..40, cut at 14.
    flat = drawn(20_000, seed=2, space=Networks(initial_hidden=0))[:, 1]
    for n in range(14):
        assert binomial_fits((flat == n).sum(), len(flat), 1 / 41)
    assert binomial_fits((flat == 14).sum(), len(flat), 27 / 41)


def test_random_endpoints_weights_and_biases_are_uniform():
    rows = drawn(5_000, seed=3, space=Networks(initial_hidden=0, initial_connections=5))
    pairs, weights, biases = np.zeros((7, 2)), np.zeros(9), np.zeros(9)
    for row in rows:
        _, bias, connections = as_lists(row)
        for b in bias:
            biases[round(2 * b) + 4] += 1
        for source, target, weight in connections:
            pairs[source, target - 7] += 1
            weights[round(2 * weight) + 4] += 1
    assert stats.chisquare(pairs.ravel()).pvalue > FALSE_ALARM
    assert stats.chisquare(weights).pvalue > FALSE_ALARM
    assert stats.chisquare(biases).pvalue > FALSE_ALARM


def test_random_networks_hold_only_hidden_neurons_that_act():
    for row in drawn(300):
        network = OracleNetwork.from_row(row, SPACE.max_hidden, SPACE.max_connections)
        live = network.live()
        assert all(neuron in live for neuron in network.bias)
        description = SPACE.describe(row)
        assert description.n_live_hidden == description.n_hidden


def test_pruning_changes_no_behaviour():
    """A network with a dead part drives as the same network without it."""
    problem = maze("10d", steps=500)
    live = [(0, 9, 1.0), (9, 8, -1.5), (3, 7, 2.0), (9, 9, 0.5)]
    dead = [(1, 10, 2.0), (9, 10, -1.0), (10, 11, 1.0), (11, 10, 1.0), (4, 11, 0.5)]
    biases = {7: 0.5, 8: 1.0, 9: -0.5}
    with_dead = SPACE.encode({**biases, 10: 2.0, 11: 1.0}, [*dead[:2], *live, *dead[2:]], 3)
    without = SPACE.encode(biases, live, 1)
    assert np.array_equal(problem.evaluate(with_dead).features, problem.evaluate(without).features)
    assert SPACE.describe(with_dead).n_hidden == 3
    assert SPACE.describe(with_dead).n_live_hidden == 1
    assert "without effect" in str(SPACE.describe(with_dead))


# --- mutation, one kind at a time ---


def test_no_rates_no_change():
    rows = drawn(200)
    assert np.array_equal(only().vary(rows, np.random.default_rng(1)), rows)


@pytest.mark.parametrize("kind", ["weight", "bias"])
def test_parameters_are_resampled_at_their_rate(kind):
    rows = drawn(20_000)
    children = only(**{kind: 0.05}).vary(rows, np.random.default_rng(4))
    trials = int(rows[:, 1].sum() if kind == "weight" else (rows[:, 0] + 2).sum())
    # A resampled value is another one with probability 8 / 9.
    assert binomial_fits((children != rows).sum(), trials, 0.05 * 8 / 9)
    for before, after in zip(rows[:200], children[:200], strict=True):
        (h1, b1, c1), (h2, b2, c2) = as_lists(before), as_lists(after)
        assert h1 == h2
        assert (b1 == b2) if kind == "weight" else (c1 == c2)
        assert [c[:2] for c in c1] == [c[:2] for c in c2]


def test_rewiring_stops_at_the_first_and_keeps_the_weight():
    rows = drawn(8_000)
    children = only(rewire=0.15).vary(rows, np.random.default_rng(5))
    at_source, places, long = [], [], 0
    for before, after in zip(rows, children, strict=True):
        (h1, b1, c1), (h2, b2, c2) = as_lists(before), as_lists(after)
        assert (h1, b1, len(c1)) == (h2, b2, len(c2))
        changed = [i for i, (a, b) in enumerate(zip(c1, c2, strict=True)) if a != b]
        assert len(changed) <= 1
        for i in changed:
            assert c1[i][2] == c2[i][2]
            assert (c1[i][0] == c2[i][0]) != (c1[i][1] == c2[i][1])
        if h1 >= 8:  # room to rewire either way
            at_source += [c1[i][0] != c2[i][0] for i in changed]
            if len(c1) >= 15:
                long += 1
                places += changed
    # The scan: connection i of a long list is the one with probability 0.15 * 0.85^i.
    for i in range(6):
        assert binomial_fits(places.count(i), long, 0.15 * 0.85**i)
    assert binomial_fits(sum(at_source), len(at_source), 0.5)
    assert long > 500


def test_a_connection_is_added_at_its_rate():
    rows = drawn(20_000)
    children = only(add=0.15).vary(rows, np.random.default_rng(6))
    pairs = (7 + rows[:, 0].astype(int)) * (2 + rows[:, 0].astype(int))
    possible = rows[:, 1] < pairs
    assert binomial_fits((children[possible, 1] - rows[possible, 1]).sum(), possible.sum(), 0.15)
    assert (children[~possible] == rows[~possible]).all()
    for before, after in zip(rows[:300], children[:300], strict=True):
        (h1, b1, c1), (h2, b2, c2) = as_lists(before), as_lists(after)
        assert (h1, b1) == (h2, b2)
        assert c2[: len(c1)] == c1


def test_a_connection_is_deleted_at_its_rate():
    rows = drawn(10_000)
    children = only(delete=0.15).vary(rows, np.random.default_rng(7))
    possible = rows[:, 1] > 0
    assert binomial_fits((rows[possible, 1] - children[possible, 1]).sum(), possible.sum(), 0.15)
    gone = []
    for before, after in zip(rows, children, strict=True):
        (h1, b1, c1), (h2, b2, c2) = as_lists(before), as_lists(after)
        assert (h1, b1) == (h2, b2)
        if c1 != c2:
            assert any(c1[:i] + c1[i + 1 :] == c2 for i in range(len(c1)))
            if len(c1) == 8:
                gone.append(next(i for i in range(8) if c1[:i] + c1[i + 1 :] == c2))
    assert stats.chisquare(np.bincount(gone, minlength=8)).pvalue > FALSE_ALARM


def test_a_connection_is_split_at_its_rate():
    rows = drawn(20_000)
    children = only(split=0.1).vary(rows, np.random.default_rng(8))
    possible = rows[:, 1] > 0
    assert binomial_fits((children[possible, 0] - rows[possible, 0]).sum(), possible.sum(), 0.1)
    for before, after in zip(rows[:3000], children[:3000], strict=True):
        (h1, b1, c1), (h2, b2, c2) = as_lists(before), as_lists(after)
        if h1 != h2:
            assert b2[:-1] == b1
            (source, new, w1), (new2, target, w2) = c2[-2:]
            assert new == new2 == 9 + h1
            assert w1 == w2
            kept = c2[:-2]
            assert any(c1[i] == (source, target, w1) and c1[:i] + c1[i + 1 :] == kept for i in range(len(c1)))
        else:
            assert c1 == c2


def test_a_neuron_is_deleted_at_its_rate_with_its_connections():
    rows = drawn(20_000)
    children = only(delete_neuron=0.1).vary(rows, np.random.default_rng(9))
    possible = rows[:, 0] > 0
    assert binomial_fits((rows[possible, 0] - children[possible, 0]).sum(), possible.sum(), 0.1)
    for before, after in zip(rows[:3000], children[:3000], strict=True):
        (h1, b1, c1), (h2, b2, c2) = as_lists(before), as_lists(after)
        if h1 == h2:
            assert (b1, c1) == (b2, c2)
            continue

        def without(which, b1=b1, c1=c1):
            gone = 9 + which
            kept = [c for c in c1 if gone not in c[:2]]
            moved = [(s - (s > gone), t - (t > gone), w) for s, t, w in kept]
            return b1[: 2 + which] + b1[3 + which :], moved

        assert any(without(which) == (b2, c2) for which in range(h1))


# --- limits, checks, descriptions ---


def test_at_the_limit_what_would_exceed_it_is_left_out():
    space = Networks(
        max_hidden=3, max_connections=6, initial_hidden=3, initial_connections=6, mutation=Mutation(add=1, split=1)
    )
    rng = np.random.default_rng(1)
    rows = space.random(300, rng)
    for _ in range(40):
        rows = space.vary(rows, rng)
        space.validate(rows)
    assert rows[:, 0].max() == 3
    assert rows[:, 1].max() == 6


def test_evolution_stays_far_from_the_limits_by_itself():
    rng = np.random.default_rng(1)
    rows = SPACE.random(2000, rng)
    for _ in range(300):
        rows = SPACE.vary(rows, rng)
    assert rows[:, 0].max() < SPACE.max_hidden
    assert rows[:, 1].max() < SPACE.max_connections


def test_networks_that_are_none_are_refused():
    good = SPACE.encode({7: 1.0}, [(0, 9, 1.0), (9, 7, -2.0)], 1)
    assert np.array_equal(SPACE.validate(good.astype(float))[0], good)
    at = 4 + SPACE.max_hidden
    for message, place, value in (
        ("hidden neurons", 0, 49),
        ("hidden neurons", 0, -1),
        ("connections", 1, 129),
        ("weights and biases", 2, 5),
        ("zeros after the last bias", 2 + 3, 1),
        ("from inputs or hidden", at, 7),
        ("from inputs or hidden", at, 10),
        ("to outputs or hidden", at + SPACE.max_connections, 6),
        ("to outputs or hidden", at + SPACE.max_connections, 10),
        ("zeros after the last connection", at + 2, 1),
        ("weights and biases", at + 2 * SPACE.max_connections, -5),
        ("weights and biases", at + 2 * SPACE.max_connections, -(2**15)),
        ("whole numbers", 2, 0.5),
        ("whole numbers", 2, math.nan),
        ("whole numbers", 2, 1e9),
    ):
        bad = np.vstack([good, good]).astype(float)
        bad[1, place] = value
        with pytest.raises(ValueError, match=rf"{message}.*row 1"):
            SPACE.validate(bad)
        if value == int(np.nan_to_num(value)) and abs(value) <= 2**15:
            with pytest.raises(ValueError, match=rf"{message}.*row 1"):
                SPACE.validate(bad.astype(np.int16))
    twice = good.copy()
    twice[1] = 3
    twice[at + 2], twice[at + SPACE.max_connections + 2] = 0, 9
    with pytest.raises(ValueError, match="no connection twice"):
        SPACE.validate(twice)
    for wrong in (good[:-1], "text", np.zeros((2, 3, SPACE.width))):
        with pytest.raises(ValueError, match="expected whole numbers of shape"):
            SPACE.validate(wrong)


def test_settings_are_checked():
    for call in (
        lambda: Mutation(weight=1.5),
        lambda: Mutation(weight="a"),
        lambda: Networks(max_hidden=5),
        lambda: SPACE.encode({3: 1.0}),
        lambda: SPACE.encode({}, [(0, 7, 0.3)]),
        lambda: SPACE.describe(drawn(2)),
    ):
        with pytest.raises(ValueError):
            call()


def test_a_description_holds_the_whole_network():
    for row in drawn(100):
        description = SPACE.describe(row)
        connections = [(c.source, c.target, c.weight) for c in description.connections]
        assert np.array_equal(SPACE.encode(description.biases, connections, description.n_hidden), row)
    text = str(SPACE.describe(SPACE.encode({7: 1.5}, [(1, 7, -0.5)])))
    assert "0 hidden neurons" in text
    assert "left wheel: bias +1.5, from -0.5 laser ahead" in text
