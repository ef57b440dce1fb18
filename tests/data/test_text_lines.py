"""discreet.data.engines.text_lines: one line, one row, by its own bytes alone."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.engines import text_blocks
from discreet.data.engines.bad_lines import LONGEST, MARK, WHY
from discreet.data.engines.text_blocks import blocks
from discreet.data.engines.text_lines import fields
from discreet.data.text_file import TextFile
from tests.scale import counts

COLUMNS = ("a", "b")
PLAIN = TextFile("x.csv", header=False, columns=COLUMNS)
pieces = st.sampled_from(
    [b"a", b"7", b",", b",", b'"', b'""', b"\r", b"\0", b" ", b";", b"\xc3\xa9", b"\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", MARK]  # noqa: E501
)  # fmt: skip
lines = st.lists(st.lists(pieces, max_size=7).map(b"".join), max_size=12)


def parsed(data, file=PLAIN):
    """The rows of a file of these bytes, and the numbers of its bad lines with what is wrong."""
    rows, bad = [], []
    for columns, count, wrong in blocks(file, io.BytesIO(data), len(file.columns or COLUMNS)):
        rows += zip(*(column.to_pylist() for column in columns), strict=True) if count else []
        bad += wrong
    return rows, bad


def alone(line, file=PLAIN):
    """What a line is by itself: no row or one."""
    return parsed(line + b"\n", file)[0]


@settings(max_examples=counts(quick=300, full=20_000), deadline=None)
@given(lines)
def test_the_rows_of_a_file_are_those_of_its_lines_one_after_another(given_lines):
    rows, bad = parsed(b"\n".join(given_lines))
    there = [line for line in given_lines if line.removeprefix(MARK).removesuffix(b"\r")]

    assert rows == [row for line in given_lines for row in alone(line)]
    assert len(rows) + len(bad) == len(there)


@settings(max_examples=counts(quick=150, full=20_000), deadline=None)
@given(lines, st.randoms(use_true_random=False))
def test_reordered_and_removed_lines_reorder_and_remove_their_rows_alone(given_lines, random):
    kept = random.sample(given_lines, random.randint(0, len(given_lines)))

    assert parsed(b"\n".join(kept))[0] == [row for line in kept for row in alone(line)]


@settings(max_examples=counts(quick=400, full=50_000), deadline=None)
@given(st.lists(pieces, max_size=9).map(b"".join))
def test_a_line_is_what_the_definition_says(line):
    """The compiled loop against the same rules line by line in Python."""
    said = fields(line, ",", '"')
    row = [tuple(said)] if isinstance(said, list) and len(said) == 2 else []

    assert alone(line) == row


def test_a_twin_whose_quotes_span_lines_is_caught():
    """The definition of old, which the properties above refuse."""
    rows = [b'1,"abc', b"2,x", b'3,abc"', b"4,y"]
    twin = TextFile("x.csv", header=False, columns=COLUMNS, multiline=True)

    assert parsed(b"\n".join(rows))[0] == [("2", "x"), ("3", 'abc"'), ("4", "y")]
    assert parsed(b"\n".join(rows), twin)[0] == [("1", "abc\n2,x\n3,abc"), ("4", "y")]


@settings(max_examples=counts(quick=150, full=20_000), deadline=None)
@given(
    st.lists(
        st.lists(
            st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0\r\n"), max_size=5),
            min_size=2,
            max_size=2,
        ),
        max_size=6,
    )
)
def test_what_a_csv_writer_writes_is_read_back(rows):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)

    assert parsed(out.getvalue().encode())[0] == [tuple(value or None for value in row) for row in rows]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'1,"abc', "open"), (b'"1"x,2', "closing"), (b"1", "few"), (b"1,2,3", "many"), (b"1,\r2", "carriage"),
        (b"1,\0", "zero"), (b"1,\xff", "encoding"), (b"1," + b"x" * LONGEST, "longer"), (b'1,"a""', "open"),
    ],
)  # fmt: skip
def test_a_bad_line_is_told_with_its_number_and_the_others_stay(line, why):
    rows, ((number, said),) = parsed(b"0,0\n\n" + line + b"\n9,9\r\n")

    assert rows == [("0", "0"), ("9", "9")]
    assert number == 3
    assert why in said


def test_a_line_that_is_too_long_is_one_bad_line_wherever_blocks_end():
    for size in (LONGEST - 2, LONGEST - 1, LONGEST, 5 * LONGEST):
        data = b"0,0\n" + b"1," + b"x" * size + b"\n9,9\n"
        rows, bad = parsed(data)

        assert len(rows) == 3 - (size + 2 > LONGEST)
        assert [line for line, _ in bad] == [2] * (size + 2 > LONGEST)
        assert rows[-1] == ("9", "9")


def test_values_are_told_apart_by_the_declared_separator_quote_and_encoding():
    file = TextFile("x.txt", separator=";", quote="'", encoding="windows-1252", header=False, columns=COLUMNS)

    assert parsed(b"1;'a;''b'\n\x80;,\n\x81;2\n", file)[0] == [("1", "a;'b"), ("\u20ac", ",")]


def test_every_byte_of_an_encoding_is_read_as_python_reads_it():
    file = TextFile("x.txt", encoding="cp437", header=False, columns=COLUMNS)
    letters = bytes(byte for byte in range(1, 256) if byte not in b'\n\r,"')

    assert parsed(letters + b",\n", file)[0] == [(letters.decode("cp437"), None)]


def test_no_line_is_read_otherwise_once_it_is_the_first():
    """A mark that is taken off the first line alone made one person's row depend on the lines before it."""
    for file in (
        PLAIN,
        TextFile("x.csv", header=False, columns=COLUMNS, multiline=True),
        TextFile("x.jsonl", columns=COLUMNS),
    ):
        mine = MARK + (b'{"a": "bob", "b": 1}' if file.json else b'"bob",1')
        other = b'{"a": "ann", "b": 2}' if file.json else b"ann,2"

        assert parsed(mine, file)[0] == [("bob", "1")]
        assert parsed(other + b"\n" + mine, file)[0] == [("ann", "2"), ("bob", "1")]


@pytest.mark.parametrize("encoding", ["U8", "utf", "UTF_8", "utf 8", "cp65001"])
def test_no_name_of_utf_8_lets_the_end_of_a_block_cut_a_letter(encoding, monkeypatch):
    monkeypatch.setattr(text_blocks, "BLOCK", 5)
    file = TextFile("x.csv", encoding=encoding, header=False, columns=COLUMNS)

    for before in range(6):
        assert parsed(b"x" * before + ("\u00e9" * 9).encode() + b",1\n", file) == (
            [("x" * before + "\u00e9" * 9, "1")],
            [],
        )


def test_short_lines_of_json_with_many_columns_are_read_some_at_a_time(monkeypatch):
    monkeypatch.setattr(text_blocks, "AT_ONCE", 3)
    file = TextFile("x.jsonl", columns=COLUMNS)
    for end in (b"", b"\n"):
        for many in range(9):
            data = b"\n".join([b'{"a": 1}'] * many + [b"{", b'{"b": 2}']) + end
            sizes = [count + len(wrong) for _, count, wrong in blocks(file, io.BytesIO(data), 2)]

            assert max(sizes) <= 3
            assert parsed(data, file) == ([("1", None)] * many + [(None, "2")], [(many + 1, WHY[8])])


def test_nothing_is_quoted_where_no_quote_is_declared():
    assert parsed(b'"a,b"\n', TextFile("x.csv", quote=None, header=False, columns=COLUMNS))[0] == [('"a', 'b"')]


def test_every_reason_is_said():
    assert all(WHY[1:])
