"""The auditor's report as one HTML page: no script, nothing to load, printable, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from discreet.ledger.account import Balance
from discreet.ledger.budget import Budget
from discreet.ledger.chain import Entry

if TYPE_CHECKING:
    from discreet.ledger.report import Report

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --faint: #667; --line: #ccd; --mark: #1f5fa8 }
:root { --bad: #a8201f }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #16181c; --faint: #9aa; --line: #3a3f48; --mark: #7db3f0; --bad: #ff8f8a }
}
* { box-sizing: border-box }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper) }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid var(--line) }
p.promise { border-left: 4px solid var(--mark); padding-left: 1rem; max-width: 48rem }
p.bad { border-left: 4px solid var(--bad); padding-left: 1rem; color: var(--bad); font-weight: 600 }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-size: 0.87rem }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.6rem; border-bottom: 1px solid var(--line) }
th { color: var(--faint); font-weight: 600 } td.n { text-align: right; font-variant-numeric: tabular-nums }
code { font: 0.8rem ui-monospace, monospace; overflow-wrap: anywhere }
td.what { min-width: 16rem; overflow-wrap: anywhere }
svg { width: 100%; max-width: 48rem; height: auto } svg text { fill: var(--faint); font: 11px system-ui, sans-serif }
.axis { stroke: var(--line) } .cap { stroke: var(--bad); stroke-dasharray: 4 4 }
.curve { stroke: var(--mark); fill: none; stroke-width: 2 }
@media print {
  :root { --ink: #000; --paper: #fff; --faint: #444; --line: #bbb; --mark: #000; --bad: #000 }
  body { margin: 0; max-width: none; font-size: 10pt } tr { break-inside: avoid } thead { display: table-header-group }
  .scroll { overflow: visible }
}
"""


def page(report: Report) -> str:
    """The whole page; every text in it is escaped."""
    parts = [
        f"<h1>Ledger <code>{escape(report.ledger)}</code></h1>",
        f"<p>Report of {escape(report.made)}, up to entry {report.anchor.id}.</p>",
        _finding(report),
        _testing() if report.testing else "",
        *(_unit(report, budget) for budget in report.budgets),
        _chain(report),
    ]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}{policy}<title>Privacy ledger: report</title>'
        f"<style>{_STYLE}</style></head><body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def _finding(report: Report) -> str:
    anchor = f"<p>Anchor to keep elsewhere: <code>{escape(str(report.anchor))}</code></p>"
    if report.verified:
        return f"<p><strong>Verified.</strong> {escape(report.finding)}.</p>{anchor}"
    return f'<p class="bad">NOT verified, and nothing below can be relied on: {escape(report.finding)}.</p>'


def _testing() -> str:
    return '<p class="bad">A ledger for testing: it also paid for releases drawn from a predictable source.</p>'


def _unit(report: Report, budget: Budget) -> str:
    rows = []
    for account, balance in budget.accounts():
        name = f"{account.name} (all periods)" if account.scope == "unit" and budget.periods else account.name
        rows.append(
            f"<tr><td>{account.scope}</td><td>{escape(name)}</td><td>{_cap(balance)}</td>{_spent(balance)}"
            f'<td class="n">{report.spends.get(account, 0)}</td><td>{balance.state or ""}</td></tr>'
        )
    titles = ("account", "name", "cap", "epsilon", "rho", "delta", "spends", "state")
    table = _table(titles, rows)
    return (
        f'<h2>{escape(budget.unit)}</h2><p class="promise">{escape(report.promises[budget.unit])}</p>'
        f"{_timeline(report.timelines.get(budget.unit, ()))}{table}"
    )


def _cap(balance: Balance) -> str:
    if balance.cap is None:
        return ""
    lane = "" if balance.rho_cap is None else f"<br>zCDP lane: rho {float(balance.rho_cap):.6g}"
    return escape(str(balance.cap)) + lane


def _spent(balance: Balance) -> str:
    amounts = (balance.spent.epsilon, balance.spent.rho, balance.spent.delta)
    return "".join(f'<td class="n">{"none" if x is None else f"{float(x):.6g}"}</td>' for x in amounts)


def _timeline(points: Sequence[tuple[int, float]]) -> str:
    """How full the cap was after each entry: a line that ends at or below the dashed one."""
    curve = [(number, min(share, 1.05)) for number, share in points]
    if len(curve) < 2:
        return ""
    first, last = curve[0][0], curve[-1][0]
    at = [(50 + 640 * (number - first) / (last - first), 150 - 120 * share) for number, share in curve]
    path = f"M{at[0][0]:.1f} {at[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in at[1:])
    return (
        '<svg viewBox="0 0 700 175" role="img" aria-label="share of the cap that is spent, by entry">'
        '<line class="axis" x1="50" y1="150" x2="690" y2="150"/>'
        '<line class="cap" x1="50" y1="30" x2="690" y2="30"/>'
        '<text x="46" y="34" text-anchor="end">cap</text><text x="46" y="154" text-anchor="end">0</text>'
        f'<text x="50" y="170">entry {first}</text><text x="690" y="170" text-anchor="end">entry {last}</text>'
        f'<path class="curve" d="{path}"/></svg>'
    )


def _chain(report: Report) -> str:
    rows = [_entry(entry) for entry in report.entries]
    return "<h2>Every entry</h2>" + _table(("", "time", "kind", "who", "price", "what", "hash"), rows)


def _entry(entry: Entry) -> str:
    record = entry.record
    inside = record.get("name") if record.get("scope") in ("table", "analyst") else None
    who = [record.get("unit"), *_listed(record.get("tables")), record.get("table"), record.get("analyst"), inside]
    shown = " / ".join(escape(str(name)) for name in who if name is not None)
    return (
        f'<tr><td class="n">{entry.id}</td><td>{escape(str(record.get("time")))}</td>'
        f"<td>{escape(str(record.get('kind')))}</td><td>{shown}</td><td>{_price(record.get('price'))}</td>"
        f'<td class="what">{escape(_what(record))}</td><td><code>{escape(entry.hash)}</code></td></tr>'
    )


def _listed(names: object) -> list[object]:
    return list(names) if isinstance(names, list) else []


def _price(price: object) -> str:
    if not isinstance(price, dict):
        return ""
    parts = (f"{name} {value}" for name, value in price.items() if value not in (None, "0"))
    return escape(", ".join(parts))


def _what(record: dict[str, object]) -> str:
    """What an entry says besides who and how much."""
    match record:
        case {"kind": "genesis", "ledger": ledger}:
            return f"opened as {ledger}"
        case {"kind": "cap" | "top_up", "cap": dict(cap)}:
            return f"{_limits(cap)}{_because(record)}"
        case {"kind": "renewal", "period": period, "cap": dict(cap)}:
            return f"period {period}: {_limits(cap)}{_because(record)}"
        case {"kind": "spend", "query": str(query)}:
            return query
        case {"kind": "answer", "of": spend, "digest": digest, "size": size}:
            return f"answer to entry {spend}: {size} bytes, SHA-256 {digest}"
        case {"kind": "resumption", "of": spend}:
            return f"a stopped run goes on under entry {spend}"
        case {"kind": "format", "format": number}:
            return f"format {number} from here on"
        case {"kind": "witness", "state": state}:
            return f"witness {state}{_because(record)}"
        case {"kind": "recovery", "lost": dict(lost)}:
            return f"booked what ledger {lost.get('ledger')} had up to its entry {lost.get('id')}{_because(record)}"
        case {"kind": "erasure", "version": version, "requests": requests}:
            return f"people erased: {requests}; their rows are gone from version {version} on"
        case _:
            return str(record.get("reason", ""))


def _limits(cap: dict[str, object]) -> str:
    numbers = (f"{name} {value}" for name, value in cap.items() if name not in ("kind", "neighbours"))
    return f"{cap.get('kind')}: {', '.join(numbers)}"


def _because(record: dict[str, object]) -> str:
    return f" ({record['reason']})" if record.get("reason") else ""


def _table(titles: tuple[str, ...], rows: list[str]) -> str:
    head = "".join(f"<th>{title}</th>" for title in titles)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
