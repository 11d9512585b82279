"""Event files, byte by byte, and what a run writes into them; test_tensorboard.py reads them as TensorBoard does."""
import logging
import os
import struct

import pytest

from muster import core
from muster.core import event_files
from muster.core.environment import read_environment
from muster.core.event_files import EventFile, crc32c, masked_crc, record
from muster.core.tensorboard import FOLDER, first_step

SCSI_READ = bytes.fromhex("01c00000 00000000 00000000 00000000 14000000 00000400 00000014 00000018 28000000 00000000 02000000 "
                          "00000000".replace(" ", ""))


@pytest.mark.parametrize("data, expected", [  # RFC 3720, B.4
    (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E),
    (bytes(range(31, -1, -1)), 0x113FDB5C), (SCSI_READ, 0xD9963A56), (b"", 0), (b"123456789", 0xE3069283)])
def test_checksums_are_castagnolis(data, expected):
    assert crc32c(data) == expected


def test_a_masked_checksum_is_rotated_and_moved():
    crc = crc32c(bytes(32))
    assert masked_crc(bytes(32)) == ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) % 2 ** 32


def test_a_record_is_framed():
    data = record(b"abc")
    assert data[:8] == struct.pack("<Q", 3) and data[12:15] == b"abc" and len(data) == 8 + 4 + 3 + 4
    assert struct.unpack("<I", data[8:12])[0] == masked_crc(data[:8]) and struct.unpack("<I", data[15:])[0] == masked_crc(b"abc")


def test_events_are_in_protobufs_wire_format():
    def body(event):
        return event[12:-4]
    assert body(event_files.version_event(1.5)) == b"\x09" + struct.pack("<d", 1.5) + b"\x10\x00\x1a\x0dbrain.Event:2"
    assert body(event_files.start_event(0.0, 300)) == b"\x09" + bytes(8) + b"\x10\xac\x02\x3a\x02\x08\x01"
    one = b"\x0a\x01a\x15" + struct.pack("<f", 0.5)
    assert body(event_files.scalars_event(0.0, 1, ["a"], [0.5])) == b"\x09" + bytes(8) + b"\x10\x01\x2a" + bytes([len(one) + 2]) + \
        b"\x0a" + bytes([len(one)]) + one
    assert event_files.scalars_event(0.0, 1, ["a"], [1e300])[-8:-4] == struct.pack("<f", float("inf"))


def files(run_dir):
    folder = run_dir / FOLDER
    return sorted(folder.iterdir()) if folder.is_dir() else []


def test_a_file_is_named_behind_those_that_are_there(tmp_path):
    names = []
    for _ in range(3):
        file = EventFile(tmp_path, 1000.0)
        file.close()
        names.append(file.path.name)
        (tmp_path / "events.out.other").touch()
    assert names == sorted(names) and [name.split(".")[3] for name in names] == ["0000001000", "0000001001", "0000001002"]


def test_a_full_disk_is_one_warning_and_no_torn_record(small_disk, caplog):
    caplog.set_level(logging.WARNING)
    with core.init(run_dir=small_disk / "run") as context:
        copy = context.train._backend.metrics  # pylint: disable=protected-access
        context.train.report_training_metrics(1, {"loss": 1.0})
        context.train.flush()
        (file,) = files(small_disk / "run")
        whole = file.stat().st_size
        filler = small_disk / "filler"
        full = os.open(filler, os.O_WRONLY | os.O_CREAT)
        with pytest.raises(OSError):
            while True:
                os.write(full, bytes(4096))
        os.close(full)
        room = -whole % 4096  # of the page that it has begun
        rows = [core.MetricRow(1, "training", step, 0.0, {"loss": 1.0}) for step in range(2, 200)]
        assert len(rows) * 40 > room
        for _ in range(2):
            copy._copy(rows)  # pylint: disable=protected-access
        assert file.stat().st_size == whole
        assert [each.getMessage() for each in caplog.records if "TensorBoard" in each.getMessage()] == \
            [f"metrics are missing from TensorBoard's files in {small_disk}/run/tensorboard/metrics: "
             "[Errno 28] No space left on device"]
        filler.unlink()
        context.train.report_training_metrics(200, {"loss": 1.0})
        context.train.flush()
        assert file.stat().st_size > whole  # it goes on when there is room


def test_a_folder_that_cannot_be_written_hurts_nobody(tmp_path, caplog):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "tensorboard").write_text("a file")
    with core.init(run_dir=tmp_path / "run") as context:
        for step in (1, 2):
            context.train.report_training_metrics(step, {"loss": 1.0})
            context.train.flush()
    assert len(core.read_metrics(tmp_path / "run")["training"]) == 2
    assert sum("TensorBoard" in each.getMessage() for each in caplog.records) == 1


def test_it_can_be_turned_off(tmp_path, monkeypatch):
    monkeypatch.setenv("MUSTER_TENSORBOARD", "0")
    with core.init(run_dir=tmp_path / "run") as context:
        context.train.report_training_metrics(1, {"loss": 1.0})
    assert not (tmp_path / "run" / "tensorboard").exists()
    with pytest.raises(ValueError, match="MUSTER_TENSORBOARD is 'no'; it is 0 or 1"):
        read_environment({"MUSTER_TENSORBOARD": "no"})


def test_a_run_that_reports_nothing_has_no_file(tmp_path):
    with core.init(run_dir=tmp_path / "run") as context:
        context.train.report_system_metrics("cpu", {"utilization_ratio": 0.5})
    assert not (tmp_path / "run" / "tensorboard").exists()


@pytest.mark.parametrize("reported, resumed, expected", [(1, None, 1), (11, 10, 11), (15, 10, 11), (10, 10, 11), (1, 10, 1)])
def test_where_a_run_begins(reported, resumed, expected):
    assert first_step(reported, resumed) == expected


def test_the_process_that_forked_keeps_writing(tmp_path):
    with core.init(run_dir=tmp_path / "run") as context:
        context.train.report_training_metrics(1, {"loss": 1.0})
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        context.train.report_training_metrics(2, {"loss": 1.0})
    assert len(files(tmp_path / "run")) == 1
