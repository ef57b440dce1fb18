"""discreet.attacks.baselines: they do what they say, and they are not private."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from discreet.attacks.baselines import drop_identifiers, suppress_small_counts
from discreet.errors import ParameterError
from discreet.privacy import AddRemove, FiniteMechanism, Replace

PEOPLE = ("ann", "flu"), ("bob", "flu"), ("ann", "cold")


def suppressed(rows):
    counts = suppress_small_counts(Counter(rows), threshold=2)
    return {tuple(sorted(counts.items(), key=repr)): 1}


def redacted(rows):
    table = [{"name": name, "illness": illness} for name, illness in rows]
    left = drop_identifiers(table, columns={"name"})
    return {tuple(sorted(str(row["illness"]) for row in left)): 1}


def test_both_are_marked():
    assert drop_identifiers.private is False
    assert suppress_small_counts.private is False


def test_identifiers_are_dropped_and_the_rest_is_kept():
    rows = [{"name": "ann", "zip": "02139", "age": 36}]

    assert drop_identifiers(rows, columns=["name"]) == [{"zip": "02139", "age": 36}]
    assert rows == [{"name": "ann", "zip": "02139", "age": 36}]


def test_small_counts_are_hidden_and_large_ones_are_exact():
    assert suppress_small_counts({"a": 4, "b": 5}, threshold=5) == {"a": None, "b": 5}


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_suppressing_small_counts_is_not_private(relation):
    """One person moves a count across the threshold, or an exact count above it."""
    mechanism = FiniteMechanism.from_function(suppressed, universe=("flu", "cold"), n=3, relation=relation)

    assert mechanism.epsilon() == math.inf
    assert mechanism.delta(100.0) == 1


def test_dropping_identifiers_is_not_private():
    mechanism = FiniteMechanism.from_function(redacted, universe=PEOPLE, n=2, relation=Replace)

    assert mechanism.epsilon() == math.inf
    assert mechanism.delta(100.0) == 1


def test_bad_input_is_refused():
    with pytest.raises(ParameterError, match="threshold >= 0"):
        suppress_small_counts({}, threshold=-1)
    with pytest.raises(ParameterError, match="collection"):
        drop_identifiers([], columns="name")
