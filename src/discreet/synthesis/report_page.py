"""One HTML page without scripts and without anything to load: what reports about synthetic data are written on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --faint: #667; --line: #ccd; --mark: #1f5fa8 }
:root { --bad: #a8201f; --other: #d07b1f }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #16181c; --faint: #9aa; --line: #3a3f48; --mark: #7db3f0; --bad: #ff8f8a }
  :root { --other: #f0b46a }
}
* { box-sizing: border-box }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper) }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid var(--line) }
p.promise { border-left: 4px solid var(--mark); padding-left: 1rem; max-width: 48rem }
p.private { border: 4px solid var(--bad); padding: 0.6rem 1rem; color: var(--bad); font-weight: 700; font-size: 1.2rem }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-size: 0.87rem }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.6rem; border-bottom: 1px solid var(--line) }
th { color: var(--faint); font-weight: 600 } td.n { text-align: right; font-variant-numeric: tabular-nums }
td { overflow-wrap: anywhere }
.many { display: flex; flex-wrap: wrap; gap: 1rem }
figure { margin: 0; flex: 0 1 15rem } figure.wide { flex: 0 1 34rem; max-width: 34rem }
figcaption { font-size: 0.8rem; color: var(--faint) }
svg { width: 100%; height: auto } svg text { fill: var(--faint); font: 9px system-ui, sans-serif }
.axis { stroke: var(--line) } .bar { fill: var(--mark); opacity: 0.75 } .dot { fill: var(--other) }
.cell { fill: var(--mark) } .step { stroke: var(--other); fill: none; stroke-width: 1.5 }
@media print {
  :root { --ink: #000; --paper: #fff; --faint: #444; --line: #bbb; --mark: #000; --bad: #000; --other: #777 }
  body { margin: 0; max-width: none; font-size: 10pt } tr, figure { break-inside: avoid } .scroll { overflow: visible }
}
"""


def page(title: str, parts: Iterable[str]) -> str:
    """The whole page; the parts are HTML already."""
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}{policy}<title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows of text and numbers, escaped; numbers stand at the right.

    >>> table(["what", "off"], [["<age>", 0.25]])[-66:-37]
    '&lt;age&gt;</td><td class="n"'
    """
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: object) -> str:
    return f"<td>{escape(value)}</td>" if isinstance(value, str) else f'<td class="n">{escape(shown(value))}</td>'


def shown(value: object) -> str:
    """A value as reports print it: four digits of a float, a dash where there is none.

    >>> shown(0.123456), shown(12), shown("age"), shown(float("nan"))
    ('0.1235', '12', 'age', '-')
    """
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.4g}"
    return str(value)
