"""HTTP servers of tests, on a free port of this machine."""
import http.server
import threading


class QuietHandler(http.server.BaseHTTPRequestHandler):
    """Logs nothing and keeps connections."""
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one segment per answer, as delayed acknowledgements cost 40 ms

    def log_message(self, *words):
        pass

    def body(self):
        return self.rfile.read(int(self.headers["Content-Length"]))

    def answer(self, status, data):
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class LocalServer:
    """Serves from its making on."""

    def __init__(self, handler):
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
