"""A controller for the tests of the package's HTTP side: strict about every request, and unreliable when told to be."""
import http.server
import json
import re
import socket
import threading
import time
from collections import deque

from local_http import QuietHandler

TOKEN = "task-token"
STATES = ("STATE_ACTIVE", "STATE_COMPLETED")


class Refusal(Exception):
    def __init__(self, status, text, cause=None):
        super().__init__(text)
        self.status = status
        self.body = {"code": 3, "reason": "InvalidArgument", "error": text}
        if cause is not None:
            self.body["cause"] = cause


def require(condition, text):
    """What the real one would not check: a request that is not as agreed fails the test."""
    if not condition:
        raise AssertionError(text)


class FakeController:
    """Trial 7, run 2, of experiment 3. Its memory outlives `stop` and `start`, as the real one's does a restart.

    `faults` are taken one per request that `is_hit` accepts: "drop before" (nothing is kept), "drop after" (kept, no answer), or a status.
    """

    def __init__(self):
        self.run = 2
        self.metrics = {}        # (group, steps, name) -> value, in order
        self.rows = []           # bodies of accepted reports that were new
        self.requests = []       # (method, path, body), every one that was understood
        self.checkpoints = {}    # uuid -> document
        self.written_by = {}     # uuid -> run
        self.calls = {}          # last body of progress, state, early exit
        self.run_metadata = None
        self.preempt = threading.Event()
        self.acknowledged = 0
        self.faults = deque()
        self.is_hit = lambda method, path: True
        self.wrong = []          # requests that are not as agreed
        self.connections = 0
        self.lock = threading.RLock()
        self.port = 0
        self._open = set()
        self._server = None
        self.start()

    # ---- life ----

    def start(self):
        controller = self

        class Handler(QuietHandler):
            def setup(self):
                super().setup()
                with controller.lock:
                    controller.connections += 1
                    controller._open.add(self.connection)

            def finish(self):
                with controller.lock:
                    controller._open.discard(self.connection)
                super().finish()

            def handle_any(self):
                controller.handle(self)

            do_GET = do_POST = do_PATCH = handle_any

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # a connection that a test or a restart broke

        deadline = time.monotonic() + 10
        while True:
            try:
                self._server = Server(("127.0.0.1", self.port), Handler)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        """Refuses connections from now on, and breaks those there are."""
        self._server.shutdown()
        self._server.server_close()
        with self.lock:
            for connection in list(self._open):
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def variables(self, **more):
        """The environment of the trial's task."""
        return {"DET_MASTER": f"http://127.0.0.1:{self.port}", "DET_SESSION_TOKEN": TOKEN, "DET_TRIAL_ID": "7",
                "DET_TRIAL_RUN_ID": "2", "DET_ALLOCATION_ID": "3.abc.2", "DET_TASK_ID": "3.abc", "DET_EXPERIMENT_ID": "3",
                "DET_USER": "ann", "DET_USER_TOKEN": "user-token", "MUSTER_RUN_ID": "2", **more}

    def said(self, method, path):
        """The bodies of the requests with this path, in order."""
        with self.lock:
            return [body for a, b, body in self.requests if (a, b) == (method, path)]

    # ---- one request ----

    def handle(self, handler):
        size = handler.headers.get("Content-Length")
        text = handler.rfile.read(int(size)) if size else b""
        path = handler.path
        fault = None
        with self.lock:
            if self.faults and self.is_hit(handler.command, path):
                fault = self.faults.popleft()
        if fault == "drop before":
            self._break(handler)
            return
        if isinstance(fault, int):
            self._reply(handler, fault, {"error": {"code": 14, "reason": "Unavailable", "error": f"told to say {fault}"}})
            return
        try:
            status, answer = 200, self._answer(handler, path, text)
        except Refusal as refusal:
            status, answer = refusal.status, {"error": refusal.body}
        except AssertionError as wrong:
            self.wrong.append(f"{handler.command} {path}: {wrong}")
            status, answer = 418, {"error": {"code": 3, "reason": "NotAsAgreed", "error": str(wrong)}}
        if fault == "drop after":
            self._break(handler)
            return
        self._reply(handler, status, answer)

    @staticmethod
    def _break(handler):
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def _reply(handler, status, answer):
        data = json.dumps(answer).encode()
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)
        handler.wfile.flush()

    def _answer(self, handler, path, text):
        headers = handler.headers
        require(headers.get("Grpc-Metadata-x-allocation-token") == f"Bearer {TOKEN}", f"token {headers.items()}")
        require(headers.get("Content-Type") is None, "has a Content-Type")
        require(handler.command == "GET" or headers.get("Content-Length") is not None, "no Content-Length")
        require(path.startswith("/api/v1/"), "outside /api/v1")
        body = json.loads(text, parse_constant=lambda name: require(False, f"{name} in JSON")) if text else None
        path = path[len("/api/v1"):]
        for method, pattern, act in self._routes():
            match = re.fullmatch(pattern, path)
            if match and method == handler.command:
                if "preemption?" not in path:
                    with self.lock:
                        self.requests.append((method, path, body))
                return act(body, *match.groups())
        raise AssertionError("no such path")

    def _routes(self):
        return [("POST", "/runs/start", self._start_run), ("POST", "/trials/7/metrics", self._report),
                ("POST", "/trials/7/(progress|runner/metadata|early_exit)", self._keep),
                ("GET", "/runs/7/metadata", lambda body: {"metadata": self.run_metadata}),
                ("POST", "/runs/7/metadata", self._set_metadata),
                ("GET", r"/allocations/3.abc.\d/signals/preemption\?timeout_seconds=(\d+)", self._poll),
                ("POST", r"/allocations/3.abc.\d/signals/ack_preemption", self._acknowledge),
                ("POST", "/checkpoints", self._checkpoint), ("PATCH", "/checkpoints", self._patch)]

    def _start_run(self, body):
        require(body == {"runId": 7, "checkpointStorage": None}, body)
        return {"storageId": None}

    def _report(self, body):
        report = body["metrics"]
        require(set(body) == {"group", "metrics"} and set(report) == {"trialId", "trialRunId", "stepsCompleted", "reportTime",
                                                                      "metrics"}, body)
        require(set(report["metrics"]) in ({"avgMetrics"}, {"avgMetrics", "batchMetrics"}), body)
        require(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?\+00:00", report["reportTime"]), report["reportTime"])
        require(report["trialId"] == 7, body)
        with self.lock:
            if report["trialRunId"] != self.run:
                raise Refusal(400, f"invalid run id, {report['trialRunId']} (reported) != {self.run} (expected)", "stale_run")
            steps = report["stepsCompleted"] if report["stepsCompleted"] is not None else report["reportTime"]
            keys = {(body["group"], steps, name): value for name, value in report["metrics"]["avgMetrics"].items()}
            for key, value in keys.items():
                if self.metrics.get(key, value) != value:
                    raise Refusal(400, f"{key} was reported as {self.metrics[key]}")
            if any(key not in self.metrics for key in keys):
                self.rows.append(body)
            self.metrics.update(keys)
        return {}

    def _keep(self, body, what):
        names = {"progress": "progress", "runner/metadata": "state", "early_exit": "reason"}
        require(set(body) == {names[what]}, body)
        require(what != "early_exit" or body["reason"] == "EXITED_REASON_INVALID_HP", body)
        self.calls[what] = body[names[what]]
        return {}

    def _set_metadata(self, body):
        require(set(body) == {"metadata"}, body)
        self.run_metadata = body["metadata"]
        return {}

    def _poll(self, _body, seconds):
        return {"preempt": self.preempt.wait(min(int(seconds), 5))}

    def _acknowledge(self, body):
        require(body is None, body)
        self.acknowledged += 1
        return {}

    def _checkpoint(self, body):
        require(set(body) == {"uuid", "taskId", "allocationId", "metadata", "resources", "reportTime", "state", "storageId",
                              "training"}, body)
        require((body["taskId"], body["training"], body["storageId"]) == ("3.abc", {}, None), body)
        task, _, run = body["allocationId"].rpartition(".")
        require(task == "3.abc" and run.isdigit(), body)
        require(all(isinstance(size, str) for size in body["resources"].values()), body)
        require(body["state"] in STATES, body)
        before = self.checkpoints.get(body["uuid"])
        if body["state"] == "STATE_ACTIVE":
            require(body["metadata"] == {} and body["resources"] == {} and before in (None, {"state": "STATE_ACTIVE"}), (before, body))
            if int(run) != self.run:
                raise Refusal(400, f"invalid run id, {run} (reported) != {self.run} (expected)", "stale_run")
            self.checkpoints[body["uuid"]] = {"state": "STATE_ACTIVE"}
            self.written_by[body["uuid"]] = int(run)
            return {}
        require(int(run) == self.written_by[body["uuid"]], (self.written_by, body))
        require(before is not None and "steps_completed" in body["metadata"], (before, body))
        self.checkpoints[body["uuid"]] = {"state": "STATE_COMPLETED", "metadata": body["metadata"],
                                          "resources": body["resources"]}
        return {}

    def _patch(self, body):
        for patch in body["checkpoints"]:
            require(set(patch) == {"uuid", "resources"} and set(patch["resources"]) == {"resources"}, body)
            left = patch["resources"]["resources"]
            if patch["uuid"] not in self.checkpoints:
                raise Refusal(404, f"no checkpoint {patch['uuid']}")
            self.checkpoints[patch["uuid"]].update(resources=left, state="STATE_PARTIALLY_DELETED" if left else "STATE_DELETED")
        return {}
