"""discreet.service.running.long_form: a release as rows, for every kind of column and workload."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from discreet.data import Boolean, Categorical, Date, Domain, Integer, Real, Timestamp
from discreet.privacy import PureDP
from discreet.queries import marginals, thresholds
from discreet.release.errors import Unproven
from discreet.release.release import Release
from discreet.service.running import long_form as module
from discreet.service.running.long_form import OURS, long_form
from discreet.service.running.work import write_table

DOMAIN = Domain({
    "ward": Categorical(["a, b", 'it\'s "c" AND d']),
    "icu": Boolean(nullable=True),
    "age": Integer(-1, 1),
    "day": Date("2026-01-01", "2026-01-02"),
    "cost": Real(0, 1, step="0.5"),
    "seen": Timestamp("2026-01-01", "2026-01-01T01:00", step=1800),
    "floor": Categorical([3, 7]),
    "low": Categorical(["answer", "=1+1"]),
})  # fmt: skip


class Known:
    """Every answer is within two."""

    def __init__(self, count):
        self.count = count

    def accuracy(self, beta):
        return 2.0

    def each(self, beta):
        return np.full(self.count, 2.0)


def _release(workload, errors=Known):
    answers = np.arange(len(workload), dtype=float)
    return Release(workload=workload, answers=answers, guarantee=PureDP(1), errors=errors(len(workload)))


@pytest.mark.parametrize("ways", [0, 1, 2, 3])
def test_each_answer_has_its_cell_its_values_and_its_interval(ways):
    release = _release(marginals(DOMAIN, ways))
    table = long_form(release)

    assert table.column_names[:5] == list(OURS)
    assert len(set(table.column_names)) == len(table.column_names)
    assert table["answer"].to_pylist() == release.answers.tolist()
    assert table["low"].to_pylist() == (release.answers - 2).tolist()
    assert table["high"].to_pylist() == (release.answers + 2).tolist()
    assert table["cell"].to_pylist() == release.to_pandas()["query"].tolist()
    start = 0
    for names, size in zip(release.workload.sets, release.workload.sizes, strict=True):
        part, shown = table.slice(start, size), release.to_pandas(names)
        assert set(part["table"].to_pylist()) == {", ".join(names)}
        for name in set(names) - {"low"}:
            assert part[name].to_pylist() == [None if value != value else value for value in shown[name].tolist()]
        start += size


def test_values_have_the_types_of_their_columns_and_no_name_is_there_twice():
    table = long_form(_release(marginals(DOMAIN, 1)))

    assert [value for value in table["low_"].to_pylist() if value is not None] == ["answer", "=1+1"]
    assert table.schema.field("age").type == pa.int64()
    assert dt.date(2026, 1, 2) in table["day"].to_pylist()


def test_values_that_arrow_has_no_type_for_are_text(monkeypatch):
    """Withheld and paid for is no way to treat a result whose rows are only hard to write."""
    monkeypatch.setattr(module, "values", lambda column: ["x", 7, None])

    assert module._values(DOMAIN, "ward").to_pylist() == ["x", "7", None]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_every_kind_of_column_can_be_written_and_read_back(tmp_path, kind):
    table = long_form(_release(marginals(DOMAIN, 2)))
    place = tmp_path / f"release.{kind}"
    write_table(table, place, kind)
    again = csv.read_csv(place) if kind == "csv" else pq.read_table(place)

    assert again.column_names == table.column_names
    assert again["cell"].to_pylist() == table["cell"].to_pylist()
    assert again["answer"].to_pylist() == table["answer"].to_pylist()


def test_thresholds_are_told_in_words():
    table = long_form(_release(thresholds(DOMAIN.project(["age"]))))

    assert table.column_names == list(OURS)
    assert table["cell"].to_pylist() == ["age = -1", "age <= 0", "all rows"]
    assert set(table["table"].to_pylist()) == {"age"}


def test_where_nothing_is_proven_there_is_no_interval():
    table = long_form(_release(marginals(DOMAIN, 1), lambda count: Unproven("nobody knows")))

    assert table["low"].null_count == table["high"].null_count == table.num_rows


def test_too_many_answers_are_not_written_out(monkeypatch):
    monkeypatch.setattr(module, "LONGEST", 2)
    monkeypatch.setattr(module, "MOST", 2)

    assert long_form(_release(marginals(DOMAIN, 1))) is None
    assert long_form(_release(thresholds(DOMAIN.project(["age"])))) is None
