"""Run the audits of the register: one subject, or all of them on several processes.

False alarms: a sampled audit of an honest mechanism alarms with probability at most beta, and beta is chosen so that
all sampled audits of the register together alarm at most once in 1,000 runs of it.  Enumeration and replay never alarm
by chance.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from typing import Any

from discreet.attacks.audit import Audit, audit
from discreet.attacks.confidence import log_ratio_bound, shift_bound
from discreet.attacks.exact import MARGIN
from discreet.attacks.gaussian_audit import GaussianAudit, audit_gaussian
from discreet.curator.audits.case import Case, Subject
from discreet.curator.audits.finding import Finding
from discreet.curator.audits.played_back import replayed
from discreet.errors import ParameterError, require
from discreet.hazmat.entropy import RandomSource, SeededRandom

FALSE_ALARMS = 1e-3  # of the whole register
EPSILON = 1.0  # at which it is audited
FEWEST = 100  # releases of either side
REDRAWS = 200


def audit_subject(
    subject: Subject,
    *,
    beta: float,
    scale: float = 1.0,
    samples: int | None = None,
    twins: bool = True,
    rng: RandomSource | None = None,
) -> Finding:
    """Audit all cases of a subject, and its twin on the pair that shows most."""
    started = time.perf_counter()
    cases = list(subject.cases(EPSILON))

    def count(case: Case) -> int:
        return samples or max(FEWEST, int((subject.slow if case.slow else subject.samples) * scale))

    bounds = [_bound(_audited(case, count(case), beta=beta, rng=rng)) for case in cases]
    claims = [case.claimed() for case in cases]
    exacts = [None if case.table is None else case.table().epsilon_at(case.delta) for case in cases]
    moved, wrong = replayed(subject, cases)
    said = [*_false(cases, claims, bounds, exacts), *wrong]
    worst = max(range(len(cases)), key=lambda i: _shown(bounds[i], exacts[i], claims[i]))
    case = cases[worst]
    finding = Finding(
        name=subject.name,
        room=subject.room,
        unit="mu" if case.gaussian else "epsilon",
        pairs=len(cases),
        inputs=_short(case.inputs),
        claimed=claims[worst],
        delta=case.delta,
        exact=exacts[worst],
        bound=bounds[worst],
        samples=count(case),
        twin=None,
        twin_bound=None,
        power=None,
        violated=bool(said),
        seconds=0.0,
        replayed=moved,
        violations=tuple(said),
    )
    seen = twins and (scale >= 1 or samples is not None or not case.slow)  # a quick look is quick
    if seen and subject.twin is not None:
        finding = _with_twin(finding, subject, worst, case, beta=beta, rng=rng)
    return replace(finding, seconds=time.perf_counter() - started)


def _shown(bound: float, loss: float | None, claim: float) -> tuple[float, float]:
    """How much of its claim a pair shows: what is false by its law first, then by the bound."""
    false = loss is not None and loss > claim * (1 + MARGIN) + MARGIN
    return float(false), bound / claim if claim > 0 else bound


def _false(
    cases: Sequence[Case], claims: Sequence[float], bounds: Sequence[float], exacts: Sequence[float | None]
) -> Iterator[str]:
    """What is false, pair by pair."""
    for case, claim, bound, loss in zip(cases, claims, bounds, exacts, strict=True):
        pair = _short(case.inputs)
        if bound > claim:
            yield f"on {pair} the loss is at least {bound:.4g}, and {claim:.4g} is claimed"
        if loss is not None and loss > claim * (1 + MARGIN) + MARGIN:
            yield f"on {pair} the loss is {loss:.10g}, and {claim:.10g} is claimed"


def _with_twin(
    finding: Finding, subject: Subject, place: int, honest: Case, *, beta: float, rng: RandomSource | None
) -> Finding:
    assert subject.twin is not None
    twin = list(subject.cases(subject.twin * EPSILON))[place]
    found = _audited(replace(twin, delta=honest.delta), finding.samples, beta=beta, rng=rng)
    power = _power(found, finding.claimed)
    return replace(finding, twin=subject.twin, twin_bound=_bound(found), power=power)


def _audited(case: Case, samples: int, *, beta: float, rng: RandomSource | None) -> Audit | GaussianAudit:
    if case.gaussian:
        return audit_gaussian(case.mechanism, case.inputs, samples, beta=beta, rng=rng)
    return audit(case.mechanism, case.inputs, samples, delta=case.delta, beta=beta, rng=rng)


def _bound(found: Audit | GaussianAudit) -> float:
    return found.mu if isinstance(found, GaussianAudit) else found.epsilon


def _power(found: Audit | GaussianAudit, claimed: float) -> float:
    """How often the claim is refuted when the counts of the event found are drawn anew."""
    import numpy as np

    n = found.tested
    draws = np.random.default_rng(n).binomial(n, np.array(found.hits) / n, (REDRAWS, 2)).tolist()

    def bound(k: int, m: int) -> float:
        if isinstance(found, GaussianAudit):
            return shift_bound((k, m), (n, n), beta=found.beta)
        return log_ratio_bound((k, m), (n, n), delta=found.delta, beta=found.beta)

    return sum(bound(k, m) > claimed for k, m in draws) / REDRAWS


def risk(subjects: Iterable[Subject]) -> float:
    """The beta of every single audit."""
    return FALSE_ALARMS / sum(len(list(subject.cases(EPSILON))) for subject in subjects)


def audit_all(
    subjects: Sequence[Subject],
    *,
    scale: float = 1.0,
    samples: int | None = None,
    workers: int | None = None,
    seed: int | None = None,
    done: Callable[[Finding], None] = lambda _: None,
) -> list[Finding]:
    """Audit subjects of the register on several processes; `done` hears of each as it ends.

    Without a seed the noise is the system's; with one the findings are the same again.
    """
    require(len(subjects) >= 1, "something to audit", subjects=len(subjects))
    whole = samples is None or (isinstance(samples, int) and not isinstance(samples, bool) and samples >= FEWEST)
    require(whole, f"an integer samples >= {FEWEST}", samples=samples)
    from discreet.curator.audits.register import SUBJECTS

    settings: dict[str, Any] = {"beta": risk(SUBJECTS), "scale": scale, "samples": samples}
    order = {subject.known_as: place for place, subject in enumerate(subjects)}
    found = []
    for finding in _findings(subjects, settings, seed, workers or min(2, os.cpu_count() or 1)):
        done(finding)
        found.append(finding)
    return sorted(found, key=lambda one: order[f"{one.room}.{one.name}"])


def _findings(
    subjects: Sequence[Subject], settings: dict[str, Any], seed: int | None, workers: int
) -> Iterator[Finding]:
    if workers == 1 or len(subjects) == 1:
        yield from (one(subject.known_as, settings, seed) for subject in subjects)
        return
    from multiprocessing import get_context

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        longest_first = sorted(subjects, key=lambda subject: subject.slow)  # the fewer are drawn the longer each takes
        waiting = [pool.submit(one, subject.known_as, settings, seed) for subject in longest_first]
        for ended in as_completed(waiting):
            yield ended.result()


def one(known_as: str, settings: dict[str, Any], seed: int | None) -> Finding:
    """Audit the subject of this name: what a process is asked to do."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # two processes, two cores
    from discreet.curator.audits.register import SUBJECTS

    subject = next((subject for subject in SUBJECTS if subject.known_as == known_as), None)
    if subject is None:
        raise ParameterError(f"nothing public is called {known_as!r}")
    rng = None if seed is None else SeededRandom(_key(f"{seed}/{known_as}"))
    return audit_subject(subject, rng=rng, **settings)


def _key(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def _short(inputs: tuple[Any, Any]) -> str:
    text = " | ".join(" ".join(str(value).split()) for value in inputs)
    return text if len(text) <= 60 else text[:57] + "..."
