"""How far synthetic rows are from the private ones: FOR THE STEWARD'S EYES ONLY.

Everything computed here compares with the private rows themselves and no noise is added.  A figure of it that is
published, or used to decide what is published, is a leak that nobody has paid for.  What may be published is
`Synthetic.report` (discreet.synthesis.report).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.data.records import Records
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.release.counted import counted
from discreet.synthesis.quality_learning import Learned, learned
from discreet.synthesis.quality_neighbours import Nearness, nearness
from discreet.synthesis.quality_tables import Distances, distances
from discreet.synthesis.report import associations
from discreet.synthesis.report_page import page, shown, table
from discreet.synthesis.report_pictures import association, bars, cumulative, figure, joint
from discreet.synthesis.synthetic import Synthetic

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

WARNING = "PRIVATE: FOR THE STEWARD'S EYES ONLY. NOT DIFFERENTIALLY PRIVATE. DO NOT PUBLISH."
COLUMNS = 40  # in the heat maps, at most
PAIRS = 6  # that are drawn side by side


@dataclass(frozen=True, kw_only=True, slots=True, repr=False, eq=False)
class Quality:
    """What `quality` found; it cannot be pickled, and says at every turn that it is private.

    >>> from discreet.data import Boolean, Domain, Integer
    >>> from discreet.privacy import ZCDP
    >>> from discreet.synthesis import Synthesizer
    >>> rows = Records.random(Domain({"age": Integer(0, 9), "icu": Boolean()}), 500, seed=1)
    >>> found = quality(Synthesizer(rows.domain, budget=ZCDP(0.5)).fit(rows), rows)
    >>> "DO NOT PUBLISH" in str(found)
    True
    """

    synthetic: Synthetic
    distances: Sequence[Distances]
    nearness: Nearness
    learning: Mapping[str, Learned]
    drawn: Records
    rows: Records

    def to_html(self) -> str:
        """One page, with the warning at its head and at its end."""
        names = list(self.rows.domain)[:COLUMNS]
        strongest, theirs = associations(self.rows, names)
        _, ours = associations(self.drawn, names)
        warning = f'<p class="private">{WARNING}</p>'
        near = self.nearness
        return page(
            f"PRIVATE. {WARNING}",
            [
                warning,
                "<h1>Quality of synthetic data</h1>",
                f"<p>{self.synthetic.privacy()} was spent on the model; this page is outside of it.</p>",
                "<h2>Tables</h2><p>Total variation: the share of rows in the wrong cell. <em>bootstrap</em>: as many"
                " rows drawn from the private ones with replacement. <em>noise</em>: the share that the noise of the"
                " measured tables of so many columns misplaces by itself.</p>",
                table(DISTANCES, map(_line, self.distances)),
                "<h2>Learning</h2><p>The share of real rows predicted by a logistic regression, trained on synthetic"
                " rows or on other real ones. (The synthesizer saw all rows, through its noise.)</p>",
                table(LEARNED, map(_lesson, self.learning.items())),
                "<h2>Nearest neighbours</h2><p>The distance of a row to the nearest of one half of the private rows:"
                " for synthetic rows (the first curve), and for strangers, rows of the other half (the second)."
                " Synthetic rows should not be nearer than strangers.</p>",
                table(NEAREST, near.lines()),
                figure(cumulative([near.synthetic, near.strangers]), "share of rows within a distance", wide=True),
                "<h2>Associations</h2>",
                f'<div class="many">{figure(association(theirs, names), "private rows", wide=True)}'
                f"{figure(association(ours, names), 'synthetic rows', wide=True)}</div>",
                "<h2>Columns</h2><p>Bars: synthetic rows. Dots: private rows.</p>",
                f'<div class="many">{"".join(map(self._column, names))}</div>',
                "<h2>Pairs</h2>",
                f'<div class="many">{"".join(self._pair(*pair) for pair in strongest[:PAIRS])}</div>',
                warning,
            ],
        )

    def write(self, path: str | Path) -> Path:
        """Write the page; keep it where the private rows are kept."""
        file = Path(path)
        file.write_text(self.to_html(), encoding="utf-8")
        return file

    def _column(self, name: str) -> str:
        ours, theirs = self._shares([name])
        return figure(bars(ours, theirs, [str(place) for place in range(len(ours))]), name)

    def _pair(self, one: str, other: str) -> str:
        ours, theirs = self._shares([one, other])
        return figure(joint(theirs), f"{one}, {other}: private") + figure(joint(ours), f"{one}, {other}: synthetic")

    def _shares(self, names: Sequence[str]) -> list[npt.NDArray[np.float64]]:
        return [rows.marginal(names) / max(1, len(rows)) for rows in (self.drawn, self.rows)]

    def __str__(self) -> str:
        from rich.console import Console
        from rich.table import Table

        console = Console(width=100, force_terminal=False, color_system=None)
        with console.capture() as captured:
            console.print(
                f"{WARNING}\n{self.synthetic.privacy()} was spent on the model", markup=False, highlight=False
            )
            for titles, lines in (
                (DISTANCES, map(_line, self.distances)),
                (LEARNED, map(_lesson, self.learning.items())),
                (NEAREST, self.nearness.lines()),
            ):
                grid = Table(*titles)
                for line in lines:
                    grid.add_row(*map(shown, line))
                console.print(grid)
            console.print(WARNING, markup=False, highlight=False)
        return captured.get()

    def __repr__(self) -> str:
        return f"Quality({WARNING})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("figures of private rows cannot be copied or stored")


DISTANCES = ("tables of", "how many", "mean", "worst", "worst table", "bootstrap", "noise")
LEARNED = ("column", "trained on synthetic", "trained on real", "always the most frequent")
NEAREST = ("rows", "identical", "nearest 5 %", "median")


def quality(
    synthetic: Synthetic,
    private: object,
    *,
    targets: Sequence[str] | None = None,
    rng: RandomSource | None = None,
    seed: int = 0,
) -> Quality:
    """Compare synthetic rows with the private ones: for the steward's eyes only, and outside of every promise.

    `private` are the rows the model was fitted to.  `targets` are the columns to learn from all others; by default
    the last one with two values.  `seed` decides which rows are compared where not all are.

    >>> from discreet.data.columns import Boolean, Integer
    >>> from discreet.data.domain import Domain
    >>> from discreet.privacy.guarantee import ZCDP
    >>> from discreet.synthesis.synthesizer import Synthesizer
    >>> rows = Records.random(Domain({"age": Integer(0, 9), "icu": Boolean(), "smokes": Boolean()}), 800, seed=1)
    >>> quality(Synthesizer(rows.domain, budget=ZCDP(0.5)).fit(rows), rows)
    Quality(PRIVATE: FOR THE STEWARD'S EYES ONLY. NOT DIFFERENTIALLY PRIVATE. DO NOT PUBLISH.)
    """
    encoding = synthetic.encoding
    given = counted(private, encoding.domain)
    if not isinstance(given, Records):
        raise UnsupportedError("quality is computed from rows: pass a frame, a file or Records")
    rows = encoding.encode(given)
    require(len(rows) >= 20, "at least 20 rows to compare with")
    wanted = _default(rows) if targets is None else list(targets)
    for name in wanted:
        rows.domain[name]  # refuse unknown columns
    drawn = synthetic.model.sample(len(rows), rng=rng)
    return Quality(
        synthetic=synthetic,
        distances=distances(drawn, rows, synthetic.progress.measurements, seed=seed),
        nearness=nearness(drawn, rows, seed=seed),
        learning={name: learned(drawn, rows, name, seed=seed) for name in wanted},
        drawn=drawn,
        rows=rows,
    )


def _default(rows: Records) -> list[str]:
    """The last column with two values, where there is one and something to learn it from."""
    binary = [name for name, declared in rows.domain.items() if declared.size == 2]
    return binary[-1:] if len(rows.domain) > 1 else []


def _line(one: Distances) -> tuple[object, ...]:
    worst = ", ".join(one.worst_table)
    columns = f"{one.columns} columns" if one.columns > 1 else "1 column"
    return (columns, one.tables, one.mean, one.worst, worst, one.bootstrap, one.noise)


def _lesson(item: tuple[str, Learned]) -> tuple[object, ...]:
    name, found = item
    return (name, found.synthetic, found.real, found.majority)
