"""Changes to the curator's file, each whole or not at all: another table, a larger budget.

The new text is checked before it takes the old one's place, by a rename that the disk has seen; one process at a
time holds the lock beside the file.  Comments and order of what is there stay.

A budget is rewritten amount by amount, in the lines that state it, whether it is a section [budget], an inline table
or dotted keys.  The new text must say the new cap and everything else as before; a file that is written in some
other way is refused, before the ledger has promised anything that the file would then contradict.
"""

from __future__ import annotations

import fcntl
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from discreet.curator import config
from discreet.errors import ParameterError
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.release.once import replace_whole
from discreet.service.problems import Problem

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")  # what SQL takes as the name of a table
_HEADER = re.compile(r"\s*\[\s*([^\[\]#]+?)\s*\]\s*")
_SAID = re.compile(r"""(?:[^#"']|"[^"]*"|'[^']*')*""")  # of a line: what is before its comment
_STATED = r"""(?P<before>(?:^|[{{,.])\s*["']?{name}["']?\s*=\s*)(?P<value>"[^"]*"|'[^']*'|[^\s,}}#]+)"""
_INLINE = re.compile(r"""\s*["']?budget["']?\s*[.=]""")


def register(path: Path, name: str, entry: Mapping[str, object]) -> None:
    """Append a table to the file."""
    if not NAME.fullmatch(name):
        raise ParameterError("need a name of letters, digits and _ for the table, at most 63")

    def added(text: str) -> str:
        if name.lower() in {known.lower() for known in tomllib.loads(text).get("tables", {})}:
            raise Problem("conflict", "there is a table of this name; new rows are a new version of it")
        return text.rstrip("\n") + "\n" + "\n".join(config.section(name, entry)) + "\n"

    _change(path, added)


def state_budget(path: Path, cap: Guarantee, promise: Callable[[], object]) -> None:
    """Put a larger cap in the place of the file's; `promise` is called in between, once it is known that it can be."""
    match cap:
        case PureDP():
            amounts = {"epsilon": cap.epsilon}
        case ApproxDP():
            amounts = {"epsilon": cap.epsilon, "delta": cap.delta}
        case ZCDP():
            amounts = {"rho": cap.rho}
        case _:
            raise ParameterError("need a cap of epsilon, epsilon and delta, or rho")

    def restated(text: str) -> str:
        new = _restated(text, {name: f'"{amount}"' for name, amount in amounts.items()})
        if not _same_but(_read(text), new, cap):
            raise Problem(
                "conflict",
                "the file states its budget in a form that cannot be changed from here; nothing was promised",
                remedy='write it as a section [budget] with lines such as epsilon = "1", and try again',
            )
        return new

    _change(path, restated, promise)


def _restated(text: str, amounts: Mapping[str, str]) -> str:
    """The text with other amounts in the lines that state the budget; whether those were all the caller has to see."""
    lines, section = text.splitlines(keepends=True), ""
    for place, line in enumerate(lines):
        said = _SAID.match(line)
        assert said is not None
        code, comment = said[0], line[said.end() :]
        header = _HEADER.fullmatch(code)
        if header:
            section = header[1].strip("\"'")
        elif section == "budget" or (not section and _INLINE.match(code)):
            for name, amount in amounts.items():
                stated = re.compile(_STATED.format(name=name))
                code = stated.sub(lambda found, amount=amount: found["before"] + amount, code, count=1)
            lines[place] = code + comment
    return "".join(lines)


def _same_but(old: Mapping[str, object], text: str, cap: Guarantee) -> bool:
    """Whether a text says what was said before, and this cap."""
    try:
        new = _read(text)
        return config.budget(new.get("budget")) == cap and {**new, "budget": 0} == {**old, "budget": 0}
    except ParameterError:
        return False


def _change(path: Path, changed: Callable[[str], str], promise: Callable[[], object] = lambda: None) -> None:
    with only(path):
        text = changed(path.read_bytes().decode())
        settings = _read(text)
        config.budget(settings.get("budget"))
        config.tables(settings, path.parent)  # a declaration with a blank or a wrong bound is refused here
        promise()
        replace_whole(path, lambda file: file.write(text.encode()), mode=path.stat().st_mode & 0o777)


def _read(text: str) -> dict[str, object]:
    try:
        text.encode()
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeError):
        raise ParameterError("need a declaration that TOML can hold: names and values of Unicode text") from None


@contextmanager
def only(path: Path) -> Iterator[None]:
    """Be the only one who changes the file."""
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
