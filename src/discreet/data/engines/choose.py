"""Which engine reads a source that names none."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from discreet.data.engines.postgres_tables import SCHEMES

if TYPE_CHECKING:
    from discreet.data.engines.base import Engine


def engine_for(source: object) -> Engine:
    """PostgreSQL for a `postgresql://` URL, DuckDB for everything else; one of each in a process.

    >>> engine_for("postgresql:///hospital#visits")
    Postgres(statement_timeout=3600, work_mem='64MB')
    >>> engine_for("visits.parquet")
    DuckDB(memory='2GB', threads=None, plain=False)
    """
    return _engine(postgres=isinstance(source, str) and source.startswith(SCHEMES))


@functools.cache
def _engine(*, postgres: bool) -> Engine:
    if postgres:
        from discreet.data.engines.postgres import Postgres

        return Postgres()
    from discreet.data.engines.duckdb import DuckDB

    return DuckDB()
