"""discreet.curator.delta: a delta that promises little is said to, before anything is paid."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dc
from discreet.curator.delta import doubts, sensible
from discreet.privacy.number import exact
from discreet.queries.marginals import marginals

DOMAIN = dc.Domain({"age": dc.Integer(0, 9)})
SQL = "SELECT COUNT(*) AS n FROM t"


def curator(*, n=None, cap=None):
    table = dc.Table(pa.table({"age": [1, 2, 3]}), domain=DOMAIN, unit=None, n=n)
    return dc.Curator({"t": table}, budget=cap or dc.ApproxDP(10, 1e-7), ledger=":memory:")


@pytest.mark.parametrize(
    "epsilon", [Fraction(1, 10**9), Fraction(1, 10**6), Fraction(1, 100), Fraction(1), Fraction(50)]
)
@pytest.mark.parametrize("n", [None, 1, 100, 10**6, 10**9])
def test_what_is_recommended_is_never_doubted(epsilon, n):
    delta = sensible(epsilon, n)

    assert delta * 1000 <= epsilon
    assert n is None or delta * 100 * n <= 1
    assert doubts(dc.ApproxDP(epsilon, delta), n) == ()


@pytest.mark.parametrize(
    ("promise", "n", "words"),
    [
        (dc.ApproxDP(1, 0.5), 100, ["not far below 1/n", "publish 50 whole", "not far below epsilon"]),
        (dc.ApproxDP(1, 1e-3), 1000, ["not far below 1/n"]), (dc.ApproxDP(1, 1e-5), None, ["100,000 people, say"]),
        (dc.ApproxDP(1e-6, 1e-6), 10, ["not far below epsilon"]), (dc.ApproxDP(1, 1e-6), None, []),
        (dc.ApproxDP(1, 1e-6), 10**5, []), (dc.ApproxDP(1, 1e-6), 10**6, ["not far below 1/n"]), (dc.PureDP(1), 10, []),
        (dc.ZCDP(1), 10, []), (dc.ApproxDP(1, 0), 10, []),
    ],
)  # fmt: skip
def test_a_large_delta_is_doubted_and_a_small_one_is_not(promise, n, words):
    said = doubts(promise, n)

    assert len(said) == len([word for word in words if word.startswith("not far") or "say" in word])
    assert all(any(word in one for one in said) for word in words)


def test_an_explanation_recommends_a_delta_below_epsilon():
    """It recommended 1e-6 beside an epsilon of 1e-6."""
    with curator() as made:
        (instead,) = made.explain(SQL, epsilon=1e-6).alternatives

    assert "delta=1e-09" in instead


def test_a_cap_is_doubted_where_a_question_is_explained():
    with curator(n=100, cap=dc.ApproxDP(1, 0.5)) as made:
        told = made.explain(SQL, epsilon=0.1)

    assert any(doubt.startswith("the cap's delta 0.5 is not far below 1/n: of 100 people") for doubt in told.doubts)
    assert "  careful: the cap's delta 0.5" in str(told)
    assert told.to_dict()["doubts"] == list(told.doubts)


def test_the_delta_of_a_question_is_doubted_in_its_explanation_and_its_statement():
    with curator(n=100, cap=dc.ApproxDP(10, 0.01)) as made:
        told = made.explain(SQL, budget=dc.ApproxDP(0.1, 0.005))
        answer = made.ask(SQL, budget=dc.ApproxDP(0.1, 0.005))

    assert told.doubts[0].startswith("delta 0.005 is not far below 1/n")
    assert "Careful: delta 0.005 is not far below 1/n" in answer.statement


def test_a_release_is_explained_with_its_doubts():
    with curator(n=100) as made:
        told = made.explain(marginals(DOMAIN, 1), table="t", budget=dc.ApproxDP(1, 0.01))

    assert "careful: delta 0.01 is not far below 1/n" in str(told)
    assert exact(told.to_dict()["price"]["delta"]) >= 0


def test_an_ordinary_promise_is_not_doubted():
    with curator(cap=dc.ApproxDP(10, 1e-6)) as made:
        told = made.explain(SQL, budget=dc.ApproxDP(1, 1e-7))

        assert told.doubts == ()
        assert "Careful" not in made.ask(SQL, budget=dc.ApproxDP(1, 1e-7)).statement
