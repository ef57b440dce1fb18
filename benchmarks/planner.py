"""The planner's choice against the best mechanism, as measured: 12 workloads, 3 sizes and 3 budgets.

Rows are drawn with replacement from real data where a folder of them is named (DISCREET_DATA, with nltcs.csv and
adult32.csv), else from a made-up population that the planner's own simulations do not use.  For every case each
mechanism of the plan is run, and the largest error of the chosen one is divided by that of the best one.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import Row, is_quick, publish, size
from discreet.data import Boolean, Domain, Histogram, Integer, Records
from discreet.errors import DiscreetError
from discreet.hazmat.entropy import SeededRandom
from discreet.planning import Plan, plan
from discreet.privacy.guarantee import ApproxDP
from discreet.queries import conjunctions, counts, kron, marginals, parities, random_counting, ranges, thresholds
from discreet.queries.workload import Workload

SIZES = size((1_000, 10_000, 100_000), quick=(1_000,))
BUDGETS = tuple(ApproxDP(epsilon, 1e-6) for epsilon in size((0.1, 1.0, 4.0), quick=(1.0,)))
RUNS = size(5, quick=1)
SLOWEST = size(2.0, quick=0.2)  # seconds a run may be predicted to take


def bits(count: int) -> Domain:
    return Domain({f"b{i}": Boolean() for i in range(count)})


def line(cells: int, name: str = "x") -> Domain:
    return Domain({name: Integer(0, cells - 1)})


MIXED = Domain({"age": Integer(0, 31), "hours": Integer(0, 31), "sex": Boolean(), "income": Boolean()})
WORKLOADS: dict[str, Callable[[], Workload]] = {
    "1-way marginals, 10 bits": lambda: marginals(bits(10), 1),
    "2-way marginals, 10 bits": lambda: marginals(bits(10), 2),
    "3-way marginals, 10 bits": lambda: marginals(bits(10), 3),
    "2-way marginals, 14 bits": lambda: marginals(bits(14), 2),
    "2-way marginals, mixed": lambda: marginals(MIXED, 2),
    "conjunctions of 2, 10 bits": lambda: conjunctions(10, 2),
    "pair parities, 12 bits": lambda: parities(12, 2),
    "all cells, 10 bits": lambda: counts(bits(10)),
    "thresholds, 256": lambda: thresholds(256),
    "ranges, 64": lambda: ranges(64),
    "500 random queries, 10 bits": lambda: random_counting(bits(10), 500, seed=7),
    "thresholds by sex": lambda: kron(thresholds(line(32, "age")), counts(Domain({"sex": Boolean()}))),
}


@dataclass(frozen=True)
class Case:
    """One cell of the table."""

    workload: str
    n: int
    epsilon: float
    chosen: str
    best: str
    largest: float  # measured error of the chosen mechanism over that of the best
    typical: float


def measure() -> list[Row]:
    cases, seconds = [], []
    for name, make in list(WORKLOADS.items())[: size(len(WORKLOADS), quick=1)]:
        workload = make()
        for n in SIZES:
            data = _rows(workload.domain, n)
            for budget in BUDGETS:
                began = time.perf_counter()
                made = plan(workload, n=n, budget=budget)
                seconds.append(time.perf_counter() - began)
                cases.append(_case(name, made, data))
                print(cases[-1], file=sys.stderr, flush=True)
    if not is_quick():
        _write(cases)
    largest = [case.largest for case in cases]
    middle, worst = statistics.median(largest), max(largest)
    exact = sum(case.chosen == case.best for case in cases)
    return [
        Row(what="cases", value=len(cases), unit=""),
        Row(what="chosen = best measured", value=exact, unit="cases"),
        Row(what="largest error, chosen / best: median", value=middle, unit="x", promise="<= 1.1", holds=middle <= 1.1),
        Row(what="largest error, chosen / best: worst", value=worst, unit="x", promise="<= 1.5", holds=worst <= 1.5),
        Row(what="a plan: median", value=statistics.median(seconds), unit="s"),
        Row(what="a plan: slowest", value=max(seconds), unit="s"),
    ]


def _case(name: str, made: Plan, data: Records | Histogram) -> Case:
    true = np.asarray(made.question.workload.answer(data), dtype=np.float64)
    found = {}
    for row in made.rows:
        if row.basis != "theorem" and row.cost.seconds > SLOWEST:
            continue
        try:
            mechanism = made.build(row.name)
            errors, began = [], time.perf_counter()
            while len(errors) < RUNS and (not errors or time.perf_counter() - began < SLOWEST):
                errors.append(mechanism(data, rng=SeededRandom(1000 + len(errors))).answers - true)
        except DiscreetError as reason:
            print(name, row.name, reason, file=sys.stderr)
            continue
        largest = statistics.mean(float(np.abs(error).max()) for error in errors)
        found[row.name] = (largest, float(np.sqrt(np.mean([np.mean(error**2) for error in errors]))))
    best = min(found, key=lambda one: found[one][0])
    chosen = made.chosen.name
    return Case(
        workload=name,
        n=made.question.n,
        epsilon=float(made.question.budget.epsilon),  # type: ignore[attr-defined]
        chosen=chosen,
        best=best,
        largest=found[chosen][0] / found[best][0],
        typical=found[chosen][1] / min(other[1] for other in found.values()),
    )


def _rows(domain: Domain, n: int) -> Records | Histogram:
    """n rows drawn with replacement from real data that have columns of these sizes, or made up."""
    rng = np.random.default_rng(n)
    pool = _real(domain)
    if pool is None:
        levels = [rng.zipf(1.5, size=n) % declared.size for declared in domain.values()]
        shared = rng.random(n) < 0.6  # columns that move together
        first = levels[0] / domain[next(iter(domain))].size
        pool = [np.where(shared, (first * d.size).astype(int), x) for x, d in zip(levels, domain.values(), strict=True)]
        return _counted(Records(domain, pool))
    pick = rng.integers(0, len(pool[0]), size=n)
    return _counted(Records(domain, [column[pick] for column in pool]))


def _counted(rows: Records) -> Histogram:
    return rows.histogram()


def _real(domain: Domain) -> list[np.ndarray] | None:
    folder = os.environ.get("DISCREET_DATA")
    if not folder:
        return None
    if all(isinstance(declared, Boolean) for declared in domain.values()):
        table = np.genfromtxt(Path(folder) / "nltcs.csv", delimiter=",", skip_header=1, dtype=int)
        return [table[:, place] for place in range(len(domain))]
    import pandas

    adult = pandas.read_csv(Path(folder) / "adult32.csv")
    most = {str(name): int(adult[str(name)].to_numpy().max()) for name in adult}
    wide, narrow = [name for name in most if most[name] > 20], [name for name in most if most[name] == 1]
    made = []
    for declared in domain.values():
        source = adult[(wide if declared.size > 2 else narrow).pop(0)].to_numpy()
        spread = source * max(1, declared.size // 32) + np.arange(len(source)) % max(1, declared.size // 32)
        made.append(np.minimum(spread, declared.size - 1))
    return made


def _write(cases: list[Case]) -> None:
    """The table, for the documentation."""
    lines = ["| workload | n | epsilon | chosen | best measured | largest | typical |", "|---|---|---|---|---|---|---|"]
    lines += [
        f"| {c.workload} | {c.n:,} | {c.epsilon:g} | {c.chosen} | {c.best} | {c.largest:.2f} | {c.typical:.2f} |"
        for c in cases
    ]
    Path(__file__).with_name("results").joinpath("planner.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(0 if publish("planner", measure()) else 1)
