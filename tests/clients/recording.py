"""A proxy that stands between a client and a cluster and remembers what passed; and what of that a golden file keeps."""
import http.client
import http.server
import json
import re
import threading
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

CHUNK_BYTES = 65536
_HOP = {"connection", "keep-alive", "transfer-encoding", "host", "content-length"}


@dataclass(frozen=True)
class Exchange:
    """One request and its answer. `reply` is the body as it came."""
    method: str
    path: str
    query: str
    headers: dict
    body: bytes
    status: int
    reply: bytes

    def documents(self):
        """The reply's JSON objects: one, or one per line of a stream."""
        return [json.loads(line) for line in self.reply.splitlines() if line.strip()] if self.is_stream else [json.loads(self.reply)]

    @property
    def is_stream(self):
        return re.search(r"/logs(/fields)?$", self.path) is not None


class RecordingProxy:
    """Listens on a port of its own. Streams pass as they come."""

    def __init__(self, target):
        """`target` is http://host:port."""
        parts = urlsplit(target)
        self.exchanges = []
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *words):
                pass

            def forward(self):
                size = self.headers.get("Content-Length")
                body = self.rfile.read(int(size)) if size else b""
                upstream = http.client.HTTPConnection(parts.hostname, parts.port, timeout=300)
                kept = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
                if size is not None:
                    kept["Content-Length"] = size
                upstream.request(self.command, self.path, body or None, kept)
                answer = upstream.getresponse()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in _HOP:
                        self.send_header(name, value)
                where = urlsplit(self.path)

                def record(reply):
                    """Before the client has all of it: it may end at once, and the tests then look."""
                    proxy.exchanges.append(Exchange(self.command, where.path, where.query, dict(self.headers.items()), body,
                                                    answer.status, reply))

                (self._stream if answer.chunked else self._whole)(answer, record)
                upstream.close()

            def _whole(self, answer, record):
                reply = answer.read()
                record(reply)
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def _stream(self, answer, record):
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                parts = []
                while True:
                    part = answer.read1(CHUNK_BYTES)
                    if not part:
                        record(b"".join(parts))
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                    self.wfile.flush()
                    if not part:
                        return
                    parts.append(part)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = forward

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ID_IN_PATH = re.compile(r"(?<=/)(experiments|trials|models|workspaces|projects)/(\d+)(?=/|$)")
_VOLATILE = {"content": "<base64>", "mtime": "<time>", "mode": "<mode>", "uid": "<id>", "gid": "<id>", "config": "<configuration>", "id": "<id>",
             "experimentId": "<id>", "experimentIds": "<id>", "trialId": "<id>", "trialIds": "<id>", "workspaceId": "<id>", "jobId": "<id>", "users": "<user>"}


def normalised(exchange):
    """A line for the golden file: method, path with query, body and status, without what differs between runs."""
    path = _UUID.sub("<uuid>", _ID_IN_PATH.sub(r"\1/<id>", exchange.path))
    query = "&".join(f"{name}={_VOLATILE.get(name, _UUID.sub('<uuid>', value))}"
                     for name, value in parse_qsl(exchange.query, keep_blank_values=True))
    body = ""
    if exchange.body:
        body = " " + _UUID.sub("<uuid>", json.dumps(_without_volatile(json.loads(exchange.body)), sort_keys=True))
    return f"{exchange.method} {path}{'?' if query else ''}{query}{body} -> {exchange.status}"


def _without_volatile(value):
    if isinstance(value, dict):
        return {name: _VOLATILE[name] if name in _VOLATILE and item is not None else _without_volatile(item)
                for name, item in value.items()}
    if isinstance(value, list):  # of labels and files, which come in no order
        return sorted((_without_volatile(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    return value


def request_log(exchanges):
    """Equal requests in a row are one line: how often a client polls is a matter of time."""
    lines = []
    for exchange in exchanges:
        line = normalised(exchange)
        if not lines or lines[-1] != line:
            lines.append(line)
    return "".join(line + "\n" for line in lines)


class Replies:
    """Which class of the package's bindings reads which reply, as the bindings themselves say."""

    def __init__(self, bindings):
        with open(bindings.__file__, encoding="utf-8") as file:
            source = file.read()
        self._bindings = bindings
        self._routes = []
        for function in re.split(r"^(?=def \w+\(\n    session)", source, flags=re.M)[1:]:
            method = re.search(r'method="(\w+)"', function).group(1)
            path = re.search(r'path=f?"([^"]+)"', function).group(1)
            name = re.search(r'^\) -> "?(?:typing\.Iterable\[)?(\w+)', function, re.M).group(1)
            pattern = "".join("([^/]+)" if part.startswith("{") else re.escape(part) for part in re.split(r"(\{[^}]*\})", path))
            self._routes.append((path.count("{"), method, re.compile(pattern + "$"), name))
        self._routes.sort(key=lambda route: route[0])  # /trials/time-series before /trials/{id}

    def reader(self, method, path):
        """The class's name; "None" for a reply that nobody reads. Errors: LookupError."""
        for _, its_method, pattern, name in self._routes:
            if its_method == method and pattern.match(path):
                return name
        raise LookupError(f"the bindings have no {method} {path}")

    def check(self, exchange):
        """Reads the reply. Errors: AssertionError that names the request and what is wrong with its reply."""
        if not exchange.path.startswith("/api/v1/") or exchange.status >= 300:
            return
        name = self.reader(exchange.method, exchange.path)
        for document in exchange.documents():
            if exchange.is_stream:
                assert set(document) == {"result"}, (exchange.path, document)
                document = document["result"]
            try:
                if name != "None":
                    getattr(self._bindings, name).from_json(document)
            except Exception as error:
                raise AssertionError(f"{exchange.method} {exchange.path}: {name} cannot be read: {type(error).__name__} {error} "
                                     f"in {json.dumps(document)[:2000]}") from error
