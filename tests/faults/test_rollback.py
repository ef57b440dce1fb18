"""Rollback and fork: with an anchor kept elsewhere an old backup and a second server on a copy are refused."""

from __future__ import annotations

import random
import shutil
from itertools import count

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Ledger, ledger
from discreet.privacy.event import PureEvent
from tests.faults.processes import ROOT
from tests.scale import counts

PRICE = PureEvent(epsilon="3/100")
_COPIES = count()


def _spend(target, times: int = 1):
    """Open, spend, close; the anchor that its owner keeps elsewhere."""
    with Ledger.open(target, create=False) as book:
        for _ in range(times):
            book.spend(PRICE, unit="patient", tables=["visits"])
        return book.anchor()


@pytest.fixture
def copied(target, request):
    """What copies the ledger as it is: its file, or its whole database."""
    if not target.startswith("postgresql"):
        yield lambda: str(shutil.copy(target, f"{target}.{next(_COPIES)}"))
        return
    server, made = request.getfixturevalue("postgres_server"), []

    def copy() -> str:
        name, original = f"copy{next(_COPIES)}", target.rpartition("/")[2]
        server.execute(f"CREATE DATABASE {name} TEMPLATE {original}", database="postgres")
        made.append(name)
        return server.url(name)

    yield copy
    for name in made:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)", database="postgres")


def _refusal(target, anchor=None) -> str | None:
    try:
        Ledger.open(target, create=False, anchor=anchor).close()
    except LedgerError as error:
        return str(error)
    return None


def _cases(target) -> int:
    """A hundred on files; a copy of a whole database takes longer."""
    return counts(quick=2, full=20) if target.startswith("postgresql") else counts(quick=10, full=100)


def test_a_restored_backup_is_refused_with_the_anchor(target, copied, record_property):
    chance, backups = random.Random(1), []
    for _ in range(_cases(target)):
        backups.append(copied())
        anchor = _spend(target, chance.randrange(1, 4))
    refusals = [_refusal(backup, anchor) for backup in backups]
    record_property("backups", len(backups))
    record_property("refused", sum(refusal is not None for refusal in refusals))

    assert _refusal(target, anchor) is None
    assert all("rolled back" in str(refusal) for refusal in refusals)
    assert [_refusal(backup) for backup in backups] == [None] * len(backups)  # the twin without one cannot tell


def test_a_backup_that_has_caught_up_is_refused_with_the_anchor(target, copied):
    """Restored, and spent from until it is longer than the ledger was: another history stands under the anchor."""
    backup = copied()
    anchor = _spend(target, 2)
    _spend(backup, 4)

    assert _refusal(backup) is None
    assert "another history" in str(_refusal(backup, anchor))


def test_a_second_server_on_a_copy_is_refused_with_the_anchor(target, copied, record_property):
    """Both go on; each is refused with the anchor of the other, and neither with its own or with one from before."""
    chance, cases, refused = random.Random(1), _cases(target), 0
    for _ in range(cases):
        before = _spend(target)
        copy = copied()
        mine, theirs = _spend(target, chance.randrange(1, 4)), _spend(copy, chance.randrange(1, 4))
        refused += _refusal(target, theirs) is not None and _refusal(copy, mine) is not None

        assert [_refusal(target, mine), _refusal(copy, theirs)] == [None, None]
        assert [_refusal(target, before), _refusal(copy, before)] == [None, None]  # as the docs say
    record_property("copies", cases)
    record_property("refused", refused)

    assert refused == cases


def test_a_clock_that_is_moved_back_hides_nothing(target, copied, monkeypatch, record_property):
    """A backup under the clock of its own day is refused like any other; order and totals do not depend on time."""
    chance, cases, refused = random.Random(1), _cases(target), 0
    for year in chance.sample(range(1970, 2100), cases):
        backup = copied()
        anchor = _spend(target)
        with monkeypatch.context() as patch:
            patch.setattr(ledger, "now", lambda year=year: f"{year}-01-01T00:00:00.000000Z")
            refused += _refusal(backup, anchor) is not None
            later = _spend(target)
        assert later.id == anchor.id + 1
    record_property("jumps", cases)
    record_property("refused", refused)
    with Ledger.open(target) as book:
        assert refused == cases
        assert book.budget("patient").balance.spent.epsilon == 2 * cases * PRICE.epsilon


def test_the_documents_say_what_no_anchor_means():
    limits = (ROOT / "docs/limitations.md").read_text()

    assert "Without an anchor kept elsewhere, an old backup looks like a ledger" in limits
