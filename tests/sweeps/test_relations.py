"""Relations without an oracle: what may not change an answer or its price, changes neither."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discreet.curator import Curator
from discreet.data import Categorical, Domain, Integer, Records, Table
from discreet.hazmat.entropy import SeededRandom
from discreet.ledger import Ledger
from discreet.privacy.guarantee import ZCDP, PureDP
from discreet.queries import marginals
from discreet.release import IndependentNoise
from discreet.structured import EdgeCount, PrivateQuantile, SmoothMedian, TriangleCount

from discreet.data.graph import Graph  # isort: skip

NAMES = ['quo"ted', "o'clock", "select", "Größe", "größe", "GROUP", "a b", "名前", "x;--", "_"]
ROWS = pd.DataFrame({"age": np.arange(400) % 90, "ward": np.array(list("abcd"))[np.arange(400) % 4]})
DOMAIN = Domain({"age": Integer(0, 99), "ward": Categorical(list("abcd"))})
TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint64", "float32", "float64", "Int64", "object"]


def asked(source, domain=DOMAIN, question="SELECT ward, SUM(age) AS total FROM visits GROUP BY ward ORDER BY ward"):
    """The numbers and the price of one question, with the same coins."""
    ledger = Ledger.open(":memory:", testing=True)
    tables = {"visits": Table(source, domain=domain, unit=None)}
    curator = Curator(tables, budget=PureDP(100), ledger=ledger, rng=SeededRandom(7))
    found = curator.ask(question, epsilon=20)
    return found.to_pandas().to_numpy().tolist(), str(found.cost)


BASE = asked(ROWS)


@pytest.mark.parametrize("name", NAMES)
def test_a_column_may_have_any_name(name):
    quoted = '"' + name.replace('"', '""') + '"'
    domain = Domain({name: DOMAIN["age"], "ward": DOMAIN["ward"]})
    question = f"SELECT ward, SUM({quoted}) AS total FROM visits GROUP BY ward ORDER BY ward"

    assert asked(ROWS.rename(columns={"age": name}), domain, question) == BASE


@pytest.mark.parametrize("name", NAMES)
def test_a_category_may_be_any_text(name):
    renamed = {"a": name, "b": f"{name}2", "c": f"{name}3", "d": f"{name}4"}
    domain = Domain({"age": DOMAIN["age"], "ward": Categorical(list(renamed.values()))})
    found, price = asked(ROWS.assign(ward=ROWS["ward"].map(renamed)), domain)

    assert sorted(row[1] for row in found) == sorted(row[1] for row in BASE[0])
    assert price == BASE[1]


@pytest.mark.parametrize("kind", TYPES)
def test_a_number_may_have_any_physical_type(kind):
    assert asked(ROWS.assign(age=ROWS["age"].astype(kind))) == BASE


@pytest.mark.parametrize("carrier", ["pandas", "arrow", "parquet", "csv", "reversed", "columns", "more"])
def test_rows_may_come_in_any_carrier_and_order(carrier, tmp_path):
    source = {
        "pandas": lambda: ROWS.copy(),
        "arrow": lambda: pa.Table.from_pandas(ROWS),
        "parquet": lambda: ROWS.to_parquet(tmp_path / "v.parquet") or tmp_path / "v.parquet",
        "csv": lambda: ROWS.to_csv(tmp_path / "v.csv", index=False) or tmp_path / "v.csv",
        "reversed": lambda: ROWS.iloc[::-1].reset_index(drop=True),
        "columns": lambda: ROWS[["ward", "age"]],
        "more": lambda: ROWS.assign(other=1, again="x"),
    }[carrier]()

    assert asked(source) == BASE


def test_clauses_and_columns_may_be_in_any_order():
    one = asked(ROWS, question="SELECT COUNT(*) AS n FROM visits WHERE age > 20 AND ward = 'a'")
    two = asked(ROWS, question="SELECT COUNT(*) AS n FROM visits WHERE ward = 'a' AND age > 20")

    assert one == two


def test_an_unused_table_changes_nothing():
    both = {"visits": Table(ROWS, domain=DOMAIN, unit=None), "other": Table(ROWS, domain=DOMAIN, unit=None)}
    curator = Curator(both, budget=PureDP(100), ledger=Ledger.open(":memory:", testing=True), rng=SeededRandom(7))
    found = curator.ask("SELECT ward, SUM(age) AS total FROM visits GROUP BY ward ORDER BY ward", epsilon=20)

    assert found.to_pandas().to_numpy().tolist() == BASE[0]


@pytest.mark.parametrize("factor", ["0.001", 7, 10**6])
@pytest.mark.parametrize("shift", [0, -13, "0.5"])
def test_numbers_rescaled_with_their_bounds_and_step_give_the_answer_rescaled(factor, shift):
    """Order statistics are of ranks, and ranks know no unit."""
    from fractions import Fraction

    by, more = Fraction(factor), Fraction(shift)
    x = np.random.default_rng(1).integers(0, 1001, 500)
    moved = np.array([float(int(value) * by + more) for value in x])
    ends = {"lower": more, "upper": 1000 * by + more, "step": by}
    for kind, given in ((PrivateQuantile, ([0.25, 0.75],)), (SmoothMedian, ())):
        plain = kind(*given, epsilon=1, lower=0, upper=1000, step=1)
        scaled = kind(*given, epsilon=1, **ends)
        here = np.atleast_1d(plain(x, rng=SeededRandom(3)))
        there = np.atleast_1d(scaled(moved, rng=SeededRandom(3)))

        assert [float(int(value) * by + more) for value in here] == there.tolist()
        assert plain.privacy() == scaled.privacy()


@pytest.mark.parametrize("times", [2, 5])
def test_a_table_doubled_has_the_noise_of_one_and_a_table_split_the_sums_of_both(times):
    asked_ = marginals(DOMAIN, 1)
    records = Records(DOMAIN, [ROWS["age"].to_numpy(), np.arange(400) % 4])
    doubled = Records(DOMAIN, [np.tile(records.column(name), times) for name in DOMAIN])
    noise = IndependentNoise(asked_, budget=ZCDP(1))
    one, many = (noise(data, rng=SeededRandom(5)).answers for data in (records, doubled))

    assert np.array_equal(many - one, (times - 1) * asked_.answer(records))


def test_vertices_may_be_numbered_in_any_way():
    draw = np.random.default_rng(2)
    edges = {tuple(sorted(pair)) for pair in draw.integers(0, 60, (300, 2)).tolist() if pair[0] != pair[1]}
    names = draw.permutation(60)
    renamed = [(int(names[a]), int(names[b])) for a, b in edges]
    for mechanism in (EdgeCount(epsilon=1), TriangleCount(epsilon=1, delta=0)):
        one, two = (
            mechanism(Graph.from_edges(sorted(side), vertices=60), rng=SeededRandom(4)) for side in (edges, renamed)
        )

        assert one == two
