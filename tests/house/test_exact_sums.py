"""Nothing that decides a price adds up, multiplies or casts an array of integers outside `privacy/exact_sums.py`.

A sum in 64 bits wraps without a word, and a wrapped sensitivity is a wrong promise.  In every module all functions that
state what is paid, and those of the same module that these use, are read for sums over arrays; each that is left is
listed here with the reason why it cannot wrap.
"""

from __future__ import annotations

import ast

from tests.house.repository import PACKAGE, modules, syntax

STATES = {
    "absolute", "choice", "event", "from_columns", "highest", "key", "longest", "meeting", "moved", "noise", "price",
    "privacy", "radius", "reach", "replaced", "scale", "sensitivities", "sensitivity", "sigma", "square", "squared",
    "weights", "widest", "_cost", "_moved", "_sensitivity", "_square", "_strategy",
}  # fmt: skip
SUMS = {
    "add_at", "astype", "bincount", "cumprod", "cumsum", "dot", "einsum", "inner", "matmul", "norm", "outer", "prod",
    "reduceat", "square", "sum", "tensordot", "trace", "vdot",
}  # fmt: skip
HOME = "privacy/exact_sums.py"
ROOMS = ("composition", "curator", "learning", "ledger", "local", "mechanisms", "privacy", "queries", "release")
ROOMS += ("structured", "synthesis")
ALLOWED = {
    "local/factors.py:radius": "a float; what it scales is cut to the ball again by the protocol that reports it",
    "local/shuffle.py:_above": "probabilities, with a bound on every rounding",
    "local/shuffle.py:_binomial": "probabilities, with a bound on every rounding",
    "local/shuffle.py:_blanket": "probabilities, with a bound on every rounding",
    "release/gamma2_solver.py:_normal": "weights of the optimiser: they choose a strategy, whose norm is then exact",
    "release/net.py:_of_product": "products of entries, which are known to stay below 2^31 before they are made",
    "release/strategies.py:_around": "a centre, which may be any; what is seen from it is exact",
    "structured/marginals/residual_plan.py:_evened": "shares of the optimiser, checked afterwards with slack",
    "structured/marginals/residual_plan.py:_least_by_kind": "floats in [0, 1] times shares, with slack",
    "structured/marginals/residual_plan.py:_noise": "shares of the optimiser, checked afterwards with slack",
    "structured/marginals/residual_plan.py:replaced": "floats, rounded up by SLACK",
    "structured/marginals/residual_plan.py:step": "shares of the optimiser, checked afterwards with slack",
    "structured/streams/toeplitz.py:_steps": "gains are floored floats below 2^31, compared with TINY",
    "structured/streams/toeplitz.py:longest": "floats, rounded up by TINY",
    "structured/streams/toeplitz.py:squares": "floats, compared with TINY",
}


def sums_that_decide(tree: ast.Module) -> set[str]:
    """The functions that state a price, or are used by one that does, and add up an array."""
    functions: dict[str, list[ast.FunctionDef]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(node)
    seen: set[str] = set()
    left = [name for name in functions if name in STATES]
    while left:
        name = left.pop()
        if name not in seen:
            seen.add(name)
            left += [used for one in functions[name] for used in _names(one) if used in functions]
    return {name for name in seen if any(_adds_up(one) for one in functions[name])}


def _names(function: ast.FunctionDef) -> set[str]:
    return {
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Name | ast.Attribute)
    }


def _adds_up(function: ast.FunctionDef) -> bool:
    """Whether an array is added up or cast, or two are multiplied; `math.prod` and `sum` take Python's numbers."""
    for node in ast.walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SUMS:
            of = node.func.value
            if not (isinstance(of, ast.Name) and of.id in {"math", "operator"}):
                return True
    return False


def test_what_decides_a_price_is_added_up_in_one_home():
    found = {
        f"{path.relative_to(PACKAGE).as_posix()}:{name}"
        for room in ROOMS
        for path in modules(PACKAGE / room)
        if path.relative_to(PACKAGE).as_posix() != HOME
        for name in sums_that_decide(syntax(path))
    }

    assert found == set(ALLOWED)


def test_a_sum_of_squares_beside_the_home_is_found():
    """The twin is the code that claimed rho 0.5 where the truth was 32,768."""
    twin = ast.parse(
        "class Strategy:\n"
        "    def squared(self, neighbours):\n        return self._longest()\n"
        "    def _longest(self):\n        return int((self.entries * self.entries).sum(axis=0).max())\n"
        "    def accuracy(self):\n        return self.variances.sum()\n"
    )

    assert sums_that_decide(twin) == {"_longest"}
