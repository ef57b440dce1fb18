"""Only our own node types reach an engine; everything else is refused with our own error, free."""

import random

import pytest
from sqlglot import expressions as exp
from sqlglot import parse_one

from discreet.curator import Curator
from discreet.data import relation
from discreet.errors import DiscreetError
from discreet.ledger import Ledger
from discreet.privacy import PureDP
from discreet.queries.compile import Part, Rank, aggregation, grid, parts
from discreet.queries.sql import parse
from tests.curator.checks.worlds import DOMAIN, question
from tests.queries.hospital import SCHEMA
from tests.scale import counts

FUZZED = counts(quick=6_000, full=100_000)
TREES = counts(quick=400, full=10_000)

NODES = (
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.IntDiv,
    exp.Mod,
    exp.Neg,
    exp.Paren,
    exp.Column,
    exp.Identifier,
    exp.Literal,
    exp.Case,
    exp.If,
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.And,
    exp.Or,
    exp.Not,
    exp.Is,
    exp.Null,
    exp.Substring,
)
RELATIONS = (relation.Scan, relation.Derive, relation.PerUnit, relation.Bound, relation.Join, relation.Union)
HOSTILE = [
    "SELECT * FROM stats('visits')",
    "SUMMARIZE visits",
    "PRAGMA storage_info('visits')",
    "PRAGMA table_info('visits')",
    "EXPLAIN ANALYZE SELECT COUNT(*) FROM visits",
    "EXPLAIN SELECT COUNT(*) FROM visits",
    "DESCRIBE visits",
    "SHOW TABLES",
    "SELECT COUNT(*) FROM duckdb_tables()",
    "SELECT SUM(estimated_size) FROM duckdb_tables()",
    "SELECT COUNT(*) FROM information_schema.tables",
    "SELECT COUNT(*) FROM 'visits.parquet'",
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
    "SELECT COUNT(*) FROM read_parquet('*.parquet')",
    "SELECT COUNT(*) FROM glob('/etc/*')",
    "SELECT COUNT(*) FROM sniff_csv('/etc/passwd')",
    "SELECT getenv('HOME'), COUNT(*) FROM visits GROUP BY 1",
    "SELECT COUNT(*) FROM visits WHERE getenv('HOME') = 'x'",
    "SET threads = 1",
    "SET memory_limit = '1KB'",
    "RESET threads",
    "ATTACH 'x.db'",
    "DETACH x",
    "COPY visits TO 'x.csv'",
    "COPY (SELECT * FROM visits) TO '/tmp/x'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "CREATE TABLE x AS SELECT * FROM visits",
    "CREATE MACRO f(a) AS a",
    "DROP TABLE visits",
    "DELETE FROM visits",
    "UPDATE visits SET age = 0",
    "INSERT INTO visits VALUES (1)",
    "SELECT COUNT(*) FROM visits; SELECT 1",
    "SELECT (SELECT age FROM visits LIMIT 1), COUNT(*) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE age = (SELECT MAX(age) FROM visits)",
    "SELECT COUNT(*) FROM (SELECT DISTINCT ward FROM visits)",
    "SELECT COUNT(*) FROM (SELECT * FROM visits ORDER BY age LIMIT 1)",
    "SELECT COUNT(*) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)",
    "SELECT COUNT(*) FROM (SELECT SUM(age) AS s FROM visits)",
    "SELECT COUNT(*) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient HAVING COUNT(*) > 1)",
    "SELECT COUNT(*) FROM (SELECT patient, RANK() OVER (ORDER BY age) AS r FROM visits)",
    "SELECT COUNT(*) FROM (SELECT patient FROM visits UNION SELECT patient FROM visits)",
    "SELECT COUNT(*) FROM (SELECT patient FROM visits EXCEPT SELECT patient FROM visits)",
    "SELECT COUNT(*) FROM (SELECT patient FROM visits INTERSECT ALL SELECT patient FROM visits)",
    "SELECT COUNT(*) FROM (VALUES (1)) AS x(patient)",
    "SELECT COUNT(*) FROM (PIVOT visits ON ward USING SUM(age))",
    "SELECT COUNT(*) FROM (DELETE FROM visits RETURNING *)",
    'SELECT COUNT(*) FROM (SELECT age AS "(u)" FROM visits)',
    'SELECT COUNT(*) FROM (SELECT age AS "a.b" FROM visits)',
    "SELECT COUNT(*) FROM (SELECT age, cost AS AGE FROM visits)",
    "WITH RECURSIVE x AS (SELECT 1 UNION ALL SELECT 1 FROM x) SELECT COUNT(*) FROM x",
    "WITH x(patient) AS (SELECT age FROM visits) SELECT COUNT(DISTINCT patient) FROM x",
    "SELECT COUNT(*) FROM visits a, visits b",
    "SELECT COUNT(*) FROM visits a CROSS JOIN visits b",
    "SELECT COUNT(*) FROM visits a NATURAL JOIN visits b",
    "SELECT COUNT(*) FROM visits a FULL JOIN visits b USING (patient)",
    "SELECT COUNT(*) FROM visits a SEMI JOIN visits b USING (patient)",
    "SELECT COUNT(*) FROM visits a ASOF JOIN visits b ON a.patient = b.patient AND a.age >= b.age",
    "SELECT COUNT(*) FROM visits a POSITIONAL JOIN visits b",
    "SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient = b.patient OR a.age = b.age",
    "SELECT COUNT(*) FROM visits a JOIN visits b ON a.age = b.age",
    "SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient <> b.patient",
    "SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient = a.patient",
    "SELECT COUNT(*) FROM visits a JOIN (SELECT age AS patient FROM visits) b ON a.patient = b.patient",
    "SELECT COUNT(*) FROM visits a, LATERAL (SELECT 1)",
    "SELECT COUNT(*) FROM visits, UNNEST([1, 2])",
    "SELECT MEDIAN((SELECT age FROM visits)) FROM visits",
    "SELECT COUNT(*) FROM visits UNION SELECT COUNT(*) FROM visits",
    "SELECT * FROM visits",
    "SELECT patient, COUNT(*) FROM visits GROUP BY patient",
    "SELECT MIN(patient), MAX(ward) FROM visits",
    "SELECT QUANTILE(age, age) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE ward LIKE age",
    "SELECT COUNT(*) FROM visits WHERE ward SIMILAR TO 'a%'",
    "SELECT COUNT(*) FROM visits WHERE ward ILIKE 'a%'",
    "SELECT COUNT(*) FROM visits WHERE error(ward)",
    "SELECT COUNT(*) FROM visits WHERE CAST(ward AS INTEGER) = 1",
    "SELECT SUM(LN(age)) FROM visits",
    "SELECT SUM(SQRT(age)) FROM visits",
    "SELECT SUM(1 / age) FROM visits",
    "SELECT SUM(EXP(cost)) FROM visits",
    "SELECT SUM(age) FROM visits WHERE ward ~ '(a+)+$'",
    "SELECT COUNT(*) FROM visits WHERE random() < 0.5",
    "SELECT SUM(LEN(REPEAT('x', age))) FROM visits",
    "SELECT SUM(LEN(RANGE(age))) FROM visits",
    "SELECT NEXTVAL('s'), COUNT(*) FROM visits GROUP BY 1",
    "SELECT COUNT(*) FROM visits WHERE age > 1e999999999",
    "SELECT COUNT(*) FROM visits ORDER BY 1.5",
    "SELECT COUNT(*) FROM visits GROUP BY 1e3",
    "SELECT COUNT(*) FROM visits LIMIT 10 PERCENT",
    "SELECT COUNT(*) FROM visits WHERE age BETWEEN SYMMETRIC 9 AND 1",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY 2 NULLS FIRST",
    "SELECT COUNT(*) FROM visits AS v(patient, age)",
    "SELECT SUM(age) FILTER (WHERE age > 1) FROM visits",
    "SELECT COUNT(*) OVER () FROM visits",
    "SELECT COUNT(*) FROM visits USING SAMPLE 10%",
    "SELECT COUNT(*) FROM visits WHERE " + "(" * 500 + "age" + ")" * 500 + " > 1",
    "SELECT SUM(" + "-" * 400 + "age) FROM visits",
    "SELECT SUM(" + "(" * 60 + "age" + " % 7)" * 60 + ") FROM visits",
    "SELECT SUM(" + "ABS(" * 60 + "age" + ")" * 60 + ") FROM visits",
    "SELECT COUNT(*) FROM visits WHERE age IN (" + ",".join(["1"] * 9_000) + ")",
    "\x00",
    "",
    ";",
    "'",
    '"',
    "/*",
    "--",
    "SELECT",
]
WORDS = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "BY",
    "HAVING",
    "ORDER",
    "LIMIT",
    "COUNT",
    "(",
    ")",
    "*",
    ",",
    "SUM",
    "AVG",
    "age",
    "ward",
    "cost",
    "visits",
    "patient",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "IS",
    "NULL",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "'surgery'",
    "1",
    "0.5",
    "1e400",
    "-1",
    "=",
    "<",
    ">",
    "+",
    "-",
    "/",
    "%",
    "::",
    "INTEGER",
    "CAST",
    "AS",
    "EXTRACT",
    "year",
    "day",
    "FLOOR",
    "getenv",
    "read_csv",
    "stats",
    "PRAGMA",
    ";",
    "UNION",
    "OVER",
    "DISTINCT",
    "ALL",
    "EXISTS",
    ".",
    "$1",
    "?",
    "@",
    "{",
    "}",
    "[",
    "]",
    "LAMBDA",
    "x",
    "->",
    "COLUMNS",
    "JOIN",
    "LEFT",
    "ON",
    "USING",
    "WITH",
    "MEDIAN",
    "QUANTILE",
    "MIN",
    "WIDTH_BUCKET",
    "LIKE",
    "'s%'",
    "UNION ALL",
    "STRUCT",
    "EXCLUDE",
    "REPLACE",
    "QUALIFY",
    "WINDOW",
]


class Forbidden:
    """An engine that must never be reached."""

    def ready(self, table, aggregation):
        """Whatever is asked."""

    def check(self):
        """Nothing."""

    def run(self, table, aggregation):
        raise AssertionError("reached")


def compiled(query):
    """Every tree that an engine would see, with the names it may read: of the question, and of what it is asked of."""
    table, needed = query.source.table(), dict.fromkeys(part for one in query.aggregates for part in parts(one))
    added = tuple(part for part in needed if isinstance(part, Part))
    steps = [aggregation(query, table, added, rows=2, groups=2)]
    steps += [grid(query, table, part, rows=2) for part in needed if isinstance(part, Rank)]
    trees = []
    for step in steps:
        trees += [step.where, *(key.code for key in step.keys), *(measure.value for measure in step.measures)]
        trees += step.texts
    found = [(tree, frozenset(table.domain)) for tree in trees if tree is not None]
    return found + (below(table.source) if isinstance(table.source, relation.Relation) else [])


def below(node):
    """The trees of a relation, each with the columns of what it reads."""
    found = [tree for source in node.sources for tree in below(source)]
    assert type(node) in RELATIONS
    if type(node) is relation.Derive:
        trees = [tree for _, tree in node.made] + ([] if node.where is None else [node.where])
        found += [(tree, frozenset(node.source.columns)) for tree in trees]
    return found


def unlisted(trees):
    """Nodes of other types, columns that are not there, text literals other than what a text is compared with."""
    found = []
    for node, names in ((node, names) for tree, names in trees for node in tree.walk()):
        listed = type(node) in NODES
        column = type(node) is exp.Column and node.name not in names
        words = type(node) is exp.Literal and node.is_string and type(node.parent) not in (exp.EQ, exp.NEQ)
        found += [repr(node)] if not listed or column or words else []
    return found


def fuzzed(draw):
    """A valid or hostile question with tokens cut, doubled, swapped or put in."""
    tokens = (draw.choice(HOSTILE)[:300] if draw.random() < 0.3 else question(draw)).split(" ")
    for _ in range(draw.randint(0, 4)):
        place, action = draw.randrange(len(tokens) + 1), draw.randrange(4)
        if action == 0:
            tokens[place:place] = [draw.choice(WORDS)]
        elif action == 1:
            del tokens[place : place + 1]
        elif action == 2:
            tokens[place:place] = tokens[place : place + draw.randint(1, 4)]
        else:
            tokens[place : place + 1] = [draw.choice(WORDS)]
    return " ".join(tokens)


WORLD = {
    "visits": type(SCHEMA["visits"])(
        "visits.parquet", domain=DOMAIN, unit="patient", rows_per_unit=2, groups_per_unit=2
    )
}


def read(sql):
    """The question, or None if it is refused."""
    try:
        return parse(sql, WORLD)
    except DiscreetError:
        return None


def test_whatever_is_written_only_listed_nodes_over_declared_columns_are_compiled():
    draw, accepted = random.Random(4), 0
    for _ in range(FUZZED):
        sql = fuzzed(draw)
        query = read(sql)
        if query is None:
            continue
        accepted += 1
        try:
            trees = compiled(query)
        except DiscreetError:  # too many keys, or too wide for 62 bits
            continue

        assert unlisted(trees) == [], sql
        assert parse(str(query), WORLD) == query, sql
    assert accepted >= FUZZED // 20  # mutation leaves enough alive to mean something


def test_generated_questions_are_all_read_and_compiled():
    draw = random.Random(9)
    for _ in range(TREES):
        sql = question(draw)
        query = parse(sql, WORLD)

        assert unlisted(compiled(query)) == []
        assert parse(str(query), WORLD) == query


def test_hostile_questions_are_refused_free_before_any_engine_is_reached():
    with Ledger.open(":memory:", testing=True) as ledger:
        curator = Curator(WORLD, budget=PureDP(1), ledger=ledger, engine=Forbidden())
        before = len(list(ledger.entries()))
        for sql in HOSTILE:
            for call in (curator.ask, curator.explain):
                with pytest.raises(DiscreetError):
                    call(sql, epsilon="0.01")

        assert len(list(ledger.entries())) == before


DENIED = ("drop", "delete", "update", "insert", "attach", "copy", "pragma", "set ", "load", "install", "read_csv", ";")


def test_a_deny_list_lets_unlisted_nodes_through():
    """The twin: refuse known bad words, send the rest."""
    passed = [
        sql
        for sql in HOSTILE
        if sql.startswith("SELECT") and len(sql) < 100 and not any(w in sql.lower() for w in DENIED)
    ]
    caught = [sql for sql in passed if unlisted([(parse_one(sql, dialect="duckdb"), frozenset(DOMAIN))])]

    assert len(caught) >= 20


def test_a_question_made_by_hand_is_not_believed():
    """Declared bounds are the table's, whatever the object says: the client claims nothing."""
    from dataclasses import replace

    from discreet.data import Integer
    from discreet.queries.expression import Ref
    from discreet.queries.query import Aggregate, Output

    honest = parse("SELECT SUM(cost) FROM visits", {name: table.declaration for name, table in WORLD.items()})
    forged = replace(honest, outputs=(Output("sum_cost", Aggregate("sum", Ref("cost", Integer(0, 1)))),))
    with Ledger.open(":memory:", testing=True) as ledger:
        curator = Curator(WORLD, budget=PureDP(1), ledger=ledger, engine=Forbidden())

        assert curator.query(honest) == honest
        with pytest.raises(DiscreetError, match="not about the declared columns"):
            curator.ask(forged, epsilon="0.01")
        assert ledger.budget("patient").balance.spent.epsilon == 0
