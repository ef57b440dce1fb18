"""Which groups are shown, and in which order, is a function of the declaration."""

import random

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from discreet.curator import Curator
from discreet.data import Boolean, Categorical, Domain, Identifier, Integer, Table, Text
from discreet.data.engines.duckdb import DuckDB
from discreet.errors import DiscreetError
from discreet.hazmat.entropy import SeededRandom
from discreet.ledger import Ledger
from discreet.privacy import ApproxDP, PureDP
from tests.curator.checks.replay import CAP
from tests.scale import counts

PERMUTATIONS = counts(quick=8, full=1_000)
WARDS = [f"ward {i}" for i in range(20)]
DOMAIN = Domain(
    {"patient": Identifier(), "ward": Categorical(WARDS, nullable=True), "age": Integer(0, 9), "note": Text(20)}
)
SQL = "SELECT ward, FLOOR(age / 5) AS half, COUNT(*) FROM visits GROUP BY ward, FLOOR(age / 5)"


def source(wards, seed=1):
    count, chance = len(wards), np.random.default_rng(seed)
    return pa.table(
        {
            "patient": pa.array(range(count), pa.int64()),
            "ward": pa.array(wards, pa.string()),
            "age": pa.array(chance.integers(0, 10, count)),
            "note": pa.array([""] * count, pa.string()),
        }
    )


def shown(table, *, threads=None, sql=SQL):
    """The keys of an answer, in order."""
    with Ledger.open(":memory:", testing=True) as ledger:
        visits = Table(table, domain=DOMAIN, unit="patient")
        curator = Curator(
            {"visits": visits}, budget=PureDP(1), ledger=ledger, engine=DuckDB(threads=threads), rng=SeededRandom(1)
        )
        answer = curator.ask(sql, epsilon=1)
        names = [name for name in ("ward", "half") if name in answer.table.column_names]
        return list(zip(*(answer.table[name].to_pylist() for name in names), strict=True))


def test_declared_keys_are_all_there_and_others_never():
    every = [(ward, half) for ward in [*WARDS, None] for half in (0, 1)]

    assert shown(source([])) == every
    assert shown(source(["ward 3"])) == every
    assert shown(source([f"stranger {i}" for i in range(500)] + ["ward 3"] * 5)) == every


def test_order_does_not_depend_on_the_order_of_rows_or_on_threads():
    draw, wards = random.Random(3), [WARDS[i % 7] for i in range(300)]
    expected = shown(source(wards))
    for i in range(PERMUTATIONS):
        draw.shuffle(wards)

        assert shown(source(wards), threads=1 + i % 2) == expected


def test_columns_without_declared_values_make_no_groups_without_a_delta():
    for key in ("note", "patient"):
        with pytest.raises(DiscreetError):
            shown(source(["ward 1"]), sql=f"SELECT {key}, COUNT(*) FROM visits GROUP BY {key}")


NOTES = Domain({"patient": Identifier(), "note": Text(20, nullable=True), "ill": Boolean()})
GROUPS = "SELECT note, ill, COUNT(*) AS n FROM visits GROUP BY note, ill"


def noted(notes):
    """One row of each patient, with these notes."""
    count = len(notes)
    return pa.table({
        "patient": pa.array(range(count), pa.int64()),
        "note": pa.array(notes, pa.string()),
        "ill": pa.array([True] * count, pa.bool_()),
    })  # fmt: skip


def named(notes, *, threads=None, sql=GROUPS, seed=1, epsilon=5):
    """The private keys of an answer, in order."""
    with Ledger.open(":memory:", testing=True) as ledger:
        visits = Table(noted(notes), domain=NOTES, unit="patient")
        budget, engine = ApproxDP(epsilon, "1e-3"), DuckDB(threads=threads)
        curator = Curator({"visits": visits}, budget=CAP, ledger=ledger, engine=engine, rng=SeededRandom(seed))
        answer = curator.ask(sql, budget=budget)
        again = curator.ask(sql, budget=budget)
        assert again.receipt.replayed
        assert again.table.equals(answer.table)
        return answer.table["note"].to_pylist()


OFTEN = ["", "a", "b", "A", "z\u0301", None, "10", "9"]


def test_private_keys_come_in_the_order_of_their_names_whatever_the_data():
    """All groups are large, so all are named; missing comes last, the empty text first."""
    draw, notes = random.Random(5), OFTEN * 60
    expected = [*sorted(note for note in OFTEN if note is not None), None]
    for i in range(PERMUTATIONS):
        draw.shuffle(notes)
        assert named(notes, threads=1 + i % 2, seed=i) == expected
    grown = [*notes, *["b"] * 400, *(f"stranger {i}" for i in range(20))]

    assert [note for note in named(grown) if note in OFTEN] == expected


def test_a_text_of_one_patient_is_named_with_the_stated_probability_and_no_more():
    """Of 600 singletons few are named: a binomial of the delta, which is not exceeded at 1e-6."""
    from scipy.stats import binom

    singles = 600
    found = sum(len(named([f"note {i}" for i in range(singles)], seed=seed, epsilon=1)) for seed in range(3))

    assert binom.sf(found - 1, 3 * singles, 1e-3) > 1e-6
    assert len({f"note {i}" for i in range(singles)}) == singles  # the engine's own GROUP BY names every one


def test_nobody_is_no_group():
    assert named([]) == []
    assert named([None]) in ([], [None])


def test_hidden_keys_may_be_ordered_and_cut_by_what_was_released():
    notes = ["a"] * 300 + ["b"] * 900 + ["c"] * 600

    assert named(notes, sql=f"{GROUPS} HAVING n > 100 ORDER BY n DESC LIMIT 2") == ["b", "c"]
    assert named(notes, sql=f"{GROUPS} HAVING n > 100 ORDER BY note DESC") == ["c", "b", "a"]


def test_the_engines_own_groups_tell_who_is_there():
    """The twin: keys and order of a plain GROUP BY."""

    def plain(table):
        connection = duckdb.connect()
        connection.register("visits", table)
        return [row[0] for row in connection.execute("SELECT ward FROM visits GROUP BY ward").fetchall()]

    assert plain(source(["ward 1", "ward 2"])) != plain(source(["ward 1", "ward 2", "ward 9"]))
    assert len(plain(source([f"stranger {i}" for i in range(50)]))) == 50
