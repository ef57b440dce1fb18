"""The demonstration: a hospital, a budget, a handful of questions, a report."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path

from discreet.curator.answer import Answer
from discreet.curator.curator import Curator
from discreet.curator.sample import DECLARATION, hospital
from discreet.curator.show import html
from discreet.ledger import Budget
from discreet.privacy.guarantee import ZCDP, ApproxDP

CAP = ApproxDP(1.0, 1e-6)
QUESTIONS = (
    ("How many visits does each ward see, and what do they cost?",
     "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost FROM visits GROUP BY ward ORDER BY visits DESC"),
    ("How many different patients come, by decade of age?",
     "SELECT FLOOR(age / 10) AS decade, COUNT(DISTINCT patient) AS patients FROM visits GROUP BY decade"),
    ("Is there a season?",
     "SELECT EXTRACT(month FROM day) AS month, COUNT(*) AS visits FROM visits GROUP BY month"),
    ("Who is readmitted?",
     "SELECT ward, AVG(readmitted) AS readmitted FROM visits WHERE age >= 65 GROUP BY ward"),
    ("How unequal are the costs?",
     "SELECT STDDEV(cost) AS deviation, AVG(cost) AS mean FROM visits"),
)  # fmt: skip
PRICE = ZCDP(0.003)  # each


def demo(folder: str | Path, say: Callable[[object], None], *, visits: int = 1_000_000) -> Path:
    """Make the hospital, explain and ask, and write `report.html`; returns where it is."""
    out = Path(folder)
    say(f"making a hospital of {visits:,} visits ...")
    table = hospital(out / "visits.parquet", visits=visits, patients=max(1, visits // 10))
    (out / "visits.toml").write_text(DECLARATION, encoding="utf-8")  # to go on with `discreet init`
    for old in out.glob("demo-ledger.db*"):
        old.unlink()
    curator = Curator({"visits": table}, budget=CAP, ledger=out / "demo-ledger.db")
    say("before asking: what an answer would look like and cost\n")
    say(str(curator.explain(QUESTIONS[0][1], budget=PRICE)))
    answers: list[tuple[str, Answer]] = []
    for question, sql in QUESTIONS:
        answers.append((question, curator.ask(sql, budget=PRICE)))
        say(f"\n{question}\n{sql}")
        say(answers[-1][1])
    again = curator.ask(QUESTIONS[0][1], budget=PRICE)
    say(f"\nasking the first question again gives the same answer, free: {again.receipt.replayed}")
    budget = curator.budget
    assert isinstance(budget, Budget)
    spent = budget.balance.spent
    share = float(spent.rho / (budget.balance.rho_cap or 1))
    say(f"the five questions took {share:.0%} of a budget of {CAP}: each cost {PRICE}, a price in zCDP")
    anchor = curator.ledger.verify()
    say(f"the ledger is whole: {anchor.id + 1} entries, last hash {anchor.hash}")
    report = out / "report.html"
    report.write_text(_report(answers, visits, f"{CAP}; spent rho {float(spent.rho):g}"), encoding="utf-8")
    curator.ledger.close()
    return report


def _report(answers: list[tuple[str, Answer]], visits: int, spent: str) -> str:
    """One page: every question with its picture, its table and what may be published with it."""
    import json

    import vl_convert

    parts = []
    for question, answer in answers:
        svg = vl_convert.vegalite_to_svg(json.loads(answer.plot().to_json()))
        note = f"<p class=note>{escape(answer.statement)}</p>"
        parts.append(f"<section><h2>{escape(question)}</h2>{svg}{html(answer)}{note}</section>")
    style = (
        "body{font:16px/1.5 system-ui;max-width:760px;margin:2em auto;padding:0 1em;color:#222}"
        "table{border-collapse:collapse;margin:1em 0}"
        "td,th{padding:.2em .8em;border-bottom:1px solid #ddd;text-align:left}"
        "caption{caption-side:bottom;font-size:.8em;color:#666}.note{font-size:.75em;color:#666}svg{max-width:100%}"
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>discreet: a private hospital</title>"
        f"<style>{style}</style><h1>A hospital, asked privately</h1>"
        f"<p>{visits:,} made-up visits. Budget: {escape(spent)}.</p>{''.join(parts)}</html>\n"
    )
