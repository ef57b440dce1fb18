"""The one way out of the seal: read each pass, and draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from discreet.curator.plan import Plan
from discreet.data.aggregation import Aggregation, Sealed, SealedGroups
from discreet.hazmat.entropy import RandomSource
from discreet.queries.compile import Part, Rank

if TYPE_CHECKING:
    from discreet.curator.estimate import Noisy
    from discreet.data.aggregation import IntArray

Groups = list[tuple[str | int | None, ...]]  # the texts of a group, and its number among the declared keys
Run = Callable[[Aggregation], Sealed | SealedGroups]


def release(
    plan: Plan, passes: list[Aggregation], run: Run, *, rng: RandomSource | None
) -> tuple[Noisy, Groups | None]:
    """The released integers of every part, cell by cell; and the groups that may be named, where they are private."""
    import numpy as np

    made: dict[Part | Rank, IntArray] = {}
    groups: Groups | None = None

    def added(cells: IntArray) -> None:
        for place, part in enumerate(plan.added):
            for one in plan.releases:
                if one.part == part:
                    made[part] = np.asarray(one.mechanism(cells[:, place], rng=rng))

    def selected(found: Groups, cells: IntArray) -> Groups:
        """Groups are named by their number of units alone, in an order that depends on their names alone."""
        assert plan.selection is not None
        units = cells[:, plan.added.index(Part("units"))]
        flags = np.asarray(plan.selection(units, rng=rng)) if len(found) else np.zeros(0, dtype=bool)
        kept = sorted(np.flatnonzero(flags), key=lambda i: _by_name(found[i]))
        added(cells[kept])
        return [found[i] for i in kept]

    def ranked(rank: Rank, cells: IntArray) -> None:
        counts = cells[:, 0].reshape(plan.cells, -1)
        for one in plan.releases:
            if isinstance(one.part, Rank) and one.part.argument == rank.argument:
                made[one.part] = np.asarray(one.mechanism(counts, rng=rng))

    first = 1 if plan.added else 0
    for place, pass_ in enumerate(passes):
        match run(pass_):  # the only read of private rows
            case SealedGroups() as found:
                groups = found.through(selected)
            case Sealed() as found if place < first:
                found.through(added)
            case Sealed() as found:
                rank = plan.ranked[place - first]
                found.through(lambda cells, rank=rank: ranked(rank, cells))
    return [made[one.part] for one in plan.releases], groups


def _by_name(group: tuple[str | int | None, ...]) -> list[tuple[bool, str | int]]:
    """Texts by their characters, missing ones last; then the number among the declared keys."""
    *texts, number = group
    assert isinstance(number, int)
    return [*((text is None, str(text or "")) for text in texts), (False, number)]
