"""kill -9 at random and at every step of a question: no answer without a durable spend, none lost, none paid twice."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction

from discreet.ledger import Ledger
from tests.faults.life import EPSILON, STEPS, VICTIM, asked_number
from tests.faults.processes import run
from tests.scale import counts


@dataclass(frozen=True)
class Truth:
    """What the ledger holds after a restart: the spends of each question, and the digest of each stored answer."""

    spends: dict[int, list[int]]
    answers: dict[int, str]
    restart_s: float

    @classmethod
    def read(cls, target: str) -> Truth:
        began = time.monotonic()
        spends, answers = defaultdict(list), {}
        with Ledger.open(target, create=False) as ledger:
            restart_s = time.monotonic() - began
            for record in (entry.record for entry in ledger.entries()):
                if record["kind"] == "spend":
                    spends[asked_number(record["query"])].append(record["id"])
                elif record["kind"] == "answer":
                    answers[record["of"]] = record["digest"]
            spent = ledger.budget("patient").balance.spent.epsilon
        assert spent == sum(map(len, spends.values())) * Fraction(EPSILON)
        return cls(spends, answers, restart_s)

    def unpaid(self, said: list[str]) -> list[str]:
        """The answers that were seen and that no spend, or no stored answer, stands behind."""
        return [line for line in said if not self._stands(*line.split())]

    def _stands(self, number: str, receipt: str, seen: str) -> bool:
        paid = self.spends.get(int(number), [])
        return int(receipt) in paid and self.answers.get(int(receipt)) == seen

    def double(self) -> list[int]:
        """The questions that were charged for more than once."""
        return [asked for asked, paid in self.spends.items() if len(paid) > 1]


def test_after_random_kills_every_answer_was_paid_for_once(target, record_property):
    kills = counts(quick=40, full=1000)
    found = run("life", "kills", target, kills, "spend-first", 1)
    truth = Truth.read(target)
    paid = sum(map(len, truth.spends.values()))
    record_property("kills", found["killed"])
    record_property("answers", len(found["said"]))
    record_property("paid_unseen", paid - len(found["said"]))
    record_property("restart_s", round(truth.restart_s, 2))

    assert len(found["said"]) >= kills
    assert truth.unpaid(found["said"]) == []
    assert truth.double() == []
    assert len(set(found["said"])) == len(found["said"])
    assert paid - len(found["said"]) <= found["killed"]  # of each that was killed, at most the one in flight


def test_the_twin_that_releases_first_is_caught(target):
    found = run("life", "kills", target, 12, "release-first", 1)
    answered = {int(line.split()[0]) for line in found["said"]}

    assert not answered <= set(Truth.read(target).spends)  # by question: a receipt may be another's by now


def test_a_kill_at_any_step_charges_what_that_step_says_and_loses_nothing(target, record_property):
    """Before the commit nothing is charged; after it the charge stands; a stored answer is the same for ever."""
    found = run("life", "steps", target)
    truth = Truth.read(target)
    record_property("steps", len(STEPS))
    record_property("answers_meanwhile", len(found["others"]))

    assert truth.unpaid(found["others"]) == []
    for number, (step, seen) in enumerate(found["steps"].items(), start=VICTIM):
        *_, charged, kept = STEPS[step]
        paid = truth.spends[number]

        assert (seen["killed"], seen["said"]) == (9, []), step
        assert truth.unpaid([seen["again"]]) == [], step
        assert len(paid) == (charged if kept else charged + 1), step
        assert int(seen["again"].split()[1]) == paid[-1], step
    assert Counter(map(len, truth.spends.values()))[2] == sum(
        charged and not kept for *_, charged, kept in STEPS.values()
    )
