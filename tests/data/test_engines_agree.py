"""One plan, three dialects, the same integers: generated questions on DuckDB (both paths), PostgreSQL and Spark."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.curator.plan import plan
from discreet.data.aggregation import SealedGroups
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.postgres import Postgres
from discreet.data.engines.spark import Spark
from discreet.errors import UnsupportedError
from discreet.privacy.guarantee import ApproxDP
from discreet.queries.compile import aggregation, grid
from discreet.queries.sql import parse
from tests import spark as local
from tests.data.postgres_tables import stored
from tests.data.test_spark import framed
from tests.questions import Writer, rows, schema
from tests.scale import counts

QUESTIONS = counts(quick=16, full=2_000)
FRAMES = counts(quick=1, full=20)
BUDGET = ApproxDP(1, 1e-6)


def passes(sql, tables):
    """The table a question is about, and the passes over it; None where the question is refused."""
    try:
        query = parse(sql, tables)
        made = plan(query, query.source.table(), budget=BUDGET)
        found = [aggregation(query, made.table, made.added, rows=made.rows, groups=made.groups)] if made.added else []
        return made.table, found + [grid(query, made.table, rank, rows=made.rows) for rank in made.ranked]
    except UnsupportedError:
        return None


def integers(engine, sql, tables):
    """The true integers of every pass, out of their seals."""
    table, found = passes(sql, tables)
    results = []
    for one in found:
        sealed = engine.run(table, one)
        if isinstance(sealed, SealedGroups):
            results.append(
                sealed.through(lambda keys, cells: {k: c.tolist() for k, c in zip(keys, cells, strict=True)})
            )
        else:
            results.append(sealed.through(lambda cells: cells.tolist()))
    return results


def engines(rng, postgres_url):
    """The same rows in every engine."""
    frames = rows(rng, int(rng.integers(50, 400)))
    session = local.session()
    stamp = f"t{int(rng.integers(1 << 60))}"
    views = {}
    for name, frame in frames.items():
        views[name] = f"spark://{stamp}_{name}"
        framed(session, frame).createOrReplaceTempView(f"{stamp}_{name}")
    places = {name: stored(postgres_url, frame) for name, frame in frames.items()}
    spark = Spark(session)
    return {
        "plain": (DuckDB(threads=1, plain=True), schema(frames)),
        "compiled": (DuckDB(threads=2), schema(frames)),
        "postgres": (Postgres(), schema(places)),
        "spark": (spark, schema(views, engine=spark)),
    }


@pytest.mark.acceptance
def test_engines_agree_before_noise(postgres_url, record_property):
    rng = np.random.default_rng(24)
    asked = refused = 0
    for _ in range(FRAMES):
        found, write = engines(rng, postgres_url), Writer(rng)
        for _ in range(QUESTIONS // FRAMES):
            sql = write.question()
            if passes(sql, found["plain"][1]) is None:
                refused += 1
                continue
            asked += 1
            expected = integers(*_on(found, "plain", sql))
            for name in ("compiled", "postgres", "spark"):
                assert integers(*_on(found, name, sql)) == expected, (name, sql)
    record_property("asked", asked)
    record_property("refused", refused)
    assert asked > 0.7 * QUESTIONS


def _on(found, name, sql):
    engine, tables = found[name]
    return engine, sql, tables
