"""The lab of tracing: pirates mix their copies, and a private release of the same columns in their stead.

The columns are those of a Tardos code.  A coalition that mixes its words is named.  A private mechanism that releases
the counts of the coalition's columns, at a budget for one member replaced, is far too inaccurate to be a pirate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.attacks.codes.pirates import PIRATES, Pirate, mixed
from discreet.attacks.codes.tardos import Tardos, tardos
from discreet.attacks.fingerprinting import rounded, wrong_marks
from discreet.errors import UnsupportedError, require
from discreet.privacy.guarantee import ApproxDP
from discreet.release.noise import noise_for

if TYPE_CHECKING:
    import altair as alt

    from discreet.hazmat.entropy import RandomSource

CELLS = 200_000_000  # bits of a code


@dataclass(frozen=True, slots=True, eq=False)
class TracingComparison:
    """Who was named by the pirates' word, and by a private release of their columns.

    >>> found = compare_tracing(12, 2, seed=1)
    >>> found.users, found.innocent
    (12, ())
    """

    users: int
    pirates: int
    strategy: str
    length: int
    threshold: float
    named: tuple[int, ...]
    innocent: tuple[int, ...]
    private_named: tuple[int, ...]
    wrong_marks: float
    budget: ApproxDP
    scores: tuple[tuple[float, ...], tuple[float, ...]]

    def __str__(self) -> str:
        falsely = f"{len(self.innocent)} innocent" if self.innocent else "nobody else"
        return "\n".join(
            [
                f"{self.users} users hold marked copies of {self.length:,} positions; {self.pirates} of them mix theirs"
                f" ({self.strategy}).",
                f"The mixture names {len(self.named)} of the {self.pirates} pirates and {falsely}.",
                f"Counts of the same columns, released by discreet at {self.budget}, name {len(self.private_named)}:"
                f" the noise gets {self.wrong_marks:.0%} of the unanimous columns wrong.",
                "An accurate release of so many columns would be a pirate; that is why none can be private.",
            ]
        )

    def plot(self) -> alt.LayerChart | alt.FacetChart:
        """Scores of all users, with the threshold."""
        try:
            import altair as alt
        except ImportError:
            raise UnsupportedError("pictures need the extra 'plot': pip install 'discreet[plot]'") from None
        names = ("pirates mix their copies", "discreet releases the columns")
        values = [
            {"user": user, "score": score, "who": "pirate" if user < self.pirates else "innocent", "release": name}
            for name, scores in zip(names, self.scores, strict=True)
            for user, score in enumerate(scores)
        ]
        data = alt.Data(values=values)
        colours = alt.Scale(domain=["pirate", "innocent"], range=["#c0392b", "#5b8db8"])
        points = (
            alt.Chart(data)
            .mark_circle(size=40)
            .encode(
                x=alt.X("user:Q", title="user"),
                y=alt.Y("score:Q", title="score"),
                color=alt.Color("who:N", scale=colours),
            )
        )
        rule = alt.Chart(data).mark_rule(strokeDash=[4, 4]).encode(y=alt.datum(self.threshold))
        return (
            alt.layer(points, rule)
            .properties(width=300, height=200)
            .facet(column=alt.Column("release:N", sort=list(names), title=None))
        )


def compare_tracing(
    users: int,
    pirates: int,
    *,
    strategy: Pirate = "interleaving",
    budget: ApproxDP | None = None,
    seed: int = 0,
    rng: RandomSource | None = None,
) -> TracingComparison:
    """Trace a coalition of the first users, and a private release in its stead.

    >>> print(str(compare_tracing(20, 3)).splitlines()[1])
    The mixture names 3 of the 3 pirates and nobody else.
    """
    import numpy as np

    require(pirates >= 1 and users >= pirates, "users >= pirates >= 1", users=users, pirates=pirates)
    require(strategy in PIRATES, f"a strategy among {', '.join(PIRATES)}", strategy=strategy)
    code: Tardos = tardos(users, pirates, seed=seed)
    require(code.words.size <= CELLS, f"users times positions at most {CELLS:,}", product=code.words.size)
    spent = ApproxDP(1, "1e-6") if budget is None else budget
    held = code.words[:pirates]
    counts = held.astype(np.int64).sum(axis=0)
    # One user moves every count by at most 1, added, removed or replaced: the budget holds as it is stated.
    noise = noise_for(spent, absolute=len(counts), square=len(counts), size=len(counts))
    word = mixed(held, strategy, seed=seed + 1)
    private = rounded(np.asarray(noise(counts, rng=rng), dtype=np.float64), pirates)
    found, other = code.trace(word), code.trace(private)
    return TracingComparison(
        users=users,
        pirates=pirates,
        strategy=strategy,
        length=len(code.biases),
        threshold=code.settings.threshold,
        named=tuple(found[found < pirates].tolist()),
        innocent=tuple(found[found >= pirates].tolist()),
        private_named=tuple(other.tolist()),
        wrong_marks=wrong_marks(held, private),
        budget=spent,
        scores=(tuple(code.scores(word).tolist()), tuple(code.scores(private).tolist())),
    )
