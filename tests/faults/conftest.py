"""Every fault is tried on both stores: a ledger in a file, and one in a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.ledger import Ledger, postgres, sqlite
from discreet.privacy.guarantee import PureDP
from tests.faults.processes import PATIENCE_S


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    for store, limit in ((sqlite, "PATIENCE"), (postgres, "PATIENCE"), (postgres, "IDLE")):
        monkeypatch.setattr(store, limit, PATIENCE_S)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger in a file, with a cap that is never reached."""
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger.register(unit="patient", cap=PureDP(10**6))
    return tmp_path / "ledger.db"


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a ledger can be created."""
    if request.param == "sqlite":
        yield str(tmp_path / "ledger.db")
    else:
        yield request.getfixturevalue("fresh_postgres_url")


@pytest.fixture
def target(empty: str) -> str:
    """A ledger in either store, with a cap that is never reached."""
    with Ledger.open(empty) as ledger:
        ledger.register(unit="patient", cap=PureDP(10**6))
    return empty
