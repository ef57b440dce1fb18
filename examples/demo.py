"""Five private questions to a fake hospital: answers, error bars, prices, and a picture of them.

Each question has its own mechanism and is paid for from one budget before it is asked.  Neighbours:
one patient's record is left empty; how many patients there are is public.  The patients are made
up here, which is the only reason why the truth may be shown beside the answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import altair as alt
import numpy as np
import numpy.typing as npt

from discreet import ApproxDP
from discreet.composition import PrivacyFilter
from discreet.mechanisms import Gaussian, Laplace, PermuteAndFlip, RandomizedResponse, SparseVector

BETA = 0.05  # an error bar fails with at most this probability
WARDS = ("cardiology", "geriatrics", "maternity", "oncology", "surgery")
DIAGNOSES = ("angina", "asthma", "diabetes", "hip fracture", "influenza", "sepsis")
CAP, STEP = 5000, 10  # costs are clamped to 5000 and moved to a lattice of tens before they are added
BUSY = 950  # admissions in a week
ENDS = ("low", "high")

Column = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came out.  A number has `values` with an error bar; a choice has `chosen` items and a band around `line`."""

    question: str
    mechanism: Laplace | Gaussian | PermuteAndFlip | RandomizedResponse | SparseVector
    said: str
    error: float
    items: Sequence[str]
    truth: Sequence[float]
    values: Sequence[float] = ()
    chosen: Sequence[int] = ()
    line: float = 0


def patients(n: int = 10_000) -> dict[str, Column]:
    """A made-up table.  The seed makes the fake patients, never the noise."""
    fake = np.random.default_rng(2026)
    weeks = np.array([6, 7, 8, 9, 8, 8, 12, 11, 8, 8, 8, 7]) / 100
    return {
        "ward": fake.choice(5, n, p=[0.30, 0.18, 0.12, 0.15, 0.25]),
        "diagnosis": fake.choice(6, n, p=[0.20, 0.15, 0.21, 0.10, 0.26, 0.08]),
        "cost": fake.lognormal(7, 0.8, n).astype(np.int64),
        "smokes": (fake.random(n) < 0.23).astype(np.int64),
        "week": fake.choice(12, n, p=weeks),
    }


def wards(column: Column, budget: PrivacyFilter) -> Answer:
    """How many patients lie in each ward?  A patient lies in one, so the whole histogram moves by one."""
    laplace = Laplace(epsilon=0.02, sensitivity=1)
    budget.spend(laplace.event())
    counts = np.bincount(column, minlength=len(WARDS))
    values = np.asarray(laplace(counts)).tolist()
    said = ", ".join(f"{ward} {value}" for ward, value in zip(WARDS, values, strict=True))
    error = laplace.accuracy(BETA, size=len(WARDS))
    return Answer(
        question="patients in each ward",
        mechanism=laplace,
        said=said,
        error=error,
        items=WARDS,
        truth=counts.tolist(),
        values=values,
    )


def cost(column: Column, budget: PrivacyFilter) -> Answer:
    """What did they all cost?  Clamped, on a lattice: a patient moves the sum by at most CAP / STEP steps."""
    gaussian = Gaussian(epsilon=0.1, delta=1e-6, sensitivity=CAP // STEP)
    budget.spend(gaussian.event())
    steps, millions = int((column.clip(0, CAP) // STEP).sum()), STEP / 1e6
    value = float(gaussian(steps) * millions)
    return Answer(
        question="total cost, in millions",
        mechanism=gaussian,
        said=f"{value:.2f}",
        error=gaussian.accuracy(BETA) * millions,
        items=["all patients"],
        truth=[steps * millions],
        values=[value],
    )


def diagnosis(column: Column, budget: PrivacyFilter) -> Answer:
    """Which diagnosis is the most common?  Only its name comes out."""
    select = PermuteAndFlip(epsilon=0.02, sensitivity=1, monotone=True)
    budget.spend(select.event())
    counts = np.bincount(column, minlength=len(DIAGNOSES))
    chosen = select(counts)
    return Answer(
        question="most common diagnosis",
        mechanism=select,
        said=DIAGNOSES[chosen],
        error=select.accuracy(BETA, size=len(DIAGNOSES)),
        items=DIAGNOSES,
        truth=counts.tolist(),
        chosen=[chosen],
        line=int(counts.max()),
    )


def smokers(column: Column, budget: PrivacyFilter) -> Answer:
    """What share smokes?  Each patient's own coin decides whether the answer is flipped: nobody need be trusted."""
    response = RandomizedResponse(epsilon=0.3)
    budget.spend(response.event())
    value = float(response.estimate(response(column)))  # unbiased
    return Answer(
        question="share who smoke",
        mechanism=response,
        said=f"{value:.1%}",
        error=response.error(len(column), BETA),
        items=["all patients"],
        truth=[float(column.mean())],
        values=[value],
    )


def weeks(column: Column, budget: PrivacyFilter) -> Answer:
    """Which weeks were busy?  Three may be named, at the price of three, however many are not."""
    sparse = SparseVector(epsilon=0.2, sensitivity=1, threshold=BUSY, count=3, monotone=True)
    budget.spend(sparse.event())
    counts = np.bincount(column, minlength=12)
    chosen = np.flatnonzero(sparse(counts)).tolist()
    return Answer(
        question=f"weeks with {BUSY} admissions",
        mechanism=sparse,
        said=", ".join(str(week + 1) for week in chosen) or "none",
        error=sparse.accuracy(BETA, queries=12),
        items=[f"{week:02}" for week in range(1, 13)],
        truth=counts.tolist(),
        chosen=chosen,
        line=BUSY,
    )


def panel(answer: Answer) -> alt.Chart | alt.LayerChart | alt.FacetChart:
    """Grey is the truth, for this fake table only; blue came out of the mechanism, with its error bar."""
    rows = [{"item": item, "truth": truth} for item, truth in zip(answer.items, answer.truth, strict=True)]
    for row, value in zip(rows, answer.values, strict=False):
        row |= {"answer": value, "low": value - answer.error, "high": value + answer.error}
    for index, row in enumerate(rows):
        row["chosen"] = index in answer.chosen
    base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("item:N", title=None, axis=alt.Axis(labelAngle=-40)))
    layers = [base.mark_bar(color="lightgrey").encode(y=alt.Y("truth:Q", title=None))]
    if answer.values:
        layers.append(base.mark_rule(color="steelblue", strokeWidth=3).encode(y="low:Q", y2="high:Q"))
        layers += [base.mark_tick(color="steelblue", width=14, thickness=2).encode(y=f"{end}:Q") for end in ENDS]
        layers.append(base.mark_point(color="steelblue", filled=True, opacity=1).encode(y="answer:Q"))
    else:
        band = [{"line": answer.line, "low": answer.line - answer.error, "high": answer.line + answer.error}]
        around = alt.Chart(alt.Data(values=band))
        layers.append(around.mark_rect(color="steelblue", opacity=0.25).encode(y="low:Q", y2="high:Q"))
        layers.append(around.mark_rule(color="steelblue").encode(y="line:Q"))
        mark = base.transform_filter("datum.chosen").mark_point(color="steelblue", filled=True, opacity=1, size=90)
        layers.append(mark.encode(y=alt.value(190)))
    return alt.layer(*layers).properties(title=answer.question, width=max(110, 26 * len(rows)), height=200)


def main() -> None:
    table, budget = patients(), PrivacyFilter(ApproxDP(2.0, 1e-6))
    answers = [
        wards(table["ward"], budget),
        cost(table["cost"], budget),
        diagnosis(table["diagnosis"], budget),
        smokers(table["smokes"], budget),
        weeks(table["week"], budget),
    ]
    print(f"{'question':28}{'within, 95 %':>12}  {'price':36}answer")
    for answer in answers:
        print(f"{answer.question:28}{answer.error:>12.3g}  {answer.mechanism.privacy()!s:36}{answer.said}")
    print(f"\nin all at most {budget.cap}\nspent  {budget.spent}\nleft   {budget.remaining}")

    out = Path("out")
    out.mkdir(exist_ok=True)
    picture = alt.hconcat(*map(panel, answers)).properties(
        title="Five private answers and their 95 % error bars, in blue (grey: the truth, for this fake table only)"
    )
    picture.save(out / "demo.svg")
    picture.save(out / "demo.png", scale_factor=2)
    print("picture: out/demo.svg, out/demo.png")


if __name__ == "__main__":
    main()
