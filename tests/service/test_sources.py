"""A source that is not as declared: what is told of it, and to whom.  The whole service is in `test_exhaust.py`."""

from __future__ import annotations

import re

import pytest

from discreet.errors import SourceError
from discreet.service.problems import problem_of
from discreet.service.running.child import refusal_of


def _but_its_reference(told: str) -> str:
    return re.sub(r"reference \w{8}'", "reference", told)


@pytest.mark.parametrize(
    ("source", "declared"),
    [("/srv/hospital/visits.csv", "visits.csv"), ("cnryrow, 4711, oncology", "patient"), (None, None)],
    ids=["a file that is gone", "a column that is gone", "a server that is gone"],
)
def test_of_a_source_that_is_not_as_declared_one_sentence_is_told(caplog, source, declared):
    """The words of the error are for whoever holds the data; the twin that tells them is caught."""
    error = SourceError(f"the source is not there: {source}", declared=declared)
    with caplog.at_level("ERROR", logger="discreet.operator"):
        told, twin = str(refusal_of(error)), str(problem_of(error))
    other = refusal_of(SourceError("something else"))

    assert str(source) in twin
    assert str(source) not in told + caplog.text
    assert (declared or "it cannot be opened") in caplog.text
    assert _but_its_reference(told) == _but_its_reference(str(other))
