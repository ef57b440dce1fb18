"""Everything that a curator can be asked for, on one small table: all shapes of questions, and all other orders."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd

import discreet as dc
from discreet.curator import Curator
from discreet.learning import LogisticRegression, NaiveBayes
from discreet.queries import marginals
from discreet.queries.statistical_pieces import Affine, Piece

GROUPS = 40
DOMAIN = dc.Domain(
    {
        "who": dc.Identifier(),
        "place": dc.Integer(0, GROUPS - 1),
        "sick": dc.Boolean(),
        "x": dc.Integer(0, 100),
        "y": dc.Integer(0, 100),
    }
)
SMALL = dc.Domain({"sick": dc.Boolean(), "place": dc.Integer(0, GROUPS - 1)})
AGGREGATES = {
    "rows": "COUNT(*)", "people": "COUNT(DISTINCT who)", "sum": "SUM(x)", "avg": "AVG(x)",
    "variance": "VARIANCE(x)", "stddev": "STDDEV(x)", "median": "MEDIAN(x)", "quantile": "QUANTILE(y, 0.9)",
    "least": "MIN(x)", "share": "AVG(CASE WHEN sick THEN 1 ELSE 0 END)",
    "kinds": "SUM(CASE WHEN sick THEN 1 ELSE 0 END)",
}  # fmt: skip
QUESTIONS = {
    **{name: f"SELECT {one} AS v FROM t" for name, one in AGGREGATES.items()},
    **{f"{name} of groups": f"SELECT place, {one} AS v FROM t GROUP BY place" for name, one in AGGREGATES.items()},
    "sums alike": "SELECT place, SUM(x) AS v, SUM(y) AS w, COUNT(*) AS n, AVG(x) AS m FROM t GROUP BY place",
    "two averages": "SELECT AVG(x) AS v, AVG(y) AS w, VARIANCE(y) AS s, MEDIAN(y) AS m FROM t",
}


def rows(n=300, seed=0):
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "who": np.arange(n),
            "place": draw.integers(0, GROUPS, n),
            "sick": draw.random(n) < 0.5,
            "x": draw.integers(0, 101, n),
            "y": draw.integers(0, 101, n),
        }
    )


def curator(frame=None, **more):
    """A curator with money enough for anything."""
    table = dc.Table(rows() if frame is None else frame, domain=DOMAIN, unit="who")
    return Curator({"t": table}, budget=dc.ApproxDP(10**6, "0.4"), ledger=":memory:", **more)


def ask(held, sql, budget):
    return held.ask(sql, budget=budget, fresh=True)


def release(held, budget):
    return held.release(marginals(SMALL, 1), table="t", budget=budget, fresh=True).answers


def fit(held, budget, model):
    return held.fit(model, table="t", target="sick", columns=["x", "y"], budget=budget, fresh=True).predict_proba(
        np.array([[1, 2], [60, 50]])
    )


def synthesize(held, budget):
    return held.synthesize(
        table="t", columns=["sick", "place"], method="independent", budget=budget, fresh=True
    ).sample(50)


def session(held, budget):
    opened = held.session(table="t", columns=["sick", "place"], queries=8, budget=budget)
    return [float(opened.ask(f"place < {k}")) for k in (5, 10, 30)]


def oracle(held, budget):
    opened = held.oracle(table="t", queries=2, columns=["x"], budget=budget)
    half = Piece(factors=(Affine.of({0: "1/100"}),), low=0, high=1)
    return [opened.answer(half) for _ in range(2)]


OTHERS = {
    "release": release,
    "fit": lambda held, budget: fit(held, budget, LogisticRegression()),
    "fit of tables": lambda held, budget: fit(held, budget, NaiveBayes()),
    "synthesize": synthesize,
    "oracle": oracle,
    "session": session,
    "clipping_bounds": lambda held, budget: repr(held.clipping_bounds("t", "x", budget=budget)),
}
ELSEWHERE = {"synthesize_linked"}  # tests/contracts/test_replay_synthesis.py, tests/curator/test_linked.py
BUYING = {"ask", "release", "fit", "synthesize", "session", "oracle", "clipping_bounds"}


def buys():
    """The methods of a curator that take a budget: whatever charges."""
    return {
        name
        for name, method in inspect.getmembers(Curator, inspect.isfunction)
        if not name.startswith("_")
        and "budget" in inspect.signature(method).parameters
        and not name.startswith("explain")
    }
