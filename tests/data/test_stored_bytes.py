"""discreet.data.stored_bytes: what a file declares is looked at first, and nobody reads past this module."""

import io
import re
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.data import stored_bytes
from discreet.data.stored_bytes import LARGEST, NUMBERS, Archive, array, columns, inflated, most, text

PACKAGE = Path(discreet.__file__).parent
MEGABYTE = 1 << 20


def zipped(members, way=zipfile.ZIP_DEFLATED):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", way) as file:
        for name, data in members:
            file.writestr(name, data)
    return made.getvalue()


def stored(values):
    made = io.BytesIO()
    np.save(made, values)
    return made.getvalue()


def peak(work):
    """The most memory that was held, in bytes."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"."):
            work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_an_archive_that_unfolds_to_too_much_is_refused_before_it_is_unfolded(monkeypatch):
    monkeypatch.setattr(stored_bytes, "LARGEST", 8 * MEGABYTE)
    bomb = zipped([("a", bytes(64 * MEGABYTE))])

    assert len(bomb) < MEGABYTE
    assert peak(lambda: Archive(bomb, known=lambda name: True).read("a")) < 4 * MEGABYTE
    # The twin reads what there is.
    assert len(zipfile.ZipFile(io.BytesIO(bomb)).read("a")) == 64 * MEGABYTE


def test_a_member_that_declares_less_than_it_holds_is_cut_and_refused():
    made = bytearray(zipped([("a", bytes(MEGABYTE))]))
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):  # the declared sizes
        place = made.index(signature) + offset
        made[place : place + 4] = (1000).to_bytes(4, "little")

    with pytest.raises(ValueError, match="missing or damaged"):
        Archive(bytes(made), known=lambda name: True).read("a")


def test_a_surplus_member_and_one_that_is_there_twice_are_refused():
    with pytest.raises(ValueError, match="does not belong"):
        Archive(zipped([("a", b""), ("b", b"")]), known="a".__contains__)
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = zipped([("a", b"1"), ("a", b"2")])
    with pytest.raises(ValueError, match="twice"):
        Archive(twice, known="a".__contains__)
    with pytest.raises(ValueError, match="no archive"):
        Archive(b"not one", known="a".__contains__)


@pytest.mark.parametrize("shape", [(10**13,), (0, 10**13), (4,), (2,), (-3,)])
def test_an_array_is_exactly_as_long_as_it_declares(shape):
    data = stored(np.arange(3))
    forged = data.replace(b"(3,), ", f"{shape}, ".encode().ljust(6))
    padded = forged[: len(data)] if len(forged) == len(data) else forged

    with pytest.raises(ValueError, match=r"."):
        array(padded)


def test_arrays_of_numbers_and_text_come_back_and_no_others_do():
    for values in (np.arange(6.0).reshape(2, 3), np.array(["a", "bc"]), np.array([True]), np.zeros(0), np.array(3)):
        found = array(stored(values))

        assert found.dtype == values.dtype
        assert (found == values).all()
        assert found.shape == values.shape
    for values in (np.array([b"raw"]), np.array([1j]), np.zeros(1, dtype="i4,f8")):
        with pytest.raises(ValueError, match="something else"):
            array(stored(values))


def test_what_zlib_made_small_is_unfolded_up_to_the_limit(monkeypatch):
    monkeypatch.setattr(stored_bytes, "LARGEST", MEGABYTE)

    assert inflated(zlib.compress(bytes(MEGABYTE))) == bytes(MEGABYTE)
    bomb = zlib.compress(bytes(64 * MEGABYTE))
    assert peak(lambda: inflated(bomb)) < 4 * MEGABYTE
    with pytest.raises(ValueError, match="cut off"):
        inflated(zlib.compress(b"whole")[:-3])


def test_text_that_is_nested_too_deeply_is_refused_like_any_other():
    with pytest.raises(ValueError, match="deeply"):
        text(b"[" * 10**6)


def test_equal_numbers_in_a_small_file_are_counted_before_they_are_read(monkeypatch):
    made = io.BytesIO()
    pq.write_table(pa.table({"answer": np.zeros(MEGABYTE)}), made)

    assert len(columns(made.getvalue())["answer"]) == MEGABYTE
    monkeypatch.setattr(stored_bytes, "NUMBERS", MEGABYTE - 1)
    with pytest.raises(ValueError, match="more numbers"):
        columns(made.getvalue())
    with pytest.raises(ValueError, match="no Parquet"):
        columns(b"PAR1")


def test_the_limits_are_what_a_machine_can_bear():
    assert most(0) == LARGEST <= 1 << 28
    assert NUMBERS * 8 <= 1 << 30


READERS = re.compile(
    r"np\.load\(|numpy\.load\(|zipfile\.ZipFile\((?![^)\n]*\"w\")|zlib\.decompress|pickle\.loads?\(|torch\.load\(|pa\.BufferReader\("
    r"|joblib\.load|marshal\.loads?\(|gzip\.decompress|bz2\.|lzma\."
)


def test_nobody_reads_stored_bytes_past_this_module():
    """The twin is a line that does."""
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if READERS.search(path.read_text(encoding="utf-8"))
    }

    assert found == {"data/stored_bytes.py", "service/console/download.py"}  # the second writes
    assert READERS.search("with zipfile.ZipFile(io.BytesIO(data)) as file:")
    assert READERS.search("np.load(path, allow_pickle=False)")
