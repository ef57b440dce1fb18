"""The local model: each user randomises at home, the server learns the population and nothing about anyone.

A protocol is its public parameters, and has two halves:

    client   draws one report from one value; epsilon-DP whatever the value, alone and without any trust
    server   adds reports up in constant memory, merges with other servers, estimates without bias

Theorem.  If every report has likelihood ratios of at most e^epsilon over all pairs of values, everything the
server, its operator and its readers ever compute is epsilon-DP under Local, one user's record changed to any other.
The tally is a sum over reports, so that adding in any order and merging in any shape give the same state.
Proof: docs/theory/local.md.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

from discreet.errors import DomainError, ParameterError, UnsupportedError, require
from discreet.hazmat.bad_values import listed, nearest_of
from discreet.hazmat.entropy import RandomSource, source
from discreet.local.wire import REPORTS, STATE, Form, opened, pack_state, seal, unpack_state
from discreet.privacy.event import Event, PureEvent
from discreet.privacy.finite import FiniteMechanism
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import Local
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Tally = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

BATCH = 1 << 27  # bits of reports that `run` holds at a time


class LocalProtocol(ABC):
    """The public parameters of a client and a server; each module of this folder defines one or two.

    >>> from discreet.local import RandomizedResponse
    >>> protocol = RandomizedResponse(epsilon=1, size=4)
    >>> protocol.privacy(), protocol.bits, protocol.table().epsilon()
    (PureDP(epsilon=1.0), 2, 1.0)
    """

    __slots__ = ()
    epsilon: Number

    @property
    @abstractmethod
    def form(self) -> Form:
        """What a report looks like."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many integers the server keeps."""

    @abstractmethod
    def checked(self, values: object) -> Array:
        """The users' values as an array, or `ParameterError`; messages carry no value."""

    @abstractmethod
    def draw(self, values: Array, random: RandomSource) -> Array:
        """One report for each checked value."""

    @abstractmethod
    def tally(self, reports: Array) -> Tally:
        """What checked reports add to the cells."""

    @abstractmethod
    def decode(self, tally: Tally, n: int) -> Any:  # noqa: ANN401 - a number, fractions or a vector
        """The unbiased estimate from the tally of n reports."""

    @abstractmethod
    def bound(self, tally: Tally, n: int, beta: float) -> Any:  # noqa: ANN401 - shaped like the estimate
        """alpha with Pr[|estimate - truth| > alpha] <= beta, for each number estimated."""

    @abstractmethod
    def variance(self, n: int) -> float:
        """The predicted variance of an estimate from n reports; each protocol says of what."""

    def law(self, value: Any) -> Mapping[Any, Fraction]:  # noqa: ANN401 - whatever the values are
        """Pr[report | value] as rationals, where the reports are finitely many."""
        raise UnsupportedError(f"{type(self).__name__} has too many reports to list")

    def inputs(self) -> list[Any]:
        """The values that `table` lists."""
        raise UnsupportedError(f"{type(self).__name__} has too many values to list")

    def table(self, inputs: Iterable[Any] | None = None) -> FiniteMechanism:
        """All likelihoods as rationals, for exact verification; every two values are neighbours."""
        values = list(self.inputs() if inputs is None else inputs)
        return FiniteMechanism({value: self.law(value) for value in values}, neighbours=combinations(values, 2))

    @property
    def bits(self) -> int:
        """How many bits a report takes on the wire."""
        return self.form.bits

    def client(self) -> Client:
        """The half that runs on the users' devices."""
        return Client(self)

    def server(self) -> Server:
        """The half that adds reports up, empty."""
        return Server(self)

    def privacy(self) -> PureDP:
        """epsilon, for one user's record and one report."""
        return PureDP(self.epsilon, neighbours=Local)

    def event(self) -> Event:
        """What ran, for the accountant."""
        return PureEvent(epsilon=self.epsilon)

    def to_bytes(self, reports: object) -> bytes:
        """Reports as they travel."""
        checked = self.form.check(reports)
        return seal(REPORTS, self.fingerprint(), len(checked), self.form.pack(checked))

    def from_bytes(self, data: bytes) -> Array:
        """Reads `to_bytes` back; anything else is refused."""
        count, payload = opened(data, kind=REPORTS, protocol=self.fingerprint())
        return self.form.unpack(payload, count)

    def fingerprint(self) -> bytes:
        """Eight bytes that tell this protocol and its parameters from others."""
        parts = [type(self).__name__]
        parts += [f"{field.name}={_canonical(getattr(self, field.name))}" for field in fields(cast("Any", self))]
        return hashlib.sha256("|".join(parts).encode()).digest()[:8]


def _canonical(value: object) -> str:
    return value if isinstance(value, str) else str(exact(cast("Number", value)))


@dataclass(frozen=True, slots=True)
class Client:
    """The half that runs on the users' devices: values in, private reports out.

    >>> from discreet.local import OneBitMean
    >>> reports = Client(OneBitMean(epsilon=1)).report([0.5, -0.5, 1.0])
    >>> reports.shape, set(reports.tolist()) <= {0, 1}
    ((3,), True)
    """

    protocol: LocalProtocol

    def report(self, values: object, *, rng: RandomSource | None = None) -> Array:
        """One report for each value, drawn independently, in one vectorised call."""
        return self.protocol.draw(self.protocol.checked(values), source(rng))


class Server:
    """The half that adds reports up: constant memory, any order, mergeable.

    >>> from discreet.local import HadamardResponse
    >>> server = HadamardResponse(epsilon=1, size=4).server()
    >>> server.add([1, 1, 3]); server.n
    3
    """

    def __init__(self, protocol: LocalProtocol) -> None:
        import numpy as np

        self.protocol = protocol
        self.n = 0
        self._tally: Tally = np.zeros(protocol.cells, dtype=np.int64)

    def add(self, reports: object) -> None:
        """Count more reports; a batch that holds an impossible one is refused whole."""
        checked = self.protocol.form.check(reports)
        self._tally += self.protocol.tally(checked)
        self.n += len(checked)

    def merge(self, other: Server) -> None:
        """Count what another server of the same protocol has counted."""
        if self.protocol.fingerprint() != other.protocol.fingerprint():
            raise DomainError("servers of different protocols cannot be merged")
        self._tally += other._tally
        self.n += other.n

    def estimate(self) -> Any:  # noqa: ANN401 - a number, fractions or a vector
        """The unbiased estimate: fractions, a mean or a mean vector; unclipped."""
        self._some()
        return self.protocol.decode(self._tally, self.n)

    def error(self, beta: float = 0.05) -> Any:  # noqa: ANN401 - shaped like the estimate
        """alpha with Pr[|estimate - truth among the n users| > alpha] <= beta, for each number estimated."""
        require(isinstance(beta, float) and 0 < beta < 1, "0 < beta < 1", beta=beta)
        self._some()
        return self.protocol.bound(self._tally, self.n, beta)

    def _some(self) -> None:
        require(self.n >= 1, "at least one report", reports=self.n)

    def to_bytes(self) -> bytes:
        """The state, to be merged elsewhere or continued later."""
        return seal(STATE, self.protocol.fingerprint(), self.n, pack_state(self._tally))

    @classmethod
    def from_bytes(cls, protocol: LocalProtocol, data: bytes) -> Server:
        """Reads `to_bytes` back; anything else is refused."""
        server = cls(protocol)
        count, payload = opened(data, kind=STATE, protocol=protocol.fingerprint())
        server._tally = unpack_state(payload, protocol.cells)
        server.n = count
        return server


def cells_of(values: object, size: int) -> Array:
    """Users' values as integers below `size`: a user who holds another one reports as of the nearest, 0 for none."""
    import numpy as np

    array = listed(values) if isinstance(values, list | tuple) else np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iuO":
        raise ParameterError("need a vector of integers, one value for each user")
    return np.ascontiguousarray(nearest_of(array, size=size))


def run(protocol: LocalProtocol, values: object, *, rng: RandomSource | None = None) -> Server:
    """Simulate all clients and the server, batch by batch; the server comes back.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.local import OneBitMean
    >>> server = run(OneBitMean(epsilon=1), [0.25] * 10_000, rng=SeededRandom(1))
    >>> bool(abs(server.estimate() - 0.25) < server.error(0.05))
    True
    """
    checked, random, server = protocol.checked(values), source(rng), protocol.server()
    size = max(1, BATCH // protocol.bits)
    for start in range(0, len(checked), size):
        server.add(protocol.draw(checked[start : start + size], random))
    return server
