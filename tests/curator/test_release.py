"""discreet.curator.batch, reading, session: whole workloads through the curator, in the order of a question."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from discreet.curator import Curator
from discreet.curator.batch import lanes
from discreet.data import Boolean, Categorical, Domain, Identifier, Integer, Table, Text
from discreet.data.engines.duckdb import DuckDB
from discreet.errors import BudgetExhausted, DiscreetError, DomainError, LedgerError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.privacy.number import exact
from discreet.queries import Dense, counts, marginals, thresholds
from discreet.release import IndependentNoise, Release
from discreet.release.reading import Reading, columns_of
from discreet.structured import MarginalRelease, PrefixTree
from tests.curator.test_curator import Watched

SMALL = Domain({"ward": Categorical(["cardiology", "oncology", "surgery"]), "readmitted": Boolean()})
W = marginals(SMALL, 1)


def spends(ledger) -> int:
    return sum(entry.record["kind"] == "spend" for entry in ledger.entries())


def independent(curator, workload=W, **given) -> Release:
    return curator.release(workload, table="visits", mechanism=IndependentNoise, **({"epsilon": 1} | given))


def test_answers_are_within_their_bars(curator, rows):
    release = independent(curator)
    frame = rows.to_pandas()
    truth = [(frame["ward"] == ward).sum() for ward in ("cardiology", "oncology", "surgery")]
    truth += [(~frame["readmitted"]).sum(), frame["readmitted"].sum()]

    assert (abs(release.answers - truth) <= release.accuracy(1e-6)).all()
    assert release.privacy() == PureDP(1, neighbours=AddRemove)


def test_noise_is_for_all_rows_of_a_unit(visits, ledger):
    """Two rows a patient: twice the noise of one row."""
    curator = Curator({"visits": visits}, budget=ZCDP(9), ledger=ledger, rng=SeededRandom(1))
    pure, concentrated = independent(curator), independent(curator, epsilon=None, budget=ZCDP("1/10"))

    assert pure.errors.noise.scale == 4  # type: ignore[attr-defined]  # 2 tables x 2 rows
    assert exact(concentrated.errors.noise.sigma) ** 2 >= Fraction(2 * 2**2, 2) * 10  # type: ignore[attr-defined]
    assert float(concentrated.errors.noise.sigma) == pytest.approx(40**0.5)  # type: ignore[attr-defined]


@pytest.mark.parametrize("whole", [True, False], ids=["cells", "rows"])
def test_a_unit_moves_the_data_by_at_most_its_rows_and_nobody_else(whole, monkeypatch):
    """The theorem: with and without one unit, histograms differ by exactly k rows; unbounded they differ by more."""
    if not whole:
        monkeypatch.setattr("discreet.release.reading.LISTED", 0)
    chance = np.random.default_rng(1)
    frame = pd.DataFrame({"who": chance.integers(0, 30, 400), "a": chance.integers(0, 4, 400)})
    frame["b"] = chance.random(400) < 0.5
    domain = Domain({"a": Integer(0, 3), "b": Boolean()})

    def histogram(part: pd.DataFrame, k: int) -> np.ndarray:
        table = Table(part, domain=Domain({"who": Identifier(), **domain}), unit="who", rows_per_unit=k)
        found = Reading(table, domain, DuckDB(), whole)
        assert found.counted is whole
        return found.through(counts(domain).answer)

    for k in (1, 3):
        everyone = histogram(frame, k)
        for who in range(5):
            moved = everyone - histogram(frame[frame["who"] != who], k)

            assert moved.min() >= 0
            assert moved.sum() == k
    assert (histogram(frame, 400) - histogram(frame[frame["who"] != 0], 400)).sum() > 3  # the broken twin: no bound


def test_rows_and_cells_read_the_same_rows(visits, monkeypatch):
    domain = columns_of(visits, ["ward", "age"])
    cells = Reading(visits, domain, DuckDB()).through(counts(domain).answer)
    monkeypatch.setattr("discreet.release.reading.LISTED", 0)

    assert np.array_equal(Reading(visits, domain, DuckDB()).through(counts(domain).answer), cells)


def test_null_is_a_value_where_it_is_declared():
    frame = pd.DataFrame({"a": [1, None, 7, None], "b": [True, True, None, False]})
    domain = Domain({"a": Integer(1, 3, nullable=True), "b": Boolean()})
    table = Table(frame, domain=domain, unit=None)

    assert Reading(table, domain, DuckDB()).through(counts(domain).answer).tolist() == [0, 1, 0, 0, 0, 0, 1, 1]


def test_the_ledger_is_charged_before_the_data_is_read(visits, ledger):
    engine = Watched(ledger)
    independent(Curator({"visits": visits}, budget=PureDP(1), ledger=ledger, engine=engine, rng=SeededRandom(1)))

    assert engine.spends_seen == [1]


def test_a_refused_release_reads_no_data(visits, ledger):
    engine = Watched(ledger)
    curator = Curator({"visits": visits}, budget=PureDP(1), ledger=ledger, engine=engine, rng=SeededRandom(1))

    with pytest.raises(BudgetExhausted):
        independent(curator, epsilon=2)
    assert engine.spends_seen == []
    assert spends(ledger) == 0


def test_a_failed_run_is_still_paid_for_and_says_nothing(visits, ledger):
    curator = Curator({"visits": visits}, budget=PureDP(1), ledger=ledger, rng=SeededRandom(1))

    class Leaky(IndependentNoise):
        def __call__(self, data, *, rng=None):
            raise ParameterError(f"there are {data.n} rows")

    with pytest.raises(DiscreetError, match=r"^the run failed; see the operator log, reference [0-9a-f]{8}$"):
        curator.release(W, table="visits", epsilon="1/2", mechanism=Leaky)
    assert spends(ledger) == 1
    with pytest.raises(DiscreetError, match="the run failed"):  # not stored: a second run is a second release
        curator.release(W, table="visits", epsilon="1/2", mechanism=Leaky)
    assert spends(ledger) == 2
    with pytest.raises(BudgetExhausted):
        curator.release(W, table="visits", epsilon="1/2", mechanism=Leaky)


def test_the_same_release_is_free_and_the_same(curator, ledger):
    first, again = independent(curator), independent(curator, marginals(SMALL, 1))

    assert np.array_equal(first.answers, again.answers)
    assert not first.receipt.replayed  # type: ignore[union-attr]
    assert again.receipt.replayed  # type: ignore[union-attr]
    assert again.accuracy() == first.accuracy()
    assert spends(ledger) == 1


@pytest.mark.parametrize(
    "other", [{"fresh": True}, {"epsilon": "1/2"}, {"analyst": "bob"}, {"workload": marginals(SMALL, 2)}], ids=repr
)
def test_another_release_is_paid_for(curator, ledger, other):
    first = independent(curator, epsilon="1/4")
    second = independent(curator, **({"epsilon": "1/4"} | other))

    assert spends(ledger) == 2
    assert len(second) != len(first) or not np.array_equal(first.answers, second.answers)


def test_every_setting_of_a_mechanism_makes_another_release(curator, ledger):
    """Two mechanisms that print alike, with one goal or another, are not the same request."""
    pairs = marginals(SMALL, 2)

    for objective in ("total", "max", "total"):
        curator.release(
            pairs,
            table="visits",
            budget=ZCDP("1/100"),
            mechanism=lambda w, budget, n, objective=objective: MarginalRelease(w, budget=budget, objective=objective),
        )

    assert spends(ledger) == 2


def test_sensitivities_are_not_taken_from_the_class_of_a_caller(curator):
    """A subclass that claims to move by less is read as what it asks, and gets the noise of that."""

    class Sly(type(W)):
        def absolute(self, neighbours):
            return Fraction(1, 2)

    release = independent(curator, workload=Sly(W.domain, W.sets))

    assert release.errors.noise == independent(curator).errors.noise  # type: ignore[attr-defined]


def test_an_approximate_budget_takes_the_better_lane(rows, visits, ledger):
    """One table is cheaper by Laplace noise, a hundred of them by Gaussian noise."""
    table = Table(rows, domain=visits.domain, unit="patient")
    curator = Curator({"visits": table}, budget=ZCDP(9), ledger=ledger, rng=SeededRandom(1))
    few = independent(curator, counts(SMALL), epsilon=None, budget=ApproxDP(1, 1e-6))
    many = independent(curator, 1 * thresholds(visits.domain.project(["age"])), epsilon=None, budget=ApproxDP(1, 1e-6))
    prices = [entry.record["price"] for entry in ledger.entries() if entry.record["kind"] == "spend"]

    assert few.privacy() == PureDP(1, neighbours=AddRemove)
    assert isinstance(many.privacy(), ZCDP)
    assert [entry["epsilon"] for entry in prices] == ["1", None]


def test_lanes_are_divided_by_the_rows_of_a_unit():
    (pure, cost), (concentrated, other) = lanes(ApproxDP(1, 1e-6), 10)

    assert pure == PureDP("1/10", neighbours=AddRemove)
    assert cost.epsilon == 1
    assert concentrated.group(10) == ZCDP(other.rho, neighbours=AddRemove)
    assert other.epsilon is None
    assert lanes(PureDP(1), 3)[0][0].group(3) == PureDP(1, neighbours=AddRemove)


def test_a_mechanism_is_held_to_its_budget(curator, ledger):
    def spendthrift(workload, *, budget, n):
        return IndependentNoise(workload, budget=PureDP(exact(budget.epsilon) * 2, neighbours=AddRemove))

    def replaces(workload, *, budget, n):
        return IndependentNoise(workload, budget=PureDP(budget.epsilon, neighbours=Replace))

    for dishonest in (spendthrift, replaces):
        with pytest.raises(UnsupportedError, match="under AddRemove is needed"):
            curator.release(W, table="visits", epsilon=1, mechanism=dishonest)
    assert spends(ledger) == 0


def test_the_public_number_of_rows_is_the_declared_one(rows, visits, ledger):
    seen = []

    def noting(workload, *, budget, n):
        seen.append(n)
        return IndependentNoise(workload, budget=budget, n=n)

    declared = Table(rows, domain=visits.domain, unit="patient", n=10_000)
    for table in (visits, declared):
        curator = Curator({"visits": table}, budget=PureDP(9), ledger=ledger, rng=SeededRandom(1))
        curator.release(W, table="visits", epsilon=1, mechanism=noting)

    assert seen == [None, 10_000]


def test_what_cannot_be_released_is_refused_free(curator, visits, ledger):
    other = Domain({"ward": Categorical(["cardiology", "oncology"])})
    domain = Domain({"who": Integer(0, 9), "a": Boolean()})
    named = Curator({"t": Table(pd.DataFrame({"who": [1], "a": [True]}), domain=domain, unit="who")},
                    budget=PureDP(1), ledger=ledger)  # fmt: skip

    def paid(budget):
        return independent(curator, epsilon=None, budget=budget)

    refused = [
        (DomainError, "no table 'visit'", lambda: curator.release(W, table="visit", epsilon=1)),
        (DomainError, "no column 'x'", lambda: independent(curator, thresholds(4))),
        (DomainError, "otherwise than the workload", lambda: independent(curator, counts(other))),
        (DomainError, "unit column 'who'", lambda: named.release(counts(domain), table="t", epsilon=1)),
        (UnsupportedError, "not under Replace", lambda: paid(PureDP(1, neighbours=Replace))),
        (UnsupportedError, "PureDP, ApproxDP or ZCDP", lambda: paid(GaussianDP(1))),
        (ParameterError, "only one of them", lambda: independent(curator, epsilon=None)),
        (ParameterError, "need a Workload", lambda: independent(curator, "SELECT 1")),
        (ParameterError, "a mechanism class", lambda: curator.release(W, table="visits", epsilon=1, mechanism=3)),
        (ParameterError, "integer n", lambda: curator.release(W, table="visits", epsilon=1, n=0)),
        (ParameterError, "need table=", lambda: curator.explain(W, epsilon=1)),
        (UnsupportedError, "not stored", lambda: independent(
            curator, Dense(np.ones((200_000, 6)), SMALL))),
    ]  # fmt: skip
    for kind, words, call in refused:
        with pytest.raises(kind, match=words):
            call()
    assert spends(ledger) == 0


def test_a_release_too_large_to_keep_is_refused_free(ledger):
    domain = Domain({"x": Integer(0, 9_999), "y": Integer(0, 9_999)})
    table = Table(pd.DataFrame({"x": [1], "y": [2]}), domain=domain, unit=None)
    curator = Curator({"t": table}, budget=PureDP(1), ledger=ledger, rng=SeededRandom(1))

    with pytest.raises(UnsupportedError, match="100,000,000 answers is too large"):
        curator.release(marginals(domain, 2), table="t", epsilon=1)
    assert spends(ledger) == 0


def test_a_missing_column_is_free(ledger):
    table = Table(pd.DataFrame({"ward": ["oncology"]}), domain=SMALL, unit=None)
    curator = Curator({"visits": table}, budget=PureDP(1), ledger=ledger, rng=SeededRandom(1))

    with pytest.raises(DomainError, match="no column 'readmitted'"):
        independent(curator)
    assert spends(ledger) == 0


def test_a_public_table_needs_no_release(ledger, visits):
    table = Table(pd.DataFrame({"ward": ["oncology"]}), domain=SMALL, unit=None, public=True)
    curator = Curator({"visits": visits, "wards": table}, budget=PureDP(1), ledger=ledger)

    with pytest.raises(DomainError, match="nothing to protect"):
        curator.release(W, table="wards", epsilon=1)


def test_seeded_noise_is_refused_by_a_real_ledger(visits):
    curator = Curator({"visits": visits}, budget=PureDP(1), ledger=":memory:", rng=SeededRandom(1))

    with pytest.raises(LedgerError, match="predictable"):
        independent(curator)


def test_columns_are_those_with_declared_values():
    domain = Domain({"who": Integer(0, 9), "name": Identifier(), "note": Text(9), "a": Boolean(), "b": Boolean()})
    table = Table("rows.csv", domain=domain, unit="who")

    assert list(columns_of(table)) == ["a", "b"]
    assert list(columns_of(table, ["b"])) == ["b"]
    with pytest.raises(ParameterError, match="list of column names"):
        columns_of(table, "b")


def test_what_the_planner_chose_is_the_answer_from_then_on(curator, ledger):
    release = curator.release(W, table="visits", epsilon=1)
    again = curator.release(W, table="visits", epsilon=1)

    assert len(release) == 5
    assert np.array_equal(release.answers, again.answers)
    assert spends(ledger) == 1


def test_a_mechanism_is_found_by_its_name(rows, visits, ledger):
    table = Table(rows, domain=visits.domain, unit="patient")
    curator = Curator({"visits": table}, budget=PureDP(9), ledger=ledger, rng=SeededRandom(1))
    release, again = (curator.release(W, table="visits", epsilon=1, mechanism="IndependentNoise") for _ in range(2))

    assert release.errors.noise.scale == 2  # type: ignore[attr-defined]
    assert np.array_equal(release.answers, again.answers)
    assert spends(ledger) == 1
    with pytest.raises(ParameterError, match="need a mechanism among auto"):
        curator.release(W, table="visits", epsilon=1, mechanism="Magic")


def test_prefixes_are_released_with_quantiles_left_out(curator):
    ages = thresholds(curator.tables["visits"].domain.project(["age"]))
    release = curator.release(ages, table="visits", epsilon=1, mechanism=PrefixTree)

    assert isinstance(release, Release)
    assert abs(release.answers[-1] - 10_000) <= release.accuracy(1e-6)


def test_an_explanation_reads_and_spends_nothing(visits, ledger):
    engine = Watched(ledger)
    curator = Curator({"visits": visits}, budget=PureDP(1), ledger=ledger, engine=engine)
    found = curator.explain(W, table="visits", epsilon=1)
    text = str(found)

    assert "rows of one patient beyond 2" in text
    assert "nothing was read, nothing was spent" in text
    assert found.to_dict()["price"] == {"epsilon": 1.0, "rho": 0.5, "delta": 0.0}
    assert engine.spends_seen == []
    assert spends(ledger) == 0


def test_a_session_pays_on_opening_and_then_answers(curator, ledger, rows):
    session = curator.session(table="visits", columns=["ward", "readmitted"], budget=PureDP(1), queries=3)
    ward = marginals(session.domain, [("ward",)])
    truth = int((rows.to_pandas()["ward"] == "cardiology").sum())

    assert spends(ledger) == 1
    assert abs(session.ask(ward[0]) - truth) <= session.alpha
    assert session.queries_left == 2
    assert session.privacy() == PureDP(1, neighbours=AddRemove)
    session.ask(ward[1])
    assert abs(session.ask("ward = 'cardiology' OR ward = 'surgery'") - truth) <= session.alpha
    with pytest.raises(BudgetExhausted):
        session.ask(ward[0])
    assert spends(ledger) == 1
    assert session.histogram.counts.shape == (3, 2)


def test_a_session_is_pure_and_refused_free(curator, ledger):
    for budget in (ApproxDP(1, 1e-6), ZCDP(0.1)):
        with pytest.raises(UnsupportedError, match="pure budgets"):
            curator.session(table="visits", columns=["ward"], budget=budget, queries=3)
    with pytest.raises(ParameterError):
        curator.session(table="visits", columns=["ward"], budget=PureDP(1), queries=0)
    with pytest.raises(DomainError):
        curator.session(table="visit", columns=["ward"], budget=PureDP(1), queries=3)
    with pytest.raises(BudgetExhausted):
        curator.session(table="visits", columns=["ward"], budget=PureDP(100), queries=3)
    assert spends(ledger) == 0


def test_a_session_that_fails_to_open_is_still_paid_for(visits, ledger):
    engine = Watched(ledger, fails=True)
    curator = Curator({"visits": visits}, budget=PureDP(1), ledger=ledger, engine=engine, rng=SeededRandom(1))

    with pytest.raises(DiscreetError, match="the run failed"):
        curator.session(table="visits", columns=["ward"], budget=PureDP(1), queries=3)
    assert spends(ledger) == 1
