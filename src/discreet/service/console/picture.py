"""The picture of an answer, drawn on the server for light and for dark, as images that hold no script.

The answer is rebuilt from the released numbers and the public declaration; nothing else is known here.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError
from discreet.service.console.page import mapped

if TYPE_CHECKING:
    from discreet.curator.answer import Answer

INK = {"light": ("#1c2733", "#5a6673", "#dcd9d0", "#0f5c63"), "dark": ("#e7eaec", "#9eabb6", "#33404b", "#7cc7c4")}


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """Two images of one answer, as addresses of `img` elements."""

    light: str
    dark: str


def picture(
    document: Mapping[str, object], body: Mapping[str, object], declared: Mapping[str, object]
) -> Picture | None:
    """The picture of an answer of the API; None where the extra `plot` is not installed or nothing can be drawn."""
    try:
        chart = answer(document, body, declared).plot().to_dict()
        light, dark = (_drawn(chart, *INK[scheme]) for scheme in ("light", "dark"))
    except (ImportError, DiscreetError):
        return None
    return Picture(light=light, dark=dark)


def answer(document: Mapping[str, object], body: Mapping[str, object], declared: Mapping[str, object]) -> Answer:
    """The answer as a value: the same plan from the same public facts, and the released numbers."""
    from discreet.curator.plan import plan
    from discreet.curator.question import read
    from discreet.service.client_answers import answer_of
    from discreet.service.client_wire import declared as table_of
    from discreet.service.wire import read_budget

    query = read(str(body["question"]), {name: table_of(mapped(entry)) for name, entry in declared.items()})
    bounds = {name: body[name] for name in ("rows_per_unit", "groups_per_unit") if name in body}
    paid = {"epsilon": body["epsilon"]} if "epsilon" in body else {"budget": read_budget(body["budget"])}
    step = plan(query, query.source.table(), **paid, **bounds)  # type: ignore[arg-type]
    return answer_of(step, document, beta=float(str(document["beta"])), whole_counts=False)


def _drawn(chart: dict[str, object], ink: str, faint: str, line: str, mark: str) -> str:
    """One image in the colours of one scheme, on no ground of its own."""
    import vl_convert

    axis = {"labelColor": faint, "titleColor": ink, "gridColor": line, "domainColor": line, "tickColor": line}
    text = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 500, "labelLimit": 160}
    config = {
        "background": "transparent",
        "font": "Liberation Sans, Helvetica, Arial, sans-serif",
        "view": {"stroke": None},
        "axis": {**axis, **text},
        "legend": {"labelColor": faint, "titleColor": ink},
        "bar": {"color": mark, "opacity": 0.55, "cornerRadiusEnd": 2},
        "rule": {"color": ink},
        "line": {"color": mark},
        "point": {"color": mark},
        "area": {"color": mark, "opacity": 0.25},
        "errorband": {"color": mark},
        "range": {"heatmap": {"scheme": "teals"}, "ramp": {"scheme": "teals"}},
    }
    svg = vl_convert.vegalite_to_svg({**chart, "config": config})
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
