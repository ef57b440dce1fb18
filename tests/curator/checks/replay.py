"""Record a run, freeze what its mechanisms released, replay it on the neighbour, and compare everything.

Two runs that release the same values may differ in nothing else: calls, parameters, prices, plan,
number and order of cells, the answer and its explanation.  What they feed the mechanisms may differ
by the declared sensitivity, in the metric of the mechanism.  Deterministic: no statistics are involved.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from unittest.mock import patch

from discreet.attacks.hooks import HOOKS
from discreet.attacks.replay import ROUNDING, Step, Tape
from discreet.composition.price import FREE
from discreet.curator.answer import Answer
from discreet.curator.curator import Curator
from discreet.curator.plan import Plan
from discreet.data.engines.base import Engine
from discreet.data.engines.duckdb import DuckDB
from discreet.data.table import Table
from discreet.errors import DiscreetError
from discreet.hazmat.entropy import SeededRandom
from discreet.ledger import Ledger
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.privacy import ApproxDP
from discreet.queries.compile import Rank
from discreet.structured.quantiles.quantile_bound import QuantileBound
from discreet.structured.quantiles.quantile_grid import GridQuantile
from tests.curator.checks.worlds import World

CAP = ApproxDP(10**9, Fraction(1, 2))
KINDS = (Laplace, Gaussian, GridQuantile, QuantileBound)  # what answers columns
HOOKED = [hook for hook in HOOKS if hook.owner in KINDS]


@dataclass
class Record:
    """What happened in one run, in order, and what came out."""

    steps: list[str] = field(default_factory=list)
    calls: list[Step] = field(default_factory=list)
    shown: object = None
    explained: str = ""
    price: object = None
    columns: list[list[int]] = field(default_factory=list)
    wanted: list[str] = field(default_factory=list)  # the steps of the plan, in order


class Draws(Tape):
    """The tape of a run, which notes when something is drawn."""

    def __init__(self, record: Record, frozen: list[Step] | None) -> None:
        super().__init__(frozen, rng=SeededRandom(1))
        self.record = record
        record.calls = self.steps

    def release(self, *call: object) -> object:
        self.record.steps.append("draw")
        return super().release(*call)  # type: ignore[arg-type]


class Noted:
    """An engine that writes down when it reads."""

    def __init__(self, inner: Engine, record: Record) -> None:
        self.inner, self.record = inner, record

    def ready(self, table: object, aggregation: object) -> None:
        """Whatever is asked."""

    def check(self) -> None:
        self.inner.check()

    def run(self, table, aggregation):
        self.record.steps.append("read")
        return self.inner.run(table, aggregation)


def run(
    table: Table,
    world: World,
    *,
    beside: dict[str, Table] | None = None,
    frozen: list[Step] | None = None,
    engine: Engine | None = None,
    curator: type[Curator] = Curator,
    ledger: Ledger | None = None,
) -> Record:
    """Ask a question; mechanisms release what `frozen` says, if it is given."""
    record = Record()
    ledger = ledger or Ledger.open(":memory:", testing=True)

    def spend(self, *args, **keywords):
        record.steps.append("spend")
        receipt = Ledger_spend(self, *args, **keywords)
        record.price = receipt.price
        return receipt

    Ledger_spend = Ledger.spend
    noted = Noted(engine or DuckDB(threads=1), record)
    tables = {"visits": table, **(beside or {})}
    asked = curator(tables, budget=CAP, ledger=ledger, engine=noted, rng=SeededRandom(1))
    with ExitStack() as stack:
        stack.enter_context(Draws(record, frozen).recording(HOOKED))
        stack.enter_context(patch.object(Ledger, "spend", spend))
        try:
            record.explained = str(asked.explain(world.sql, **world.asked))  # type: ignore[arg-type]
            answer: Answer = asked.ask(world.sql, fresh=True, **world.asked)  # type: ignore[arg-type]
            shown = answer.to_dict()
            del shown["receipt"]
            record.shown = repr([shown, answer.table.schema])
            record.columns = [[int(v) for v in part] for part in answer.noisy]
            record.wanted = steps(answer.plan)
        except DiscreetError as error:
            record.shown = f"refused: {type(error).__name__}"
        except Exception as error:
            record.shown = f"escaped: {type(error).__name__} {error}"
    return record


def violations(world: World, *, ledger: Ledger | None = None, **how: object) -> list[str]:
    """What is wrong with a front end, as seen from one question and two neighbours."""
    one = run(world.table, world, beside=world.beside, ledger=ledger, **how)  # type: ignore[arg-type]
    two = run(world.neighbour, world, beside=world.beside_neighbour, frozen=one.calls, ledger=ledger, **how)  # type: ignore[arg-type]
    found = []
    if str(one.shown).startswith(("escaped", "refused")) or str(two.shown).startswith(("escaped", "refused")):
        found.append(f"a run failed: {str(one.shown)[:200]} / {str(two.shown)[:200]}")
    for name in ("steps", "shown", "explained", "price"):
        if getattr(one, name) != getattr(two, name):
            found.append(f"{name} differ")
    if one.steps != one.wanted:
        found.append(f"steps out of order: {one.steps}")
    if [call.mechanism for call in one.calls] != [call.mechanism for call in two.calls]:
        found.append("mechanisms differ")
    if sorted(one.columns) != sorted([int(v) for v in call.released] for call in one.calls):
        found.append("something was released that no mechanism released")
    found += unpaid(one)
    found += [
        f"call {i}: {far}" for i, pair in enumerate(zip(one.calls, two.calls, strict=False)) if (far := distance(*pair))
    ]
    return found


def steps(plan: Plan) -> list[str]:
    """Spend once; then read each pass once, and draw once for everything released from it."""
    ranks = [release.part.argument for release in plan.releases if isinstance(release.part, Rank)]
    found = ["spend"]
    if plan.added:
        found += ["read"] + ["draw"] * len(plan.added)
    for rank in plan.ranked:
        found += ["read"] + ["draw"] * ranks.count(rank.argument)
    return found


def unpaid(record: Record) -> list[str]:
    """Whether the mechanisms that ran cost more than was charged."""
    total = sum((call.price for call in record.calls if call.price is not None), FREE)
    charged = record.price
    if charged is None:
        return ["nothing was charged"] if record.calls else []
    slack = 1 + Fraction(1, 2**39)  # of the Gaussian's own reading of square roots
    dear = total.rho > charged.rho * slack or (  # type: ignore[attr-defined]
        charged.epsilon is not None and (total.epsilon is None or total.epsilon > charged.epsilon)  # type: ignore[attr-defined]
    )
    return ["the mechanisms cost more than was charged"] if dear else []


def distance(one: Step, two: Step) -> str | None:
    """How the inputs of a call differ, if it is by more than declared."""
    if getattr(one.fed, "shape", None) != getattr(two.fed, "shape", None):
        return "another number of cells"
    if one.mechanism != two.mechanism:
        return "another mechanism"
    part = one.hook.distance(one.mechanism, one.fed, two.fed)
    return f"input moved {float(part):.4g} times as far as {one.mechanism} declares" if part > 1 + ROUNDING else None
