"""Tables out of a dump that PostgreSQL's pg_dump wrote: plain SQL, also gzipped, or the custom format by way of pg_restore.

Only COPY blocks are read, which is how pg_dump writes data unless it is told to write INSERTs. A table is read by itself, as often
as it is asked for, a row at a time.
"""
from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from pathlib import Path
from typing import IO, Dict, Iterator, List, Optional, Protocol, Tuple, cast

from muster.moving.records import MovingError

Row = Dict[str, Optional[str]]

_COPY = re.compile(rb'COPY (?:"?[\w$]+"?\.)?"?([\w$]+)"? \((.*)\) FROM stdin;')
_INSERT = re.compile(rb"INSERT INTO ")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)", re.DOTALL)


class Dump(Protocol):
    def tables(self) -> List[str]:
        """Those that have data, in the order of the dump."""

    def rows(self, table: str) -> Iterator[Row]:
        """By column; NULL is None. None when there is no such table. Errors: MovingError."""


def open_dump(path: Path) -> Dump:
    """Errors: MovingError."""
    try:
        with open(path, "rb") as file:
            head = file.read(5)
    except OSError as error:
        raise MovingError(f"{path}: {error.strerror}") from error
    if head == b"PGDMP":
        if shutil.which("pg_restore") is None:
            raise MovingError(f"{path} is a dump in pg_dump's custom format, and pg_restore is not installed here; install PostgreSQL's client, or "
                              "make it plain where there is one: pg_restore -f dump.sql FILE")
        return CustomDump(path)
    return PlainDump(path, is_gzip=head.startswith(b"\x1f\x8b"))


class PlainDump:
    """Where each block begins is found by one pass over the file, at the first question."""

    def __init__(self, path: Path, is_gzip: bool = False) -> None:
        self._path = path
        self._is_gzip = is_gzip
        self._blocks: Optional[Dict[str, List[Tuple[int, List[str]]]]] = None

    def _open(self) -> IO[bytes]:
        return cast(IO[bytes], gzip.open(self._path, "rb")) if self._is_gzip else open(self._path, "rb")

    def _found(self) -> Dict[str, List[Tuple[int, List[str]]]]:
        if self._blocks is not None:
            return self._blocks
        blocks: Dict[str, List[Tuple[int, List[str]]]] = {}
        has_inserts = is_inside = False
        offset = 0
        try:
            with self._open() as file:
                for line in file:
                    offset += len(line)
                    if is_inside:
                        is_inside = line.rstrip(b"\r\n") != b"\\."
                        continue
                    match = _COPY.match(line)
                    if match:
                        blocks.setdefault(match.group(1).decode(), []).append((offset, _columns(match.group(2))))
                        is_inside = True
                    has_inserts = has_inserts or bool(_INSERT.match(line))
        except (OSError, EOFError) as error:
            raise MovingError(f"{self._path}: {error}") from error
        if is_inside:
            raise MovingError(f"{self._path} breaks off within the data of {list(blocks)[-1]}; make the dump again")
        if has_inserts and not blocks:
            raise MovingError(f"{self._path} holds INSERTs; make the dump without --inserts and --column-inserts")
        self._blocks = blocks
        return blocks

    def tables(self) -> List[str]:
        return list(self._found())

    def rows(self, table: str) -> Iterator[Row]:
        for offset, columns in self._found().get(table, []):
            with self._open() as file:
                file.seek(offset)
                yield from _rows_of(file, table, columns)


class CustomDump:
    """Each table through a pg_restore of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def tables(self) -> List[str]:
        done = subprocess.run(["pg_restore", "--list", str(self._path)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise MovingError(f"{self._path}: pg_restore: {done.stderr.strip()}")
        return [match.group(1) for match in re.finditer(r"^\d+; \d+ \d+ TABLE DATA \S+ (\S+) ", done.stdout, re.M)]

    def rows(self, table: str) -> Iterator[Row]:
        command = ["pg_restore", "--data-only", "--table", table, "-f", "-", str(self._path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for line in process.stdout:
                match = _COPY.match(line)
                if match:
                    yield from _rows_of(process.stdout, table, _columns(match.group(2)))
        if process.returncode != 0:
            raise MovingError(f"{self._path}: pg_restore ended with {process.returncode} on table {table}")


def _columns(text: bytes) -> List[str]:
    return [name.strip().strip('"') for name in text.decode().split(",")]


def _rows_of(file: IO[bytes], table: str, columns: List[str]) -> Iterator[Row]:
    for line in file:
        line = line.rstrip(b"\r\n") if line.endswith(b"\r\n") else line.rstrip(b"\n")
        if line == b"\\.":
            return
        values = line.decode("utf-8", "replace").split("\t")
        if len(values) != len(columns):
            raise MovingError(f"a row of table {table} has {len(values)} values, but there are {len(columns)} columns")
        yield {name: unescaped(value) for name, value in zip(columns, values)}


def unescaped(text: str) -> Optional[str]:
    """A value of a COPY block. Pure."""
    if text == "\\N":
        return None
    return _ESCAPE.sub(_meant, text) if "\\" in text else text


def _meant(match: "re.Match[str]") -> str:
    code = match.group(1)
    if code[0] in "01234567":
        return chr(int(code, 8))
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, code)


def array_of(text: Optional[str]) -> List[str]:
    """PostgreSQL's {a,"b c",NULL} as a list, without NULLs. Pure."""
    if not text or text == "{}":
        return []
    out = []
    for quoted, plain in re.findall(r'"((?:[^"\\]|\\.)*)"|([^,{}"]+)', text):
        if plain != "NULL":
            out.append(plain or re.sub(r"\\(.)", r"\1", quoted))
    return out
