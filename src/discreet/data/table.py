"""A private table: where the rows are, what is publicly known of them, and whose rows they are.

    unit              the column that names the privacy unit (a patient, not a row); None: each row
    rows_per_unit     at most so many rows of one unit enter an answer
    groups_per_unit   at most so many groups of one answer hold rows of one unit
    n                 the number of rows, only if it is public
    version           a new version for new data; what was spent stays spent
    public            nobody's rows: a list of regions or prices, to be joined with private tables

The two bounds are enforced, never trusted.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.data.columns import Identifier, Integer, Text
from discreet.data.domain import Domain
from discreet.data.text_file import TextFile, declared
from discreet.errors import ParameterError, require

if TYPE_CHECKING:
    from discreet.data.engines.base import Engine
    from discreet.data.engines.sealing import Seal


@dataclass(frozen=True, slots=True)
class Undisclosed:
    """What stands for the rows in a table that is handed out: nothing can be read of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Private rows with their declaration.  It cannot be copied or pickled; its `declaration` can.

    >>> from discreet.data.columns import Identifier, Integer
    >>> Table("visits.parquet", domain=Domain({"patient": Identifier(), "age": Integer(0, 119)}), unit="patient")
    Table('visits.parquet', unit='patient', rows_per_unit=1, groups_per_unit=1)
    """

    source: object
    domain: Domain
    unit: str | None
    rows_per_unit: int
    groups_per_unit: int
    n: int | None
    engine: Engine | None
    version: int
    public: bool
    # the same without rows and without an engine: all that leaves a curator
    declaration: Table = field(init=False, repr=False)

    def __init__(
        self,
        source: object,
        *,
        domain: Domain,
        unit: str | None,
        rows_per_unit: int = 1,
        groups_per_unit: int = 1,
        n: int | None = None,
        engine: Engine | None = None,
        version: int = 1,
        public: bool = False,
    ) -> None:
        require(isinstance(domain, Domain), "a Domain", domain=type(domain).__name__)
        if unit is not None and not isinstance(domain[unit], (Identifier, Integer, Text)):
            raise ParameterError(f"need a unit column of type Identifier, Integer or Text, got {domain[unit]!r}")
        bounds = {"rows_per_unit": rows_per_unit, "groups_per_unit": groups_per_unit, "version": version}
        for name, value in bounds.items():
            whole = isinstance(value, int) and not isinstance(value, bool)
            require(whole and value >= 1, f"an integer {name} >= 1", **{name: value})
        if unit is None:
            require(rows_per_unit == groups_per_unit == 1, "bounds of 1 where each row is a unit", **bounds)
        require(not public or unit is None, "no unit for a public table", unit=unit)
        require(n is None or (type(n) is int and n >= 0), "an integer n >= 0", n=n)
        if isinstance(source, Path):
            source = str(source)
        source = declared(source, tuple(domain))
        values = dict(source=source, domain=domain, unit=unit, n=n, engine=engine, public=public, **bounds)
        if isinstance(source, Undisclosed):
            bare = self
        else:
            given: dict[str, Any] = {"domain": domain, "unit": unit, "n": n, "public": public, **bounds}
            bare = Table(Undisclosed(), **given)
        for name, value in (values | {"declaration": bare}).items():
            object.__setattr__(self, name, value)

    @property
    def salt(self) -> int:
        """A public number that decides which rows and groups of a unit are kept; new with each version."""
        return int.from_bytes(hashlib.sha256(f"discreet/bounding/{self.version}".encode()).digest()[:8], "big") >> 1

    def seal(self) -> Seal:
        r"""Read the text of a source into its copy now, where there is none yet, and tell what became of its lines.

        For whoever holds the data: what is told depends on the rows.  A curator's tables have their copies beside its
        ledger: `curator.tables["visits"].seal()`.

        >>> import tempfile
        >>> from discreet.data.columns import Integer
        >>> file = Path(tempfile.mkdtemp()) / "ages.csv"
        >>> _ = file.write_text('age\n12\n"13\n14\n')
        >>> told = Table(file, domain=Domain({"age": Integer(0, 119)}), unit=None).seal()
        >>> told.rows, told.bad, told.bad_lines[0][1:]
        (2, 1, (3, 'a quote is open at its end'))
        """
        from discreet.data.engines.sealing import report

        if not isinstance(self.source, TextFile):
            raise ParameterError(f"need a table of a text file to seal, got {self!r}")
        return report(self.source)

    @property
    def bare(self) -> bool:
        """Whether no rows are behind it: a declaration, or what a question makes of declarations."""
        from discreet.data.relation import Relation

        if isinstance(self.source, Relation):
            return all(scan.table.bare for scan in self.source.scans())
        return self.declaration is self

    def __reduce__(self) -> tuple[object, ...]:
        if not self.bare:
            raise TypeError("a table with its rows cannot be copied or stored; its declaration can")
        names = ("domain", "unit", "rows_per_unit", "groups_per_unit", "n", "version", "public")
        return _remade, (self.source, {name: getattr(self, name) for name in names})

    def __repr__(self) -> str:
        source = self.source.path if isinstance(self.source, TextFile) else self.source
        where = repr(source) if isinstance(source, str) else type(source).__name__
        bounds = f"rows_per_unit={self.rows_per_unit}, groups_per_unit={self.groups_per_unit}"
        return f"Table({where}, unit={self.unit!r}, {bounds})"


def _remade(source: object, settings: dict[str, Any]) -> Table:
    """A declaration, out of what was stored of it."""
    return Table(source, **settings)
