"""discreet.release.counted: what a mechanism reads, and that no row vanishes where their number is public."""

import pandas as pd
import pytest

import discreet as dc
from discreet.privacy.neighbours import AddRemove, Local, Replace
from discreet.queries import thresholds
from discreet.release import IndependentNoise
from discreet.release.counted import counted

DOMAIN = dc.Domain({"x": dc.Integer(0, 1), "w": dc.Categorical(["a", "b"]), "y": dc.Boolean(nullable=True)})
ROWS = pd.DataFrame({"x": [1, None, 1], "w": ["b", "b", "elsewhere"], "y": [True, None, None]})


@pytest.mark.parametrize("relation", [Replace, Local])
def test_every_row_counts_where_a_row_may_be_replaced(relation):
    found = counted(ROWS, DOMAIN, neighbours=relation)

    assert found.marginal(["x"]).tolist() == [1, 2]  # what is not declared counts as the first value
    assert found.marginal(["w"]).tolist() == [1, 2]
    assert found.marginal(["y"]).tolist() == [0, 1, 2]  # NULL is a value where it is declared


def test_rows_that_are_not_valid_are_dropped_where_rows_come_and_go():
    assert counted(ROWS, DOMAIN, neighbours=AddRemove).marginal(["x"]).tolist() == [0, 1]


def test_replacing_a_row_by_one_that_is_not_valid_stays_within_the_sensitivity():
    """Two thresholds move by 1 in l1 when a value is replaced; a row that vanished would move them by 2."""
    workload = thresholds(2)
    (name,) = workload.domain
    before, after = (pd.DataFrame({name: values}) for values in ([0, 0, 1], [0, None, 1]))
    moved = [
        abs(workload.answer(counted(before, workload.domain, neighbours=relation))
            - workload.answer(counted(after, workload.domain, neighbours=relation))).sum()
        for relation in (Replace, AddRemove)
    ]  # fmt: skip

    assert moved == [0, 2]
    assert workload.absolute(Replace) == 1
    answers = IndependentNoise(workload, budget=dc.PureDP(1000), n=3)(after).answers
    assert answers.tolist() == [2, 3]
