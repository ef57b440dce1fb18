"""What an audit of one public name found, in one row."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """The pair of neighbours that shows most, the claim there, and what was found of it.

    `bound` is below the true epsilon (mu, where `unit` says so) but with the probability of a false alarm; `exact`
    is what enumeration says, where the law is finite; `replayed` how far what its mechanisms were fed moved, as a
    part of what they declare, where a run was recorded and played back: at most 1.  `twin` times the budget was sold
    at the price of one to see whether this audit can see: `power` is how often it is caught in 200 redraws of the
    twin's counts.  `violations` says what was false, and on which pair.
    """

    name: str
    room: str
    unit: str
    pairs: int
    inputs: str
    claimed: float
    delta: float
    exact: float | None
    bound: float
    samples: int
    twin: float | None
    twin_bound: float | None
    power: float | None
    violated: bool
    seconds: float
    replayed: float | None = None
    violations: tuple[str, ...] = ()

    @property
    def how(self) -> str:
        """By what it was audited."""
        ways = {"enumerated": self.exact is not None, "replayed": self.replayed is not None}
        drawn = [] if not self.samples else ["two worlds" if self.unit == "mu" else "sampled"]
        return ", ".join(drawn + [way for way, used in ways.items() if used])

    @property
    def verdict(self) -> str:
        """In one word."""
        return "VIOLATED" if self.violated else "holds"

    def row(self) -> dict[str, object]:
        """As plain values, for JSON and CSV; infinity is a word."""
        plain = {key: _word(value) for key, value in asdict(self).items()}
        return plain | {"violations": "; ".join(self.violations), "how": self.how, "verdict": self.verdict}


def _word(value: object) -> object:
    return "infinite" if isinstance(value, float) and math.isinf(value) else value
