"""Record and replay: freeze what the mechanisms released on one dataset, run again on a neighbour, and compare.

Theorem.  Let a program read private data, call mechanisms, toss coins of its own, and return a result.  Suppose that
for two neighbours, for all coins and for every sequence of releases that the mechanisms could give it,

    1  it makes the same calls, with the same parameters, on both, and returns the same result;
    2  what each call is fed differs by at most what its mechanism declares, in the metric of that mechanism;
    3  the prices of the calls that are fed something else add up to at most the price it claims.

Then its result keeps the claim for these two datasets.  `replay` checks all three on one sequence of releases: the
mechanisms draw on the first dataset, and on the second they repeat what they released.  Nothing is estimated: a
violation is a fact, and an honest program has none, ever.  (After the tool "Re:cord-play", 2026, whose authors found
13 violations in 12 libraries with it.)  Proof, and what a pass does not say: docs/theory/record_replay.md.
"""

from __future__ import annotations

import copy
import functools
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from discreet.composition.price import FREE, Price, price
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource, source

if TYPE_CHECKING:
    from discreet.privacy.event import Event

Data = TypeVar("Data")
Part = float  # how far what a call was fed moved, as a part of what its mechanism declares: at most 1
Sum = Literal["sum", "squares", "most"]
FEW = 4  # things that a call is fed at once
ROUNDING = 2.0**-40  # of the floats in which parts are written


def first_of(_mechanism: object, value: object, *_args: object, **_more: object) -> object:
    """The first argument of a call: what most mechanisms are fed."""
    return value


def itself(mechanism: object) -> object:
    """A mechanism is its parameters."""
    return mechanism


def own_event(mechanism: Any) -> Event:  # noqa: ANN401 - a mechanism of any kind
    """What the mechanism says ran."""
    return mechanism.event()


@dataclass(frozen=True, kw_only=True)
class Hook:
    """A place where something private is released: a method of a class, or a function of a module.

    `distance(mechanism, fed, fed')` is how far the inputs are apart, as a part of what is declared; `fed` picks them
    from the arguments, `public` the parameters from the object, and `event` what ran.  Where all calls of one object
    share one declaration `event` is None and `shared` says what all of them are: it is due once for every object, and
    `together` says how the parts of its calls combine.  `after` brings an object that keeps count up to date when a
    release is repeated.  `sets` are the attributes that a method sets instead of returning something; `coins` is the
    argument that it draws from.  What `opens` is an object that draws for itself later: it releases nothing yet, and is
    given the coins of the tape.

    >>> from discreet.mechanisms import Laplace
    >>> hook = Hook(owner=Laplace, distance=lambda laplace, a, b: abs(a - b) / laplace.sensitivity)
    >>> replay(Laplace(epsilon=1, sensitivity=2), (10, 13), hooks=[hook]).violations
    ('call 0: fed 1.5 times as far apart as declared by Laplace(epsilon=1, sensitivity=2)',)
    """

    owner: Any
    distance: Callable[[Any, Any, Any], Part]
    name: str = "__call__"
    fed: Callable[..., object] = first_of
    public: Callable[[Any], object] = itself
    event: Callable[[Any], Event] | None = own_event
    times: Callable[..., int] = lambda *_args, **_more: 1
    together: Sum = "most"
    after: Callable[[Any, Any], None] | None = None
    shared: Callable[[Any], Event] | None = None
    sets: tuple[str, ...] = ()
    coins: str = "rng"
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One call: the mechanism's public parameters, what it was fed, and what it released.

    >>> from discreet.mechanisms import Laplace
    >>> replay(Laplace(epsilon=1, sensitivity=1), (10, 11)).steps[0].fed
    10
    """

    hook: Hook
    mechanism: object
    fed: object
    released: object
    price: Price | None
    whole: Price | None = None  # what all calls of this object cost together, where they share one declaration
    of: int | None = None  # which object that is, in the order of first use


@dataclass(frozen=True, slots=True)
class Replay:
    """What was the same and what was not.

    `steps` are the calls on the first dataset, `again` what the same calls were fed on the second, `parts` how far
    that moved, `results` what the program returned on either.

    >>> from discreet.mechanisms import Laplace
    >>> found = replay(Laplace(epsilon=1, sensitivity=4), (10, 11))
    >>> found.violations, found.again, found.parts, found.price().epsilon
    ((), (11,), (0.25,), Fraction(1, 1))
    """

    steps: tuple[Step, ...]
    again: tuple[object, ...]
    parts: tuple[Part, ...]
    violations: tuple[str, ...]
    results: tuple[object, object]

    def price(self) -> Price:
        """What the calls cost that were fed something else; the others lose nothing between these two datasets.

        Refused where one of them has no price: nothing can be said of the sum.
        """
        total, objects = FREE, {}
        for step, part in zip(self.steps, self.parts, strict=False):
            if part > 0 and step.price is not None:
                total += step.price
            elif part > 0 and step.whole is not None:
                objects[step.of] = step.whole
            elif part > 0:
                raise UnsupportedError(f"no price is known of {step.mechanism}; give its hook an event")
        return sum(objects.values(), total)

    def joint(self) -> dict[object, Part]:
        """How far all calls of each mechanism moved together, for programs that release one vector in pieces.

        Calls that share one declaration are those of one object: another with equal parameters is another one.
        """
        return _joint(self.steps, self.parts, lambda step: step.mechanism if step.of is None else (
            step.mechanism, step.of))  # fmt: skip


class Tape:
    """The calls of one run; with `frozen`, those of the run before, it plays them back."""

    def __init__(self, frozen: Sequence[Step] | None = None, *, rng: RandomSource | None = None) -> None:
        self.frozen, self.rng = frozen, source(rng)
        self.steps: list[Step] = []
        self.wrong: list[str] = []
        self._inside = False
        self._objects: list[object] = []  # those whose calls share a declaration, in order of first use

    def release(self, hook: Hook, mechanism: object, fed: object, times: int, draw: Callable[[], object]) -> object:
        """What this call releases: drawn, or as it was."""
        public, place, of = hook.public(mechanism), len(self.steps), self._number(hook, mechanism)
        before = None if self.frozen is None or place >= len(self.frozen) else self.frozen[place]
        same_call = before is not None and before.mechanism == public and before.of == of
        if self.frozen is not None and (before is None or not same_call or before.hook is not hook):
            had = "no call" if before is None else f"{before.mechanism}"
            again = " of another object" if before is not None and before.mechanism == public else ""
            self.wrong.append(f"call {place}: {had} on the first dataset, {public}{again} on the second")
        elif before is not None and _shape(before.fed) != _shape(fed):
            self.wrong.append(
                f"call {place}: fed {_shape(before.fed)} on the first dataset, {_shape(fed)} on the other"
            )
        repeated = same_call and before is not None and _shape(before.fed) == _shape(fed)
        released = before.released if repeated and before is not None else self._drawn(hook, mechanism, draw)
        if repeated and hook.after is not None:
            hook.after(mechanism, released)
        cost = None if hook.event is None else price(hook.event(mechanism)).repeat(times)
        whole = None if hook.shared is None else price(hook.shared(mechanism))
        self.steps.append(Step(hook, public, copy.deepcopy(fed), copy.deepcopy(released), cost, whole, of))
        if not hook.sets:
            return copy.deepcopy(released)
        for name, value in zip(hook.sets, copy.deepcopy(released), strict=True):  # type: ignore[call-overload]
            object.__setattr__(mechanism, name, value)
        return mechanism

    def _drawn(self, hook: Hook, mechanism: object, draw: Callable[[], object]) -> object:
        found = draw()
        return tuple(getattr(mechanism, name) for name in hook.sets) if hook.sets else found

    def _number(self, hook: Hook, mechanism: object) -> int | None:
        """Which of the objects that share a declaration with themselves this is."""
        if hook.event is not None:
            return None
        known = next((i for i, one in enumerate(self._objects) if one is mechanism), None)
        if known is None:
            self._objects.append(mechanism)
        return len(self._objects) - 1 if known is None else known

    def around(self, hook: Hook, real: Callable[..., object]) -> Callable[..., object]:
        """The method or function with the tape around it; calls that it makes itself are part of it."""
        takes = inspect.signature(real)

        @functools.wraps(real)
        def call(mechanism: object, *args: object, **more: object) -> object:
            if self._inside:
                return real(mechanism, *args, **more)
            given = {name: value for name, value in more.items() if name != hook.coins}
            bound = takes.bind(mechanism, *args, **more)
            if hook.coins in takes.parameters:
                bound.arguments[hook.coins] = self.rng  # its own, so that the program's are the same in both runs
            self._inside = True
            try:
                if hook.opens:
                    return real(*bound.args, **bound.kwargs)
                fed, times = hook.fed(mechanism, *args, **given), hook.times(mechanism, *args, **given)
                return self.release(hook, mechanism, fed, times, lambda: real(*bound.args, **bound.kwargs))
            finally:
                self._inside = False

        return call

    @contextmanager
    def recording(self, hooks: Sequence[Hook]) -> Iterator[Tape]:
        """Everything that is released inside goes over this tape.  For one thread: the classes themselves are changed.

        >>> from discreet.attacks.hooks import HOOKS
        >>> from discreet.mechanisms import Laplace
        >>> with Tape().recording(HOOKS) as tape:
        ...     _ = Laplace(epsilon=1, sensitivity=1)(10)
        >>> [(step.mechanism, step.fed) for step in tape.steps]
        [(Laplace(epsilon=1, sensitivity=1), 10)]
        """
        with ExitStack() as stack:
            for hook in hooks:
                require(hook.name in vars(hook.owner), f"a {hook.name} of its own", owner=hook.owner)
                real = vars(hook.owner)[hook.name]
                stack.callback(setattr, hook.owner, hook.name, real)
                setattr(hook.owner, hook.name, self.around(hook, real))
            yield self


def replay(
    run: Callable[[Data], object],
    pair: Sequence[Data],
    *,
    hooks: Sequence[Hook] | None = None,
    group: int = 1,
    rng: RandomSource | None = None,
) -> Replay:
    """Run a program on two neighbours, the second time with every release as it was the first time.

    `run` takes one dataset and returns what becomes public; coins of its own must be seeded in it.  Without `hooks`
    everything of this library that releases is on the tape.  Where mechanisms are paid by group privacy, inputs may be
    `group` times as far apart as declared.  An exception on one side only is a violation; the same on both is raised,
    since nothing was audited, and a run that released nothing over the tape is refused for the same reason.

    >>> from discreet.mechanisms import Laplace
    >>> count = Laplace(epsilon=1, sensitivity=1)
    >>> replay(lambda rows: count(len(rows)), ([3, 5], [3, 5, 7])).violations
    ()
    >>> replay(lambda rows: count(sum(rows)), ([3, 5], [3, 5, 7])).violations
    ('call 0: fed 7 times as far apart as declared by Laplace(epsilon=1, sensitivity=1)',)
    >>> replay(lambda rows: count(len(rows)) / len(rows), ([3, 5], [3, 5, 7])).violations
    ('the results differ, though every release was the same',)
    """
    require(len(pair) == 2, "two datasets", datasets=len(pair))
    require(isinstance(group, int) and group >= 1, "an integer group >= 1", group=group)
    if hooks is None:
        from discreet.attacks.hooks import HOOKS
        from discreet.attacks.hooks_elsewhere import elsewhere

        hooks = (*HOOKS, *elsewhere())
    first, second = Tape(rng=rng), None
    with first.recording(hooks):
        one = _outcome(run, pair[0])
    second = Tape(first.steps, rng=rng)
    with second.recording(hooks):
        two = _outcome(run, pair[1])
    if isinstance(one, _Raised) and isinstance(two, _Raised):
        raise one.error
    wrong = list(second.wrong)
    if len(second.steps) < len(first.steps):
        wrong.append(f"{len(first.steps)} calls on the first dataset, {len(second.steps)} on the second")
    parts = tuple(_parts(first.steps, second.steps))
    far = ((place, part) for place, part in enumerate(parts) if part > group * (1 + ROUNDING))
    wrong += [
        f"call {place}: fed {part:.4g} times as far apart as declared by {first.steps[place].mechanism}"
        for place, part in far
    ]
    wrong += [
        f"calls of {mechanism} together: fed {part:.4g} times as far apart as declared"
        for mechanism, part in _shared(first.steps, parts)
        if part > group * (1 + ROUNDING)
    ]
    if isinstance(one, _Raised) or isinstance(two, _Raised):
        wrong.append("one run failed and the other did not")
    elif not wrong and not same(one, two):
        wrong.append("the results differ, though every release was the same")
    if not wrong and not first.steps:
        raise UnsupportedError(
            "nothing was released by a mechanism that is known here, so nothing was audited;"
            " pass hooks for what this program releases with"
        )
    again = tuple(step.fed for step in second.steps)
    return Replay(tuple(first.steps), again, parts, tuple(wrong), (one, two))


def same(one: Any, two: Any) -> bool:  # noqa: ANN401 - results of any kind
    """Whether two results are equal, to the last bit, so that 0.0 is not -0.0, and with NaN equal to itself.

    Dataclasses are compared by the fields that they compare.  Objects that are equal only to themselves cannot be
    compared, and are refused: that two runs made two of them says nothing.

    >>> same({"a": [float("nan"), 1]}, {"a": [float("nan"), 1]}), same([0.1], [0.1 + 2**-56]), same([0.0], [-0.0])
    (True, False, False)
    """
    import numpy as np

    if type(one) is not type(two):
        return False
    if isinstance(one, np.ndarray):
        alike = one.shape == two.shape and one.dtype == two.dtype
        if alike and one.dtype == object:
            return same(one.tolist(), two.tolist())
        if alike and one.dtype.kind in "fc":
            parts = [(side.real, side.imag) if side.dtype.kind == "c" else (side,) for side in (one, two)]
            return all(_same_floats(a, b) for a, b in zip(*parts, strict=True))
        return alike and bool(np.array_equal(one, two))
    if isinstance(one, dict):
        return same(list(one.items()), list(two.items()))
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(same(a, b) for a, b in zip(one, two, strict=True))
    if isinstance(one, (float, np.floating)):
        return _same_floats(np.asarray(one), np.asarray(two))
    if isinstance(one, complex):
        return same((one.real, one.imag), (two.real, two.imag))
    if is_dataclass(one) and not isinstance(one, type):
        return all(same(getattr(one, each.name), getattr(two, each.name)) for each in fields(one) if each.compare)
    equals = getattr(one, "equals", None)  # of frames and tables
    if callable(equals):
        return bool(equals(two))
    if one is not two and type(one).__eq__ is object.__eq__ and not isinstance(one, (Enum, type)):
        kind = type(one).__name__
        raise UnsupportedError(f"{kind} objects are equal only to themselves; return what they show, as plain values")
    return bool(one == two)


def _same_floats(one: Any, two: Any) -> bool:  # noqa: ANN401 - arrays of floats
    """Equal bits, or both not a number."""
    import numpy as np

    return bool((((one == two) & (np.signbit(one) == np.signbit(two))) | (np.isnan(one) & np.isnan(two))).all())


@dataclass(frozen=True, slots=True)
class _Raised:
    error: Exception


def _outcome(run: Callable[[Data], object], data: Data) -> object:
    try:
        return run(data)
    except Exception as error:  # what failed, and on which side, is the finding
        return _Raised(error)


def _parts(one: Sequence[Step], two: Sequence[Step]) -> Iterator[Part]:
    for a, b in zip(one, two, strict=False):
        alike = a.mechanism == b.mechanism and _shape(a.fed) == _shape(b.fed)
        yield float(a.hook.distance(a.mechanism, a.fed, b.fed)) if alike else math.inf


def _joint(steps: Sequence[Step], parts: Sequence[Part], key: Callable[[Step], object]) -> dict[object, Part]:
    found: dict[object, Part] = {}
    for step, part in zip(steps, parts, strict=False):
        before, power = found.get(key(step), 0.0), 2 if step.hook.together == "squares" else 1
        both = (before**power + part**power) ** (1 / power)
        found[key(step)] = max(before, part) if step.hook.together == "most" else both
    return found


def _shared(steps: Sequence[Step], parts: Sequence[Part]) -> Iterator[tuple[object, Part]]:
    """Every object whose calls share one declaration, and how far they moved together."""
    names = {step.of: step.mechanism for step in steps}
    for of, part in _joint(steps, parts, lambda step: step.of).items():
        if of is not None:
            yield names[of], part  # type: ignore[index]


def _shape(fed: object) -> object:
    """How many entries, along which axes; () for what has none."""
    if isinstance(fed, tuple) and len(fed) <= FEW:
        return tuple(_shape(one) for one in fed)
    return getattr(fed, "shape", (len(fed),) if isinstance(fed, (list, tuple)) else ())
