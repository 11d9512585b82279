"""Logs of lines and whole replacement of files."""
import json
import os

import pytest

from muster.core import durable
from muster.core.errors import CorruptionError, StorageError


def test_a_torn_last_line_is_passed_over_and_then_cut_off(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b'{"n": 1}\n{"n": 2}\n{"n": 3')
    assert [row["n"] for row in durable.read_lines(path)] == [1, 2]
    log = durable.AppendLog(path)
    log.append([{"n": 4}])
    log.close()
    assert path.read_bytes() == b'{"n": 1}\n{"n": 2}\n{"n": 4}\n'


def test_a_whole_line_without_its_line_feed_is_torn_too(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b'{"n": 1}\n{"n": 2}')
    assert [row["n"] for row in durable.read_lines(path)] == [1]


def test_a_torn_line_longer_than_a_block(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b'{"n": 1}\n' + b"x" * 200_000)
    durable.AppendLog(path).close()
    assert path.read_bytes() == b'{"n": 1}\n'
    path.write_bytes(b"x" * 200_000)
    durable.AppendLog(path).close()
    assert path.read_bytes() == b""


@pytest.mark.parametrize("line", [b"garbage", b"[1]", b"\0\0\0"])
def test_damage_elsewhere_is_an_error_that_names_the_line(tmp_path, line):
    path = tmp_path / "log"
    path.write_bytes(b'{"n": 1}\n' + line + b'\n{"n": 3}\n')
    with pytest.raises(CorruptionError, match="log:2: not"):
        list(durable.read_lines(path))


def test_no_file_is_no_lines(tmp_path):
    assert not list(durable.read_lines(tmp_path / "none"))
    assert durable.read_document(tmp_path / "none") == {}


def test_what_was_appended_or_replaced_is_on_disk(tmp_path, monkeypatch):
    seen = []
    sync = os.fsync
    log = durable.AppendLog(tmp_path / "log")
    monkeypatch.setattr(os, "fsync", lambda file: (seen.append(os.readlink(f"/proc/self/fd/{file}")), sync(file)))
    log.append([{"n": 1}])
    assert seen == [str(tmp_path / "log")]
    durable.replace_file(tmp_path / "status.json", {})
    assert seen[1:] == [str(tmp_path / "status.json.new"), str(tmp_path)]
    durable.make_folder(tmp_path / "a" / "b")
    assert seen[3:] == [str(tmp_path), str(tmp_path / "a")]


def test_a_second_writer_is_noticed(tmp_path):
    log = durable.AppendLog(tmp_path / "log")
    log.append([{"n": 1}])
    with open(tmp_path / "log", "ab") as other:
        other.write(b'{"n": 2}\n')
    with pytest.raises(StorageError, match="changed by another process"):
        log.append([{"n": 3}])


def test_a_write_that_fails_half_way_leaves_nothing(tmp_path, monkeypatch):
    log = durable.AppendLog(tmp_path / "log")
    log.append([{"n": 1}])
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, block: real(file, bytes(block[:3])) if len(block) > 10 else _full())
    with pytest.raises(StorageError, match=f"cannot write log in {tmp_path}: No space left"):
        log.append([{"n": 23456}])
    monkeypatch.undo()
    assert (tmp_path / "log").read_bytes() == b'{"n": 1}\n'
    log.append([{"n": 3}])
    assert [row["n"] for row in durable.read_lines(tmp_path / "log")] == [1, 3]


def _full():
    raise OSError(28, "No space left on device")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "status.json"
    durable.replace_file(path, {"a": 1})
    monkeypatch.setattr(os, "replace", lambda *_: _full())
    with pytest.raises(StorageError, match=str(tmp_path)):
        durable.replace_file(path, {"a": 2})
    assert json.loads(path.read_text()) == {"a": 1} and os.listdir(tmp_path) == ["status.json"]
    path.write_text("{")
    with pytest.raises(CorruptionError, match="status.json"):
        durable.read_document(path)
