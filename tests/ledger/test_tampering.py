"""discreet.ledger.verify: no edit, deletion, swap, insertion, rollback or fork goes unseen."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Ledger
from discreet.ledger.chain import START, canonical, digest
from discreet.privacy.event import LaplaceEvent
from discreet.privacy.guarantee import ApproxDP, PureDP
from tests.scale import counts

ITEM = LaplaceEvent(scale=10, sensitivity=1)


def _fill(book: Ledger) -> None:
    book.register(unit="patient", cap=ApproxDP(2, 1e-6))
    book.sub_cap("visits", PureDP(1))
    book.allot("ada", PureDP(1), reason="a pilot")
    for i in range(4):
        receipt = _spend(book, key=f"k{i}", analyst="ada", version="7")
        book.store(receipt, f"answer {i}".encode())
    _spend(book)


def _spend(book: Ledger, **wanted):
    return book.spend(ITEM, **{"unit": "patient", "tables": ["visits", "bills"], "query": "SELECT 1"} | wanted)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "original.db"
    with Ledger.open(path) as book:
        _fill(book)
    return path


@pytest.fixture
def copy(original, tmp_path):
    return shutil.copy(original, tmp_path / "ledger.db")


def _rows(path, table) -> list[dict]:
    raw = sqlite3.connect(path)
    raw.row_factory = sqlite3.Row
    rows = [dict(row) for row in raw.execute(f"SELECT rowid AS place, * FROM {table} ORDER BY rowid")]
    raw.close()
    return rows


def _write(path, *statements) -> None:
    """What someone does who has the file and knows SQLite."""
    raw = sqlite3.connect(path)
    for trigger in ("entries_update", "entries_delete"):
        raw.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    for statement, values in statements:
        raw.execute(statement, values)
    raw.commit()
    raw.close()


def _refused(path, **how) -> bool:
    try:
        Ledger.open(path, create=False, **how).close()
    except LedgerError:
        return True
    return False


def _says(path) -> tuple:
    """Everything a ledger can be asked."""
    with Ledger.open(path, create=False) as book:
        answers = [book.recall(f"k{i}", analyst="ada") for i in range(4)]
        return list(book.export()), book.budget("patient"), answers, book.anchor(), book.testing


def test_an_untouched_copy_is_accepted(original, copy):
    assert _says(copy) == _says(original)


def _other(value):
    """Another value of the same type."""
    match value:
        case None:
            return "x"
        case bool():
            return not value
        case int():
            return value + 1000
        case bytes():
            return value[:-1] + bytes([value[-1] ^ 1])
        case str():
            return value[:-1] + chr(ord(value[-1]) ^ 1) if value else "x"
        case list():
            return value[1:] or ["x"]
        case dict():
            return value | {next(iter(value)): _other(next(iter(value.values())))}
        case _:
            raise AssertionError(type(value))


def test_every_edit_of_every_column_of_every_row_is_seen(original, tmp_path, record_property):
    edits = [
        (table, row["place"], column, _other(value))
        for table in ("entries", "balances", "answers", "head")
        for row in _rows(original, table)
        for column, value in row.items()
        if column != "place"
    ]
    missed = []
    for table, place, column, value in edits:
        path = shutil.copy(original, tmp_path / "ledger.db")
        _write(path, (f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, place)))
        if not _refused(path):
            missed.append((table, place, column))
    record_property("edits", len(edits))

    assert len(edits) >= 100
    assert missed == []


def test_every_edit_of_every_field_of_every_entry_is_seen(original, tmp_path, record_property):
    """Also the fields inside a body, one at a time, and also with that entry's own hash made to fit."""
    anchor_less = [
        (row, name, _other(value))
        for row in _rows(original, "entries")
        for name, value in json.loads(row["body"]).items()
    ]
    missed = []
    for row, name, value in anchor_less:
        body = canonical(json.loads(row["body"]) | {name: value})
        for hash_ in (row["hash"], digest(body.encode())):
            path = shutil.copy(original, tmp_path / "ledger.db")
            _write(path, ("UPDATE entries SET body = ?, hash = ? WHERE id = ?", (body, hash_, row["id"])))
            if not _refused(path):
                missed.append((row["id"], name))
    record_property("edits", 2 * len(anchor_less))

    assert len(anchor_less) >= 100
    assert missed == []


@pytest.mark.parametrize("table", ["entries", "balances", "answers", "head"])
def test_every_deletion_is_seen(original, tmp_path, table):
    for row in _rows(original, table):
        path = shutil.copy(original, tmp_path / "ledger.db")
        _write(path, (f"DELETE FROM {table} WHERE rowid = ?", (row["place"],)))

        assert _refused(path)


def test_every_swap_of_two_entries_is_seen(original, tmp_path):
    numbers = [row["id"] for row in _rows(original, "entries")]
    for a in numbers:
        for b in numbers[:a]:
            path = shutil.copy(original, tmp_path / "ledger.db")
            renumber = "UPDATE entries SET id = ? WHERE id = ?"
            _write(path, (renumber, (-1, a)), (renumber, (a, b)), (renumber, (b, -1)))

            assert _refused(path)


def test_an_insertion_is_seen(copy):
    last = _rows(copy, "entries")[-1]
    _write(copy, ("INSERT INTO entries VALUES (?, ?, ?, NULL, NULL)", (last["id"] + 1, last["body"], last["hash"])))

    assert _refused(copy)


@pytest.mark.parametrize("table", ["balances", "answers"])
def test_an_account_or_an_answer_out_of_nowhere_is_seen(copy, table):
    values = {"balances": ("patient", "analyst", "eve", None, None, "0", "0", "0", None), "answers": (99, 99, b"x")}[
        table
    ]
    _write(copy, (f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values))

    assert _refused(copy)


def _forge(path, change) -> None:
    """Rewrite the whole history, every hash and the head: what a careful forger does."""
    before, statements = START, []
    for row in _rows(path, "entries"):
        body = canonical(change(json.loads(row["body"])) | {"previous": before})
        before = digest(body.encode())
        statements.append(("UPDATE entries SET body = ?, hash = ? WHERE id = ?", (body, before, row["id"])))
    _write(path, *statements, ("UPDATE head SET hash = ?", (before,)))


def test_a_careful_forger_is_seen_with_the_anchor(original, copy):
    anchor = Ledger.open(original).anchor()
    _forge(copy, lambda record: record | {"time": "2020-01-01T00:00:00.000000Z"})

    assert not _refused(copy)  # without an anchor nobody can tell
    assert _refused(copy, anchor=anchor)


def test_a_forged_amount_is_seen_even_without_an_anchor(copy):
    """The balances are the sums of the prices."""
    _forge(
        copy, lambda record: record | ({"price": record["price"] | {"epsilon": "1/20"}} if "price" in record else {})
    )

    assert _refused(copy)


def test_a_forged_overdraft_is_seen(copy):
    """Prices and balances agree, and no filter would have accepted them."""
    huge = {"epsilon": "5", "rho": "25/2", "delta": "0"}
    _forge(copy, lambda record: record | ({"price": huge} if record.get("id") == 4 else {}))

    with pytest.raises(LedgerError, match="entry 4 was never allowed: budget exhausted"):
        Ledger.open(copy)


def test_a_zcdp_lane_that_does_not_imply_the_cap_is_seen(copy):
    _forge(copy, lambda record: record | ({"rho_cap": "1/2"} if record.get("scope") == "unit" else {}))

    with pytest.raises(LedgerError, match="does not imply the cap"):
        Ledger.open(copy)


def test_an_altered_answer_is_not_recalled(copy):
    _write(copy, ("UPDATE answers SET bytes = ? WHERE spend = 4", (b"answer 9",)))
    with (
        Ledger.open(copy, verify=False) as book,
        pytest.raises(LedgerError, match="stored answer of entry 4 was altered"),
    ):
        book.recall("k0", analyst="ada")


def test_a_torn_head_stops_the_next_spend_without_a_verification(copy):
    _write(copy, ("DELETE FROM entries WHERE id = (SELECT max(id) FROM entries)", ()))
    with Ledger.open(copy, verify=False) as book, pytest.raises(LedgerError, match="not its last entry"):
        _spend(book)


def test_a_flipped_bit_is_seen_or_changes_nothing(original, tmp_path, record_property):
    """Bits of unused space mean nothing; every other one is covered by a hash or by the database's own check."""
    flips, chance = counts(quick=150, full=10_000), random.Random(1)
    content, truth, seen = bytearray(original.read_bytes()), _says(original), 0
    for _ in range(flips):
        bit = chance.randrange(8 * len(content))
        flipped = content.copy()
        flipped[bit // 8] ^= 1 << bit % 8
        path = tmp_path / "ledger.db"
        path.write_bytes(flipped)
        try:
            assert _says(path) == truth
        except LedgerError:
            seen += 1
        for file in tmp_path.iterdir():
            file.unlink()
    record_property("flips", flips)
    record_property("seen", seen)

    assert seen > flips // 20  # the check does see flips


def test_a_torn_file_is_refused(original, tmp_path):
    content = original.read_bytes()
    for part in range(1, 8):
        path = tmp_path / "ledger.db"
        path.write_bytes(content[: len(content) * part // 8])

        assert _refused(path)
