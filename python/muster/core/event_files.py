"""TensorBoard's event files, written without TensorFlow: records with checksums around events in protobuf's wire format.

    file    = record*, the first an event with file_version "brain.Event:2"
    record  = length (u64) | masked CRC-32C of the length (u32) | event | masked CRC-32C of the event (u32), little-endian
    event   = wall_time 1: double, step 2: int64, file_version 3: string, summary 5: Summary, session_log 7: SessionLog

Nothing here knows what is reported. Sources: TFRecord, TensorFlow's lib/io/record_writer.h; event.proto, summary.proto and
tensor.proto of TensorBoard 2.21 (compat/proto); CRC-32C, RFC 3720 section B.4.
"""
from __future__ import annotations

import os
import socket
import struct
from pathlib import Path
from typing import List, Sequence, Union

VERSION = "brain.Event:2"
_STEM = "events.out.tfevents"
_STRING_TYPE = 7       # DataType.DT_STRING
_SESSION_START = 1     # SessionLog.SessionStatus.START
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types


def _crc_table() -> List[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC_TABLE = _crc_table()


def crc32c(data: bytes) -> int:
    """Castagnoli's. Cost: some 10 MB/s."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked_crc(data: bytes) -> int:
    """As records hold it, so that a checksum of data with checksums in it stays good."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return b"".join((length, struct.pack("<I", masked_crc(length)), data, struct.pack("<I", masked_crc(data))))


# ---- protobuf ----

def _varint(number: int) -> bytes:
    number &= 0xFFFFFFFFFFFFFFFF  # a negative one has all ten bytes
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _field(number: int, value: Union[int, float, str, bytes], wire_type: int) -> bytes:
    head = _varint(number << 3 | wire_type)
    if wire_type == _VARINT:
        return head + _varint(int(value))
    if wire_type == _FIXED64:
        return head + struct.pack("<d", value)
    if wire_type == _FIXED32:
        return head + _float32(float(value))
    data = value.encode() if isinstance(value, str) else bytes(value)  # type: ignore[arg-type]
    return head + _varint(len(data)) + data


def _float32(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", float("inf") if value > 0 else float("-inf"))


def _event(time: float, step: int, *fields: bytes) -> bytes:
    return record(b"".join((_field(1, time, _FIXED64), _field(2, step, _VARINT), *fields)))


def _summary(*values: bytes) -> bytes:
    return _field(5, b"".join(_field(1, value, _BYTES) for value in values), _BYTES)


def version_event(time: float) -> bytes:
    return _event(time, 0, _field(3, VERSION, _BYTES))


def start_event(time: float, step: int) -> bytes:
    """From here on TensorBoard forgets what earlier files said of this step and later ones."""
    return _event(time, step, _field(7, _field(1, _SESSION_START, _VARINT), _BYTES))


def scalars_event(time: float, step: int, tags: Sequence[str], numbers: Sequence[float]) -> bytes:
    """Of one step, by tags. Units: `time` in seconds since the epoch. Numbers are kept as 32-bit floats."""
    return _event(time, step, _summary(*(_field(1, tag, _BYTES) + _field(2, number, _FIXED32)
                                         for tag, number in zip(tags, numbers))))


def text_event(time: float, step: int, tag: str, text: str) -> bytes:
    """Shown as Markdown."""
    metadata = _field(1, _field(1, "text", _BYTES), _BYTES)
    shape = _field(2, _field(1, 1, _VARINT), _BYTES)
    tensor = _field(1, _STRING_TYPE, _VARINT) + _field(2, shape, _BYTES) + _field(8, text, _BYTES)
    return _event(time, step, _summary(_field(1, tag, _BYTES) + _field(8, tensor, _BYTES) + _field(9, metadata, _BYTES)))


# ---- the file ----

class EventFile:
    """A new file in a folder, after those that are there. One thread. A reader sees whole records only, but for the last.

    What is written outlives the process at once, the machine's crash after half a minute.
    """

    def __init__(self, folder: Path, time: float) -> None:
        """Errors: OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / _name_after(os.listdir(folder), time)
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        self._size_bytes = 0
        try:
            self.append(version_event(time))
        except OSError:
            self.close()
            self.path.unlink()
            raise

    def append(self, records: bytes) -> None:
        """All of them or none. Errors: OSError."""
        try:
            view = memoryview(records)
            while view:
                view = view[os.write(self._file, view):]
        except OSError:
            os.ftruncate(self._file, self._size_bytes)
            os.lseek(self._file, self._size_bytes, os.SEEK_SET)
            raise
        self._size_bytes += len(records)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _name_after(names: Sequence[str], time: float) -> str:
    """TensorBoard reads files in the order of their names, which begin with their time: that of a later one is greater."""
    begin = max([int(time)] + [_time_of(name) + 1 for name in names])
    return f"{_STEM}.{begin:010d}.{socket.gethostname()}.{os.getpid()}"


def _time_of(name: str) -> int:
    """-1 of what is no event file."""
    word = name[len(_STEM) + 1:].partition(".")[0]
    return int(word) if name.startswith(_STEM + ".") and word.isdigit() else -1
