"""Keys of orders: the same order is found again in any process, and no other is found in its place."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.learning import DecisionTreeClassifier, LogisticRegression
from discreet.queries.marginals import marginals
from discreet.release import MWEM, Factorization, IndependentNoise

COLUMNS = {
    "patient": dc.Identifier(), "age": dc.Integer(0, 9), "ill": dc.Boolean(), "ward": dc.Categorical(["a", "b", "c"]),
}  # fmt: skip
ROWS = pa.table({
    "patient": list(range(40)), "age": [i % 10 for i in range(40)], "ill": [i % 3 == 0 for i in range(40)],
    "ward": ["abc"[i % 3] for i in range(40)],
})  # fmt: skip
SQL = "SELECT ward, COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY ward"
STRICT = dc.Domain({name: COLUMNS[name] for name in ("age", "ill", "ward")})


class Asked(Exception):
    """The key under which an order came to the ledger."""


def table(**changed):
    given = {"domain": dc.Domain(COLUMNS), "unit": "patient", "rows_per_unit": 2, "groups_per_unit": 2}
    return dc.Table(ROWS, **(given | changed))


def curator(changed=None):
    people = dc.Table(ROWS, domain=dc.Domain(COLUMNS), unit="patient")
    held = {"visits": table(**(changed or {})), "people": people}
    return dc.Curator(held, budget=dc.PureDP(10**6), ledger=":memory:")


def key(call, *, changed=None, **given):
    """The key of an order, which goes no further."""
    with curator(changed) as made:

        def turn(key, *, analyst=None):
            raise Asked(key)

        made.ledger.turn = turn
        with pytest.raises(Asked) as found:
            call(made, **given)
    return found.value.args[0]


def ask(made, *, sql=SQL, epsilon=1, budget=None, **given):
    return made.ask(sql, epsilon=None if budget else epsilon, budget=budget, **given)


def release(made, *, k=1, epsilon=1, budget=None, domain=STRICT, **given):
    return made.release(
        marginals(domain, k), table="visits", epsilon=None if budget else epsilon, budget=budget, **given
    )


def fit(made, *, model=LogisticRegression, epsilon=1, target="ill", columns=("age", "ward"), **given):
    budget = dc.ZCDP(1)
    return made.fit(model(budget=budget, **given), table="visits", target=target, columns=columns, epsilon=epsilon)


def synthesize(made, *, epsilon=1, **given):
    return made.synthesize(table="visits", epsilon=epsilon, **given)


def link(made, *, epsilon=1, **given):
    return made.synthesize_linked(tables=["people", "visits"], epsilon=epsilon, **given)


def mwem(rounds):
    return lambda workload, budget, n: MWEM(workload, budget=budget, n=n, rounds=rounds)


VERSION, BOUND = {"version": 2}, {"rows_per_unit": 3}
OTHERS = {
    ask: [
        {"epsilon": 2}, {"budget": dc.ZCDP(1)}, {"budget": dc.ApproxDP(1, 1e-6)}, {"budget": dc.ApproxDP(1, 1e-7)},
        {"rows_per_unit": 1}, {"groups_per_unit": 1}, {"sql": SQL.replace("n,", "m,")}, {"changed": VERSION},
        {"sql": SQL.replace("SUM(age)", "SUM(age % 3)")}, {"sql": SQL.replace("SUM(age)", "SUM(age // 3)")},
        {"changed": {"domain": dc.Domain(COLUMNS | {"age": dc.Integer(0, 8)})}}, {"changed": BOUND},
        {"changed": {"domain": dc.Domain(COLUMNS | {"ward": dc.Categorical(["b", "a", "c"])})}},
    ],
    release: [
        {"epsilon": 2}, {"budget": dc.ZCDP(1)}, {"k": 2}, {"mechanism": "IndependentNoise"}, {"mechanism": mwem(2)},
        {"mechanism": mwem(3)}, {"n": 50}, {"mechanism": IndependentNoise}, {"changed": VERSION}, {"changed": BOUND},
        {"changed": {"n": 40}}, {"domain": dc.Domain({name: STRICT[name] for name in ("ward", "ill", "age")})},
    ],
    fit: [
        {"epsilon": 2}, {"columns": ("ward", "age")}, {"columns": ("age",)}, {"ridge": 0.5},
        {"model": DecisionTreeClassifier}, {"model": DecisionTreeClassifier, "depth": 2}, {"changed": VERSION},
        {"changed": BOUND},
    ],
    synthesize: [
        {"epsilon": 2}, {"columns": ["age", "ward"]}, {"columns": ["ward", "age"]}, {"method": "mwem"}, {"rounds": 1},
        {"cells": 100}, {"memory": 10**9}, {"time_limit": 9}, {"bins": {"age": 2}}, {"most": 4}, {"changed": VERSION},
        {"zeros": {("ill",): np.array([True, False])}}, {"zeros": {("ill",): np.array([False, True])}},
        {"changed": BOUND},
    ],
    link: [
        {"epsilon": 2}, {"cells": 100}, {"memory": 10**9}, {"time_limit": 9}, {"most": 4}, {"changed": VERSION},
        {"changed": BOUND}, {"columns": {"visits": ["age", "ward"]}}, {"columns": {"visits": ["ward", "age"]}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("order", OTHERS, ids=lambda order: order.__name__)
def test_every_setting_changes_the_key(order):
    keys = [key(order), *(key(order, **other) for other in OTHERS[order])]

    assert None not in keys
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("order", OTHERS, ids=lambda order: order.__name__)
def test_a_price_written_in_another_way_is_the_same_order(order):
    assert len({key(order, epsilon=epsilon) for epsilon in (1, 1.0, "1", Fraction(1), np.float64(1))}) == 1


def test_orders_of_two_kinds_never_meet():
    assert len({key(order) for order in OTHERS}) == len(OTHERS)


@pytest.mark.parametrize("bound", ["rows_per_unit", "groups_per_unit"])
def test_a_stored_answer_is_not_found_under_other_bounds(bound):
    with curator() as made:
        first, second, again = (made.ask(SQL, epsilon=1, **{bound: value}) for value in (1, 2, 1))

    assert (first.receipt.replayed, second.receipt.replayed, again.receipt.replayed) == (False, False, True)


def test_two_strategies_that_print_alike_are_two_releases():
    """One cell in the middle of a large matrix: the worse one was bought, and given for the better one."""
    domain = dc.Domain({"x": dc.Integer(0, 63)})
    good, bad = np.eye(64), np.eye(64)
    bad[31, 31] = 1e-3
    held = dc.Table(pa.table({"x": [3] * 10}), domain=domain, unit=None)

    def built(strategy):
        return lambda workload, budget, n: Factorization(workload, budget=budget, strategy=strategy)

    with dc.Curator({"t": held}, budget=dc.ZCDP(10), ledger=":memory:") as made:
        releases = [
            made.release(marginals(domain, 1), table="t", budget=dc.ZCDP(1), mechanism=built(strategy))
            for strategy in (bad, good, bad)
        ]

    assert repr(good) == repr(bad)
    assert [one.receipt.replayed for one in releases] == [False, False, True]


class Mine(IndependentNoise):
    """A mechanism of somebody else."""


def test_an_order_with_a_mechanism_that_cannot_be_named_has_no_key_and_is_paid_each_time():
    class Local(IndependentNoise):
        """Made in a function, and so perhaps another one each time."""

    with curator() as made:
        first, second = (release(made, mechanism=Local) for _ in range(2))

        assert not first.receipt.replayed
        assert not second.receipt.replayed
        assert not np.array_equal(first.answers, second.answers)


def test_a_mechanism_of_a_module_is_found_again():
    with curator() as made:
        first, second = (release(made, mechanism=Mine) for _ in range(2))

        assert second.receipt.replayed
        assert np.array_equal(first.answers, second.answers)


def test_a_registered_mechanism_is_known_by_what_it_builds():
    from discreet.planning import Candidate, Cost, register, unregister

    def candidate(rounds):
        build = lambda workload, budget, n: MWEM(workload, budget=budget, n=n, rounds=rounds)  # noqa: E731
        return Candidate(name="mine", build=build, cost=lambda workload: Cost(1e-3, 1e6))

    keys = []
    for rounds in (2, 3):
        register(candidate(rounds))
        try:
            keys.append(key(release, mechanism="mine"))
        finally:
            unregister("mine")

    assert keys[0] != keys[1]
    assert key(release, mechanism="auto") is not None


def test_an_order_has_one_key_in_three_processes():
    program = (
        "from tests.curator.checks import test_keys_of_orders as t\n"
        "print([t.key(order) for order in t.OTHERS], t.key(t.release, mechanism=t.mwem(3)))"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True,
            env={"PYTHONHASHSEED": str(seed), "PATH": ""},
        ).stdout
        for seed in (1, 2, 3)
    ]  # fmt: skip
    here = f"{[key(order) for order in OTHERS]} {key(release, mechanism=mwem(3))}\n"

    assert set(told) == {here}
