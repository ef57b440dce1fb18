"""Rows written as text, and all that must be said to read them: nothing is guessed from the rows.

    "visits.csv"                                        commas, double quotes, UTF-8, a line of names first
    TextFile("visits.txt", separator=";", encoding="windows-1252")
    TextFile("visits.csv", header=False, columns=("who", "age"))
    "visits.jsonl"                                      one JSON object a line, with the declared names

Text is read once, into a sealed copy (`discreet.data.engines.sealing`); no question ever parses text.

Theorem.  Unless `multiline` is set, the rows of the copy are f(line 1), f(line 2), ..., each f(line) one row or none,
where f depends on what is declared here and on the bytes of that line alone.  So a unit that adds, removes or changes
its own lines adds, removes or changes its own rows and no others.  Proof: docs/guide/text.md.
"""

from __future__ import annotations

import codecs
import functools
import importlib
from dataclasses import dataclass, field
from pathlib import Path

from discreet.errors import ParameterError, require

DELIMITED = (".csv", ".tsv")
JSON_LINES = (".jsonl", ".ndjson")
ENDINGS = tuple(kind + packed for kind in (*DELIMITED, *JSON_LINES) for packed in ("", ".gz"))


@dataclass(frozen=True, slots=True)
class TextFile:
    r"""A file of text, or a pattern of files, with its declaration.

    `separator` and `quote` are one ASCII character each; `quote=None` where nothing is quoted.  `encoding` is UTF-8 or
    one with a byte for each character.  Without a header line, and for JSON lines, `columns` are the names.  With
    `multiline` a quoted value may span lines: one open quote then swallows the lines after it, whoever's they are, and
    what is promised holds for the rows of the sealed copy and not for the bytes of the file.

    >>> TextFile("visits.tsv").separator
    '\t'
    >>> TextFile("visits.csv", encoding="utf-16")
    Traceback (most recent call last):
    discreet.errors.ParameterError: need UTF-8 or an encoding with a byte for each character, got encoding='utf-16'
    """

    path: str
    separator: str | None = field(default=None, kw_only=True)
    quote: str | None = field(default='"', kw_only=True)
    encoding: str = field(default="utf-8", kw_only=True)
    header: bool = field(default=True, kw_only=True)
    columns: tuple[str, ...] | None = field(default=None, kw_only=True)
    multiline: bool = field(default=False, kw_only=True)
    place: str | None = field(default=None, kw_only=True, repr=False)  # the folder of its copy; a curator names it
    version: int | None = field(default=None, kw_only=True, repr=False)  # of the table; a curator names it

    def __post_init__(self) -> None:
        require(isinstance(self.path, (str, Path)), "a path or a pattern", path=type(self.path).__name__)
        object.__setattr__(self, "path", str(self.path))
        if self.separator is None:
            object.__setattr__(self, "separator", "\t" if _ends(self.path, (".tsv",)) else ",")
        for name, value in (("separator", self.separator), ("quote", self.quote)):
            plain = isinstance(value, str) and len(value) == 1 and value.isascii() and value not in "\n\r\0"
            require(plain or (name == "quote" and value is None), f"one ASCII character as {name}", **{name: value})
        require(self.separator != self.quote, "a separator that is not the quote", separator=self.separator)
        require(
            _alone(self.encoding),
            "UTF-8 or an encoding with a byte for each character",
            encoding=self.encoding,
        )
        object.__setattr__(self, "encoding", codecs.lookup(self.encoding).name)  # "U8" is UTF-8 too
        if self.columns is not None:
            if isinstance(self.columns, str):
                raise ParameterError(f"need the names of the columns as a list, got {self.columns!r}")
            object.__setattr__(self, "columns", tuple(self.columns))
            distinct = {name.lower() for name in self.columns}
            require(0 < len(self.columns) == len(distinct), "names of columns that differ", columns=self.columns)
        if self.json:
            require(not self.multiline, "one JSON object a line", multiline=self.multiline)
        elif self.header:
            require(self.columns is None, "names in the header line or in columns=, not in both", header=self.header)
        else:
            require(self.columns is not None, "columns=[...] where there is no header line", columns=None)

    @property
    def json(self) -> bool:
        """Whether each line is a JSON object."""
        return _ends(self.path, JSON_LINES)

    @property
    def packed(self) -> bool:
        """Whether the files are compressed by gzip."""
        return self.path.lower().endswith(".gz")


def is_text(source: object) -> bool:
    """Whether a source is a path, or a pattern, of files of text.

    >>> is_text("visits.csv.gz"), is_text("visits.parquet"), is_text("postgresql:///hospital#visits.csv")
    (True, False, False)
    """
    place = isinstance(source, str) and "::" not in source and "://" not in source  # a table may be called so
    return place and str(source).lower().endswith(ENDINGS)


def declared(source: object, names: tuple[str, ...]) -> object:
    """The source, a path of text as a `TextFile`; JSON lines have the declared names where no others are given."""
    if is_text(source):
        lines = _ends(str(source), JSON_LINES)
        return TextFile(str(source), columns=names if lines else None)
    if isinstance(source, TextFile) and source.json and source.columns is None:
        from dataclasses import replace

        return replace(source, columns=names)
    return source


def _ends(path: str, endings: tuple[str, ...]) -> bool:
    return path.lower().removesuffix(".gz").endswith(endings)


@functools.cache
def _alone(encoding: object) -> bool:
    """Whether no byte of one line changes how another line is read: every line feed is one, and bytes have no state."""
    if not isinstance(encoding, str):
        return False
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        return False
    if name in ("utf-8", "ascii", "iso8859-1"):
        return True
    try:
        table = importlib.import_module(f"encodings.{name.replace('-', '_')}").decoding_table
    except (ImportError, AttributeError):
        return False
    ascii_, rest = table[:128], table[128:]
    return ascii_ == "".join(map(chr, range(128))) and all(ord(letter) >= 128 for letter in rest)
