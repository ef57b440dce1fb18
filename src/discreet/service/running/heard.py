"""What was heard of an order, and how it therefore ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from discreet.service.problems import Problem, problem_of
from discreet.service.running.frames import Message
from discreet.service.running.outcome import Answered, Outcome, Refused, Withheld


@dataclass(slots=True)
class Heard:
    """The messages of a child about one order.

    >>> heard = Heard()
    >>> heard.add({"event": "paying"})
    >>> heard.outcome()  # it was never heard of again
    Withheld(receipt=None)
    """

    paying: bool = False
    receipt: Message | None = None
    replayed: bool = False
    last: Message = field(default_factory=dict)
    progress: Message | None = None

    def add(self, said: Message) -> None:
        """Hear one more."""
        match said:
            case {"event": "paying"}:
                self.paying = True
            case {"event": "charged", "receipt": dict(receipt)}:
                self.receipt = receipt
            case {"event": "progress", **rest}:
                self.progress = rest
            case {"event": "done" | "refused" | "withheld"}:
                self.last = said
                self.replayed = bool(said.get("replayed"))

    def outcome(self) -> Outcome:
        """Answer, refusal or neither: a child that is gone after it began to pay has withheld its answer."""
        match self.last:
            case {"event": "done", "document": dict(document), "files": dict(files)}:
                return Answered(document=document, files=files)
            case {"event": "refused", "problem": dict(problem)}:
                return Refused(problem=problem)
            case {"event": "withheld"}:
                return Withheld(receipt=self.last.get("receipt") or self.receipt)
            case _ if self.paying:
                return Withheld(receipt=self.receipt)
            case _:
                return refusal("unavailable", "no child could run the order in time; nothing was read or spent")

    @property
    def at_once(self) -> bool:
        """Whether the reply may leave before its slot ends: a refusal, or an answer that was given before."""
        return self.replayed or isinstance(self.outcome(), Refused)


def refusal(slug: str, detail: str, **more: object) -> Refused:
    """A refusal by the parent."""
    return Refused(problem=problem_of(Problem(slug, detail, **more)))  # type: ignore[arg-type]
