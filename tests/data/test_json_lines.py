"""discreet.data.engines.json_lines: one object, one row, by its own bytes alone."""

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.engines.json_lines import values
from discreet.data.engines.text_blocks import blocks
from discreet.data.text_file import TextFile
from tests.scale import counts

FILE = TextFile("x.jsonl", columns=("a", "b"))
numbers = st.integers(-(10**30), 10**30) | st.booleans() | st.none()
whole = st.fixed_dictionaries({}, optional={"a": numbers, "b": st.text()})
pieces = st.sampled_from(["{", "}", '"a"', ":", ",", "1", '"b"', "null", "[", "]", "\\", "\x00", " "])
lines = st.lists(whole.map(json.dumps) | st.lists(pieces, max_size=6).map("".join), max_size=8)


def parsed(data):
    rows = []
    for columns, count, _ in blocks(FILE, io.BytesIO(data), 2):
        rows += zip(*(column.to_pylist() for column in columns), strict=True) if count else []
    return rows


@settings(max_examples=counts(quick=150, full=20_000), deadline=None)
@given(lines, st.randoms(use_true_random=False))
def test_reordered_and_removed_lines_reorder_and_remove_their_rows_alone(given_lines, random):
    kept = [line.encode() for line in random.sample(given_lines, random.randint(0, len(given_lines)))]

    assert parsed(b"\n".join(kept)) == [row for line in kept for row in parsed(line + b"\n")]


def test_numbers_keep_the_digits_that_were_written():
    assert values(b'{"a": 0.10, "b": 12345678901234567890123}', "ab") == ["0.10", "12345678901234567890123"]
    assert values(b'{"a": true, "b": null, "c": 1}\r', "ab") == ["true", None]
    assert values(b'{"a": "", "b": {"a": 7}}', "ab") == [None, None]


@pytest.mark.parametrize(
    "line",
    [b"", b"1", b"[1]", b'{"a": 1', b'{"a": 1} {}', b'{"a": 1, "a": 2}', b'{"a": NaN}', b'{"a": "\xff"}',
     b'{"a": "\\ud800"}', b'{"a": "\\u0000"}', b'{"a": 1}\x00', b"[" * 100_000],
)  # fmt: skip
def test_a_bad_line_is_no_row(line):
    assert isinstance(values(line, "ab"), int)
