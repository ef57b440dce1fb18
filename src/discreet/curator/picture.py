"""A picture of an answer: bars with error bars, a line over an ordered key, or a heat map over two keys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.curator.answer import Answer
from discreet.data.columns import Categorical
from discreet.errors import UnsupportedError
from discreet.queries.types import Coded, Free, Numeric, Truth

if TYPE_CHECKING:
    import altair as alt

    Panel = alt.Chart | alt.LayerChart | alt.FacetChart

MANY = 12  # more keys than this, in order, make a line


def plot(answer: Answer, *, beta: float | None = None) -> Panel | alt.VConcatChart:
    """One panel for each aggregate."""
    try:
        import altair as alt
    except ImportError:
        raise UnsupportedError("pictures need the extra 'plot': pip install 'discreet[plot]'") from None

    rows = answer.errors(beta).to_pylist()
    keys = [output for output in answer.plan.query.outputs if isinstance(output.value, int)]
    panels = [_panel(answer, output.name, [key.name for key in keys], rows) for output in answer.measured]
    return panels[0] if len(panels) == 1 else alt.vconcat(*panels)


def save(answer: Answer, path: str | Path) -> None:
    """Write the picture as .svg, .png, .html or .json, by its ending."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    plot(answer).save(str(file))


def _panel(answer: Answer, name: str, keys: list[str], rows: list[dict[str, object]]) -> Panel:
    import altair as alt

    values = [
        {
            **{key: _shown(row[key]) for key in keys},
            "value": row[name],
            "low": row[f"{name}_low"],
            "high": row[f"{name}_high"],
        }
        for row in rows
    ]
    base = alt.Chart(alt.Data(values=values)).properties(width=480, height=max(60, min(320, 26 * max(1, len(values)))))
    if len(keys) >= 2:
        return base.mark_rect().encode(
            x=alt.X(f"{keys[0]}:O", sort=None),
            y=alt.Y(f"{keys[1]}:O", sort=None),
            color=alt.Color("value:Q", title=name),
            tooltip=[*(f"{key}:N" for key in keys), "value:Q", "low:Q", "high:Q"],
        )
    if not keys:
        position = {"y": alt.value(30)}
        axis = {"x": alt.X("value:Q", title=name, scale=alt.Scale(zero=False))}
        points = base.mark_point(filled=True, size=80).encode(**axis, **position)
        return points + base.mark_rule().encode(x="low:Q", x2="high:Q", **position)
    if _ordered(answer, keys[0]) and len(values) > MANY:
        x = alt.X(f"{keys[0]}:{'T' if _dated(values, keys[0]) else 'Q'}")
        band = base.mark_area(opacity=0.3).encode(x=x, y="low:Q", y2="high:Q")
        return band + base.mark_line().encode(x=x, y=alt.Y("value:Q", title=name))
    y = alt.Y(f"{keys[0]}:O", sort=None)
    bars = base.mark_bar().encode(y=y, x=alt.X("value:Q", title=name))
    return bars + base.mark_rule(strokeWidth=2).encode(y=y, x="low:Q", x2="high:Q")


def _shown(value: object) -> object:
    if value is None:
        return "NULL"
    return value if isinstance(value, (int, float, str)) else str(value)


def _ordered(answer: Answer, name: str) -> bool:
    output = next(output for output in answer.plan.query.outputs if output.name == name)
    assert isinstance(output.value, int)
    match answer.plan.query.keys[output.value].type:
        case Numeric():
            return True
        case Coded(column):
            return not isinstance(column, Categorical)
        case Truth() | Free():
            return False


def _dated(values: list[dict[str, object]], key: str) -> bool:
    return any(isinstance(value[key], str) and value[key] != "NULL" for value in values)
