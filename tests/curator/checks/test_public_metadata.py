"""Schema, keys, bounds, sizes and prices come from the declaration, whatever the rows are."""

import datetime as dt
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator import Curator
from discreet.curator.start import start
from discreet.data import Categorical, Date, Domain, Identifier, Integer, Real, Table
from discreet.hazmat.entropy import SeededRandom
from discreet.ledger import Ledger
from discreet.privacy import ApproxDP
from tests.curator.checks.replay import run
from tests.curator.checks.worlds import World

DOMAIN = Domain(
    {
        "patient": Identifier(),
        "ward": Categorical(["cardiology", "surgery"]),
        "age": Integer(0, 119),
        "cost": Real(0, 100, step="0.01", nullable=True),
        "day": Date("2026-01-01", "2026-12-31"),
    }
)
QUESTIONS = [
    "SELECT ward, COUNT(*), AVG(cost) FROM visits GROUP BY ward",
    "SELECT SUM(age), COUNT(DISTINCT patient) FROM visits",
    "SELECT EXTRACT(month FROM day) AS m, STDDEV(age) FROM visits GROUP BY m",
]
ROW = {"patient": "1", "ward": "surgery", "age": "40", "cost": "5.5", "day": "2026-03-01"}
ODD = {
    "nothing odd": {},
    "another type": {"age": "forty"},
    "a new category": {"ward": "oncology"},
    "out of range": {"age": "100000", "cost": "-1e9"},
    "a huge value": {"age": "9" * 60},
    "a NULL": {"age": None, "cost": None},
    "a bad day": {"day": "2026-02-31"},
    "a far day": {"day": "9999-12-31"},
}


def table(rows):
    source = pa.Table.from_pylist(rows, schema=pa.schema([(name, pa.string()) for name in ROW]))
    return Table(source, domain=DOMAIN, unit="patient", rows_per_unit=2, groups_per_unit=2)


def public(visits, sql):
    """Everything that may be seen without paying, and the shape of what is paid for."""
    with Ledger.open(":memory:", testing=True) as ledger:
        curator = Curator({"visits": visits}, budget=ApproxDP(2, 1e-6), ledger=ledger, rng=SeededRandom(1))
        free = [
            str(curator.explain(sql, epsilon=1)),
            curator.explain(sql, epsilon=1).to_dict(),
            repr(curator),
            repr(visits),
        ]
        free += [str(curator.mock("visits", 5)), str(curator.budget)]
        answer = curator.ask(sql, epsilon=1)
        seen = answer.to_dict()
        shape = [
            str(answer.table.schema),
            answer.table.num_rows,
            answer.statement,
            seen["cost"],
            sorted(seen),
            str(curator.budget),
        ]
        return free + shape


@pytest.mark.parametrize("sql", QUESTIONS)
def test_an_odd_row_changes_no_public_fact(sql):
    ordinary = [ROW | {"patient": str(i)} for i in range(3)]
    expected = public(table([]), sql)
    for odd in ODD.values():
        assert public(table([*ordinary, ROW | {"patient": "9"} | odd]), sql) == expected


def test_the_number_of_rows_is_nowhere():
    count = 7_919  # a prime that no declaration gives
    rows = [ROW | {"patient": str(i)} for i in range(count)]
    world = World(QUESTIONS[0], table(rows), table(rows[1:]), {"budget": ApproxDP(1, "1e-6")})
    free = public(table(rows), QUESTIONS[0])[:6]

    assert str(count) not in json.dumps([str(item) for item in free])
    assert run(world.table, world).explained == run(world.neighbour, world).explained


def test_a_first_declaration_reads_no_statistics(tmp_path):
    """Two files of one schema give one declaration, though their footers differ."""
    written = []
    for i, ages in enumerate(([1, 2, 3], [100_000] * 5_000)):
        path, out = tmp_path / f"{i}" / "visits.parquet", tmp_path / f"{i}" / "curator.toml"
        path.parent.mkdir()
        pq.write_table(
            pa.table({"patient": list(range(len(ages))), "age": ages, "day": [dt.date(2026, 1, 1)] * len(ages)}), path
        )
        start(path, unit="patient", budget={"epsilon": "1"}, declaration=None, bounds={}, out=out, force=False)
        written.append(out.read_text())

    assert written[0] == written[1]


def test_types_from_the_first_rows_would_be_seen():
    """The twin: let Arrow infer the types from the values."""
    kinds = [pa.Table.from_pylist([{"age": 40}] * 3 + extra).schema for extra in ([], [{"age": 40.5}])]

    assert kinds[0] != kinds[1]
    with pytest.raises(AssertionError):
        assert [str(kind) for kind in kinds] == [str(kinds[0])] * 2
