"""discreet.ledger.chain: one anchor fixes everything written before it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest

from discreet.errors import LedgerError
from discreet.ledger.chain import START, Anchor, Entry, canonical, follow, link


def _chain(length: int = 6, **fields) -> list[Entry]:
    found: list[Entry] = []
    for i in range(length):
        previous = found[-1].anchor if found else None
        found.append(link(previous, kind="spend", time=f"2026-01-0{i + 1}", amount=f"{i}/7", **fields))
    return found


def test_the_hash_is_sha256_of_the_canonical_body():
    first, second = _chain(2)

    assert first.record["previous"] == START
    assert second.record["previous"] == first.hash == hashlib.sha256(first.body.encode()).hexdigest()
    assert canonical(json.loads(second.body)) == second.body


def test_a_whole_chain_is_followed():
    chain = _chain()

    assert [entry for entry, _ in follow(chain)] == chain
    assert [record["amount"] for _, record in follow(chain, anchor=chain[3].anchor)][3] == "3/7"


@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("field", ["id", "time", "kind", "previous", "amount"])
def test_an_edit_of_any_field_of_any_entry_is_seen(at, field):
    chain = _chain()
    record = chain[at].record
    record[field] = record[field] + 1 if isinstance(record[field], int) else record[field][::-1] + "0"
    chain[at] = replace(chain[at], body=canonical(record))

    with pytest.raises(LedgerError, match=f"entry {at} was altered"):
        list(follow(chain))


@pytest.mark.parametrize("at", range(5))
def test_an_edit_with_a_new_hash_breaks_the_next_link(at):
    chain = _chain()
    body = canonical(chain[at].record | {"amount": "0"})
    chain[at] = Entry(at, body, hashlib.sha256(body.encode()).hexdigest())

    with pytest.raises(LedgerError, match=f"entry {at + 1} does not follow"):
        list(follow(chain))


def test_a_rewritten_history_passes_alone_and_fails_against_the_anchor():
    """Whoever can write the file can write all of it: that is what the anchor is for."""
    anchor = _chain()[-1].anchor
    forged = _chain(patient="x")

    assert len(list(follow(forged))) == 6
    with pytest.raises(LedgerError, match="not the one the anchor names"):
        list(follow(forged, anchor=anchor))


@pytest.mark.parametrize("at", range(5))
def test_a_deletion_is_seen(at):
    chain = _chain()
    del chain[at]

    with pytest.raises(LedgerError, match=f"entry {at} is missing"):
        list(follow(chain))


def test_a_deletion_with_new_numbers_is_seen():
    chain = _chain()
    del chain[2]
    chain[2:] = [replace(entry, id=entry.id - 1) for entry in chain[2:]]

    with pytest.raises(LedgerError, match="entry 2 does not follow"):
        list(follow(chain))


def test_a_swap_and_an_insertion_are_seen():
    chain = _chain()
    swapped = [*chain[:2], replace(chain[3], id=2), replace(chain[2], id=3), *chain[4:]]
    inserted = [
        *chain[:2],
        link(chain[1].anchor, kind="spend", time="t"),
        *(replace(e, id=e.id + 1) for e in chain[2:]),
    ]

    for altered in (swapped, inserted):
        with pytest.raises(LedgerError):
            list(follow(altered))


@pytest.mark.parametrize("kept", range(6))
def test_a_truncation_is_seen_with_the_anchor_only(kept):
    chain = _chain()

    assert len(list(follow(chain[:kept]))) == kept
    with pytest.raises(LedgerError, match=f"rolled back: the anchor is entry 5, the last is {kept - 1}"):
        list(follow(chain[:kept], anchor=chain[-1].anchor))


def test_the_twin_whose_hash_does_not_cover_amounts_misses_the_edit():
    """The same edit, the same check; only the hash is narrower."""

    def narrow(record):
        return hashlib.sha256(canonical({"id": record["id"], "previous": record["previous"]}).encode()).hexdigest()

    record = _chain()[3].record

    assert narrow(record) == narrow(record | {"amount": "0"})


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "nonsense", '{"id": -1, "hash": "ab"}', '{"id": 1, "hash": "ab"}', "[" * 9999]
)
def test_what_is_no_anchor_is_refused(text):
    with pytest.raises(LedgerError, match="need an anchor"):
        Anchor.read(text)


def test_an_anchor_is_read_back():
    anchor = _chain()[-1].anchor

    assert Anchor.read(str(anchor)) == anchor
    assert set(json.loads(str(anchor))) == {"id", "hash"}
    assert len(str(anchor)) < 100


def test_an_entry_that_is_not_json_is_ill_formed():
    with pytest.raises(LedgerError, match="ill-formed"):
        Entry(1, "[]", "").record  # noqa: B018 - the lookup is the test
