"""What a synthesizer returns: a model of the table that anyone may see, and rows drawn from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.guarantee import Guarantee
from discreet.queries.workload import Workload
from discreet.release.models.base import Model
from discreet.synthesis.adaptive import Progress
from discreet.synthesis.encoding import Encoding
from discreet.synthesis.schedule import Schedule

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow

    from discreet.synthesis.report import Report


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Synthetic:
    """A fitted model.  Everything in it is private output; sampling and answering cost nothing.

    `wanted` is how many rows are drawn where nobody says, if not the noisy total; `receipt` is of the ledger, where a
    curator paid.

    >>> import discreet as dc
    >>> from discreet.data.records import Records
    >>> from discreet.synthesis import Synthesizer
    >>> domain = dc.Domain({"smokes": dc.Boolean(), "runs": dc.Boolean()})
    >>> made = Synthesizer(domain, budget=dc.ZCDP(1)).fit(Records.random(domain, n=500, seed=1))
    >>> made.sample(3).column_names, made.privacy()
    (['smokes', 'runs'], ZCDP(rho=1.0))
    """

    encoding: Encoding
    model: Model
    guarantee: Guarantee
    progress: Progress
    schedule: Schedule | None = None
    wanted: int | None = None
    receipt: Any = None

    @property
    def rows(self) -> int:
        """The noisy number of rows of the table."""
        return max(1, round(self.model.total))

    def sample(self, rows: int | None = None, *, rng: RandomSource | None = None) -> pyarrow.Table:
        """Synthetic rows with the declared types and valid values; as many as wanted, or as the noisy total."""
        count = rows if rows is not None else self.wanted if self.wanted is not None else self.rows
        require(isinstance(count, int) and not isinstance(count, bool) and count >= 1, "rows >= 1", rows=rows)
        return self.encoding.decode(self.model.sample(count, rng=rng), rng=rng)

    def write(self, path: str | Path, rows: int | None = None, *, rng: RandomSource | None = None) -> None:
        """Sample into a .parquet or .csv file."""
        import pyarrow.csv
        import pyarrow.parquet

        ending = Path(path).suffix.lower()
        require(ending in (".parquet", ".csv"), "a path ending in .parquet or .csv", path=str(path))
        table = self.sample(rows, rng=rng)
        if ending == ".csv":
            pyarrow.csv.write_csv(table, str(path))
        else:
            pyarrow.parquet.write_table(table, str(path))

    def answer(self, workload: Workload) -> npt.NDArray[np.generic]:
        """Answers of the model itself, without the noise of sampling; columns cut into intervals by interval."""
        return workload.answer(self.model)

    def report(self, path: str | Path | None = None) -> Report:
        """What was spent and measured and how well the model agrees, from public output; with a path, an HTML page."""
        from discreet.synthesis.report import report

        made = report(self)
        if path is not None:
            made.write(path)
        return made

    def privacy(self) -> Guarantee:
        """What was spent."""
        return self.guarantee

    def __repr__(self) -> str:
        return f"Synthetic({len(self.encoding.domain)} columns, {self.guarantee!r})"
