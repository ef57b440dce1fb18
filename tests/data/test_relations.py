"""discreet.data.relation and its SQL: the rows of every node, against an evaluator that knows no engine."""

import math
import random

import numpy as np

from discreet.curator.curator import _compiled
from discreet.curator.plan import plan
from discreet.data.engines.duckdb import DuckDB
from discreet.data.relation import Relation
from discreet.errors import DiscreetError
from discreet.queries.sql import parse
from tests.data import row_by_row
from tests.queries.clinic import people, question, schema
from tests.scale import counts

QUESTIONS = counts(quick=80, full=3_000)
MANY = 10**6  # more rows than there are


def reads(step, pass_):
    """Which columns of each table a pass reads, from left to right."""
    source = step.table.source
    if not isinstance(source, Relation):
        return [pass_.columns]
    return [scan.names for scan in source.pruned(pass_.columns).scans()]


def expected(step):
    """The cells of every pass, by the evaluator."""
    shape, made = [grouping.size for grouping in step.groupings], []
    for place, pass_ in enumerate(_compiled(step)):
        read = reads(step, pass_)
        if place == 0 and step.added:
            found = [row_by_row.cells(step.query, step.groupings, part, read) for part in step.added]
            cells = np.zeros((*shape, len(found)), dtype=object)
            for i, part in enumerate(found):
                for where, total in part.items():
                    cells[(*where, i)] = total
            made.append(cells.reshape(math.prod(shape), -1))
        else:
            rank = step.ranked[place - bool(step.added)]
            cells = np.zeros((*shape, rank.grid(math.prod(shape))[0]), dtype=object)
            for where, total in row_by_row.grid(step.query, step.groupings, rank, read).items():
                cells[where] = total
            made.append(cells.reshape(-1, 1))
    return made


def found(step, engine):
    """The cells of every pass, by an engine."""
    return [engine.run(step.table, pass_).through(lambda cells: cells) for pass_ in _compiled(step)]


def asked(sql, tables):
    """The plan of a question without bounds that would take something away, or None where it is refused."""
    try:
        query = parse(sql, tables)
        table = query.source.table()
        return plan(query, table, epsilon=1, rows_per_unit=MANY, groups_per_unit=MANY)
    except DiscreetError:
        return None


def test_joins_sub_queries_unions_and_values_per_unit_are_what_sql_says_on_both_paths():
    """With room for every row, so that nothing is taken away: counts, sums and grids are equal to the last integer."""
    answered = 0
    for seed in range(QUESTIONS):
        draw = random.Random(seed)
        tables = schema(
            *people(draw, patients=draw.choice([0, 1, 3, 6]), most=draw.choice([1, 3, 5])), rows=50, groups=9
        )
        sql = question(seed, depth=1 + seed % 3)
        step = asked(sql, tables)
        if step is None:
            continue
        answered += 1
        truth = expected(step)
        for engine in (DuckDB(threads=1), DuckDB(threads=1, plain=True)):
            for one, other in zip(found(step, engine), truth, strict=True):
                assert np.array_equal(one.astype(object), other), (seed, sql)
    assert answered >= QUESTIONS * 3 // 5
