"""No code of an analyst is ever run: none is reachable, and hostile text stays text."""

import ast
import os
from pathlib import Path

import pytest

import discreet
from discreet.curator import Curator
from discreet.curator.answer import from_bytes
from discreet.data import Domain
from discreet.errors import DiscreetError
from discreet.ledger import Ledger
from discreet.privacy import PureDP
from tests.curator.checks.test_allow_list import WORLD, Forbidden

SOURCE = Path(discreet.__file__).parent
BANNED = {"eval", "exec", "compile", "__import__", "execfile", "input"}
BANNED_METHODS = {
    "create_function",
    "install_extension",
    "load_extension",
    "system",
    "popen",
    "spawn",
    "from_pickle",
    "read_pickle",
}
BANNED_MODULES = {
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "marshal",
    "shelve",
    "yaml",
    "joblib",
    "code",
    "codeop",
    "runpy",
    "imp",
}
LAYERS = ("data", "queries", "ledger", "curator", "cli")


def findings(text):
    """Calls and imports that could run what a request brings."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BANNED:
            found.append(node.func.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method = node.func.attr
            loads = method in ("load", "loads") and ast.unparse(node.func.value) in BANNED_MODULES
            found += [method] if method in BANNED_METHODS or loads else []
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        found += [name for name in names if name.split(".")[0] in BANNED_MODULES]
    return found


def test_nothing_on_the_way_of_a_request_runs_code():
    files = [SOURCE / "terminal.py", *(file for layer in LAYERS for file in (SOURCE / layer).rglob("*.py"))]

    assert len(files) > 30
    assert {str(file): found for file in files if (found := findings(file.read_text(encoding="utf-8")))} == {}


@pytest.mark.parametrize(
    "twin",
    [
        "import pickle\npickle.loads(plan)",
        "eval(question)",
        "from yaml import load",
        "connection.create_function('f', f)",
        "__import__(name)",
    ],
)
def test_the_scan_sees_what_it_looks_for(twin):
    assert findings(twin)


def payloads():
    """Text that would do something if anything interpreted it."""
    cores = [
        "__import__('os').mkdir('{}')",
        "{{{{7*7}}}}",
        "${{jndi:ldap://x}}",
        "'; COPY visits TO '{}'; --",
        "$(touch {})",
        "`touch {}`",
        "cos\nmkdir\n(S'{}'\ntR.",
        "!!python/object/apply:os.mkdir ['{}']",
        "\"; import os; os.mkdir('{}')",
        "%s%s%n",
        "../../{}",
        "\\u0000{}",
    ]
    frames = [
        "{}",
        "SELECT COUNT(*) FROM visits WHERE ward = '{}'",
        'SELECT COUNT(*) AS "{}" FROM visits WHERE',
        'SELECT COUNT(*) FROM "{}"',
        "SELECT {} FROM visits",
        "SELECT COUNT(*) FROM visits WHERE {}",
        "SELECT COUNT(*) FROM visits GROUP BY {}",
        "SELECT COUNT(*) FROM visits ORDER BY {}",
        "SELECT COUNT(*) FROM visits LIMIT {}",
        "SELECT COUNT(*) FROM visits HAVING {} > 1",
        "SELECT SUM({}(age)) FROM visits",
        "SELECT COUNT(*) FROM visits WHERE day > '{}'",
        "SELECT COUNT(*) FROM {}",
        "SELECT COUNT(*) FROM visits WHERE age IN ({})",
        "SELECT COUNT(*) FROM visits WHERE CASE WHEN {} THEN 1 END = 1",
        "SELECT COUNT(*) FROM visits WHERE EXTRACT({} FROM day) = 1",
        'SELECT "{}", COUNT(*) FROM visits GROUP BY 1',
    ]
    return [frame.replace("{}", core) for frame in frames for core in cores]


def test_hostile_payloads_are_refused_and_leave_no_trace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = [payload.replace("{}", "trace") for payload in payloads()]
    with Ledger.open(":memory:", testing=True) as ledger:
        curator = Curator(WORLD, budget=PureDP(1), ledger=ledger, engine=Forbidden())
        for payload in found:
            with pytest.raises(DiscreetError):
                curator.ask(payload, epsilon="0.001")
        spent = ledger.budget("patient").balance.spent.epsilon

    assert len(found) >= 200
    assert spent == 0
    assert os.listdir(tmp_path) == []


def test_a_declaration_and_a_stored_answer_are_data():
    for hostile in ({"a": {"type": "__import__('os')"}}, {"a": {"type": "integer", "low": "eval('1')", "high": 2}}):
        with pytest.raises(DiscreetError):
            Domain.from_dict(hostile)
    with pytest.raises(ValueError, match=r"Expecting|decode"):  # read as JSON, never unpickled
        from_bytes(None, b"cos\nsystem\n(S'true'\ntR.", None, beta=0.05, whole_counts=False)
