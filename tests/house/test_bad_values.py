"""What stands for a NaN, an infinity or a NULL among private numbers is said in `hazmat/bad_values.py` alone.

Every other module that asks whether a number is finite is listed here with what it asks it of; a new one either uses
the rule, or says here why the numbers are public, or already released.
"""

from __future__ import annotations

import ast

from tests.house.repository import PACKAGE, modules, named, syntax

HOME = "hazmat/bad_values.py"
ASKS = {"isfinite", "isnan", "isinf", "nan_to_num", "is_nan", "is_infinite", "is_finite"}
ROOMS = ("composition", "data", "hazmat", "learning", "local", "mechanisms", "privacy", "queries", "release")
ROOMS += ("structured", "synthesis")
PUBLIC = "public numbers: a parameter, a matrix, a bound"
RELEASED = "numbers that were released, or read back from a file"
ALLOWED = {
    "composition/concentrated.py": PUBLIC,
    "composition/numerical.py": PUBLIC,
    "composition/theorems.py": PUBLIC,
    "data/histogram.py": "floats are estimates; counts of a list go through the rule",
    "hazmat/lattice.py": "refuses by its contract; private numbers are settled by the rule before",
    "learning/cross_validation.py": "errors of a model on its rows, cut to 0 .. 1 row by row",
    "learning/neural/per_example_gradients.py": "gradients, each row's set to 0 where it overflows",
    "learning/neural/private_gradients.py": PUBLIC,
    "learning/neural/run.py": PUBLIC,
    "learning/statistical/means.py": PUBLIC,
    "local/factors.py": PUBLIC,
    "privacy/convert.py": PUBLIC,
    "privacy/enclosure.py": PUBLIC,
    "privacy/exact_sums.py": PUBLIC,
    "privacy/number.py": PUBLIC,
    "privacy/worst.py": PUBLIC,
    "queries/local.py": PUBLIC,
    "queries/statistical.py": "values of an analyst's function, each row's NaN set to 0",
    "queries/written.py": PUBLIC,
    "release/boosted.py": RELEASED,
    "release/gamma2.py": PUBLIC,
    "release/gamma2_certificate.py": PUBLIC,
    "release/models/estimate.py": RELEASED,
    "release/models/graphical.py": RELEASED,
    "release/models/product.py": RELEASED,
    "release/mwem_fit.py": RELEASED,
    "release/mwem_universe.py": RELEASED,
    "release/online_session.py": RELEASED,
    "release/strategies.py": PUBLIC,
    "structured/graphs/triangle_packing.py": "a solver's numbers: the packing made of them always holds",
    "structured/marginals/residual_plan.py": PUBLIC,
    "structured/medians/sample_and_aggregate.py": "results of the caller's statistic, with a fallback",
    "structured/parities/correlation.py": RELEASED,
    "structured/parities/grothendieck.py": PUBLIC,
    "structured/quantiles/rank_index.py": "doubles beyond single numbers' range, after the rule",
    "synthesis/report_page.py": RELEASED,
    "synthesis/stored.py": RELEASED,
}


def asks(tree: ast.Module) -> bool:
    """Whether a module asks of numbers if they are finite: a call in Python, not a word of SQL."""
    return any(isinstance(node, ast.Call) and named(node.func) in ASKS for node in ast.walk(tree))


def test_what_is_no_number_is_decided_in_one_home():
    found = {
        path.relative_to(PACKAGE).as_posix()
        for room in ROOMS
        for path in modules(PACKAGE / room)
        if asks(syntax(path)) and path.relative_to(PACKAGE).as_posix() != HOME
    }

    assert found == set(ALLOWED)


def test_a_mechanism_that_refuses_a_nan_by_itself_is_found():
    twin = "def __call__(self, value):\n    require(bool(np.isfinite(value).all()), 'finite numbers')\n"

    assert asks(ast.parse(twin))
    assert not asks(ast.parse('text = "CASE WHEN isnan(x) THEN NULL"'))
