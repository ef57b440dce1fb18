"""The attack lab: one attack on a naive system and on discreet, side by side, with a sentence for everybody.

Both hold the same made-up secrets and are asked the same questions.  The naive one adds sticky noise; discreet's noise
is what its budget asks for, for one secret bit replaced, and `reconstruction_bound` says what is left to any attack.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.attacks.naive import Sticky
from discreet.attacks.reconstruction.bound import reconstruction_bound
from discreet.attacks.reconstruction.reconstruct import reconstruct
from discreet.attacks.reconstruction.subsets import random_subsets
from discreet.errors import UnsupportedError, require
from discreet.privacy.guarantee import ApproxDP
from discreet.release.noise import noise_for

if TYPE_CHECKING:
    import altair as alt
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.entropy import RandomSource

    Bits = npt.NDArray[np.uint8]

SHOWN = 200  # people in the picture
MOST = 50_000_000  # entries of the table of questions


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """What an attacker got right of the same secrets, from each system.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> found = compare_reconstruction(40, 160, noise=0.5, rng=SeededRandom(1))
    >>> found.naive > 0.95
    True
    """

    people: int
    questions: int
    noise: float
    budget: ApproxDP
    secret: Bits = field(repr=False)
    from_naive: Bits = field(repr=False)
    from_discreet: Bits = field(repr=False)

    @property
    def naive(self) -> float:
        """The fraction right against the naive system."""
        return float((self.secret == self.from_naive).mean())

    @property
    def discreet(self) -> float:
        """The fraction right against discreet."""
        return float((self.secret == self.from_discreet).mean())

    @property
    def bound(self) -> float:
        """What no attack on discreet can beat in expectation."""
        return reconstruction_bound(self.budget)

    def __str__(self) -> str:
        asked = f"{self.questions:,} ordinary counts about {self.people:,} people with one secret bit each"
        return "\n".join(
            [
                f"Asked: {asked}.",
                f"A system that adds up to {self.noise:g} to every count gives away {self.naive:.1%} of the secrets.",
                f"discreet at {self.budget} gives away {self.discreet:.1%}: a coin gets 50 %, and by theorem",
                f"nobody can expect more than {self.bound:.1%} from its answers, whatever they try.",
            ]
        )

    def plot(self) -> alt.HConcatChart | alt.VConcatChart:
        """One square a person: green if the attacker is wrong, red if right."""
        try:
            import altair as alt
        except ImportError:
            raise UnsupportedError("pictures need the extra 'plot': pip install 'discreet[plot]'") from None

        def grid(guess: Bits, title: str) -> alt.Chart:
            known = (guess == self.secret)[:SHOWN]
            across = 20
            values = [
                {"x": place % across, "y": place // across, "attacker": "right" if right else "wrong"}
                for place, right in enumerate(known.tolist())
            ]
            colours = alt.Scale(domain=["right", "wrong"], range=["#c0392b", "#9fc5a8"])
            return (
                alt.Chart(alt.Data(values=values))
                .mark_rect(stroke="white")
                .encode(
                    x=alt.X("x:O", axis=None), y=alt.Y("y:O", axis=None), color=alt.Color("attacker:N", scale=colours)
                )
                .properties(width=280, height=150, title=title)
            )

        first = grid(self.from_naive, f"noise up to {self.noise:g}: {self.naive:.0%} known")
        second = grid(self.from_discreet, f"discreet: {self.discreet:.0%} known, a coin 50%")
        return alt.hconcat(first, second)


def compare_reconstruction(
    people: int,
    questions: int,
    *,
    noise: float,
    budget: ApproxDP | None = None,
    seed: int = 0,
    rng: RandomSource | None = None,
) -> Comparison:
    """Attack made-up secrets by least deviations, behind sticky noise and behind discreet.

    >>> print(str(compare_reconstruction(64, 256, noise=1.0)).splitlines()[1])
    A system that adds up to 1 to every count gives away 100.0% of the secrets.
    """
    import numpy as np

    for name, value in (("people", people), ("questions", questions)):
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        require(whole, f"an integer {name} >= 1", **{name: value})
    require(noise >= 0, "noise >= 0", noise=noise)
    require(people * questions <= MOST, f"people times questions at most {MOST:,}", product=people * questions)
    spent = ApproxDP(1, "1e-6") if budget is None else budget
    secret = np.random.default_rng(seed).integers(0, 2, people, dtype=np.uint8)
    asked = random_subsets(people, questions, seed=seed + 1)
    counts = asked.astype(np.int64) @ secret.astype(np.int64)
    # One person moves every count by at most 1, added, removed or replaced: the budget holds as it is stated.
    exact_noise = noise_for(spent, absolute=questions, square=questions, size=questions)
    protected = np.asarray(exact_noise(counts, rng=rng), dtype=np.float64)
    naive = reconstruct(asked, Sticky(secret, noise=noise, salt=b"lab").answer(asked))
    ours = reconstruct(asked, protected)
    return Comparison(people, questions, noise, spent, secret, naive.bits, ours.bits)
