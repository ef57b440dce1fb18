"""Apache Spark, for tables too large for one machine: the rows stay where they are, and only integers come back.

Each run is one SQL statement, made from public facts, in the session that is handed over: a classic session or one of
Spark Connect.  Nothing but the statement is sent and nothing but one row of integers for each group is collected.
The SQL means the same under every setting of the session (`spark_codes.py`), and a self-test
under the present settings comes before the first run.  After the first private row may have been read, every failure
becomes one constant message; its kind goes to the operator's log under a reference.

    Table("spark://visits", engine=Spark(session), ...)   a table or view of the session: [catalog.][schema.]name
    Table(frame, engine=Spark(session), ...)              a DataFrame of that session
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.data.aggregation import Aggregation, Sealed, SealedGroups
from discreet.data.engines import spark_semantics
from discreet.data.engines.reference import Candidates, candidates
from discreet.data.engines.relations import needs, rows
from discreet.data.engines.results import constant_faults, no_column, sealed
from discreet.data.engines.spark_bounding import distributed, measured
from discreet.data.engines.spark_codes import quoted
from discreet.data.engines.spark_sql import SPARK
from discreet.data.relation import Relation
from discreet.errors import DomainError, SourceError, UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from discreet.data.table import Table

SCHEME = "spark://"


@dataclass(frozen=True, slots=True)
class Spark:
    """Runs aggregations in a Spark session, classic or Connect.

    The session is used, not owned: no setting of it is changed, and it is never stopped.
    """

    session: SparkSession
    checked: set[object] = field(default_factory=set, init=False, repr=False, compare=False)

    def check(self) -> None:
        """Test that this session computes what the generated SQL assumes (`spark_semantics.py`)."""
        with _unquoted():
            spark_semantics.verify(self.session)

    def ready(self, table: Table, aggregation: Aggregation) -> None:
        """Refuse a source or column that is not there; only schemas are read."""
        with self._attached(table, aggregation) as found:
            self._analysed(distributed(aggregation, found))

    def run(self, table: Table, aggregation: Aggregation) -> Sealed | SealedGroups:
        """Every cell and measure: (cells, measures), cells in C order over the keys, absent cells zero."""
        settings = spark_semantics.settings(self.session)
        if settings not in self.checked:
            self.check()
            self.checked.add(settings)
        with self._attached(table, aggregation) as found:
            return constant_faults(lambda: self._compute(aggregation, found))

    def sql(self, table: Table, aggregation: Aggregation) -> str:
        """The statement that is sent."""
        with self._attached(table, aggregation) as found:
            return distributed(aggregation, found)

    def _compute(self, aggregation: Aggregation, found: Candidates) -> Sealed | SealedGroups:
        with _unquoted():
            collected = self.session.sql(distributed(aggregation, found)).collect()
        return sealed(aggregation, measured(aggregation, found, collected))

    def _analysed(self, sql: str) -> None:
        """Let Spark resolve names and types; no row is read."""
        try:
            with _unquoted():
                _ = self.session.sql(sql).schema
        except Exception as error:  # of another class for each kind of session; its text quotes the statement
            reason = type(error).__name__
        else:
            return
        raise UnsupportedError(f"this Spark session cannot analyse the generated statement: {reason}")

    @contextlib.contextmanager
    def _attached(self, table: Table, aggregation: Aggregation) -> Iterator[Candidates]:
        """The SQL of the candidate rows; DataFrames have a name as long as this lasts.  Only schemas are read."""
        with contextlib.ExitStack() as named:
            relation = table.source
            if isinstance(relation, Relation):
                relation = relation.pruned(aggregation.columns)
                found = {one: self._place(one.source, names, named) for one, names in needs(relation).items()}
                source, physical = rows(relation, found.__getitem__, SPARK), {}
            else:
                needed = {*aggregation.columns, *([aggregation.unit] if aggregation.unit else [])}
                source, physical = self._place(relation, needed, named)
            made = candidates(aggregation, domain=table.domain, source=source, physical=physical, dialect=SPARK)
            _unfilled(made.sql)
            yield made

    def _place(self, source: object, needed: set[str], named: contextlib.ExitStack) -> tuple[str, dict[str, str]]:
        """Where a source is, in SQL, and its physical types; refused where a column is not there."""
        place = self._named(source, named)
        _unfilled(place)
        try:
            with _unquoted():
                fields = self.session.sql(f"SELECT * FROM {place}").schema.fields
        except Exception:  # of another class for each kind of session
            fields = None
        if fields is None:
            raise SourceError(f"no table {place} in this Spark session", declared=place)
        physical = {one.name: one.dataType.simpleString() for one in fields}
        for name in sorted(needed):
            if name not in physical:
                raise no_column(name, physical)
        return place, physical

    def _named(self, source: object, named: contextlib.ExitStack) -> str:
        if isinstance(source, str):
            name = source.removeprefix(SCHEME)
            if not source.startswith(SCHEME) or not name or not all(name.split(".")):
                raise SourceError(f"need a source such as 'spark://visits' or a Spark DataFrame, got {source!r}")
            return ".".join(quoted(part) for part in name.split("."))
        create = getattr(source, "createOrReplaceTempView", None)
        if create is None:
            raise SourceError(
                f"need a source such as 'spark://visits' or a Spark DataFrame, got {type(source).__name__}"
            )
        if getattr(source, "isStreaming", False):
            raise SourceError("need a DataFrame that is at rest, got a stream")
        view = f"discreet_{secrets.token_hex(8)}"
        create(view)
        named.callback(self.session.catalog.dropTempView, view)
        return quoted(view)


def _unfilled(sql: str) -> None:
    """Refuse names in which the session may put the value of a setting; no constant is written with ${."""
    if "${" in sql:
        raise DomainError("a name with ${ in it cannot be used with Spark")


@contextlib.contextmanager
def _unquoted() -> Iterator[None]:
    """PySpark logs the text of an error, private values and all, when it raises one; here it does not."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:  # before version 4, which is silent
        yield
        return
    here = threading.get_ident()

    def of_others(record: logging.LogRecord) -> bool:
        return record.thread != here

    loggers = [PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]
    for logger in loggers:
        logger.addFilter(of_others)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(of_others)
