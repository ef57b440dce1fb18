"""discreet.learning.trees.cells: every value of every column type has one cell, by the declaration alone."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.data.columns import Boolean, Categorical, Date, Integer, Real
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import ParameterError
from discreet.learning.trees.cells import Cells

COLUMNS = [
    Integer(0, 99),
    Integer(5, 5),
    Real(0, 1, nullable=True),
    Boolean(nullable=True),
    Date("2020-01-01", "2026-01-01"),
]


@pytest.mark.parametrize("column", [*COLUMNS, Categorical(list(range(700)), nullable=True)], ids=repr)
@pytest.mark.parametrize("most", [2, 7, 64, 255])
def test_cells_are_in_order_without_gaps_and_null_has_its_own(column, most):
    domain = Domain({"x": column})
    cells = Cells(domain, most)
    found = cells.of(Records(domain, [np.arange(column.size)]))[0].astype(int)
    held = found[:-1] if column.nullable else found

    assert (np.diff(held) >= 0).all()
    assert sorted(set(found)) == list(range(cells.sizes[0]))
    assert len(set(held)) <= most
    assert not column.nullable or (found[-1] == cells.sizes[0] - 1 and found[-1] not in held)


def test_columns_of_any_size_have_cells():
    domain = Domain({"x": Integer(0, 2**61)})
    found = Cells(domain, 64).of(Records(domain, [np.array([0, 2**60, 2**61])]))

    assert found.tolist() == [[0, 31, 63]]


def test_more_cells_than_a_byte_holds_are_refused():
    with pytest.raises(ParameterError, match="most"):
        Cells(Domain({"x": Boolean()}), 256)
