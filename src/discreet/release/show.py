"""A release where people look: frames with error bars, pictures, rows with the declared values."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.data.records import Records
from discreet.errors import ParameterError, UnsupportedError
from discreet.queries.marginals import Marginals
from discreet.queries.predicates import values

if TYPE_CHECKING:
    import altair as alt
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from discreet.release.release import Release

MOST = 100_000  # queries that are written out as text
BARS = 40  # answers that are drawn as bars; more make a line


def frame(records: Records) -> pd.DataFrame:
    """Rows of a model with their values.  Only for made-up rows: nothing else may leave."""
    import numpy as np
    import pandas as pd

    made = {}
    for name, declared in records.domain.items():
        low, high = declared.codes
        places = records.column(name)
        if type(declared).name == "integer" and not declared.nullable:
            made[name] = places.astype(np.int64) + low
        elif high - low < 1 << 20:
            made[name] = pd.Series(values(declared)).take(places).reset_index(drop=True)
        else:
            made[name] = [None if place > high - low else declared.decode(low + int(place)) for place in places]
    return pd.DataFrame(made)


def to_pandas(release: Release, columns: Sequence[str] | None, *, beta: float) -> pd.DataFrame:
    """Answers with what they count and their bars."""
    import pandas as pd

    bars = bars_of(release, beta)
    if columns is not None:
        names, part = table_of(release, columns)
        domain = release.workload.domain
        keys = list(itertools.product(*(values(domain[name]) for name in names)))
        made = {name: [key[place] for key in keys] for place, name in enumerate(names)}
    else:
        part = slice(None)
        if len(release) > MOST:
            raise UnsupportedError(f"more than {MOST:,} answers are not written out; name the columns of one table")
        made = {"query": [str(query) for query in release.workload]}
    answers = release.answers[part]
    made["answer"] = answers  # type: ignore[assignment]
    if bars is not None:
        made["low"], made["high"] = answers - bars[part], answers + bars[part]  # type: ignore[assignment]
    return pd.DataFrame(made)


def table_of(release: Release, columns: Sequence[str]) -> tuple[tuple[str, ...], slice]:
    """The marginal of the columns in the workload, and which of the answers it is."""
    workload = release.workload
    if not isinstance(workload, Marginals):
        raise UnsupportedError("only a release of marginals has tables of columns")
    ends = list(itertools.accumulate(workload.sizes))
    for names, end, size in zip(workload.sets, ends, workload.sizes, strict=True):
        if set(names) == set(columns):
            return names, slice(end - size, end)
    raise ParameterError(f"need the columns of a released marginal, got {list(columns)}")


def bars_of(release: Release, beta: float) -> npt.NDArray[np.float64] | None:
    """How far each answer may be off, or None where nothing is proven."""
    try:
        return release.errors.each(beta)
    except UnsupportedError:
        return None


def plot(
    release: Release, columns: Sequence[str] | None, *, beta: float
) -> alt.LayerChart | alt.FacetChart | alt.Chart:
    """Bars, or a line where there are many."""
    try:
        import altair as alt
    except ImportError:
        raise UnsupportedError("pictures need the extra 'plot': pip install 'discreet[plot]'") from None

    rows = to_pandas(release, columns, beta=beta)
    keys = [name for name in rows.columns if name not in ("answer", "low", "high")]
    labels = [", ".join(map(str, key)) for key in rows[keys].itertuples(index=False)]
    drawn = rows.assign(label=labels, place=range(len(rows)))[
        ["label", "place", *(name for name in ("answer", "low", "high") if name in rows.columns)]
    ]
    base = alt.Chart(
        alt.Data(values=[dict(zip(drawn.columns, row, strict=True)) for row in drawn.itertuples(index=False)])
    ).properties(width=480)
    title = "count" if keys == ["query"] else f"count by {', '.join(keys)}"
    if len(drawn) > BARS:
        x = alt.X("place:Q", title="query" if keys == ["query"] else ", ".join(keys))
        line = base.mark_line().encode(x=x, y=alt.Y("answer:Q", title=title))
        return base.mark_area(opacity=0.3).encode(x=x, y="low:Q", y2="high:Q") + line if "low" in drawn else line
    y = alt.Y("label:N", sort=None, title=", ".join(keys))
    bars = base.mark_bar().encode(y=y, x=alt.X("answer:Q", title=title))
    return bars + base.mark_rule(strokeWidth=2).encode(y=y, x="low:Q", x2="high:Q") if "low" in drawn else bars
