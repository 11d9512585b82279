"""Ranks that exchange Python values over TCP: rank 0, the chief, in the middle, one connection to each other rank.

A frame is a kind (1 byte), the number of the collective call and the payload's size (8 bytes each, big endian), and the
pickled payload. Both ends prove that they hold the key (HMAC-SHA256 over both ends' nonces) before anything is
unpickled. A rank that dies closes its connection; whoever talks with the chief next hears of it.
"""
from __future__ import annotations

import errno
import hmac
import os
import pickle
import selectors
import socket
import struct
import threading
import time
import weakref
from typing import Any, Dict, Iterable, List, NoReturn, Optional, Protocol, Sequence, Tuple

from muster.core.errors import DistributedError

_FRAME = struct.Struct(">cQQ")
_HELLO = struct.Struct(">32sII")        # the worker's nonce, its rank, the number of ranks
_NONCE_BYTES = 32
_DIGEST_BYTES = 32
_HANDSHAKE_S = 3.0                     # how long the chief listens to one that came
_WORKER_TIMEOUT_S = 4 * _HANDSHAKE_S         # a worker waits longer, so that whom the chief takes in has not gone away
_PAYLOAD_BYTES_MAX = 1 << 34
_FAILURE = b"!"
KINDS = {"gather": b"g", "allgather": b"a", "broadcast": b"b"}
_NAMES = {kind: name for name, kind in KINDS.items()}

# A forked child that outlives its parent must not keep the parent's connections open: nobody would see it die.
_open_sockets: "weakref.WeakSet[socket.socket]" = weakref.WeakSet()


def _close_in_child() -> None:
    for connection in list(_open_sockets):
        connection.close()


os.register_at_fork(after_in_child=_close_in_child)


class _WrongKey(EOFError):
    pass


class _Unreadable(Exception):
    """A value came whole, but cannot be unpickled here; the stream is still in order."""


class Star(Protocol):
    """What the chief and the others have in common. All ranks call the same methods in the same order."""

    def gather(self, value: Any) -> Optional[List[Any]]: ...
    def allgather(self, value: Any) -> List[Any]: ...
    def broadcast(self, value: Any) -> Any: ...
    def close(self) -> None: ...


class Lone:
    """A star of one rank."""

    def gather(self, value: Any) -> Optional[List[Any]]:
        return [value]

    def allgather(self, value: Any) -> List[Any]:
        return [value]

    def broadcast(self, value: Any) -> Any:
        return value

    def close(self) -> None:
        pass


def _seconds_left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise socket.timeout("timed out")
    return left


def _receive(connection: socket.socket, size: int, deadline: float) -> bytes:
    """Exactly `size` bytes. Errors: EOFError when the other end closed, socket.timeout at the deadline, OSError."""
    block = bytearray(size)
    view = memoryview(block)
    while view:
        connection.settimeout(_seconds_left(deadline))
        count = connection.recv_into(view)
        if count == 0:
            raise EOFError("closed")
        view = view[count:]
    return bytes(block)


def _send(connection: socket.socket, block: bytes, deadline: float) -> None:
    connection.settimeout(_seconds_left(deadline))
    connection.sendall(block)


def _pickled(value: Any) -> bytes:
    """Errors: what pickle raises; ValueError when it is too large."""
    payload = pickle.dumps(value, protocol=4)
    if len(payload) > _PAYLOAD_BYTES_MAX:
        raise ValueError(f"a value of {len(payload)} bytes is too large to exchange; at most {_PAYLOAD_BYTES_MAX}")
    return payload


def _frame(kind: bytes, number: int, payload: bytes) -> bytes:
    return _FRAME.pack(kind, number, len(payload)) + payload


def _receive_frame(connection: socket.socket, deadline: float) -> Tuple[bytes, int, Any]:
    kind, number, size = _FRAME.unpack(_receive(connection, _FRAME.size, deadline))
    payload = _receive(connection, size, deadline)
    try:
        return kind, number, pickle.loads(payload)
    except Exception as error:
        raise _Unreadable(f"{type(error).__name__}: {error}") from error


def _prepare(connection: socket.socket) -> None:
    """No delay of small frames; a host that lost power is noticed in about 25 s."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    _open_sockets.add(connection)


def _proof(key: bytes, role: bytes, first: bytes, second: bytes, rank: int, size: int) -> bytes:
    return hmac.new(key, b"muster star 1 " + role + first + second + struct.pack(">II", rank, size), "sha256").digest()


def _is_closed(connection: socket.socket) -> bool:
    """Whether the other end has given up."""
    connection.settimeout(0)
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def _ranks_text(ranks: Iterable[int]) -> str:
    """"rank 3" or "ranks 1, 2, 3 and 17 more"."""
    ordered = sorted(ranks)
    shown = ", ".join(str(rank) for rank in ordered[:8])
    more = f" and {len(ordered) - 8} more" if len(ordered) > 8 else ""
    return f"rank{'s' if len(ordered) > 1 else ''} {shown}{more}"


def listen(ports: Sequence[int], is_loopback: bool, backlog: int) -> socket.socket:
    """The first of the ports that is free; port 0 is any. Errors: DistributedError when none is."""
    address = "127.0.0.1" if is_loopback else ""
    for port in ports:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address, port))
            listener.listen(max(16, backlog))
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise DistributedError(f"cannot listen on port {port}: {error}; set MUSTER_STAR_PORT") from error
            continue
        _open_sockets.add(listener)
        return listener
    raise DistributedError(f"no port of {', '.join(map(str, ports))} is free on the chief's node; set MUSTER_STAR_PORT")


class StarChief:
    """Rank 0. Thread-safe; calls from several threads would reach other ranks in chance order, so use one."""

    def __init__(self, listener: socket.socket, size: int, key: bytes, connect_timeout_s: float,
                 operation_timeout_s: float) -> None:
        """Waits for the other ranks. Errors: DistributedError that names those that did not come."""
        self._timeout_s = operation_timeout_s
        self._peers: Dict[int, socket.socket] = {}
        self._lock = threading.Lock()
        self._number = 0
        self._failure: Optional[str] = None
        self._size = size
        try:
            self._accept_all(listener, key, time.monotonic() + connect_timeout_s, connect_timeout_s)
        except BaseException:
            self.close()
            raise
        finally:
            listener.close()

    def _accept_all(self, listener: socket.socket, key: bytes, deadline: float, timeout_s: float) -> None:
        refused = 0
        while len(self._peers) < self._size - 1:
            try:
                listener.settimeout(_seconds_left(deadline))
                connection, _ = listener.accept()
            except socket.timeout:
                missing = set(range(1, self._size)) - set(self._peers)
                also = f"; {refused} connections did not have the key" if refused else ""
                self._fail(f"{_ranks_text(missing)} of {self._size} did not connect within {timeout_s:g} s{also}")
            try:
                self._admit(connection, key, deadline)
            except _WrongKey:
                connection.close()
                refused += 1
            except (OSError, EOFError):
                connection.close()  # a rank that gave up and comes again, or a stranger

    def _admit(self, connection: socket.socket, key: bytes, deadline: float) -> None:
        """Errors: OSError or EOFError for a stranger, who is turned away; DistributedError when a rank is wrong."""
        _prepare(connection)
        until = min(deadline, time.monotonic() + _HANDSHAKE_S)
        nonce = os.urandom(_NONCE_BYTES)
        _send(connection, nonce, until)
        hello = _receive(connection, _HELLO.size + _DIGEST_BYTES, until)
        theirs, rank, size = _HELLO.unpack(hello[:_HELLO.size])
        if not hmac.compare_digest(hello[_HELLO.size:], _proof(key, b"worker", nonce, theirs, rank, size)):
            raise _WrongKey
        _send(connection, _proof(key, b"chief", theirs, nonce, rank, size), until)
        if size != self._size or not 0 < rank < size:
            connection.close()
            self._fail(f"a process came as rank {rank} of {size}, but there are {self._size} ranks")
        if rank in self._peers and not _is_closed(self._peers[rank]):
            connection.close()
            self._fail(f"two processes came as rank {rank}")
        self._peers[rank] = connection

    def gather(self, value: Any) -> List[Any]:
        with self._lock:
            return self._collect("gather", value)

    def allgather(self, value: Any) -> List[Any]:
        with self._lock:
            values = self._collect("allgather", value)
            try:
                payload = _pickled(values)
            except Exception as error:  # pylint: disable=broad-except
                self._fail(f"rank 0 cannot send its value for allgather: {type(error).__name__}: {error}")
            self._send_all("allgather", payload)
            return values

    def broadcast(self, value: Any) -> Any:
        payload = _pickled(value)
        with self._lock:
            self._begin()
            self._send_all("broadcast", payload)
            return value

    def _begin(self) -> None:
        if self._failure is not None:
            raise DistributedError(self._failure)
        self._number += 1

    def _collect(self, name: str, value: Any) -> List[Any]:
        self._begin()
        values = {0: value}
        deadline = time.monotonic() + self._timeout_s
        with selectors.DefaultSelector() as selector:
            for rank, peer in self._peers.items():
                selector.register(peer, selectors.EVENT_READ, rank)
            while len(values) < self._size:
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    self._fail(f"{_ranks_text(set(range(self._size)) - set(values))} did not call {name} within "
                               f"{self._timeout_s:g} s")
                for entry, _ in ready:
                    values[entry.data] = self._receive(entry.data, name, deadline)
                    selector.unregister(entry.fileobj)
        return [values[rank] for rank in range(self._size)]

    def _receive(self, rank: int, name: str, deadline: float) -> Any:
        try:
            kind, number, value = _receive_frame(self._peers[rank], deadline)
        except socket.timeout:
            self._fail(f"rank {rank} stopped in the middle of {name} for {self._timeout_s:g} s")
        except _Unreadable as error:
            self._fail(f"rank {rank} sent a value for {name} that rank 0 cannot read: {error}")
        except (OSError, EOFError) as error:
            self._fail(f"rank {rank} went away during {name}: its process ended or closed its context ({error})")
        if kind == _FAILURE:
            self._fail(f"rank {rank}: {value}")
        if (kind, number) != (KINDS[name], self._number):
            self._fail(f"ranks disagree: call {number} of rank {rank} is {_NAMES.get(kind, kind)}, "
                       f"call {self._number} of rank 0 is {name}")
        return value

    def _send_all(self, name: str, payload: bytes) -> None:
        block = _frame(KINDS[name], self._number, payload)
        deadline = time.monotonic() + self._timeout_s
        for rank, peer in self._peers.items():
            try:
                _send(peer, block, deadline)
            except socket.timeout:
                self._fail(f"rank {rank} did not take what {name} sent within {self._timeout_s:g} s")
            except OSError as error:
                self._fail(f"rank {rank} went away during {name}: its process ended or closed its context ({error})")

    def _fail(self, message: str) -> NoReturn:
        """Tells every rank and closes the star, so that none waits for what will not come."""
        self._failure = message
        block = _frame(_FAILURE, self._number, _pickled(message))
        for peer in self._peers.values():
            try:
                _send(peer, block, time.monotonic() + 1.0)
            except OSError:
                pass
        self._close_peers()
        raise DistributedError(message)

    def _close_peers(self) -> None:
        for peer in self._peers.values():
            peer.close()
        self._peers.clear()

    def close(self) -> None:
        if self._failure is None:
            self._failure = "this rank has closed its distributed context"
        self._close_peers()


class StarWorker:
    """Any other rank. Thread-safe, as StarChief is."""

    def __init__(self, host: str, ports: Sequence[int], rank: int, size: int, key: bytes, connect_timeout_s: float,
                 operation_timeout_s: float) -> None:
        """Tries the ports in turn until the chief answers on one. Errors: DistributedError that names the address."""
        self._rank = rank
        # The chief speaks first when somebody is missing, for it knows who.
        self._timeout_s = operation_timeout_s + 10.0
        self._lock = threading.Lock()
        self._number = 0
        self._failure: Optional[str] = None
        self._chief = _connect(host, ports, rank, size, key, connect_timeout_s)

    def gather(self, value: Any) -> None:
        payload = _pickled(value)
        with self._lock:
            self._begin()
            self._give("gather", payload)

    def allgather(self, value: Any) -> List[Any]:
        payload = _pickled(value)
        with self._lock:
            self._begin()
            self._give("allgather", payload)
            values: List[Any] = self._receive("allgather")
            return values

    def broadcast(self, _value: Any) -> Any:
        with self._lock:
            self._begin()
            return self._receive("broadcast")

    def _begin(self) -> None:
        if self._failure is not None:
            raise DistributedError(self._failure)
        self._number += 1

    def _give(self, name: str, payload: bytes) -> None:
        block = _frame(KINDS[name], self._number, payload)
        try:
            _send(self._chief, block, time.monotonic() + self._timeout_s)
        except socket.timeout:
            self._fail(f"rank 0 did not take what rank {self._rank} sent for {name} within {self._timeout_s:g} s")
        except OSError:
            self._receive(name)  # its last word says why it closed

    def _receive(self, name: str) -> Any:
        try:
            kind, number, value = _receive_frame(self._chief, time.monotonic() + self._timeout_s)
        except socket.timeout:
            self._fail(f"rank {self._rank} waited {self._timeout_s:g} s in {name}: rank 0, or a rank that it waits for, "
                       "did not come")
        except _Unreadable as error:
            message = f"rank 0 sent a value for {name} that rank {self._rank} cannot read: {error}"
            self._send_failure(message)
            self._fail(message)
        except (OSError, EOFError) as error:
            self._fail(f"rank 0 went away during {name}: its process ended or closed its context ({error})")
        if kind == _FAILURE:
            self._fail(value)
        if (kind, number) != (KINDS[name], self._number):
            message = (f"ranks disagree: call {self._number} of rank {self._rank} is {name}, "
                       f"call {number} of rank 0 is {_NAMES.get(kind, kind)}")
            self._send_failure(message)
            self._fail(message)
        return value

    def _send_failure(self, message: str) -> None:
        try:
            _send(self._chief, _frame(_FAILURE, self._number, _pickled(message)), time.monotonic() + 1.0)
        except OSError:
            pass

    def _fail(self, message: str) -> NoReturn:
        self._failure = message
        self._chief.close()
        raise DistributedError(message)

    def close(self) -> None:
        if self._failure is None:
            self._failure = "this rank has closed its distributed context"
        self._chief.close()


def _connect(host: str, ports: Sequence[int], rank: int, size: int, key: bytes, timeout_s: float) -> socket.socket:
    deadline = time.monotonic() + timeout_s
    pause_s, last = 0.01, "nobody listens"
    while True:
        for port in ports:
            connection = None
            try:
                connection = socket.create_connection((host, port), timeout=min(_WORKER_TIMEOUT_S, _seconds_left(deadline)))
                _introduce(connection, rank, size, key, min(deadline, time.monotonic() + _WORKER_TIMEOUT_S))
                return connection
            except (OSError, EOFError) as error:
                if connection is not None:
                    connection.close()
                last = str(error) or last
        if time.monotonic() + pause_s > deadline:
            where = f"{host} port{'s' if len(ports) > 1 else ''} {', '.join(map(str, ports))}"
            raise DistributedError(f"rank {rank} found no chief (rank 0) at {where} within {timeout_s:g} s: {last}; "
                                   "is rank 0 there, and is the key the same?")
        time.sleep(pause_s)
        pause_s = min(0.5, pause_s * 1.5)


def _introduce(connection: socket.socket, rank: int, size: int, key: bytes, deadline: float) -> None:
    _prepare(connection)
    theirs = _receive(connection, _NONCE_BYTES, deadline)
    nonce = os.urandom(_NONCE_BYTES)
    _send(connection, _HELLO.pack(nonce, rank, size) + _proof(key, b"worker", theirs, nonce, rank, size), deadline)
    answer = _receive(connection, _DIGEST_BYTES, deadline)
    if not hmac.compare_digest(answer, _proof(key, b"chief", nonce, theirs, rank, size)):
        raise EOFError("the other end does not have the key")
