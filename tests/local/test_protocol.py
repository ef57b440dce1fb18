"""discreet.local.protocol and wire: the contract of clients, servers and bytes, over every protocol."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import local
from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.local import HadamardResponse, LaplaceMean, OneBitMean, RandomizedResponse, Server, run
from discreet.local.protocol import LocalProtocol
from discreet.local.wire import Codes, Masks, Numbers
from discreet.privacy.event import LaplaceEvent, PureEvent
from discreet.privacy.neighbours import Local
from tests.local.protocols import SIMPLE, some_values

NAMES = [type(protocol).__name__ for protocol in SIMPLE]
ELSEWHERE = {"LocalProtocol", "LocalFactorization", "HierarchicalRanges", "SampledThresholds", "Memoised"}  # own tests


def test_no_public_protocol_is_left_out():
    public = {
        name for name, thing in vars(local).items() if isinstance(thing, type) and issubclass(thing, LocalProtocol)
    }

    assert set(NAMES) == public - ELSEWHERE


@pytest.mark.parametrize("protocol", SIMPLE, ids=NAMES)
def test_a_protocol_is_a_frozen_value_that_claims_epsilon_for_one_record(protocol):
    assert protocol == type(protocol)(**{name: getattr(protocol, name) for name in protocol.__dataclass_fields__})
    assert protocol.privacy().epsilon == 1
    assert protocol.privacy().neighbours is Local
    event = protocol.event()
    assert event == PureEvent(epsilon=1) or (isinstance(event, LaplaceEvent) and event.sensitivity / event.scale == 1)
    with pytest.raises(AttributeError):
        protocol.epsilon = 2
    with pytest.raises(TypeError):
        type(protocol)()  # nothing private has a default


@pytest.mark.parametrize("protocol", SIMPLE, ids=NAMES)
def test_adding_in_any_order_and_merging_in_any_shape_give_the_same_state(protocol):
    reports = protocol.client().report(some_values(protocol, 300), rng=SeededRandom(1))
    whole = protocol.server()
    whole.add(reports)
    parts = [protocol.server() for _ in range(3)]
    for server, part in zip(parts, np.array_split(reports[::-1], 3), strict=True):
        server.add(part)
    parts[2].merge(parts[0])
    parts[1].merge(parts[2])

    assert parts[1].to_bytes() == whole.to_bytes()
    assert np.array_equal(parts[1].estimate(), whole.estimate())


@pytest.mark.parametrize("protocol", SIMPLE, ids=NAMES)
def test_run_is_client_and_server_together(protocol):
    values = some_values(protocol, 200)
    server = protocol.server()
    server.add(protocol.client().report(values, rng=SeededRandom(3)))

    assert run(protocol, values, rng=SeededRandom(3)).to_bytes() == server.to_bytes()


@pytest.mark.parametrize("protocol", SIMPLE, ids=NAMES)
@pytest.mark.parametrize("n", [0, 1, 7, 100])
def test_reports_travel_and_come_back(protocol, n):
    reports = protocol.client().report(some_values(protocol, 100)[:n])
    data = protocol.to_bytes(reports)

    assert np.array_equal(protocol.from_bytes(data), reports)
    assert len(data) <= 19 + n * -(-protocol.bits // 8)


@pytest.mark.parametrize("protocol", SIMPLE, ids=NAMES)
def test_a_state_travels_and_is_continued(protocol):
    server = run(protocol, some_values(protocol, 50))
    again = Server.from_bytes(protocol, server.to_bytes())
    again.merge(server)

    assert again.n == 100
    assert np.allclose(again.estimate(), server.estimate())


def test_bits_are_packed_without_gaps():
    response = HadamardResponse(epsilon=1, size=1024)  # 11 bits
    bit = OneBitMean(epsilon=1)

    assert len(response.to_bytes(np.zeros(800, dtype=int))) == 19 + 1100
    assert len(bit.to_bytes(np.zeros(800, dtype=int))) == 19 + 100


@pytest.mark.parametrize("protocol", SIMPLE, ids=NAMES)
def test_torn_and_foreign_bytes_are_refused(protocol):
    data = protocol.to_bytes(protocol.client().report(some_values(protocol, 9)))
    state = run(protocol, some_values(protocol, 9)).to_bytes()
    for torn in (b"", data[:10], data[:-1], data + b"x", b"xx" + data[2:], data[:2] + b"\x09" + data[3:], state):
        with pytest.raises(DomainError):
            protocol.from_bytes(torn)
    for torn in (b"", state[:-1], state + b"x", state[:19], data):
        with pytest.raises(DomainError):
            Server.from_bytes(protocol, torn)


def test_reports_of_other_parameters_are_refused():
    one, two = (RandomizedResponse(epsilon=epsilon, size=4) for epsilon in (1, 2))
    with pytest.raises(DomainError, match="another protocol"):
        two.from_bytes(one.to_bytes([1, 2]))
    with pytest.raises(DomainError, match="different protocols"):
        one.server().merge(two.server())
    assert one.fingerprint() == RandomizedResponse(epsilon=1.0, size=4).fingerprint()


@pytest.mark.parametrize("limit", [3, 5, 100, 4097])
def test_codes_beyond_the_limit_are_refused_when_they_come_as_bytes(limit):
    """The bits of a code hold more numbers than there are codes: whoever writes the bytes may send any of them."""
    form = Codes(limit)
    wider = Codes(1 << form.bits)  # of as many bits

    for value in (limit, (1 << form.bits) - 1):
        with pytest.raises(DomainError, match="outside what this protocol sends"):
            form.unpack(wider.pack(np.array([0, value], dtype=np.int64)), 2)
    assert form.unpack(wider.pack(np.array([limit - 1], dtype=np.int64)), 1).tolist() == [limit - 1]


@pytest.mark.parametrize("make", [HadamardResponse, RandomizedResponse], ids=lambda kind: kind.__name__)
def test_a_report_that_the_protocol_never_sends_is_refused_by_whoever_reads_it(make):
    protocol = make(epsilon=1, size=5)
    wide = Codes(1 << protocol.form.bits)
    head = protocol.to_bytes([0])[:19]
    sealed = head[:-8] + (1).to_bytes(8, "little") + wide.pack(np.array([(1 << protocol.form.bits) - 1]))
    if protocol.form.limit < wide.limit:
        with pytest.raises(DomainError, match="outside"):
            protocol.from_bytes(sealed)


@given(st.integers(2, 5000), st.data())
def test_codes_come_back_whatever_the_limit(limit, data):
    form = Codes(limit)
    reports = np.array(data.draw(st.lists(st.integers(0, limit - 1), max_size=50)), dtype=np.int64)

    assert np.array_equal(form.unpack(form.pack(reports), len(reports)), reports)


@pytest.mark.parametrize(
    ("form", "bad"),
    [
        (Codes(5), [5]), (Codes(5), [-1]), (Codes(5), [1.0]), (Codes(5), [[1]]), (Codes(5), [True]),
        (Masks(5), np.array([[32]], dtype=np.uint64)), (Masks(5), np.array([[1]])),
        (Masks(70), np.array([[1]], dtype=np.uint64)),
        (Masks(5, 2), np.array([[7]], dtype=np.uint64)), (Numbers(columns=2, most=9), [[9, 9]]),
        (Numbers(most=9), [10]), (Numbers(most=9), [0.5]), (Numbers(columns=2), [[1, 2, 3]]), (Numbers(), [[1]]),
    ],
)  # fmt: skip
def test_reports_that_nobody_can_have_drawn_are_refused(form, bad):
    with pytest.raises(DomainError):
        form.check(bad)


def test_a_refused_batch_changes_nothing():
    server = RandomizedResponse(epsilon=1, size=3).server()
    server.add([0, 1])
    with pytest.raises(DomainError):
        server.add([2, 3])

    assert server.n == 2


def test_an_empty_server_has_no_estimate():
    server = OneBitMean(epsilon=1).server()
    for ask in (server.estimate, server.error):
        with pytest.raises(ParameterError, match="at least one report"):
            ask()
    server.add([1])
    with pytest.raises(ParameterError, match="0 < beta < 1"):
        server.error(1.0)


def test_what_cannot_be_listed_says_so():
    with pytest.raises(UnsupportedError, match="too many reports"):
        LaplaceMean(epsilon=1).table()
    with pytest.raises(UnsupportedError, match="too many values"):
        local.DuchiVector(epsilon=1, dimension=3).table()


def test_the_state_of_a_long_stream_does_not_grow():
    server = HadamardResponse(epsilon=1, size=100).server()
    sizes = set()
    for _ in range(20):
        server.add(np.arange(128))
        sizes.add(len(server.to_bytes()))

    assert sizes == {19 + 1 + 128}
    assert server.n == 20 * 128


def test_noise_comes_from_the_system_unless_a_source_is_passed():
    client = RandomizedResponse(epsilon=1, size=1000).client()
    values = np.arange(1000)

    assert not np.array_equal(client.report(values), client.report(values))
    assert np.array_equal(client.report(values, rng=SeededRandom(1)), client.report(values, rng=SeededRandom(1)))


def test_importing_the_local_model_loads_nothing_slow():
    code = "import sys, discreet.local; print(sorted({'numba', 'scipy', 'pandas'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)

    assert found.stdout.strip() == "[]"
