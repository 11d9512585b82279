"""The files of one checkpoint as one archive, for one client; then it ends. What it sends is made as it goes: nothing is stored.

    GET /checkpoint.tgz    also .tar, .zip
"""
from __future__ import annotations

import http.server
import os
import socketserver
import tarfile
import threading
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, List, Mapping, Optional

from muster.core.errors import MusterError
from muster.core.storage import Storage
from muster.services.announcer import SECRET_HEADER, Announcer, ServiceError

IDLE_S = 60.0
_CHUNK_BYTES = 1 << 18
_TYPES = {".tgz": "application/gzip", ".tar": "application/x-tar", ".zip": "application/zip"}


class ChunkWriter:
    """A file to write into: each piece goes out as a chunk of HTTP. Not closed, the answer is not whole, and its reader sees that."""

    def __init__(self, out: Any) -> None:
        self._out = out
        self._held = bytearray()
        self._count = 0

    def write(self, data: Any) -> int:
        self._held += data
        self._count += len(data)
        if len(self._held) >= _CHUNK_BYTES:
            self.flush()
        return len(data)

    def tell(self) -> int:
        return self._count

    def flush(self) -> None:
        if self._held:
            self._out.write(b"%x\r\n%s\r\n" % (len(self._held), bytes(self._held)))
            self._held.clear()

    def finish(self) -> None:
        self.flush()
        self._out.write(b"0\r\n\r\n")


def files_of(folder: Path) -> List[str]:
    """Paths of folders and files in it, each folder before what it holds. Links are left out: they may lead anywhere."""
    found: List[str] = []

    def fail(error: OSError) -> None:
        raise error

    for parent, folders, files in os.walk(folder, onerror=fail):
        folders.sort()
        for name in folders + sorted(files):
            path = Path(parent, name)
            if not path.is_symlink() and (path.is_dir() or path.is_file()):
                found.append(path.relative_to(folder).as_posix())
    return found


def write_archive(folder: Path, suffix: str, out: Any) -> None:
    """Errors: OSError: a file cannot be read, or nobody listens."""
    paths = files_of(folder)
    if suffix == ".zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
            for path in paths:
                archive.write(folder / path, path)
        return
    mode: Any = "w|gz" if suffix == ".tgz" else "w|"
    with tarfile.open(fileobj=out, mode=mode, format=tarfile.PAX_FORMAT) as tar:
        for path in paths:
            tar.add(folder / path, path, recursive=False)


def find_folder(wish: Mapping[str, Any]) -> Optional[Path]:
    """Of the folders where it may lie, the first that is there."""
    for candidate in wish["folders"]:
        if os.path.isdir(candidate):
            return Path(candidate)
    return None


def storage_at(text: str) -> Storage:
    """The storage that a controller's settings describe. Errors: ServiceError."""
    from muster.core.collection import storage_of  # pylint: disable=import-outside-toplevel
    try:
        return storage_of(text)
    except (ValueError, ImportError, MusterError) as error:
        raise ServiceError(f"the storage of the checkpoint cannot be reached: {error}") from error


def _folder(wish: Mapping[str, Any], stack: ExitStack) -> Path:
    uuid = wish["uuid"]
    if wish.get("storage"):
        try:
            return stack.enter_context(storage_at(wish["storage"]).restored(uuid))
        except MusterError as error:
            raise ServiceError(f"checkpoint {uuid}: {error}") from error
    folder = find_folder(wish)
    if folder is None:
        raise ServiceError(f"the files of checkpoint {uuid} are not on {os.uname().nodename}: neither in " + " nor in ".join(wish["folders"]))
    try:
        os.listdir(folder)
    except OSError as error:
        raise ServiceError(f"the files of checkpoint {uuid} cannot be read: {error}") from error
    return folder


def make_handler(folder: Path, announcer: Announcer) -> type:
    """A class of handlers of requests for the archive of this folder."""

    class Handler(http.server.BaseHTTPRequestHandler):
        """Answers one request."""
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # pylint: disable=redefined-builtin
            pass

        def do_GET(self) -> None:  # pylint: disable=invalid-name
            self.close_connection = True
            with announcer.request():
                suffix = os.path.splitext(self.path)[1]
                if not announcer.is_known(self.headers.get(SECRET_HEADER, "")):
                    self.send_error(403, "This is reached through the controller: muster checkpoint download")
                elif suffix not in _TYPES:
                    self.send_error(404)
                else:
                    self._send(suffix)
                    announcer.end()

        def _send(self, suffix: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", _TYPES[suffix])
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            out = ChunkWriter(self.wfile)
            try:
                write_archive(folder, suffix, out)
                out.finish()
            except OSError as error:  # the reader sees that the archive has no end
                print(f"muster: {error}", flush=True)

    return Handler


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


def serve(wish: Mapping[str, Any], announcer: Announcer) -> None:
    """Until somebody has had it, or nobody came for a minute. Errors: ServiceError."""
    with ExitStack() as stack:
        folder = _folder(wish, stack)
        server = stack.enter_context(_Server(("0.0.0.0", 0), make_handler(folder, announcer)))
        threading.Thread(target=server.serve_forever, args=(0.05,), name="server", daemon=True).start()
        stack.callback(server.shutdown)
        announcer.announce(server.server_address[1])
        announcer.wait_idle(IDLE_S)
