"""Audit a mechanism of the user's own: `module:name`, and two neighbouring inputs.

The name is an object with `privacy()` and a call `f(value, *, rng=None)`, a function of that form with the attributes
`inputs` and, if it claims something, `privacy`; or a `FiniteMechanism` with the attribute `claim`, which is
enumerated.  Inputs are read as Python literals.  A claim with a delta is audited at its own; one of zCDP at `VISIBLE`.
What cannot be audited is refused before anything is drawn, and an audit that could not read most outputs is refused
after: that it saw nothing would mean nothing.
"""

from __future__ import annotations

import ast
import importlib
import os
import sys
import time
from typing import Any

from discreet.attacks.audit import audit, claim_of
from discreet.attacks.exact import MARGIN
from discreet.attacks.gaussian_audit import audit_gaussian
from discreet.curator.audits.finding import Finding
from discreet.errors import ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.finite import FiniteMechanism
from discreet.privacy.guarantee import ZCDP, GaussianDP, Guarantee, RenyiDP
from discreet.privacy.number import exact

BETA = 1e-5
VISIBLE = 0.01  # the delta at which a claim without one of its own is judged, such as zCDP
READ = 0.5  # of the tested outputs, at least, or nothing is said


def load(name: str) -> Any:  # noqa: ANN401 - whatever it is
    """The object that `module:name` means, with the working directory on the path.

    >>> load("math:tau")
    6.283185307179586
    >>> load("math")
    Traceback (most recent call last):
    discreet.errors.ParameterError: need module:name of your own (--only Laplace is for one of ours), got 'math'
    """
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise ParameterError(f"need module:name of your own (--only Laplace is for one of ours), got {name!r}")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ParameterError(f"cannot find {name!r}: {error}") from None
    return found


def read_inputs(text: str) -> tuple[Any, Any]:
    """Two values, written as Python literals with a comma between them.

    >>> read_inputs("(0, 1), (1, 0)")
    ((0, 1), (1, 0))
    """
    try:
        found = ast.literal_eval(f"({text},)")
    except (ValueError, SyntaxError):
        found = None
    if not isinstance(found, tuple) or len(found) != 2:
        raise ParameterError(f"need two inputs such as 0,1 or '(0, 1), (1, 0)', got {text!r}")
    return found


def audit_own(
    name: str,
    *,
    inputs: tuple[Any, Any] | None = None,
    samples: int = 200_000,
    delta: float | None = None,
    claim: Guarantee | None = None,
    rng: RandomSource | None = None,
) -> Finding:
    """Audit the mechanism that `module:name` means, against what it claims or `claim`, at `delta` or the claim's own.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.privacy.guarantee import PureDP
    >>> found = audit_own("random:gauss", inputs=(0.0, 1.0), claim=PureDP(1))
    Traceback (most recent call last):
    discreet.errors.ParameterError: need a mechanism f(value, *, rng=None), got random:gauss, which cannot be called so
    """
    found = load(name)
    started = time.perf_counter()
    if isinstance(found, FiniteMechanism):
        return _enumerated(name, found, claim or getattr(found, "claim", None), delta, started)
    pair = inputs if inputs is not None else getattr(found, "inputs", None)
    if pair is None or len(pair) != 2:
        raise ParameterError(f"need two neighbouring inputs: --inputs, or {name}.inputs")
    require(callable(found), "a mechanism f(value, *, rng=None)", name=name)
    promised = claim or claim_of(found)
    if promised is None:
        raise ParameterError(f"need a claim: --epsilon E, or {name}.privacy()")
    gaussian = isinstance(promised, GaussianDP)
    at = judged_at(promised, delta)
    claimed = float(promised.mu) if isinstance(promised, GaussianDP) else _epsilon(promised, at)  # before drawing
    try:
        if gaussian:
            bound, unread = audit_gaussian(found, pair, samples, beta=BETA, rng=rng).mu, 0.0
        else:
            told = audit(found, pair, samples, delta=at, beta=BETA, rng=rng)
            bound, unread = told.epsilon, told.unread
    except TypeError as error:
        if "argument" not in str(error) and "callable" not in str(error):
            raise  # its own mistake, and not that of calling it so
        raise ParameterError(f"need a mechanism f(value, *, rng=None), got {name}, which cannot be called so") from None
    if unread > 1 - READ and bound <= claimed:
        raise UnsupportedError(
            f"{unread:.0%} of the outputs hold words or places that no earlier output held, and could not be read:"
            " an audit of them is blind; release numbers, or words of a fixed list"
        )
    unit = "mu" if gaussian else "epsilon"
    return _finding(name, str(pair), claimed, at, None, bound, samples, unit=unit, started=started)


def judged_at(claim: Guarantee, delta: float | None) -> float:
    """The delta at which a claim is judged: as asked, or its own, or 0.

    >>> from discreet.privacy.guarantee import ApproxDP, PureDP
    >>> [judged_at(claim, None) for claim in (PureDP(1), ApproxDP(1, 1e-5), ZCDP(1))]
    [0.0, 1e-05, 0.01]
    """
    if delta is not None:
        return delta
    return VISIBLE if isinstance(claim, (ZCDP, RenyiDP)) else float(exact(getattr(claim, "delta", 0)))


def _epsilon(claim: Guarantee, delta: float) -> float:
    return float(exact(claim.to_approx(delta).epsilon))


def _enumerated(name: str, found: FiniteMechanism, claim: object, delta: float | None, started: float) -> Finding:
    if not isinstance(claim, Guarantee):
        raise ParameterError(f"need a claim: --epsilon E, or {name}.claim")
    at = judged_at(claim, delta)
    loss, claimed = found.epsilon_at(at), _epsilon(claim, at)
    pairs = f"{len(found.neighbours)} pairs"
    return _finding(name, pairs, claimed, at, loss, 0.0, 0, unit="epsilon", started=started)


def _finding(
    name: str,
    inputs: str,
    claimed: float,
    delta: float,
    loss: float | None,
    bound: float,
    samples: int,
    *,
    unit: str,
    started: float,
) -> Finding:
    room, _, short = name.partition(":")
    false = bound > claimed or (loss is not None and loss > claimed * (1 + MARGIN) + MARGIN)
    return Finding(
        name=short, room=room, unit=unit, pairs=1, inputs=inputs, claimed=claimed, delta=delta, exact=loss, bound=bound,
        samples=samples, twin=None, twin_bound=None, power=None, violated=false, seconds=time.perf_counter() - started,
    )  # fmt: skip
