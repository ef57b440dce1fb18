"""How a command ends: a sentence on standard error, and an exit code."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from discreet.errors import BudgetExhausted, DiscreetError, ParameterError

Given = ParamSpec("Given")
Made = TypeVar("Made")

REFUSED, USAGE, EXHAUSTED = 1, 2, 3


class UsageError(ParameterError):
    """Options that are missing or do not go together."""


def ending(error: Exception) -> tuple[str, int] | None:
    """What to say and the exit code; None for an error that nobody foresaw, which keeps its traceback.

    >>> ending(FileNotFoundError(2, "No such file or directory", "anchor.json"))
    ('no file anchor.json', 1)
    """
    match error:
        case BudgetExhausted():
            return str(error), EXHAUSTED
        case UsageError():
            return str(error), USAGE
        case DiscreetError():
            return str(error), REFUSED
        case OSError():
            return reason(error), REFUSED
        case UnicodeDecodeError():
            return "a file that should be text in UTF-8 is not", REFUSED
    if type(error).__module__.partition(".")[0] == "pyarrow":  # its text may quote a row
        return f"a file cannot be read as the table that its name says ({type(error).__name__})", REFUSED
    return None


def reason(error: OSError) -> str:
    """What a file system refused, and where.

    >>> reason(PermissionError(13, "Permission denied", "/out.svg"))
    '/out.svg: permission denied'
    """
    where = error.filename2 or error.filename
    if isinstance(error, FileNotFoundError) and where is not None:
        return f"no file {where}"
    said = (error.strerror or type(error).__name__).lower()
    return said if where is None else f"{where}: {said}"


def notes_told(command: Callable[Given, Made]) -> Callable[Given, Made]:
    """The same command; what an error has to say of a charge is said also where Ctrl-C ends the program."""
    import typer

    @wraps(command)
    def told(*args: Given.args, **kwargs: Given.kwargs) -> Made:
        try:
            return command(*args, **kwargs)
        except BaseException as error:
            for note in getattr(error, "__notes__", ()):
                typer.echo(f"discreet: {note}", err=True)
            raise

    return told
