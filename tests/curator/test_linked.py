"""discreet.curator.linked_run: linked tables through the curator, one charge for all of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.curator import Curator
from discreet.data import Boolean, Categorical, Domain, Identifier, Integer, Table
from discreet.data.engines import semantics
from discreet.data.engines.duckdb import DuckDB
from discreet.errors import BudgetExhausted, DiscreetError, DomainError, LedgerError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.ledger import Ledger
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.synthesis import LinkedSynthesizer
from tests.curator.test_curator import Watched
from tests.curator.test_synthesis import spends

NAMES = ["people", "visits"]


def tables(*, drop=None, k=2, **more):
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"who": np.arange(200), "age": rng.integers(0, 5, 200)})
    owner = rng.integers(0, 200, 500)
    visits = pd.DataFrame({"who": owner, "ward": rng.choice(list("pq"), 500), "icu": rng.random(500) < 0.3})
    if drop is not None:
        people, visits = people[people["who"] != drop], visits[visits["who"] != drop]
    domain = {"who": Identifier(), "age": Integer(0, 4)}
    children = {"who": Identifier(), "ward": Categorical(list("pq")), "icu": Boolean()}
    return {
        "people": Table(people, domain=Domain(domain), unit="who"),
        "visits": Table(visits, domain=Domain(children), unit="who", rows_per_unit=k),
        **more,
    }


@pytest.fixture
def curator(ledger):
    return Curator(tables(), budget=PureDP(2), ledger=ledger, rng=SeededRandom(1))


def made(curator, **given):
    price = {} if "budget" in given else {"epsilon": "1/2"}
    return curator.synthesize_linked(tables=NAMES, **(price | given))


def test_one_charge_pays_for_all_tables_and_keys_join(curator, ledger):
    found = made(curator, units=50)
    (entry,) = spends(ledger)
    drawn = found.sample(rng=SeededRandom(2))

    assert found.privacy() == PureDP("1/2", neighbours=AddRemove)
    assert entry["price"]["epsilon"] == "1/2"
    assert entry["unit"] == "who"
    assert entry["tables"] == NAMES
    assert entry["query"] == (
        "SYNTHESIZE people, visits BY adaptive; PureDP(epsilon=0.5) for one who with at most one row in people and"
        " 2 rows in visits added or removed"
    )
    assert drawn["people"].num_rows == 50
    assert drawn["visits"].column_names == ["who", "ward", "icu"]
    assert set(drawn["visits"]["who"].to_pylist()) <= set(range(50))


def test_a_budget_with_delta_is_spent_as_rho(ledger):
    curator = Curator(tables(), budget=ZCDP(1), ledger=ledger, rng=SeededRandom(1))
    found = made(curator, budget=ApproxDP(1, 1e-6))
    shares = [one.guarantee.rho for one in found.models.values()]

    assert isinstance(found.privacy(), ZCDP)
    assert sum(shares) == pytest.approx(found.privacy().rho)
    assert found.privacy().to_approx(1e-6) <= ApproxDP(1, 1e-6, neighbours=AddRemove)


def test_the_ledger_is_charged_before_a_row_is_read_and_a_failure_stays_paid(curator, ledger, monkeypatch):
    seen = []

    def leaky(self, data, **more):
        seen.append(len(spends(ledger)))
        raise ParameterError(f"there are {len(data['people'])} rows")

    with monkeypatch.context() as patched:
        patched.setattr(LinkedSynthesizer, "fit", leaky)
        with pytest.raises(DiscreetError, match=r"^the run failed; see the operator log, reference [0-9a-f]{8}$"):
            made(curator)
        with pytest.raises(BudgetExhausted):
            made(curator, epsilon=3)

    assert seen == [1]
    assert len(spends(ledger)) == 1


def test_the_same_order_is_free_and_the_same_models(tmp_path):
    path = tmp_path / "ledger.db"
    with Ledger.open(path, testing=True) as ledger:
        first = made(Curator(tables(), budget=PureDP(1), ledger=ledger, rng=SeededRandom(1)), analyst="ada")
    with Ledger.open(path, testing=True) as ledger:
        curator = Curator(tables(), budget=PureDP(1), ledger=ledger, rng=SeededRandom(2))
        again = made(curator, analyst="ada", units=40)
        paid = len(spends(ledger))
        other = made(curator, analyst="ada", method="tree")
        twice = len(spends(ledger))
    one, two = (found.sample(40, rng=SeededRandom(3)) for found in (first, again))

    assert (paid, twice) == (1, 2)
    assert again.receipt.replayed
    assert not other.receipt.replayed
    assert all(one[name].equals(two[name]) for name in NAMES)
    assert again.privacy() == first.privacy()


def test_declared_bounds_are_enforced_and_paid_for(ledger):
    found = []
    for k in (1, 4):
        curator = Curator(tables(k=k), budget=PureDP(9), ledger=ledger, rng=SeededRandom(1))
        found.append(made(curator).models["visits"].schedule)

    assert found[1].noise.scale == 4 * found[0].noise.scale
    assert found[1].choice.sensitivity == 4 * found[0].choice.sensitivity


def test_what_cannot_be_linked_is_refused_free(curator, ledger):
    base = tables()
    other = Domain({"whom": Identifier(), "icu": Boolean()})
    frame = pd.DataFrame({"whom": [1], "icu": [True]})
    more = {
        "others": Table(frame, domain=other, unit="whom"),
        "rows": Table(frame[["icu"]], domain=Domain({"icu": Boolean()}), unit=None),
        "gone": Table(pd.DataFrame({"who": [1]}), domain=base["visits"].domain, unit="who"),
    }
    wide = Curator(base | more, budget=PureDP(2), ledger=ledger, rng=SeededRandom(1))
    elsewhere = Curator(base, budget=PureDP(2), ledger=ledger, engine=Watched(ledger), rng=SeededRandom(1))
    refused = [
        (ParameterError, "at least two tables", lambda: curator.synthesize_linked(tables="people", epsilon=1)),
        (ParameterError, "at least two tables", lambda: curator.synthesize_linked(tables=["people"], epsilon=1)),
        (ParameterError, "at least two", lambda: curator.synthesize_linked(tables=["people"] * 2, epsilon=1)),
        (DomainError, "no table 'visit'", lambda: curator.synthesize_linked(tables=["people", "visit"], epsilon=1)),
        (DomainError, "one row for each who", lambda: curator.synthesize_linked(tables=NAMES[::-1], epsilon=1)),
        (DomainError, "do not", lambda: wide.synthesize_linked(tables=["people", "others"], epsilon=1)),
        (DomainError, "do not", lambda: wide.synthesize_linked(tables=["rows", "visits"], epsilon=1)),
        (DomainError, "no column", lambda: wide.synthesize_linked(tables=["people", "gone"], epsilon=1)),
        (UnsupportedError, "another engine", lambda: made(elsewhere)),
        (ParameterError, "settings among", lambda: made(curator, rows_per_unit=1)),
        (ParameterError, "columns of the tables", lambda: made(curator, columns={"visit": ["icu"]})),
        (DomainError, "unit column 'who'", lambda: made(curator, columns={"people": ["who", "age"]})),
        (ParameterError, "units >= 1", lambda: made(curator, units=0)),
        (ParameterError, "epsilon > 0", lambda: made(curator, epsilon=0)),
        (UnsupportedError, "too small", lambda: made(curator, budget=PureDP("1e-16"))),
        (UnsupportedError, "too small", lambda: made(curator, budget=ZCDP("1e-20"))),
        (ParameterError, "only one of them", lambda: curator.synthesize_linked(tables=NAMES)),
    ]
    for kind, words, call in refused:
        with pytest.raises(kind, match=words):
            call()
    assert spends(ledger) == []


def test_units_that_two_tables_write_otherwise_are_refused_free(ledger):
    held = tables()
    visits = held["visits"]
    unsigned = Table(
        visits.source.astype({"who": np.uint64}), domain=visits.domain, unit="who", rows_per_unit=visits.rows_per_unit
    )
    curator = Curator(held | {"visits": unsigned}, budget=PureDP(2), ledger=ledger, rng=SeededRandom(1))

    with pytest.raises(DomainError, match="all integers, all texts or of one type"):
        made(curator)
    assert spends(ledger) == []


def test_rows_are_read_by_the_engine_that_was_given_once_it_passed_its_test(ledger, monkeypatch):
    seen, real, engine = set(), DuckDB._open, DuckDB(memory="1100MB", threads=1)
    curator = Curator(tables(), budget=PureDP(2), ledger=ledger, engine=engine, rng=SeededRandom(1))

    def noting(self):
        seen.add(self)
        return real(self)

    monkeypatch.setattr(DuckDB, "_open", noting)
    with monkeypatch.context() as patched:
        patched.setattr(semantics, "ASSUMED", (*semantics.ASSUMED, ("1 // 0 IS NULL", True)))
        with pytest.raises(UnsupportedError, match="1 // 0"):
            made(curator)
    refused = len(spends(ledger))
    made(curator)

    assert refused == 0
    assert len(spends(ledger)) == 1
    assert seen == {engine}


def test_seeded_noise_is_refused_by_a_real_ledger():
    curator = Curator(tables(), budget=PureDP(1), ledger=":memory:", rng=SeededRandom(1))

    with pytest.raises(LedgerError, match="predictable"):
        made(curator)
