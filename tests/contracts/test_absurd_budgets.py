"""A budget that nobody would ask for is answered, or refused before anything is charged: every order of a curator."""

from __future__ import annotations

import pytest

import discreet as dc
from discreet import learning
from discreet.curator import Curator
from discreet.errors import DiscreetError
from discreet.ledger import Ledger
from tests.contracts import orders
from tests.scale import FULL

AMOUNTS = ("1e-9", "1e-6", "1e6", "1e9") if FULL else ("1e-9", "1e9")
KINDS = {
    "pure": (dc.PureDP, dc.PureDP(10**10)),
    "zcdp": (dc.ZCDP, dc.ZCDP(10**19)),
    "approximate": (lambda amount: dc.ApproxDP(amount, "1e-9"), dc.ApproxDP(10**10, "0.4")),
}
CLASSIFIERS = ("LinearSVC", "DecisionTreeClassifier", "RandomForestClassifier", "GradientBoostedTrees",
               "MaximumLikelihoodClassifier")  # fmt: skip
REGRESSORS = ("Ridge", "LinearRegression", "GradientBoostedTreesRegressor")


def fitted(name, target, columns, *given):
    def order(held, budget):
        model = getattr(learning, name)(*given)
        return held.fit(model, table="t", target=target, columns=columns, budget=budget, fresh=True)

    return order


def synthesized(method):
    def order(held, budget):
        return held.synthesize(table="t", columns=["sick", "place"], method=method, budget=budget, fresh=True).sample(9)

    return order


def asked(question):
    return lambda held, budget: orders.ask(held, question, budget)


ORDERS = {
    **{f"ask {name}": asked(question) for name, question in orders.QUESTIONS.items()},
    **orders.OTHERS,
    **{f"synthesize {method}": synthesized(method) for method in ("adaptive", "tree", "mwem")},
    **{f"fit {name}": fitted(name, "sick", ["x", "y"]) for name in CLASSIFIERS},
    **{f"fit {name}": fitted(name, "x", ["y", "sick"]) for name in REGRESSORS},
    "fit KMeans": fitted("KMeans", None, ["x", "y"], 3),
    "fit PCA": fitted("PCA", None, ["x", "y"], 1),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ORDERS)
def test_an_order_is_answered_or_refused_before_a_charge(order, kind):
    """Boosted trees divided by noise of standard deviation 0 at epsilon 10^9."""
    made, all_of_it = KINDS[kind]
    table = dc.Table(orders.rows(), domain=orders.DOMAIN, unit="who")
    for amount in AMOUNTS:
        ledger = Ledger.open(":memory:")
        with Curator({"t": table}, budget=all_of_it, ledger=ledger) as held:
            before = [entry.record for entry in ledger.entries()]
            try:
                ORDERS[order](held, made(amount))
                refused = None
            except DiscreetError as refusal:
                refused = str(refusal)
            after = [entry.record for entry in ledger.entries()]

        assert (after == before) is (refused is not None)
        assert refused is None or any(word in refused for word in ("need", "pass", "serves", "above", "at most"))
