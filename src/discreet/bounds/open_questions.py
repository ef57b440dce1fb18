"""The register of open questions: what the literature names and leaves open, and where it stands.

Each entry is a question or a result that is named without a proof in the notes and surveys that this library follows,
its status to our knowledge, and what the library does about it.  Shown on docs/open_questions.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal

from discreet.bounds.table import Cell, Tabular, markdown

Status = Literal["open", "partly", "settled", "not constructive"]


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenQuestion:
    """A question, where it stands, who is to be read about it, and what is here.

    >>> open_questions().rows[0].status
    'open'
    """

    topic: str
    question: str
    status: Status
    known: str
    references: str
    here: str


@dataclass(frozen=True, slots=True)
class QuestionTable(Tabular):
    """The register; `str` is a table in Markdown, and `table.about("marginals")` some of it.

    >>> len(open_questions().rows) > 5
    True
    """

    title: str
    rows: tuple[OpenQuestion, ...]

    def __iter__(self) -> Iterator[OpenQuestion]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def about(self, word: str) -> QuestionTable:
        """The questions in which a word occurs."""
        found = tuple(row for row in self.rows if word.lower() in f"{row.topic} {row.question} {row.known}".lower())
        return QuestionTable(f"{self.title}: {word}", found)

    def records(self) -> list[dict[str, Cell]]:
        """One row for each question."""
        return [asdict(row) for row in self.rows]

    def __str__(self) -> str:
        return f"{self.title}\n\n{markdown(self.records())}"


def open_questions() -> QuestionTable:
    """The register.

    >>> [question.topic for question in open_questions() if question.status == "open"]
    ['conjunctions', 'three-way marginals', 'tensors', 'packing and delta']
    """
    return QuestionTable("Open questions and results that are named but not proven here", REGISTER)


REGISTER = (
    OpenQuestion(
        topic="conjunctions",
        question="Can all conjunctions of d bits be released with error o(1) in time and rows poly(d)?",
        status="open",
        known="Open to our knowledge; for general queries it is hard if obfuscation exists.",
        references="Kowalczyk, Malkin, Ullman, Zhandry 2016; Kowalczyk, Malkin, Ullman, Wichs 2018",
        here="ChebyshevConjunctions: d^O(sqrt(t)) rows; its table says how many.",
    ),
    OpenQuestion(
        topic="three-way marginals",
        question="Can 3-way marginals be released in polynomial time from n = o(d) rows?",
        status="open",
        known="Open to our knowledge; two-way marginals are possible by a relaxation of the cut polytope.",
        references="Dwork, Nikolov, Talwar 2014",
        here="ParityProjection for two-way marginals; MarginalRelease for any number of rows.",
    ),
    OpenQuestion(
        topic="marginals in subexponential time",
        question="t-way marginals with error o(1) in time poly(n, 2^o(d)) from n >= O(t d^0.51) rows.",
        status="settled",
        known="Named without proof in the notes; a result about inefficient summaries.",
        references="Chandrasekaran, Thaler, Ullman, Wan 2014",
        here='The row "subexponential time" of marginals_table; not implemented: its constants are beyond any dataset.',
    ),
    OpenQuestion(
        topic="other classes of queries",
        question="Which classes of queries have efficient mechanisms with polylogarithmic error?",
        status="partly",
        known="Thresholds, ranges, point queries and halfspaces with a margin have.",
        references="Vadhan 2017, open problem 7.10",
        here="plan() compares what there is for a given workload.",
    ),
    OpenQuestion(
        topic="intervals",
        question="Does the error of all thresholds under (epsilon, delta) depend on the number of values?",
        status="settled",
        known="Yes: at least log* of it, and that is reached up to polylogarithms of log*.",
        references="Bun, Nissim, Stemmer, Vadhan 2015; Cohen, Lyu, Nelson, Sarlos, Stemmer 2023",
        here="interval_table: trees and factorizations win for every size of data that fits on a disk.",
    ),
    OpenQuestion(
        topic="efficient private learning",
        question="Is there a class that is learnable in polynomial time, but not privately?",
        status="settled",
        known="Yes, if order-revealing encryption exists.",
        references="Bun, Zhandry 2016",
        here="Not constructive in practice; the learners here state their own running times.",
    ),
    OpenQuestion(
        topic="private learning and dimension",
        question="How many rows does a class need under (epsilon, delta): VC dimension, or more?",
        status="settled",
        known="Finite Littlestone dimension decides whether; thresholds need about log* of their number.",
        references="Alon, Livni, Malliaris, Moran 2019; Bun, Livni, Moran 2020",
        here="littlestone_dimension and vc_dimension of a finite class; samples().",
    ),
    OpenQuestion(
        topic="beyond classification",
        question="Private estimation for richer models than finite classes.",
        status="partly",
        known="Sample and aggregate reaches the efficiency of the plain estimator asymptotically.",
        references="Smith 2011",
        here="SampleAndAggregate; estimators in discreet.learning.",
    ),
    OpenQuestion(
        topic="fingerprinting codes",
        question="May the biases of a Tardos code be uniform?",
        status="settled",
        known="Yes: robust tracing works for a continuous family of biases, uniform among them.",
        references="Dwork, Smith, Steinke, Ullman, Vadhan 2015",
        here="trace_means; the bound `fingerprinting` has uniform biases in its proof.",
    ),
    OpenQuestion(
        topic="traitor tracing",
        question="Traitor tracing with short ciphertexts, hence hardness for few queries.",
        status="not constructive",
        known="Follows from indistinguishability obfuscation.",
        references="Boneh, Zhandry 2014",
        here="TraitorTracing by codes and ordinary encryption only.",
    ),
    OpenQuestion(
        topic="tensors",
        question="Is there an efficient body around the tensor body K, of mean width at most a constant times K's?",
        status="open",
        known="Open to our knowledge; for matrices Grothendieck's inequality gives one.",
        references="Dwork, Nikolov, Talwar 2014",
        here="ParityProjection uses the elliptope, for pairs.",
    ),
    OpenQuestion(
        topic="discrepancy and error",
        question="Is the error of a workload characterised by its hereditary discrepancy?",
        status="partly",
        known="Up to polylogarithms for many rows; gamma_2 characterises the mean square error of large n.",
        references="Nikolov, Talwar, Zhang 2013; Edmonds, Nikolov, Ullman 2020",
        here="discrepancy, gamma2 and best state both sides for a given workload.",
    ),
    OpenQuestion(
        topic="packing and delta",
        question="Which lower bound replaces packing where delta > 0 and queries are few but strange?",
        status="open",
        known="Packing is capped at ln(1/delta) / epsilon; fingerprints need independent queries.",
        references="Hardt, Talwar 2010; De 2012; Bun, Ullman, Vadhan 2014",
        here="packing has the cap in its formula; best takes the largest that applies.",
    ),
)
