"""How many rows: sample sizes of learning problems, with privacy and without, from above and below, in one table.

    samples("thresholds", d=10, alpha=0.1, beta=0.05, epsilon=1.0)

Every number says whether it is proven or only a shape.  Relation Replace, n public.  Problems: "thresholds" and
"intervals" on 2^d ordered points, "parities" and monotone "conjunctions" of d bits, "finite" classes of a given
size, and "statistical": m queries in [-1, 1] to tolerance tau.  `model="local"` keeps the rows for users who trust
nobody, `model="central"` the others; what is not private is in both.  The formulas are in `sample_formulas`; theory
and proofs: docs/theory/sample_complexity.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.bounds import sample_formulas as formulas
from discreet.bounds.sample_formulas import FiniteClass, Question
from discreet.bounds.table import Cell, Tabular, altair, representable
from discreet.errors import ParameterError, UnsupportedError, require
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import altair as alt

Problem = Literal["thresholds", "intervals", "parities", "conjunctions", "finite", "statistical"]
PROBLEMS = ("thresholds", "intervals", "parities", "conjunctions", "finite", "statistical")
Model = Literal["central", "local"]
POINTS = 25  # of a curve
FINEST = Fraction(1, 10**6)  # error and epsilon: binomial laws of more rows than that asks for have no quantiles here


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleSize:
    """One row: how many rows of data, by which formula, and whether that is proven or a shape with constant 1.

    >>> samples("thresholds", d=10, alpha=0.1, beta=0.05, epsilon=1).rows[0].n
    95
    """

    name: str
    n: int
    claim: str
    kind: Literal["proven", "shape"]
    side: Literal["enough", "needed"]
    note: str = ""

    @property
    def model(self) -> Literal["any", "central", "local"]:
        """Whom the rows trust; "any" where there is no privacy."""
        if "not private" in self.name:
            return "any"
        return "local" if "local" in self.name else "central"


@dataclass(frozen=True, slots=True)
class SampleTable(Tabular):
    """Sample sizes under a title; N is the number of hypotheses, K counts rows in which two datasets of T differ.

    `str` is a table in Markdown, `table[name]` one row, `to_csv()` a file, `plot()` curves.

    >>> print(samples("thresholds", d=10, alpha=0.1, beta=0.05, epsilon=1).to_csv().splitlines()[0])
    name,n,side,kind,claim,note
    """

    title: str
    rows: tuple[SampleSize, ...]
    again: Callable[[str, float], tuple[float, SampleTable]] = field(repr=False, compare=False)

    def __getitem__(self, name: str) -> SampleSize:
        found = {row.name: row for row in self.rows}
        if name not in found:
            raise ParameterError(f"no row {name!r}; there are {', '.join(map(repr, found))}")
        return found[name]

    def __iter__(self) -> Iterator[SampleSize]:
        return iter(self.rows)

    def __str__(self) -> str:
        head = [self.title, "", "| rows of data | n | | formula | kind | note |", "|---|---|---|---|---|---|"]
        lines = [f"| {r.name} | {r.n:,} | {r.side} | {r.claim} | {r.kind} | {r.note} |" for r in self.rows]
        return "\n".join(head + lines)

    def records(self) -> list[dict[str, Cell]]:
        """One row for each formula."""
        names = ("name", "n", "side", "kind", "claim", "note")
        return [{name: getattr(row, name) for name in names} for row in self.rows]

    def curves(self) -> list[dict[str, str | float]]:
        """n of every row against the error and against epsilon, from a twentieth up to it, and beyond for epsilon."""
        found: list[dict[str, str | float]] = []
        for against, low, high in (("error", 0.05, 1.0), ("epsilon", 0.05, 20.0)):
            for i in range(POINTS):
                factor = low * (high / low) ** (i / (POINTS - 1))
                value, table = self.again(against, factor)
                found += [
                    {"against": against, "value": value, "n": row.n, "name": row.name, "side": row.side}
                    for row in table.rows
                    if row.n >= 1
                ]
        return found

    def plot(self) -> alt.FacetChart:
        """n against the error and against epsilon, on logarithmic axes; what is needed is dashed."""
        pictures = altair()
        log = pictures.Scale(type="log", nice=False)
        colours, legend = pictures.Scale(scheme="tableau20"), pictures.Legend(labelLimit=400)
        return (
            pictures.Chart(pictures.Data(values=self.curves()))
            .mark_line()
            .encode(
                x=pictures.X("value:Q", scale=log, title=None),
                y=pictures.Y("n:Q", scale=log, title="rows of data"),
                color=pictures.Color("name:N", title=None, scale=colours, legend=legend),
                strokeDash=pictures.StrokeDash("side:N", title=None),
            )
            .properties(width=320, height=320)
            .facet(column=pictures.Column("against:N", title=self.title))
            .resolve_scale(x="independent")
        )


def samples(
    problem: Problem,
    *,
    epsilon: Number,
    alpha: float | None = None,
    beta: float = 0.05,
    delta: Number = 0,
    d: int | None = None,
    size: int | None = None,
    m: int | None = None,
    tau: float | None = None,
    gamma: float | None = None,
    model: Model | None = None,
) -> SampleTable:
    """How many rows a problem needs, and how many are enough, to err at most alpha with probability 1 - beta.

    `gamma` is gamma_2 of the matrix of the m statistical queries, or an upper bound of it; it is never above sqrt(m),
    which is taken where none is given.

    >>> table = samples("thresholds", d=10, alpha=0.1, beta=0.05, epsilon=1.0)
    >>> table["private, realizable"].n, table["private, agnostic"].n
    (850, 5957)
    >>> samples("parities", d=20, alpha=0.1, beta=0.05, epsilon=1.0)["parity learner, one block"].n
    365
    >>> samples("statistical", m=100, tau=0.1, beta=0.05, epsilon=1.0)["local"].n
    776770
    >>> alike = samples("statistical", m=100, tau=0.1, beta=0.05, epsilon=1.0, gamma=1.0, model="local")
    >>> alike["local, factorization"].n  # 100 queries that are much alike
    15084
    """
    require(problem in PROBLEMS, f"a problem among {', '.join(PROBLEMS)}", problem=problem)
    for name, value in (("d", d), ("size", size), ("m", m)):
        whole = value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1)
        require(whole, f"an integer {name} >= 1", **{name: value})
    error = tau if problem == "statistical" else alpha
    what = "tau" if problem == "statistical" else "alpha"
    require(error is not None and 0 < exact(error) < 1, f"0 < {what} < 1", **{what: error})
    assert error is not None
    require(0 < exact(beta) < 1, "0 < beta < 1", beta=beta)
    require(exact(epsilon) > 0, "epsilon > 0", epsilon=epsilon)
    require(0 <= exact(delta) < 1, "0 <= delta < 1", delta=delta)
    require(gamma is None or (problem == "statistical" and exact(gamma) > 0), "gamma > 0 of queries", gamma=gamma)
    representable(m=m, beta=beta, epsilon=epsilon, delta=delta, gamma=gamma)
    require(exact(error) >= FINEST, f"{what} >= 1e-6", **{what: error})
    require(exact(epsilon) >= FINEST, "epsilon >= 1e-6", epsilon=epsilon)
    require(model in (None, "central", "local"), 'model "central" or "local"', model=model)
    asked = Question(float(error), float(beta), float(exact(epsilon)), float(exact(delta)))
    every = _rows_of(problem, d=d, size=size, m=m, gamma=gamma)

    def rows(asked: Question) -> list[SampleSize]:
        return [row for row in every(asked) if model is None or row.model in ("any", model)]

    if model is not None and all(row.model == "any" for row in rows(asked)):
        raise UnsupportedError(f"nothing is known here of {problem} in the {model} model")
    return _table(rows, _title(problem, d=d, size=size, m=m), asked, what)


Rows = Callable[[Question], list[SampleSize]]


def _table(rows: Rows, title: str, asked: Question, what: str) -> SampleTable:
    def again(against: str, factor: float) -> tuple[float, SampleTable]:
        if against == "error":
            other = replace(asked, error=asked.error * factor)
            return other.error, _table(rows, title, other, what)
        other = replace(asked, epsilon=asked.epsilon * factor)
        return other.epsilon, _table(rows, title, other, what)

    privacy = f"epsilon {asked.epsilon:g}" + (f", delta {asked.delta:g}" if asked.delta else "")
    shown = f"{title}: {what} {asked.error:g}, beta {asked.beta:g}, {privacy}"
    return SampleTable(shown, tuple(rows(asked)), again)


def _title(problem: Problem, *, d: int | None, size: int | None, m: int | None) -> str:
    match problem:
        case "thresholds" | "intervals":
            return f"{problem} on 2^{d} points"
        case "parities" | "conjunctions":
            return f"{problem} of {d} bits"
        case "finite":
            return f"a class of {size} hypotheses"
        case _:
            return f"{m} statistical queries"


def _rows_of(problem: Problem, *, d: int | None, size: int | None, m: int | None, gamma: float | None) -> Rows:
    if problem == "statistical":
        require(m is not None, "m, the number of queries", m=m)
        assert m is not None
        return lambda asked: _statistical(m, asked, gamma)
    if problem == "finite":
        require(size is not None, "size, the number of hypotheses", size=size)
        assert size is not None
        return lambda asked: _learning(FiniteClass.of_size(size), asked)
    require(d is not None and d <= 1000, "d from 1 to 1000", d=d)
    assert d is not None
    return lambda asked: _learning(FiniteClass.named(problem, d), asked) + _special(problem, d, asked)


def _enough(name: str, n: int, claim: str, note: str = "") -> SampleSize:
    return SampleSize(name=name, n=n, claim=claim, kind="proven", side="enough", note=note)


def _needed(name: str, n: int, claim: str, note: str = "") -> SampleSize:
    return SampleSize(name=name, n=n, claim=claim, kind="proven", side="needed", note=note)


def _learning(known: FiniteClass, q: Question) -> list[SampleSize]:
    """What holds for every finite class."""
    log, vc = known.log_size, known.vc
    rows = [
        _enough("not private, realizable", formulas.consistent(log, q), "ln(N/beta) / -ln(1 - alpha)"),
        _enough("not private, agnostic", formulas.empirical(log, q), "2 ln(N/beta) / -ln(1 - alpha^2)", "least error"),
        _enough("not private, uniform convergence", formulas.uniform(log, q), "ln(2 N/beta) / (2 alpha^2)"),
        _enough(
            "not private, realizable, by VC dimension",
            formulas.blumer(vc, q),
            "max{4 log2(2/beta), 8 VC log2(13/alpha)} / alpha",
            f"VC {vc}; Blumer and others 1989",
        ),
        SampleSize(
            name="not private, agnostic, by VC dimension",
            n=formulas.vc_shape(vc, q),
            claim="(VC + ln(1/beta)) / alpha^2",
            kind="shape",
            side="enough",
        ),
        *_two_concepts(known, q),
        _enough(
            "private, realizable",
            formulas.generic_realizable(log, q),
            "max{8/alpha, 4/(epsilon alpha)} ln(2 N/beta)",
            "exponential mechanism, the notes",
        ),
        _enough(
            "private, realizable, by moments",
            formulas.moments_realizable(log, q),
            "ln(N/beta) / -ln(1 - alpha (1 - e^(-epsilon/2)))",
            "exponential mechanism",
        ),
        _enough(
            "private, agnostic",
            formulas.generic_agnostic(log, q),
            "6 max{1/(epsilon alpha), 1/alpha^2} ln(N/beta)",
            "exponential mechanism; Kasiviswanathan and others 2008",
        ),
        _enough(
            "private, agnostic, by moments",
            formulas.moments_agnostic(log, q),
            "ln(N/beta) / -ln(cosh t - alpha sinh t), t = min{epsilon/2, atanh alpha}",
            "exponential mechanism",
        ),
    ]
    if known.packing is not None:
        found = formulas.packing_rows(known, q)
        if found is not None:
            claim = "(T - 1) E[e^(-epsilon K); K above its beta quantile] <= beta"
            rows.append(_needed("private, lower bound", found, claim, f"every pure {known.learners}"))
    bits = formulas.communication_rows(known, q)
    if bits is not None:
        claim = "(k - log2(ln(1/g) / (1 - beta)) - 1) / (epsilon log2(e)), k = ceil(d (1 - H(alpha + g)))"
        note = "every pure learner, proper or not; the best g < 1/2 - alpha"
        rows.append(_needed("private, lower bound, by communication", bits, claim, note))
    return rows


def _two_concepts(known: FiniteClass, q: Question) -> list[SampleSize]:
    """Nothing where all concepts may be told apart by every row."""
    if not known.pair:
        return []
    claim = "ln(1/(2 beta)) / -ln(1 - alpha)"
    return [_needed("not private, lower bound", formulas.two_concepts(q), claim, "two concepts")]


def _special(problem: Problem, d: int, q: Question) -> list[SampleSize]:
    """What is known of one class."""
    if problem == "thresholds":
        found = formulas.notes_packing(d, q)
        claim = "(ln(2^d - 1) - ln(1/(1/2 - beta))) / (8 epsilon alpha)"
        return [] if found is None else [_needed("private, lower bound, the notes", found, claim, "proper learners")]
    if problem == "parities":
        block, (times, total) = formulas.parity_block(d, q, q.beta), formulas.parity_amplified(d, q)
        note = f"{times} blocks; the first that answers"
        return [
            _enough(
                "parity learner, one block", block, "(d ln 2 + ln(1/beta)) / (alpha tanh(epsilon/2))", "answers half"
            ),
            _enough("parity learner, amplified", total, "t blocks with 2^-t + b <= beta", note),
            SampleSize(
                name="local, lower bound",
                n=formulas.parity_local(d, q),
                claim="(beta^2 2^d e^(-3 epsilon))^(1/3)",
                kind="shape",
                side="needed",
                note="parities are hard for statistical queries",
            ),
        ]
    if problem == "conjunctions":  # counts have half the width of queries in [-1, 1]
        inner = _statistical(d, replace(q, error=min(0.999, q.error / d)))
        return [replace(row, name=f"statistical queries, {row.name}") for row in inner if row.side == "enough"]
    return []


def _statistical(m: int, q: Question, gamma: float | None = None) -> list[SampleSize]:
    norm = math.sqrt(m) if gamma is None else min(gamma, math.sqrt(m))
    rows = [
        _enough("not private", formulas.sampling(m, q), "2 ln(2m/beta) / tau^2", "queries fixed in advance"),
        _enough(
            "central, shared sample",
            formulas.shared_laplace(m, q),
            "2m/(epsilon n) ln(2m/beta) + sqrt(2 ln(4m/beta)/n) <= tau",
            "Laplace noise; queries fixed in advance",
        ),
        _enough(
            "central, split sample",
            formulas.split(m, q),
            "m max{4/(epsilon tau) ln(2m/beta), 8/tau^2 ln(4m/beta)}",
            "queries may be adaptive",
        ),
        _enough(
            "local",
            formulas.local(m, q),
            "2m/(tanh(epsilon/2) tau)^2 ln(2m/beta)",
            "one bit a user; queries may be adaptive",
        ),
        _enough(
            "local, Laplace, the notes",
            formulas.local_chebyshev(m, q),
            "m^2 (8/epsilon^2 + 1) / (beta tau^2)",
            "continuous noise of scale 2/epsilon, by its variance; queries may be adaptive",
        ),
        _enough(
            "local, Laplace",
            formulas.local_laplace(m, q),
            "m ln(2m/beta) / max over t of t tau - t^2/2 + ln(1 - (2t/epsilon)^2)",
            "continuous noise of scale 2/epsilon; queries may be adaptive",
        ),
        _enough(
            "local, factorization",
            formulas.local_factorization(m, norm, q),
            "about pi gamma_2^2 ln(2m/beta) / (tanh(epsilon/2) tau)^2, by Bernstein",
            f"gamma_2 at most {norm:.4g}; everybody answers all queries, fixed in advance",
        ),
    ]
    if q.delta:
        claim = "2 sqrt(m) sigma1 z(1 - beta/(4m)) / n + sqrt(2 ln(4m/beta)/n) <= tau"
        rows.insert(
            2, _enough("central, shared sample, Gaussian", formulas.shared_gaussian(m, q), claim, "continuous noise")
        )
    return rows
