"""The two databases a ledger may be in: contract tests run on both."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.services import Postgres

_NUMBERS = count(1)


@pytest.fixture
def schema_url(postgres_server: Postgres) -> Iterator[str]:
    """The URL of an empty schema that only this test has."""
    name = f"ledger{next(_NUMBERS)}"
    postgres_server.execute(f"CREATE SCHEMA {name}")
    yield f"{postgres_server.url()}?options=-csearch_path%3D{name}"
    postgres_server.execute(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest) -> str:
    """Where a ledger may be made: a file or a schema, empty and of this test alone."""
    if request.param == "sqlite":
        return str(request.getfixturevalue("tmp_path") / "ledger.db")
    return request.getfixturevalue("schema_url")
