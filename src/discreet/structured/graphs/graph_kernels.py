"""The compiled loops over graphs.  Imported only when a graph is counted: numba takes a moment to load.

Vertices are numbered by decreasing degree, so that a list of neighbours begins with the largest
degrees.  Work is shared by threads: thread t of `step` takes the vertices t, t + step, ...  Each
needs memory for a few numbers a vertex, never for a pair of vertices.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np


def _triangles(indptr, indices, start, step):  # noqa: ANN001, ANN202 - typed by the signature below
    """Triangles u > v > w for u = start, start + step, ...: each is found at its vertex of least degree."""
    n = indptr.size - 1
    mark = np.full(n, -1, dtype=np.int32)
    total = 0
    for u in range(start, n, step):
        for i in range(indptr[u], indptr[u + 1]):
            if indices[i] >= u:
                break
            mark[indices[i]] = u
        for i in range(indptr[u], indptr[u + 1]):
            v = indices[i]
            if v >= u:
                break
            for j in range(indptr[v], indptr[v + 1]):
                w = indices[j]
                if w >= v:
                    break
                if mark[w] == u:
                    total += 1
    return total


def _corners(indptr, indices, full, found):  # noqa: ANN001, ANN202 - typed by the signature below
    """For every triangle with a vertex in `full`, a row of its vertices in `full`, and -1; returns how many there are.

    With no room in `found` they are only counted, and full[v] is raised by one for each triangle at v.
    """
    n = indptr.size - 1
    mark = np.full(n, -1, dtype=np.int32)
    total = 0
    for u in range(n):
        for i in range(indptr[u], indptr[u + 1]):
            if indices[i] >= u:
                break
            mark[indices[i]] = u
        for i in range(indptr[u], indptr[u + 1]):
            v = indices[i]
            if v >= u:
                break
            for j in range(indptr[v], indptr[v + 1]):
                w = indices[j]
                if w >= v:
                    break
                if mark[w] != u:
                    continue
                if found.shape[0] == 0:
                    full[u] += 1
                    full[v] += 1
                    full[w] += 1
                    total += 1
                elif full[u] or full[v] or full[w]:
                    found[total, 0] = u if full[u] else -1
                    found[total, 1] = v if full[v] else -1
                    found[total, 2] = w if full[w] else -1
                    total += 1
    return total


def _common(indptr, indices, start, step, enough, best, widest):  # noqa: ANN001, ANN202 - typed by the signature below
    """Common neighbours of the pairs u > v with u = start, start + step, ...

    best[start] = the most that a pair has, and widest[a] = the most vertices joined to exactly one of a
    pair, among those that have a.  As soon as some thread has found a pair with `enough` of them, only
    `best` is kept up: a pair has at most as many common neighbours as the smaller degree, and once
    that is no more than what has been found, no later vertex can do better.
    """
    n = indptr.size - 1
    common = np.zeros(n, dtype=np.int32)
    mark = np.full(n, -1, dtype=np.int32)
    touched = np.empty(n + 1, dtype=np.int32)
    for u in range(start, n, step):
        degree, count, most = indptr[u + 1] - indptr[u], 0, 0
        for t in range(best.size):
            most = max(most, best[t])
        if most >= enough and degree <= most:
            break
        for i in range(indptr[u], indptr[u + 1]):
            w = indices[i]
            mark[w] = u
            for j in range(indptr[w], indptr[w + 1]):
                v = indices[j]
                if v >= u:
                    break
                touched[count] = v
                count += common[v] == 0
                common[v] += 1
        if most < enough:
            for i in range(indptr[u], indptr[u + 1]):  # joined, without a common neighbour
                v = indices[i]
                if v < u and common[v] == 0:
                    widest[0] = max(widest[0], degree + indptr[v + 1] - indptr[v] - 2)
            for v in range(u):  # neither joined nor at distance two: the first such v has the largest degree
                if common[v] == 0 and mark[v] != u:
                    widest[0] = max(widest[0], degree + indptr[v + 1] - indptr[v])
                    break
        for k in range(count):
            v = touched[k]
            a = common[v]
            common[v] = 0
            most = max(most, a)
            if a < widest.size:
                joined = 2 if mark[v] == u else 0
                widest[a] = max(widest[a], degree + indptr[v + 1] - indptr[v] - 2 * a - joined)
        best[start] = max(best[start], most)
    return 0


def _partners(indptr, indices, x, y):  # noqa: ANN001, ANN202 - typed by the signature below
    """For each u the degrees, without the edge between them, of u and of its best partner: not joined, then joined."""
    n = indptr.size - 1
    for u in range(n):
        degree, v = indptr[u + 1] - indptr[u], 0
        for i in range(indptr[u], indptr[u + 1]):
            if v == u:
                v += 1
            if indices[i] != v:
                break
            v += 1
        if v == u:
            v += 1
        if v < n:
            x[2 * u], y[2 * u] = degree, indptr[v + 1] - indptr[v]
        if degree:
            v = indices[indptr[u]]
            x[2 * u + 1], y[2 * u + 1] = degree - 1, indptr[v + 1] - indptr[v] - 1
    return 0


def _renumbered(indptr, indices, order, place, starts, out):  # noqa: ANN001, ANN202 - typed by the signature below
    """Write the lists of neighbours of the renumbered graph, each in increasing order; starts ends up moved by one."""
    for u in range(order.size):
        for i in range(indptr[order[u]], indptr[order[u] + 1]):
            w = place[indices[i]]
            out[starts[w]] = u
            starts[w] += 1
    return 0


def _bounded(edges, cap, load):  # noqa: ANN001, ANN202 - typed by the signature below
    """Take edges in turn where both ends have load below the cap; load[v] = the degree of v in what is taken."""
    taken = 0
    for i in range(edges.shape[0]):
        u, v = edges[i, 0], edges[i, 1]
        if load[u] < cap and load[v] < cap:
            load[u] += 1
            load[v] += 1
            taken += 1
    return taken


def _isotonic(values, means, sizes):  # noqa: ANN001, ANN202 - typed by the signature below
    """Blocks of the nearest non-increasing sequence in l2: their means and sizes; returns how many there are."""
    blocks = 0
    for i in range(values.size):
        means[blocks] = values[i]
        sizes[blocks] = 1
        blocks += 1
        while blocks > 1 and means[blocks - 2] <= means[blocks - 1]:
            size = sizes[blocks - 2] + sizes[blocks - 1]
            total = means[blocks - 2] * sizes[blocks - 2] + means[blocks - 1] * sizes[blocks - 1]
            means[blocks - 2] = total / size
            sizes[blocks - 2] = size
            blocks -= 1
    return blocks


def _compiled(function: Callable[..., int], signature: str) -> Callable[..., int]:
    """Compiled machine code, kept on disk where a folder can be written."""
    try:
        return numba.njit(signature, nogil=True, cache=True)(function)
    except RuntimeError:  # no writable folder for the cache
        return numba.njit(signature, nogil=True)(function)


_GRAPH = "int64[::1], int32[::1], int64, int64"
triangles = _compiled(_triangles, f"int64({_GRAPH})")
corners = _compiled(_corners, "int64(int64[::1], int32[::1], int64[::1], int32[:, ::1])")
common = _compiled(_common, f"int64({_GRAPH}, int64, int64[::1], int64[::1])")
partners = _compiled(_partners, "int64(int64[::1], int32[::1], int64[::1], int64[::1])")
renumbered = _compiled(_renumbered, "int64(int64[::1], int32[::1], int64[::1], int64[::1], int64[::1], int32[::1])")
bounded = _compiled(_bounded, "int64(int32[:, ::1], int64, int64[::1])")
isotonic = _compiled(_isotonic, "int64(float64[::1], float64[::1], int64[::1])")
