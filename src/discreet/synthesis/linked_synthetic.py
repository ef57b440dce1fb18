"""What a linked synthesizer returns: a model for each table, and rows drawn from them whose keys join."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.guarantee import Guarantee
from discreet.release.models.graphical import GraphicalModel
from discreet.release.models.rows import check_rows
from discreet.synthesis.conditional import sample_given
from discreet.synthesis.synthetic import Synthetic

if TYPE_CHECKING:
    import pyarrow

    from discreet.synthesis.report import Report


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class LinkedSynthetic:
    """Fitted models of a parent table and its children.  All private output; sampling costs nothing.

    `models` has the parent's first.  `wanted` is how many units are drawn where nobody says, if not the noisy number;
    `receipt` is of the ledger, where a curator paid.

    >>> import pandas as pd
    >>> from discreet.data import Boolean, Domain, Integer
    >>> from discreet.privacy import ZCDP
    >>> from discreet.synthesis import LinkedSynthesizer
    >>> people = pd.DataFrame({"who": range(200), "age": [i % 10 for i in range(200)]})
    >>> visits = pd.DataFrame({"who": range(200), "icu": [i % 3 == 0 for i in range(200)]})
    >>> domains = {"people": Domain({"age": Integer(0, 9)}), "visits": Domain({"icu": Boolean()})}
    >>> maker = LinkedSynthesizer(domains, parent="people", rows_per_unit={"visits": 1}, budget=ZCDP(1))
    >>> made = maker.fit({"people": people, "visits": visits}, unit="who")
    >>> list(made.models), made.privacy()
    (['people', 'visits'], ZCDP(rho=1.0))
    """

    unit: str
    parent: str
    models: Mapping[str, Synthetic]
    guarantee: Guarantee
    wanted: int | None = None
    receipt: Any = None

    @property
    def units(self) -> int:
        """The noisy number of units of the parent table."""
        return self.models[self.parent].rows

    def sample(self, units: int | None = None, *, rng: RandomSource | None = None) -> dict[str, pyarrow.Table]:
        """Made-up units, numbered from 0 in the unit's column, and for each child the rows that belong to them."""
        import numpy as np

        count = units if units is not None else self.wanted if self.wanted is not None else self.units
        check_rows(count)
        head = self.models[self.parent]
        people = head.model.sample(count, rng=rng)
        table = head.encoding.decode(people, rng=rng)
        children = [name for name in self.models if name != self.parent]
        made = {self.parent: self._keyed(table.drop_columns(table.column_names[-len(children) :]), np.arange(count))}
        for place, name in enumerate(children):
            numbers = people.column(list(people.domain)[place - len(children)]).astype(np.int64)
            owners = np.repeat(np.arange(count), numbers)
            child = self.models[name]
            own = len(child.model.domain) - len(people.domain)
            names = list(child.model.domain)
            given = {f"{self.parent}.{column}": people.column(column).astype(np.int64) for column in people.domain}
            assert isinstance(child.model, GraphicalModel)
            rows = sample_given(child.model, given, owners, rng=rng)
            made[name] = self._keyed(child.encoding.decode(rows, rng=rng).select(names[:own]), owners)
        return made

    def _keyed(self, table: pyarrow.Table, owners: object) -> pyarrow.Table:
        import pyarrow

        return table.add_column(0, self.unit, pyarrow.array(owners))

    def write(self, folder: str | Path, units: int | None = None, *, rng: RandomSource | None = None) -> list[Path]:
        """Sample into a folder, one Parquet file for each table."""
        import pyarrow.parquet

        home = Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        files = []
        for name, table in self.sample(units, rng=rng).items():
            files.append(home / f"{_file(name)}.parquet")
            pyarrow.parquet.write_table(table, str(files[-1]))
        return files

    def report(self, folder: str | Path | None = None) -> dict[str, Report]:
        """A report on each model, from public output; with a folder, an HTML page for each table."""
        made = {name: one.report() for name, one in self.models.items()}
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
            for name, one in made.items():
                one.write(Path(folder) / f"{_file(name)}.html")
        return made

    def privacy(self) -> Guarantee:
        """What was spent, for one unit added or removed with all its rows."""
        return self.guarantee

    def __repr__(self) -> str:
        return f"LinkedSynthetic({', '.join(self.models)}, {self.guarantee!r})"


def _file(name: str) -> str:
    """The name of a table as that of a file, where it is one."""
    require(Path(name).name == name, "tables whose names are names of files", table=name)
    return name
