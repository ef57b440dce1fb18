"""Every table of discreet.bounds is a value: Markdown, CSV, a data frame and a picture; the pages show them."""

import csv
import io
import itertools
import math

import pytest

from discreet.bounds import (
    best,
    capacity,
    discrepancy,
    fingerprinting,
    gamma2,
    interval_table,
    marginals_table,
    noise_table,
    open_questions,
    packing,
    samples,
)
from discreet.errors import DiscreetError, ParameterError
from discreet.privacy.guarantee import ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.queries import thresholds
from scripts.tables import questions_page, tables_page
from tests.house.repository import ROOT

TABLES = {
    "marginals": marginals_table(100, 2, 10**5, 1.0, 1e-6),
    "intervals": interval_table(10, 1.0, 1e-6),
    "capacity": capacity(n=10**6, universe=2**20, alpha=0.1, budget=ApproxDP(1.0, 1e-6)),
    "samples": samples("thresholds", d=10, alpha=0.1, epsilon=1.0),
    "noise": noise_table(epsilon=[0.5, 2], delta=1e-6),
    "questions": open_questions(),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_is_written_and_read_back(table):
    records = table.records()
    read = list(csv.DictReader(io.StringIO(table.to_csv())))
    frame = table.to_pandas()

    assert len(read) == len(records) == len(frame) > 0
    assert list(read[0]) == list(records[0]) == list(frame.columns)
    for line, row in zip(read, records, strict=True):
        assert list(line.values()) == ["" if cell is None else str(cell) for cell in row.values()]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_prints_as_markdown_with_equal_columns(table):
    lines = [line for line in str(table).splitlines() if line.startswith("|")]

    assert len(lines) > 2
    assert len({line.count("|") for line in lines}) == 1
    assert str(table).startswith(table.title)


@pytest.mark.parametrize("name", [name for name in TABLES if name != "questions"])
def test_a_table_is_drawn(name):
    drawn = TABLES[name].plot().to_dict()

    assert drawn["data"]["values"]


def test_a_suppressed_value_is_in_no_export():
    table = TABLES["marginals"]
    row = next(row for row in table.records() if row["method"] == "7 fingerprints")

    assert table["7 fingerprints"].value is not None
    assert row["value"] is None
    assert "0.0141" not in table.to_csv()
    assert "7 fingerprints" not in {value["method"] for value in table.plot().to_dict()["data"]["values"]}


def test_a_wrong_name_is_told_the_right_ones():
    for name in ("marginals", "intervals", "capacity", "samples"):
        with pytest.raises(ParameterError, match="nothing"):
            TABLES[name]["nothing"]


HOSTILE = [None, "x", [], math.nan, math.inf, -1, 1e-320, 1e320, 10**400, 1e-30, 1e30, True]
ASKED = {
    interval_table: {"d": 4, "epsilon": 1, "delta": 1e-6, "n": 100},
    marginals_table: {"d": 4, "t": 2, "n": 100, "epsilon": 1, "delta": 1e-6},
    capacity: {"n": 100, "universe": 8, "alpha": 0.1, "budget": ApproxDP(1, 1e-6), "beta": 0.05},
    samples: {"problem": "thresholds", "d": 4, "alpha": 0.1, "beta": 0.05, "epsilon": 1, "delta": 0},
    noise_table: {"epsilon": 1, "delta": 0, "sensitivity": 1},
    best: {"workload": thresholds(4), "n": 10, "guarantee": PureDP(1), "neighbours": Replace, "beta": 0.05},
    packing: {"over": thresholds(4), "budget": PureDP(1), "n": 10, "neighbours": Replace, "beta": 0.05},
    discrepancy: {"workload": [[1, 0], [1, 1]], "kappa": 1, "hereditary": False, "method": "auto"},
    gamma2: {"workload": [[1, 0], [1, 1]], "tolerance": 1e-3, "neighbours": AddRemove},
    fingerprinting: {"over": 5, "budget": PureDP(1), "n": 10, "neighbours": Replace},
}


@pytest.mark.parametrize("function", ASKED, ids=lambda function: function.__name__)
def test_whatever_is_asked_there_is_an_answer_or_an_error_of_ours(function):
    """One argument after another is replaced by something odd; no private exception, and no warning, escapes."""
    good = ASKED[function]
    refused = 0
    for name, odd in itertools.product(good, HOSTILE):
        try:
            function(**(good | {name: odd}))
        except DiscreetError:
            refused += 1

    assert refused > len(good)


TOPICS = {
    "conjunctions", "three-way marginals", "marginals in subexponential time", "other classes of queries", "intervals",
    "efficient private learning", "private learning and dimension", "beyond classification", "fingerprinting codes",
    "traitor tracing", "tensors", "discrepancy and error", "packing and delta",
}  # fmt: skip


def test_the_register_holds_what_the_notes_and_surveys_leave_open():
    """One topic for each footnote and open problem; a question that is dropped from the register is missed."""
    topics = {row.topic for row in open_questions()}

    assert topics == TOPICS
    assert len(open_questions()) == len(TOPICS)


def test_the_register_has_a_status_and_a_reference_for_every_question():
    register = open_questions()

    assert len(register) >= 11
    assert {row.status for row in register} == {"open", "partly", "settled", "not constructive"}
    assert all(row.references and row.known and row.here for row in register)
    assert {row.topic for row in register.about("marginals")} >= {"three-way marginals"}


@pytest.mark.parametrize(("name", "page"), [("tables.md", tables_page), ("open_questions.md", questions_page)])
def test_the_pages_show_the_tables_as_they_are_computed(name, page):
    """`python scripts/tables.py` writes them."""
    assert page() == (ROOT / "docs" / name).read_text()
