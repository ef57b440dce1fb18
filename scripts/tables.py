"""Write docs/tables.md and docs/open_questions.md from `discreet.bounds`.  A test checks that they are up to date."""

from __future__ import annotations

from pathlib import Path

from discreet.bounds import (
    capacity,
    interval_table,
    lower_bounds,
    marginals_table,
    noise_table,
    open_questions,
    samples,
)
from discreet.bounds.table import markdown
from discreet.data import Boolean, Domain
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.queries import Workload, marginals, thresholds

DOCS = Path(__file__).resolve().parent.parent / "docs"
OPENING = """# Tables

What is known, with numbers: computed by `discreet.bounds`, written by `scripts/tables.py`. *Exact* entries are
proven, with their constants; *shapes* have the constant 1 and are neither promises nor limits. Every table is a value
with `.to_csv()`, `.to_pandas()` and, where there is something to see, `.plot()`.
"""
BOUNDS = """## What nobody can do

`discreet.bounds.lower_bounds(workload, n=, guarantee=)`; `best` is the first of them, and `discreet.plan` shows them
beside its choice. Errors in counts, n = 100,000 rows, one of which may be replaced. What binds continuous
Gaussian noise alone is there for comparison: other noise may have less. [Theory](theory/lower_bounds.md).
"""
QUESTIONS = """# Open questions

What the notes and surveys behind this library name and leave open, or name and do not prove, and where that stands to
our knowledge on 2026-11-16. `discreet.bounds.open_questions()` is the same as a table. Corrections are welcome.
"""
BUDGETS: tuple[Guarantee, ...] = (PureDP(1.0), ApproxDP(1.0, 1e-6), ZCDP(0.1))


def workloads() -> dict[str, Workload]:
    """What the table of lower bounds is about."""
    bits = [Domain({f"b{i}": Boolean() for i in range(d)}) for d in (10, 100)]
    return {
        "thresholds on 64 values": thresholds(64),
        "thresholds on 1,024 values": thresholds(1024),
        "2-way marginals of 10 bits": marginals(bits[0], 2),
        "1-way marginals of 100 bits": marginals(bits[1], 1),
    }


def bounds_section() -> str:
    """Every bound for some workloads and budgets."""
    rows = [
        {
            "workload": name,
            "budget": repr(budget),
            "bound": bound.name,
            "who": bound.who,
            "what": bound.what.rstrip(","),
            "at least": bound.value,
        }
        for name, workload in workloads().items()
        for budget in BUDGETS
        for bound in lower_bounds(workload, n=100_000, guarantee=budget)
    ]
    return f"{BOUNDS}\n{markdown(rows, digits=3)}\n"


def tables_page() -> str:
    """All tables under their headings."""
    sections = [
        OPENING,
        bounds_section(),
        _section(
            "t-way marginals", "marginals_table(d, t, n, epsilon, delta)", marginals_table(100, 2, 10**5, 1, 1e-6)
        ),
        _section("Intervals", "interval_table(d, epsilon, delta, n=)", interval_table(10, 1, 1e-6)),
        _section(
            "How many queries",
            "capacity(n=, universe=, alpha=, budget=)",
            *(
                capacity(n=n, universe=2**bits, alpha=0.1, budget=ApproxDP(1.0, 1e-6))
                for n, bits in ((10**5, 10), (10**6, 10), (10**6, 20), (10**7, 20))
            ),
        ),
        _section(
            "How many rows",
            "samples(problem, epsilon=, ...)",
            samples("thresholds", d=10, alpha=0.1, beta=0.05, epsilon=1.0),
            samples("parities", d=20, alpha=0.1, beta=0.05, epsilon=1.0),
            samples("statistical", m=100, tau=0.1, beta=0.05, epsilon=1.0),
        ),
        _section(
            "How much noise",
            "noise_table(epsilon=, delta=, sensitivity=)",
            noise_table(epsilon=[0.01, 0.1, 0.5, 1], delta=0.1),
            noise_table(epsilon=0.1, delta=[1e-6, 1e-5, 1e-3, 0.01, 0.1, 0.5]),
            noise_table(epsilon=[0.01, 0.1, 0.5, 1, 2, 5], sensitivity=10),
        ),
    ]
    return "\n".join(sections)


def _section(heading: str, call: str, *tables: object) -> str:
    shown = "\n\n".join(str(table) for table in tables)
    return f"## {heading}\n\n`discreet.bounds.{call}`\n\n{shown}\n"


def questions_page() -> str:
    """The register, one heading a status."""
    parts = [QUESTIONS]
    headings = {
        "open": "Open",
        "partly": "Settled in part",
        "settled": "Settled elsewhere",
        "not constructive": "Not constructive",
    }
    for status, heading in headings.items():
        parts.append(f"## {heading}\n")
        for row in open_questions():
            if row.status == status:
                parts.append(f"**{row.question}** {row.known} ({row.references}.) *Here:* {row.here}\n")
    return "\n".join(parts)


def pages() -> dict[str, str]:
    """Both pages by their path below docs/."""
    return {"tables.md": tables_page(), "open_questions.md": questions_page()}


if __name__ == "__main__":
    for name, text in pages().items():
        (DOCS / name).write_text(text)
