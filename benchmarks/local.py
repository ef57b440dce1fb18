"""The local model: clients and server for a million users and 1,024 values, error against theory, and long streams.

The peer is pure-ldp, measured in the same run on fewer users and scaled up (its time is proportional to them); left
out where it is not installed.  Times are processor time, after the compiled loops were loaded.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import resource
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks import Row, absent, publish, size
from discreet.local import (
    HadamardResponse,
    OneBitMean,
    OptimalLocalHashing,
    OptimalUnaryEncoding,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    SubsetSelection,
    SymmetricUnaryEncoding,
    run,
    shuffled,
)
from discreet.privacy.number import exact

SIZE, USERS, RUNS = size((1024, 1_000_000, 50), quick=(16, 5000, 2))
LIMITS = {
    HadamardResponse: 0.5,
    ProjectiveGeometryResponse: 0.5,
    OptimalUnaryEncoding: 2,
    SymmetricUnaryEncoding: 2,
    OptimalLocalHashing: 5,
    SubsetSelection: math.inf,
    RandomizedResponse: math.inf,
}
PEERS = {  # protocol: (module, client, server, extra arguments, users measured)
    OptimalUnaryEncoding: ("unary_encoding", "UEClient", "UEServer", {"use_oue": True}, 1_000),
    OptimalLocalHashing: ("local_hashing", "LHClient", "LHServer", {"use_olh": True}, 200),
    HadamardResponse: ("hadamard_response", "HadamardResponseClient", "HadamardResponseServer", {}, 5_000),
    RandomizedResponse: ("direct_encoding", "DEClient", "DEServer", {}, 5_000),
}


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _values() -> np.ndarray:
    return np.random.default_rng(0).zipf(1.5, USERS) % SIZE


def _peer(kind: type, values: np.ndarray) -> float | None:
    """Seconds of the peer for all users, scaled up from some; None where it is not installed or fails."""
    if kind not in PEERS or importlib.util.find_spec("pure_ldp") is None:
        return None
    module, client_name, server_name, more, users = PEERS[kind]
    try:
        found = importlib.import_module(f"pure_ldp.frequency_oracles.{module}")
        server = getattr(found, server_name)(1.0, SIZE, **more)
        extra = {"hash_funcs": server.get_hash_funcs()} if kind is HadamardResponse else more
        client = getattr(found, client_name)(1.0, SIZE, **extra)

        def work() -> None:
            for value in values[:users].tolist():
                server.aggregate(client.privatise(value + 1))
            server.estimate_all(range(1, SIZE + 1))

        return _seconds(work) * len(values) / users
    except Exception as error:  # a peer that fails is left out, and said so
        print(f"  pure-ldp {kind.__name__} left out: {type(error).__name__}: {error}")
        return None


def _oracles() -> list[Row]:
    values, rows = _values(), list[Row]()
    if importlib.util.find_spec("pure_ldp") is None:
        rows.append(absent("pure-ldp"))
    for kind, limit in LIMITS.items():
        protocol = kind(epsilon=1.0, size=SIZE)
        run(protocol, values[:1000]).estimate()
        spent = min(_seconds(lambda protocol=protocol: run(protocol, values).estimate()) for _ in range(3))
        promised = math.isfinite(limit)
        rows.append(
            Row(what=f"{kind.__name__}: clients and server", value=spent, unit="CPU s",
                promise=f"< {limit}" if promised else "", holds=spent < limit if promised else None)
        )  # fmt: skip
        peer = _peer(kind, values)
        if peer is not None:
            rows.append(Row(what="  pure-ldp on the same work, scaled up, over ours", value=peer / spent, unit="x"))
        few = values[: USERS // 10] if protocol.bits == SIZE else values  # the ratio does not depend on n
        share = np.bincount(few, minlength=SIZE) / len(few)
        errors = [np.mean((run(protocol, few).estimate() - share) ** 2) for _ in range(RUNS)]
        predicted = np.mean([protocol.variance(len(few), fraction=f) for f in share])
        ratio = float(np.mean(errors) / predicted)
        rows.append(
            Row(what=f"  mean squared error of {RUNS} runs over theory", value=ratio, unit="x",
                promise="within 5 %", holds=abs(ratio - 1) <= 0.05)
        )  # fmt: skip
        rows.append(Row(what="  on the wire", value=protocol.bits, unit="bits a report"))
    return rows


def _stream() -> list[Row]:
    """10^8 reports over 2^20 values: one million drawn, then counted a hundred times."""
    protocol = HadamardResponse(epsilon=1.0, size=1 << size(20, quick=8))
    reports = protocol.client().report(np.random.default_rng(1).integers(0, protocol.size, USERS))
    server = protocol.server()
    server.add(reports)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spent = _seconds(lambda: [server.add(reports) for _ in range(size(99, quick=3))] and server.estimate())
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return [
        Row(what="10^8 Hadamard reports over 2^20 values, counted and decoded", value=spent, unit="CPU s"),
        Row(what="  memory gained on the way", value=grown, unit="MB", promise="< 300", holds=grown < 300),
        Row(what="  state", value=len(server.to_bytes()) / 2**20, unit="MB"),
    ]


def _others() -> list[Row]:
    numbers = np.random.default_rng(2).uniform(-1, 1, USERS)
    mean = OneBitMean(epsilon=1.0)
    bits = _seconds(lambda: run(mean, numbers).estimate())
    central = _seconds(lambda: shuffled(1.0, USERS, 1e-6))
    closed, found = (float(exact(shuffled(1.0, USERS, 1e-6, method=by).epsilon)) for by in ("closed form", "numerical"))
    return [
        Row(what="one-bit mean of a million users", value=bits, unit="CPU s"),
        Row(what="central epsilon of a million shuffled users, numerically", value=central, unit="CPU s"),
        Row(what="  closed form over it", value=closed / found, unit="x"),
    ]


def measure() -> list[Row]:
    """All rows."""
    return [*_stream(), *_oracles(), *_others()]


if __name__ == "__main__":
    sys.exit(0 if publish("local", measure()) else 1)
