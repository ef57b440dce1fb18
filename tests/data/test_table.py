"""discreet.data.table and aggregation: declarations and seals."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

from discreet.data.aggregation import Aggregation, Key, Measure, Sealed
from discreet.data.columns import Boolean, Identifier, Integer
from discreet.data.domain import Domain
from discreet.data.table import Table
from discreet.errors import DomainError, ParameterError
from tests.data.tables import sql

DOMAIN = Domain({"patient": Identifier(), "age": Integer(0, 119), "icu": Boolean()})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "icu"}, "unit column of type"),
        ({"unit": None, "rows_per_unit": 2}, "bounds of 1"),
        ({"unit": "patient", "rows_per_unit": 0}, "rows_per_unit >= 1"),
        ({"unit": "patient", "groups_per_unit": True}, "groups_per_unit >= 1"),
        ({"unit": "patient", "rows_per_unit": 1.0}, "rows_per_unit >= 1"),
        ({"unit": "patient", "n": -1}, "n >= 0"),
        ({"unit": "patient", "n": 2.5}, "n >= 0"),
    ],
)
def test_bad_declarations_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        Table("visits.parquet", domain=DOMAIN, **options)


def test_an_unknown_unit_is_refused():
    with pytest.raises(DomainError, match="no column 'patiens'"):
        Table("visits.parquet", domain=DOMAIN, unit="patiens")


def test_a_new_version_keeps_other_rows():
    salts = {Table("a", domain=DOMAIN, unit="patient", version=v).salt for v in range(1, 50)}

    assert len(salts) == 49
    assert all(0 <= salt < 1 << 63 for salt in salts)


def test_its_text_shows_no_rows():
    assert (
        repr(Table(np.arange(3), domain=DOMAIN, unit=None))
        == "Table(ndarray, unit=None, rows_per_unit=1, groups_per_unit=1)"
    )
    assert Table(Path("a.parquet"), domain=DOMAIN, unit=None).source == "a.parquet"


def test_a_seal_shows_its_shape_and_nothing_else():
    sealed = Sealed(np.array([[41, 42]]))

    assert "4" not in repr(sealed)
    assert sealed.through(np.sum) == 83
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            copied(sealed)
    with pytest.raises(TypeError):
        int(sealed)  # type: ignore[call-overload]


def test_an_aggregation_is_checked():
    with pytest.raises(ParameterError, match="low <= high"):
        Measure(kind="sum", value=sql("1"), low=2, high=1)
    with pytest.raises(ParameterError, match="something to sum"):
        Measure(kind="sum")
    keys = tuple(Key(code=sql("0"), size=1 << 16) for _ in range(2))
    with pytest.raises(ParameterError, match="fewer than"):
        Aggregation(
            columns=(), where=None, keys=keys, measures=(), unit=None, rows_per_unit=1, groups_per_unit=1, salt=0
        )
