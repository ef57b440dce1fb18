"""What an engine is: something that runs one aggregation and returns sealed integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from discreet.data.aggregation import Aggregation, Sealed, SealedGroups

if TYPE_CHECKING:
    from discreet.data.table import Table


class Engine(Protocol):
    """Runs aggregations.  All engines give the same integers for the same rows."""

    def check(self) -> None:
        """Test at start that the engine computes as the compiled expressions assume; raise if it does not."""
        ...

    def ready(self, table: Table, aggregation: Aggregation) -> None:
        """Refuse a source or column that is not there.  Only the schema is read, and nothing has been paid yet."""
        ...

    def run(self, table: Table, aggregation: Aggregation) -> Sealed | SealedGroups:
        """The integers of every cell and measure: (cells, measures), cells in C order over the keys.

        Where the aggregation has texts: of every group that has a row.
        """
        ...

    def sql(self, table: Table, aggregation: Aggregation) -> str:
        """The statement that defines the result, made from public facts and the schema."""
        ...
