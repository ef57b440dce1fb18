"""Engines that run aggregations: DuckDB embedded, Apache Spark and PostgreSQL elsewhere; one plan, three dialects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.data.engines.duckdb import DuckDB as DuckDB
    from discreet.data.engines.postgres import Postgres as Postgres
    from discreet.data.engines.spark import Spark as Spark

_ENGINES = {"DuckDB": "duckdb", "Postgres": "postgres", "Spark": "spark"}


def __getattr__(name: str) -> object:
    """An engine is imported when it is first asked for."""
    if name not in _ENGINES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_ENGINES[name]}"), name)
