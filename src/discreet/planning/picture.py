"""A picture of a plan: predicted errors as points, and lines for what nobody, or nobody unbiased, can beat."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError

if TYPE_CHECKING:
    import altair as alt

    from discreet.planning.plan import Plan


def plot(plan: Plan) -> alt.LayerChart | alt.FacetChart:
    """Points on a logarithmic axis, the chosen mechanism first; a line says whom it binds."""
    try:
        import altair as alt
    except ImportError:
        raise UnsupportedError("pictures need the extra 'plot': pip install 'discreet[plot]'") from None

    values = [
        {"mechanism": row.name, "error": error, "kind": kind, "by": row.basis}
        for row in plan.rows
        for kind, error in (("largest", row.largest), ("typical", row.typical))
        if math.isfinite(error) and error > 0
    ]
    order = [row.name for row in plan.rows]
    axis = alt.X("error:Q", scale=alt.Scale(type="log"), title="error in counts")
    points = (
        alt.Chart(alt.Data(values=values))
        .mark_point(filled=True, size=90)
        .encode(y=alt.Y("mechanism:N", sort=order, title=None), x=axis, color="kind:N", shape="by:N")
    )
    lines = [{"error": floor.value, "who": floor.who, "what": floor.what} for floor in plan.floors]
    rule = (
        alt.Chart(alt.Data(values=lines)).mark_rule(strokeDash=[4, 4]).encode(x="error:Q", tooltip=["who:N", "what:N"])
    )
    return (rule + points).properties(width=480, height=28 * max(2, len(order)), title="Predicted errors")
