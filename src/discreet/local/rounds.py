"""Protocols of several rounds, and a ledger for every user.

    non-interactive   all questions are fixed before the first report; a user sends one report
    sequential        a question may depend on earlier reports; a user still sends one report
    full              a user may be asked again, as long as the own ledger allows it

Theorem (Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith 2008; Joseph, Mao, Neel, Roth 2019 for the names).  If a
user answers rounds by randomizers R_1, R_2, .. that may depend on all that was said before, and R_t is epsilon_t-DP,
then the whole transcript is (sum of epsilon_t)-DP for that user's value, and no less if every R_t is randomized
response.  The ledger adds exactly, and refuses before anything is drawn; a refusal charges nobody.
Proof: docs/theory/local_protocols.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.errors import BudgetExhausted, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.one_process import OneProcess
from discreet.local.coins import positive
from discreet.local.protocol import LocalProtocol, Server, run
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import Local
from discreet.privacy.number import Number, exact, up

if TYPE_CHECKING:
    import numpy.typing as npt

Interaction = Literal["non-interactive", "sequential", "full"]


class LocalLedger(OneProcess):
    """What every user has spent, exactly; nobody is ever charged above the cap.

    >>> ledger = LocalLedger(cap=1)
    >>> ledger.spend(["ann", "bob"], "0.3"); ledger.spend(["ann"], "0.7")
    >>> ledger.remaining("ann"), ledger.remaining("bob")
    (Fraction(0, 1), Fraction(7, 10))
    >>> ledger.spend(["bob", "ann"], "0.1")
    Traceback (most recent call last):
    discreet.errors.BudgetExhausted: budget exhausted: requested 1/10 of a user, remaining less
    """

    WHAT, INSTEAD = "a ledger of users", "it counts in memory alone"

    __slots__ = ("_spent", "cap")

    def __init__(self, *, cap: Number) -> None:
        self.cap = positive(cap)
        self._spent: dict[Hashable, Fraction] = {}

    def remaining(self, user: Hashable) -> Fraction:
        """What a user has left."""
        return self.cap - self._spent.get(user, Fraction(0))

    def spend(self, users: Iterable[Hashable], epsilon: Number) -> None:
        """Charge each user once for each time named, or nobody."""
        self.spend_each([(users, epsilon)])

    def spend_each(self, groups: Iterable[tuple[Iterable[Hashable], Number]]) -> None:
        """Charge several groups, each its own amount, or nobody."""
        with self._alone():
            charged = dict[Hashable, Fraction]()
            for users, epsilon in groups:
                cost = positive(epsilon)
                for user in users:
                    charged[user] = charged.get(user, self._spent.get(user, Fraction(0))) + cost
                    if charged[user] > self.cap:  # who it was is not said: a message is not a report
                        raise BudgetExhausted(requested=f"{cost} of a user", remaining="less")
            self._spent.update(charged)

    def privacy(self) -> PureDP:
        """The most that anybody has spent so far; the cap where nobody has."""
        return PureDP(up(max(self._spent.values(), default=self.cap)), neighbours=Local)


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A protocol, and the numbers of the users who are asked.

    >>> from discreet.local import RandomizedResponse
    >>> Question(RandomizedResponse(epsilon=1, size=2), [0, 1, 2]).users
    [0, 1, 2]
    """

    protocol: LocalProtocol
    users: Sequence[int]


class Rounds(OneProcess):
    """A server that asks users round by round; the ledger decides who may be asked.

    `values` are the users' own: they stand for the devices, and are read by the clients' half only.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.local import OneBitMean
    >>> rounds = Rounds(np.full(2000, 0.5), cap=1, interaction="sequential")
    >>> first = rounds.ask([Question(OneBitMean(epsilon=1), range(1000))], rng=SeededRandom(1))
    >>> rounds.ask([Question(OneBitMean(epsilon=1), range(500, 1500))])
    Traceback (most recent call last):
    discreet.errors.UnsupportedError: a user sends one report in a sequential protocol
    >>> rounds.privacy()
    PureDP(epsilon=1.0)
    """

    WHAT, INSTEAD = "a protocol of rounds", "it notes in memory alone who was asked"

    __slots__ = ("_asked", "_rounds", "_values", "interaction", "ledger")

    def __init__(self, values: npt.ArrayLike, *, cap: Number, interaction: Interaction) -> None:
        import numpy as np

        known = interaction in ("non-interactive", "sequential", "full")
        require(known, 'interaction "non-interactive", "sequential" or "full"', interaction=interaction)
        self.interaction: Interaction = interaction
        self.ledger = LocalLedger(cap=cap)
        self._values = np.asarray(values)
        self._asked: set[int] = set()
        self._rounds = 0

    def ask(self, questions: Sequence[Question], *, rng: RandomSource | None = None) -> list[Server]:
        """One round: everything is checked and charged before anything is drawn."""
        import numpy as np

        users = [[int(user) for user in question.users] for question in questions]
        everyone = [user for group in users for user in group]
        inside = all(0 <= user < len(self._values) for user in everyone)
        require(inside, "users by their numbers", users=len(self._values))
        costs = [exact(question.protocol.epsilon) for question in questions]
        with self._alone():
            if self.interaction == "non-interactive" and self._rounds:
                raise UnsupportedError("a non-interactive protocol has one round: ask all questions at once")
            if self.interaction != "full" and (len(set(everyone)) < len(everyone) or self._asked & set(everyone)):
                raise UnsupportedError(f"a user sends one report in a {self.interaction} protocol")
            self.ledger.spend_each(zip(users, costs, strict=True))
            self._asked.update(everyone)
            self._rounds += 1
        random = source(rng)
        return [
            run(question.protocol, self._values[np.array(group, dtype=np.int64)], rng=random)
            for question, group in zip(questions, users, strict=True)
        ]

    def privacy(self) -> PureDP:
        """What the users have spent at most."""
        return self.ledger.privacy()
