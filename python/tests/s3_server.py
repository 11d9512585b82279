"""A store with S3's interface for tests: moto's, asking for the right access key, and unreliable when told to be."""
import logging
import re
import socket
import threading

ACCESS_KEY, SECRET_KEY, BUCKET = "AKIATESTKEY", "a-secret-of-tests", "checkpoints"
REFUSAL = '<?xml version="1.0"?><Error><Code>{code}</Code><Message>told so</Message><RequestId>1</RequestId></Error>'
HOLD_TIMEOUT_S = 60


class S3Server:
    """`faults` maps a request by a pattern of "METHOD /bucket/key?query" to what is done instead: a status (of an error with
    the code beside it), "drop" (the connection breaks), or "hold" (it waits for `release`, then the connection breaks)."""

    def __init__(self):
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server
        logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
        self._app = DomainDispatcherApplication(create_backend_app)
        self.faults = []          # [pattern, what, how often]
        self.requests = []        # "METHOD /bucket/key?query", of all that were answered
        self.held = threading.Event()
        self.release = threading.Event()
        self._lock = threading.Lock()
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.client = self._opened_client()
        self.client.create_bucket(Bucket=BUCKET)

    def _opened_client(self):
        import boto3
        return boto3.client("s3", endpoint_url=self.url, aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY,
                            region_name="us-east-1")

    def close(self):
        self.release.set()
        self._server.shutdown()
        self._server.server_close()

    def settings(self, **more):
        return {"type": "s3", "bucket": BUCKET, "prefix": "runs", "endpoint_url": self.url, "access_key": ACCESS_KEY,
                "secret_key": SECRET_KEY, **more}

    def fail(self, pattern, what, times=1, code="InternalError"):
        self.faults.append([pattern, what, times, code])

    def _fault(self, request):
        with self._lock:
            for fault in self.faults:
                if fault[2] > 0 and re.search(fault[0], request):
                    fault[2] -= 1
                    return fault[1], fault[3]
            self.requests.append(request)
        return None, None

    def _answer(self, environ, start):
        key = re.search("Credential=([^/]+)/", environ.get("HTTP_AUTHORIZATION", ""))
        if key is not None and key.group(1) != ACCESS_KEY:
            return self._refused(environ, start, 403, "InvalidAccessKeyId")
        query = environ.get("QUERY_STRING", "")
        request = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}" + (f"?{query}" if query else "")
        what, code = self._fault(request)
        if isinstance(what, int):
            return self._refused(environ, start, what, code)
        if what == "hold":
            self.held.set()
            self.release.wait(HOLD_TIMEOUT_S)
        if what is not None:
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            raise ConnectionAbortedError("told to break")
        return self._app(environ, start)

    @staticmethod
    def _refused(environ, start, status, code):
        remaining = int(environ.get("CONTENT_LENGTH") or 0)
        while remaining > 0:  # an answer before the end of the request would break the connection
            got = environ["wsgi.input"].read(min(remaining, 1 << 20))
            if not got:
                break
            remaining -= len(got)
        start(f"{status} told", [("Content-Type", "application/xml")])
        return [REFUSAL.format(code=code).encode()]

    # ---- what is in it ----

    def objects(self, prefix=""):
        """Contents by key."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        keys = [entry["Key"] for page in pages for entry in page.get("Contents", ())]
        return {key: self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys}

    def unfinished_uploads(self):
        return self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])
