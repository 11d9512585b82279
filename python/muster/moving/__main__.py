"""The command line of imports.

    python -m muster.moving determined --url http://old:8080 --user admin --to http://new:8080
    python -m muster.moving determined --dump determined.sql.gz --dry-run
    python -m muster.moving determined --dump determined.sql.gz --out history.ndjson
    python -m muster.moving send history.ndjson --to http://new:8080

Exit code 0: all that was read was taken or there already; 1: some of it was refused or left out for its size, or it broke off;
2: the command line is wrong. An import that broke off goes on where it was when the same command is given again.
"""
from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
from pathlib import Path
from typing import Iterator, List, Optional, Set, Tuple

from muster.moving.determined_dump import DumpReader
from muster.moving.determined_rest import RestReader
from muster.moving.determined_web import MasterWeb
from muster.moving.dump import open_dump
from muster.moving.records import FORMAT, MovingError, Reader, Record, Section
from muster.moving.sender import ControllerTarget, FileTarget, Nowhere, Progress, StateFile, Target, Transfer, placed_records


class FileReader:
    """Records that were written to a file; a Reader of one section."""

    def __init__(self, path: Path) -> None:
        self.left_out: "dict[str, int]" = {}
        self._path = path

    def source(self) -> Record:
        for record in self._records():
            if record.get("kind") == "source" and record.get("format") == FORMAT:
                return record
            break
        raise MovingError(f"{self._path} does not begin with a source line of format {FORMAT}; is it a file of records?")

    def sections(self, begin: Optional[str]) -> Iterator[Section]:
        yield Section("records", lambda: (record for record in self._records() if record["kind"] != "source"))

    def _records(self) -> Iterator[Record]:
        try:
            with open(self._path, "rb") as file:
                for number, line in enumerate(file, start=1):
                    record = json.loads(line)
                    if not isinstance(record, dict) or "kind" not in record:
                        raise ValueError("it has no kind")
                    yield record
        except OSError as error:
            raise MovingError(f"{self._path}: {error.strerror}") from error
        except ValueError as error:
            raise MovingError(f"{self._path}:{number}: {error}") from error


def _numbers(text: str) -> Set[int]:
    """1,3,5-9."""
    out: Set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise argparse.ArgumentTypeError(f"{part!r} is no number; write 1,3,5-9")
        out.update(range(int(first), int(last or first) + 1))
    return out


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m muster.moving", description="Brings another cluster's history here.")
    commands = parser.add_subparsers(dest="command", required=True)
    determined = commands.add_parser("determined", help="read a Determined cluster")
    source = determined.add_mutually_exclusive_group(required=True)
    source.add_argument("--url", help="its master: http://host:port")
    source.add_argument("--dump", type=Path, help="a dump of its database, by pg_dump: plain, gzipped or custom")
    determined.add_argument("--user", help="who logs in at --url; the password is asked for, or read from --password-file")
    determined.add_argument("--password-file", type=Path)
    determined.add_argument("--token-file", type=Path, help="a file with a token for --url, instead of a user")
    determined.add_argument("--experiments", type=_numbers, metavar="1,3,5-9", help="only these")
    determined.add_argument("--without-metrics", action="store_true")
    send = commands.add_parser("send", help="send a file of records")
    send.add_argument("file", type=Path)
    for command in (determined, send):
        target = command.add_mutually_exclusive_group()
        target.add_argument("--to", help="the controller: http://host:port; default $DET_MASTER, as `muster env` sets it")
        target.add_argument("--dry-run", action="store_true", help="only say what there is")
        if command is determined:
            target.add_argument("--out", type=Path, help="write a file of records instead")
        command.add_argument("--to-token-file", type=Path, help="a file with an operator's token; default $DET_USER_TOKEN")
        command.add_argument("--state", type=Path, help="where to keep how far it is; default muster-import-SOURCE.json here")
    return parser


def _line_in(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise MovingError(f"{path}: {error.strerror}") from error


def _reader(options: argparse.Namespace, progress: Progress) -> Reader:
    if options.command == "send":
        return FileReader(options.file)
    has_metrics = not options.without_metrics
    if options.dump is not None:
        return DumpReader(open_dump(options.dump), options.experiments, has_metrics)
    web = MasterWeb(options.url, _line_in(options.token_file) if options.token_file else None, note=progress.log)
    if options.user:
        web.login(options.user, _line_in(options.password_file) if options.password_file else getpass.getpass(f"Password of {options.user}: "))
    elif not options.token_file:
        raise MovingError("--url needs --user or --token-file")
    return RestReader(web, options.experiments, has_metrics)


def _target(options: argparse.Namespace, has_begun: bool) -> Target:
    if options.dry_run:
        return Nowhere()
    if getattr(options, "out", None):
        return FileTarget(options.out, has_begun)
    token = _line_in(options.to_token_file) if options.to_token_file else os.environ.get("DET_USER_TOKEN", "")
    if not token:
        raise MovingError("whose is the import? give --to-token-file, or set DET_USER_TOKEN (eval \"$(muster env --dir DIR)\")")
    return ControllerTarget(_target_url(options), token)


def _target_url(options: argparse.Namespace) -> str:
    url: str = options.to or os.environ.get("DET_MASTER", "")
    if not url:
        raise MovingError("where to? give --to http://host:port, --out FILE or --dry-run")
    return url


def _target_name(options: argparse.Namespace) -> str:
    out = getattr(options, "out", None)
    return str(out.absolute()) if out else _target_url(options)


def _opened(options: argparse.Namespace, source: Record) -> Optional[StateFile]:
    if options.dry_run:
        return None
    path = options.state or Path(f"muster-import-{source['id']}.json")
    return StateFile(path, str(source["id"]), _target_name(options))


def _print_summary(transfer: Transfer, reader: Reader, source: Record, options: argparse.Namespace) -> None:
    counts = transfer.counts
    columns: List[Tuple[str, "dict[str, int]"]] = [("read", counts.read)]
    if not options.dry_run and not getattr(options, "out", None):
        columns += [("imported", counts.imported), ("there already", counts.skipped)]
    print(f"cluster {source['id']}" + (f" ({source['name']})" if source.get("name") else ""))
    print(f"{'':15}" + "".join(f"{name:>15}" for name, _ in columns))
    for kind in dict.fromkeys(kind for _, column in columns for kind in column):
        print(f"{kind:15}" + "".join(f"{column.get(kind, 0):15}" for _, column in columns))
    for what, count in sorted(reader.left_out.items()):
        print(f"not moved: {count} {what}")
    if counts.too_long:
        print(f"not moved: {counts.too_long} records that are too long")
    if counts.refused:
        print(f"refused: {counts.refused}")


def main(arguments: Optional[List[str]] = None) -> int:
    options = _parser().parse_args(arguments)
    progress = Progress()
    try:
        reader = _reader(options, progress)
        source = reader.source()
        state = _opened(options, source)
        place = state.place if state else None
        if place is not None:
            progress.log(f"goes on after record {place.records} of {place.section}; remove {options.state or 'the file of its state'} to begin anew")
        transfer = Transfer(source, _target(options, place is not None), state, progress.log)
        transfer.run(progress.watch(placed_records(reader, place)))
    except MovingError as error:
        print(f"muster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("muster: broken off; the same command goes on", file=sys.stderr)
        return 1
    if state:
        state.remove()
    _print_summary(transfer, reader, source, options)
    return 1 if transfer.counts.refused or transfer.counts.too_long else 0


if __name__ == "__main__":
    sys.exit(main())
