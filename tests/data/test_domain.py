"""discreet.data.domain: an ordered mapping from names to column types."""

from __future__ import annotations

import pytest

from discreet.data.columns import Boolean, Categorical, Identifier, Integer
from discreet.data.domain import Domain, missing
from discreet.errors import DomainError, ParameterError

DOMAIN = Domain({"patient": Identifier(), "age": Integer(0, 119), "ward": Categorical(["a", "b"], nullable=True)})


def test_the_size_is_the_number_of_possible_rows():
    assert DOMAIN.size == 120 * 3


def test_a_declaration_reads_back_in_order():
    again = Domain.from_dict(DOMAIN.to_dict())

    assert again == DOMAIN
    assert list(again) == list(DOMAIN)


def test_equal_domains_have_equal_hashes():
    other = Domain(dict(reversed(list(DOMAIN.items()))))

    assert other == DOMAIN
    assert hash(other) == hash(DOMAIN)


def test_projection_keeps_the_order_asked_for():
    assert list(DOMAIN.project(["ward", "age"])) == ["ward", "age"]
    assert list(DOMAIN.without("patient")) == ["age", "ward"]


def test_a_missing_column_is_named_with_the_nearest():
    with pytest.raises(DomainError, match="no column 'agee'; did you mean 'age'"):
        DOMAIN["agee"]
    assert "age" in DOMAIN
    assert "agee" not in DOMAIN
    assert missing("zzz", ["a", "b"], what="table") == "no table 'zzz'; there are 'a', 'b'"


@pytest.mark.parametrize("columns", [{}, {"": Boolean()}, {"a": 5}, {1: Boolean()}, {"a": Boolean(), "A": Boolean()}])
def test_bad_columns_are_refused(columns):
    with pytest.raises(ParameterError):
        Domain(columns)
