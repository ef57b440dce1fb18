"""What anyone may know about synthetic data: the promise, what was measured, how well the model agrees with it.

Everything here follows from the fitted model, the noisy tables and the schedule, which are published already: a report
costs nothing and may be shown to anyone.  How far the rows are from the private ones is another matter
(discreet.synthesis.quality).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.data.columns import Column
from discreet.privacy.guarantee import ZCDP, Guarantee, PureDP
from discreet.privacy.number import exact
from discreet.release.models.base import Model
from discreet.release.models.estimate import Measurement
from discreet.release.models.graphical import GraphicalModel
from discreet.synthesis.adaptive import NOISE
from discreet.synthesis.encoding import Encoding
from discreet.synthesis.report_page import page, shown, table
from discreet.synthesis.report_pictures import association, bars, figure, joint
from discreet.synthesis.resolution import Table
from discreet.synthesis.schedule import Schedule

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.queries.workload import Countable
    from discreet.synthesis.synthetic import Synthetic

COLUMNS = 60  # in the picture of the associations, at most
PAIRS = 6  # of columns that are drawn


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """A noisy table beside the model: `off` is the root mean square of their difference in standard deviations.

    `noise` is the share of the rows that the noise is expected to misplace, half the sum of its absolute values.
    """

    columns: tuple[str, ...]
    cells: int
    sd: float
    off: float
    noise: float


@dataclass(frozen=True, kw_only=True, slots=True, repr=False, eq=False)
class Report:
    """The public report: `str` for a terminal, `to_html` for one page without scripts.

    >>> from discreet.data.columns import Boolean
    >>> from discreet.data.domain import Domain
    >>> from discreet.data.records import Records
    >>> from discreet.privacy.guarantee import ZCDP
    >>> from discreet.synthesis.synthesizer import Synthesizer
    >>> domain = Domain({"icu": Boolean(), "smokes": Boolean()})
    >>> made = Synthesizer(domain, budget=ZCDP(0.5), rounds=2).fit(Records.random(domain, 500, seed=1))
    >>> report = made.report()
    >>> report, len(report.measured)
    (Report(2 columns, 4 tables), 4)
    """

    encoding: Encoding
    model: Model
    guarantee: Guarantee
    schedule: Schedule | None
    measurements: Sequence[Measurement]
    measured: Sequence[Measured]

    def spending(self) -> list[tuple[str, str, str]]:
        """Every step with how often it ran and what it is."""
        plan = self.schedule
        rounds = sum(len(one.columns) > 1 for one in self.measured)
        if plan is None:
            return [("all", "1", str(self.guarantee))]
        steps = [("every column by itself", "1", _share(plan.singles))]
        if plan.choice is not None and plan.noise is not None:
            times = f"{rounds} of {plan.rounds}"
            chosen = f"exponential mechanism, epsilon {float(exact(plan.choice.epsilon)):.4g}"
            steps.append(("choose a table", times, chosen))
            steps.append(("measure it", times, f"{type(plan.noise).__name__} noise, standard deviation {plan.sd:.4g}"))
        return steps

    def to_html(self) -> str:
        """The report as one page, without scripts and without anything to load."""
        names = list(self.encoding.coarse)
        strongest, matrix = associations(self.model, names[:COLUMNS])
        singles = {one.columns[0]: one for one in self.measurements if len(one.columns) == 1}
        return page(
            "Synthetic data: report",
            [
                "<h1>Synthetic data</h1>",
                f'<p class="promise">{_sentence(self.guarantee)}</p>',
                f"<p>{_summary(self)} Everything on this page was published already: it cost nothing more.</p>",
                "<h2>What was spent</h2>",
                table(["step", "times", "mechanism"], self.spending()),
                "<h2>What was measured</h2>",
                "<p>One table a line, in the order of measuring. <em>off</em> is the root mean square difference"
                " between model and measurement, in standard deviations of the noise: about 1 where the model explains"
                " a table, and less where it follows the noise. <em>noise</em> is the share of the rows that the noise"
                " of the table alone misplaces.</p>",
                table(["columns", "cells", "sd", "off", "noise"], map(_line, self.measured)),
                "<h2>Columns</h2><p>Bars: the model. Dots: the noisy counts.</p>",
                f'<div class="many">{"".join(self._column(name, singles.get(name)) for name in names)}</div>',
                "<h2>Associations in the model</h2><p>Cramer's V: 0 for independent columns, 1 where one decides the"
                " other.</p>" + figure(association(matrix, names[:COLUMNS]), "Cramer's V", wide=True),
                "<h2>The strongest pairs in the model</h2>",
                f'<div class="many">{"".join(self._pair(*pair) for pair in strongest[:PAIRS])}</div>',
            ],
        )

    def write(self, path: str | Path) -> Path:
        """Write the page."""
        file = Path(path)
        file.write_text(self.to_html(), encoding="utf-8")
        return file

    def _column(self, name: str, single: Measurement | None) -> str:
        import numpy as np

        noisy = None if single is None else np.asarray(single.values, dtype=np.float64).reshape(-1)
        return figure(bars(self.model.marginal([name]), noisy, labels(self.encoding, name)), name)

    def _pair(self, one: str, other: str) -> str:
        return figure(joint(self.model.marginal([one, other])), f"{one} (down), {other} (across)")

    def __str__(self) -> str:
        from rich.console import Console
        from rich.table import Table as Grid

        console = Console(width=100, force_terminal=False, color_system=None)
        steps = Grid("step", "times", "mechanism", title="spent", title_justify="left")
        for step in self.spending():
            steps.add_row(*step)
        tables = Grid("columns", "cells", "sd", "off", "noise", title="measured", title_justify="left")
        for one in self.measured:
            tables.add_row(*map(shown, _line(one)))
        with console.capture() as captured:
            console.print(f"Synthetic data, {self.guarantee}\n{_summary(self)}", markup=False, highlight=False)
            console.print(steps)
            console.print(tables)
        return captured.get()

    def __repr__(self) -> str:
        return f"Report({len(self.encoding.coarse)} columns, {len(self.measured)} tables)"


def report(synthetic: Synthetic) -> Report:
    """Compare the model with everything that was measured."""
    measurements = synthetic.progress.measurements
    return Report(
        encoding=synthetic.encoding,
        model=synthetic.model,
        guarantee=synthetic.guarantee,
        schedule=synthetic.schedule,
        measurements=measurements,
        measured=[_compared(synthetic.model, one) for one in measurements],
    )


def _compared(model: Model, one: Measurement) -> Measured:
    import numpy as np

    noisy = np.asarray(one.values, dtype=np.float64)
    guess = model.marginal(one.columns)
    merged = Table(one.columns, one.bins or (None,) * guess.ndim, noisy.shape).of(guess)  # type: ignore[arg-type]
    off = float(np.sqrt(np.mean((merged.reshape(noisy.shape) - noisy) ** 2))) / one.sd
    misplaced = one.sd * NOISE * noisy.size / (2 * max(1.0, model.total))
    return Measured(columns=one.columns, cells=noisy.size, sd=one.sd, off=off, noise=misplaced)


def associations(data: Countable, names: Sequence[str]) -> tuple[list[tuple[str, str]], npt.NDArray[np.float64]]:
    """All pairs, the strongest first, and Cramer's V of each."""
    import numpy as np

    matrix = np.eye(len(names))
    found = {}
    for (i, one), (j, other) in itertools.combinations(enumerate(names), 2):
        matrix[i, j] = matrix[j, i] = found[one, other] = cramer(data.marginal([one, other]))
    return sorted(found, key=found.__getitem__, reverse=True), matrix


def cramer(counts: npt.NDArray[np.generic]) -> float:
    """Cramer's V of a table of two columns: sqrt(chi^2 / (n (min(rows, columns) - 1))), over the values that occur.

    >>> import numpy as np
    >>> cramer(np.array([[5, 0], [0, 5]])), round(cramer(np.array([[4, 4], [1, 1]])), 6)
    (1.0, 0.0)
    """
    import numpy as np

    share = np.asarray(counts, dtype=np.float64)
    share = share / max(share.sum(), 1e-300)
    share = share[share.sum(axis=1) > 1e-9][:, share.sum(axis=0) > 1e-9]
    least = min(share.shape) - 1
    if least < 1:
        return 0.0
    alone = np.outer(share.sum(axis=1), share.sum(axis=0))
    return min(1.0, math.sqrt(max(0.0, float((share**2 / alone).sum()) - float(share.sum())) / least))


def labels(encoding: Encoding, name: str) -> list[str]:
    """What each position of an encoded column stands for.

    >>> from discreet.data.columns import Integer
    >>> from discreet.data.domain import Domain
    >>> labels(Encoding(Domain({"age": Integer(0, 119, nullable=True)}), bins={"age": 3}), "age")
    ['0 to 39', '40 to 79', '80 to 119', 'NULL']
    """
    declared = encoding.domain[name]
    edges = encoding.edges.get(name)
    if edges is None:
        made = [_value(declared, place) for place in range(declared.size - declared.nullable)]
    else:
        made = [f"{_value(declared, a)} to {_value(declared, b - 1)}" for a, b in itertools.pairwise(edges.tolist())]
    return [*made, "NULL"] if declared.nullable else made


def _value(declared: Column, place: int) -> str:
    return str(declared.decode(declared.codes[0] + place))


def _share(singles: Guarantee) -> str:
    """What the columns cost, rounded for reading."""
    if isinstance(singles, PureDP):
        return f"Laplace noise, epsilon {float(exact(singles.epsilon)):.4g}"
    assert isinstance(singles, ZCDP)
    return f"Gaussian noise, rho {float(exact(singles.rho)):.4g}"


def _line(one: Measured) -> tuple[object, ...]:
    return (", ".join(one.columns), one.cells, one.sd, one.off, one.noise)


def _summary(report: Report) -> str:
    columns, chosen = len(report.encoding.coarse), sum(len(one.columns) > 1 for one in report.measured)
    text = f"{columns} columns, about {max(1, round(report.model.total))} rows (the noisy number)"
    if not isinstance(report.model, GraphicalModel):
        return f"{text}; one weight for each of {report.model.domain.size} combinations of values."
    return f"{text}, {chosen} tables chosen and measured besides the columns; a model of {report.model.size} cells."


def _sentence(guarantee: Guarantee) -> str:
    from html import escape

    return (
        f"All of it together, the rows drawn from it included, is private to the extent of"
        f" <strong>{escape(str(guarantee))}</strong>, however many rows are drawn and whoever looks at them."
    )
