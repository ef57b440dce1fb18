"""The mechanisms of `discreet.structured` on graphs: an edge more or less, or a vertex with all its edges."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from discreet.curator.audits.case import Case, Cases, Seen, Subject
from discreet.data.graph import Graph
from discreet.privacy.number import exact
from discreet.structured.graphs.degrees import DegreeHistogram, DegreeSequence, EdgeCount
from discreet.structured.graphs.node_privacy import DegreeBound, NodeDegreeHistogram, NodeEdgeCount
from discreet.structured.graphs.node_triangles import NodeTriangleCount
from discreet.structured.graphs.stars import StarCount
from discreet.structured.graphs.triangles import TriangleBound, TriangleCount

VERTICES = 5
STAR = tuple((0, leaf) for leaf in range(1, VERTICES))
RING = tuple((i, (i + 1) % VERTICES) for i in range(1, VERTICES - 1))


@functools.cache
def drawn(edges: tuple[tuple[int, int], ...], vertices: int = VERTICES) -> Graph:
    """A graph on five vertices, or more."""
    return Graph.from_edges(list(edges), vertices=vertices)


def graphs(make: Callable[[float], Any], *pairs: tuple[Any, Any], share: float = 0.0) -> Cases:
    """A mechanism on pairs of lists of edges."""

    def cases(epsilon: float) -> Iterator[Case]:
        made = make(epsilon)
        claim = made.privacy()
        delta = float(exact(getattr(claim, "delta", 0)))
        many = hasattr(made, "releases")
        seen = _Many(made) if many else Seen(lambda edges, rng: made(drawn(edges), rng=rng), claim)
        for pair in pairs:
            yield Case(seen, pair, share, delta, slow=not many)

    return cases


class _Many:
    """A mechanism that draws many releases of one graph at once."""

    def __init__(self, mechanism: Any) -> None:  # noqa: ANN401 - any mechanism on graphs
        self.mechanism = mechanism

    def __call__(self, edges: Any, *, rng: Any = None) -> object:  # noqa: ANN401 - as the mechanism says
        return self.mechanism(drawn(edges), rng=rng)

    def releases(self, edges: Any, count: int, *, rng: Any = None) -> Any:  # noqa: ANN401 - as the mechanism says
        return self.mechanism.releases(drawn(edges), count, rng=rng)

    def privacy(self) -> Any:  # noqa: ANN401 - as the mechanism says
        return self.mechanism.privacy()


def triangle_bound(epsilon: float) -> Iterator[Case]:
    """Two vertices that share all neighbours among twelve, or all but one: no edge is in more triangles."""
    bound = TriangleBound(epsilon=epsilon, delta=0.01)
    shared = tuple((hub, leaf) for leaf in range(2, 14) for hub in (0, 1))
    seen = Seen(lambda edges, rng: bound(drawn(edges, 100), rng=rng), bound.privacy())
    yield Case(seen, (shared, shared[:-1]), slow=True)


EDGE = ((), STAR[:1])
HUB = (STAR[:-1], STAR)
TRIANGLE = (((0, 1), (0, 2)), ((0, 1), (0, 2), (1, 2)))
NODE = (RING, RING + STAR)


def _subject(name: str, cases: Cases, twin: float, **more: Any) -> Subject:  # noqa: ANN401 - counts and names
    return Subject(name=name, room="structured", cases=cases, twin=twin, replays=1, **more)


SUBJECTS = (
    _subject("EdgeCount", graphs(lambda e: EdgeCount(epsilon=e), EDGE, HUB, share=0.7), 1.5, slow=10_000),
    _subject("DegreeHistogram", graphs(lambda e: DegreeHistogram(epsilon=e, largest=4), EDGE, HUB), 3, slow=10_000),
    _subject("DegreeSequence", graphs(lambda e: DegreeSequence(epsilon=e), EDGE, HUB), 3, slow=4000),
    _subject("StarCount", graphs(lambda e: StarCount(epsilon=e, k=2), EDGE, HUB), 5, samples=25_000),
    _subject(
        "TriangleCount",
        graphs(lambda e: TriangleCount(epsilon=e, delta=0, method="smooth"), TRIANGLE, HUB),
        5,
        samples=25_000,
        covers=("TrianglePlan",),
    ),
    _subject(
        "TriangleCount, ladder",
        graphs(lambda e: TriangleCount(epsilon=e, delta=0, method="ladder"), TRIANGLE, HUB),
        5,
        samples=25_000,
    ),
    _subject("TriangleBound", triangle_bound, 3, slow=2000),
    _subject("DegreeBound", graphs(lambda e: DegreeBound(epsilon=e, counting=e / 2), NODE), 20, slow=4000),
    _subject("NodeEdgeCount", graphs(lambda e: NodeEdgeCount(epsilon=e, degree_bound=2), NODE), 3, slow=10_000),
    _subject(
        "NodeDegreeHistogram", graphs(lambda e: NodeDegreeHistogram(epsilon=e, degree_bound=2), NODE), 10, slow=4000
    ),
    _subject("NodeTriangleCount", graphs(lambda e: NodeTriangleCount(epsilon=e, degree_bound=3), NODE), 5, slow=4000),
)
