"""A picture of findings: what is claimed, what was found of it, and what was found of the twin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.curator.audits.finding import Finding
from discreet.errors import UnsupportedError

if TYPE_CHECKING:
    import altair as alt

MOST = 4.0  # twins that show more are drawn at the edge


def plot(findings: Sequence[Finding]) -> alt.LayerChart | alt.FacetChart:
    """One line a mechanism, in parts of its claim: a rule at 1, the lower bound, the exact loss, the twin."""
    try:
        import altair as alt
    except ImportError:
        raise UnsupportedError("pictures need the extra 'plot': pip install 'discreet[plot]'") from None

    values = [row for one in findings for row in _points(one)]
    base = alt.Chart(alt.Data(values=values)).properties(width=520, height=13 * max(6, len(findings)))
    kinds = ["lower bound", "exact", "broken twin"]
    points = base.mark_point(size=45, strokeWidth=2).encode(
        x=alt.X("part:Q", title="part of the claim", scale=alt.Scale(domain=[0, MOST])),
        y=alt.Y("name:N", sort=None, title=None),
        color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=["#1f77b4", "#000000", "#d62728"]), title=None),
        shape=alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["circle", "stroke", "cross"]), title=None),
        tooltip=["name:N", "kind:N", "value:Q", "claimed:Q"],
    )
    line = alt.Chart(alt.Data(values=[{"part": 1}])).mark_rule(strokeDash=[4, 3]).encode(x="part:Q")
    return line + points


def save(findings: Sequence[Finding], path: str | Path) -> None:
    """Write the picture as .svg, .png, .html or .json, by its ending."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    plot(findings).save(str(file))


def _points(one: Finding) -> list[dict[str, object]]:
    found = {"lower bound": one.bound, "exact": one.exact, "broken twin": one.twin_bound}
    name = f"{one.room}.{one.name}"
    return [
        {"name": name, "kind": kind, "value": value, "claimed": one.claimed, "part": min(MOST, value / one.claimed)}
        for kind, value in found.items()
        if value is not None and one.claimed > 0
    ]
