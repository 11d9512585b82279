"""A Determined master for the tests of imports: the same small history over REST, in the shapes of 0.38's replies, and as a dump."""
import gzip
import json
import re
from urllib.parse import parse_qs, urlsplit

from local_http import LocalServer, QuietHandler

CLUSTER = "8f3b2c1e-0000-4000-8000-00000000c1c1"
UUIDS = [f"aaaaaaaa-0000-4000-8000-{number:012d}" for number in range(3)]
TASK = "1.bbbbbbbb-0000-4000-8000-000000000001"
STORAGE = {"type": "shared_fs", "host_path": "/data/ckpt", "storage_path": None, "propagation": "rprivate", "save_trial_best": 1}
CONFIG = {"name": "mnist", "description": "first", "labels": ["b", "a"], "checkpoint_storage": STORAGE, "searcher": {"name": "random", "metric": "loss"}}
BATCHES = 30  # reports of training of trial 11


def experiment(number, state="COMPLETED", **more):
    return {"id": number, "name": CONFIG["name"], "description": CONFIG["description"], "labels": ["a", "b"], "notes": "kept\ttabs\nand \\ lines",
            "state": f"STATE_{state}", "archived": number == 1, "startTime": "2024-05-01T10:00:00.5Z", "endTime": "2024-05-01T12:00:00Z",
            "forkedFrom": None, "projectId": 5, "userId": 2, "username": "ann", "unmanaged": False, "config": CONFIG,
            "originalConfig": "name: mnist  # mine\n", **more}


EXPERIMENTS = [experiment(1), experiment(2, "ERROR", forkedFrom=1, endTime="2024-05-02T00:00:00Z"), experiment(3, "ACTIVE"), experiment(4, "CANCELED", forkedFrom=3)]
TRIALS = {11: (1, "COMPLETED"), 12: (1, "ERROR"), 21: (2, "ACTIVE")}


def trial(number):
    owner, state = TRIALS[number]
    return {"id": number, "experimentId": owner, "state": f"STATE_{state}", "startTime": "2024-05-01T10:00:00Z", "endTime": "2024-05-01T11:00:00Z",
            "hparams": {"lr": 0.1 * number}, "totalBatchesProcessed": 3000, "restarts": 1 if number == 12 else 0,
            "taskIds": [TASK] if number == 11 else [], "warmStartCheckpointUuid": UUIDS[0] if number == 21 else None,
            "searcherMetricValue": 0.25 if number == 11 else None,
            "summaryMetrics": {"avg_metrics": {}, "validation_metrics": {}, "mine": {}} if number == 11 else {}}


def report(number, steps, group, metrics, **more):
    averages = "validation_metrics" if group == "validation" else "avg_metrics"
    return {"trialId": number, "trialRunId": 2, "group": group, "id": steps, "archived": False, "totalBatches": steps,
            "endTime": "2024-05-01T10:30:00.123456Z", "metrics": {averages: metrics, **more}}


REPORTS = {(11, "training"): [report(11, 100 * (place + 1), "training", {"loss": 1 / (place + 1)}, batch_metrics=[{"loss": 0.5}] if place == 0 else None)
                              for place in range(BATCHES)],
           (11, "validation"): [report(11, 3000, "validation", {"loss": 0.25, "bad": "NaN"})],
           (11, "mine"): [report(11, 10, "mine", {"x": 1}), {**report(11, 20, "mine", {"x": 2}), "archived": True}],
           (11, "gpu"): [report(11, 0, "gpu", {"agent1": {"GPU-1": {"gpu_util": 50}}})]}


def checkpoint(number, uuid, state="COMPLETED"):
    return {"uuid": uuid, "taskId": TASK, "allocationId": f"{TASK}.2", "reportTime": "2024-05-01T10:59:00+02:00", "state": f"STATE_{state}",
            "resources": {"model.pt": "1234", "sub/": "0"}, "metadata": {"steps_completed": 3000}, "storageId": None,
            "training": {"trialId": number, "experimentConfig": CONFIG}}


CHECKPOINTS = {11: [checkpoint(11, UUIDS[0]), checkpoint(11, UUIDS[1], "ACTIVE"), checkpoint(11, UUIDS[2], "DELETED")]}
MODEL = {"id": 9, "name": "best model", "description": "d", "notes": "n", "labels": ["x y"], "metadata": {"k": 1}, "userId": 2, "username": "ann",
         "workspaceId": 3, "archived": False, "creationTime": "2024-05-03T00:00:00Z", "lastUpdatedTime": "2024-05-04T00:00:00Z"}
VERSION = {"id": 90, "version": 1, "name": "v", "comment": "c", "notes": "", "labels": [], "metadata": {}, "userId": 7, "username": "left",
           "creationTime": "2024-05-03T00:00:00Z", "lastUpdatedTime": "2024-05-04T00:00:00Z", "checkpoint": {"uuid": UUIDS[0]}}


class FakeDetermined:
    """Serves it, a page of two at a time. `faults` are taken one per request: a status, or "break" in the middle of an answer."""

    def __init__(self):
        self.faults = []
        self.paths = []
        fake = self

        class Handler(QuietHandler):
            def do_GET(self):
                fake.answer(self, None)

            def do_POST(self):
                fake.answer(self, json.loads(self.body()))

        self.server = LocalServer(Handler)
        self.url = self.server.url
        self.stop = self.server.stop

    def answer(self, handler, body):
        parts = urlsplit(handler.path)
        self.paths.append(parts.path)
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, int):
            return self.reply(handler, fault, b'{"error": {"error": "told to"}}')
        path, query = parts.path[len("/api/v1"):], {name: values[0] for name, values in parse_qs(parts.query).items()}
        if path == "/auth/login":
            good = body["username"] == "admin" and len(body["password"]) == 128 and body["isHashed"]
            return self.reply(handler, 200 if good else 403, json.dumps({"token": "t"} if good else {"error": {"error": "invalid credentials"}}).encode())
        if handler.headers.get("Authorization") != "Bearer t" and path != "/master":
            return self.reply(handler, 401, b"")
        if path == "/trials/metrics/trial_metrics":
            return self.stream(handler, REPORTS.get((int(query["trialIds"]), query["group"]), []), fault)
        found = self.find(path, query)
        return self.reply(handler, 200 if found is not None else 404, json.dumps(found or {}).encode(), fault == "break")

    def find(self, path, query):
        def page(name, items):
            offset, limit = int(query["offset"]), min(2, int(query["limit"]))
            return {name: items[offset:offset + limit], "pagination": {"offset": offset, "total": len(items)}}

        users = [{"id": 1, "username": "admin", "admin": True, "active": True}, {"id": 2, "username": "ann", "displayName": "Ann", "active": True}]
        workspaces = [{"id": 1, "name": "Uncategorized", "userId": 1, "immutable": True}, {"id": 3, "name": "Vision", "userId": 2}]
        projects = {"1": [{"id": 1, "name": "Uncategorized", "userId": 1, "immutable": True}],
                    "3": [{"id": 5, "name": "Cifar", "userId": 2, "description": "p", "key": "CIF", "notes": [{"name": "a", "contents": "b"}]}]}
        routes = [(r"/master", lambda: {"clusterId": CLUSTER, "clusterName": "old", "version": "0.38.1"}),
                  (r"/users", lambda: page("users", users)), (r"/workspaces", lambda: page("workspaces", workspaces)),
                  (r"/workspaces/(\d+)/projects", lambda number: page("projects", projects[number])),
                  (r"/experiments", lambda: page("experiments", EXPERIMENTS)),
                  (r"/experiments/(\d+)", lambda number: {"experiment": EXPERIMENTS[int(number) - 1]}),
                  (r"/experiments/(\d+)/trials", lambda number: page("trials", [trial(each) for each in TRIALS if TRIALS[each][0] == int(number)])),
                  (r"/trials/(\d+)", lambda number: {"trial": trial(int(number))}),
                  (r"/trials/(\d+)/checkpoints", lambda number: page("checkpoints", CHECKPOINTS.get(int(number), []))),
                  (r"/runs/11/metadata", lambda: {"metadata": {"note": "x"}}),
                  (r"/tasks/(.+)", lambda task: {"task": {"allocations": [
                      {"allocationId": f"{task}.2", "startTime": "2024-05-01T10:20:00Z", "endTime": "2024-05-01T11:00:00Z"},
                      {"allocationId": f"{task}.1", "startTime": "2024-05-01T10:00:00Z", "endTime": "2024-05-01T10:10:00Z"}]}}),
                  (r"/models", lambda: page("models", [MODEL])), (r"/models/best%20model/versions", lambda: page("modelVersions", [VERSION]))]
        for pattern, make in routes:
            match = re.fullmatch(pattern, path)
            if match:
                return make(*match.groups())
        return None

    def stream(self, handler, reports, fault):
        """Lines of ten reports, chunked."""
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for begin in range(0, len(reports), 10):
            line = json.dumps({"result": {"metrics": reports[begin:begin + 10]}}).encode() + b"\n"
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            if fault == "break" and begin == 10:
                handler.wfile.flush()
                handler.connection.shutdown(2)
                return
        handler.wfile.write(b"0\r\n\r\n")

    @staticmethod
    def reply(handler, status, data, is_cut=False):
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[:len(data) // 2] if is_cut else data)
        if is_cut:
            handler.wfile.flush()
            handler.connection.shutdown(2)


# ---- the same history as a dump ----

def escaped(value):
    if value is None:
        return "\\N"
    if isinstance(value, bool):
        return "t" if value else "f"
    text = json.dumps(value) if isinstance(value, (dict, list)) else str(value)
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def block(table, rows):
    lines = [f"COPY public.{table} ({', '.join(rows[0])}) FROM stdin;"] + ["\t".join(escaped(value) for value in row.values()) for row in rows]
    return "\n".join(lines + ["\\.", "", ""])


def time_in_sql(text):
    return text.replace("T", " ").replace("Z", "+00")


def experiment_row(shown):
    return {"id": shown["id"], "state": shown["state"][6:], "config": CONFIG, "start_time": time_in_sql(shown["startTime"]),
            "end_time": time_in_sql(shown["endTime"]), "archived": shown["archived"], "parent_id": shown["forkedFrom"], "owner_id": 2,
            "notes": shown["notes"], "project_id": 5, "original_config": shown["originalConfig"], "unmanaged": False}


def metric_row(number, each):
    return {"id": number, "trial_id": each["trialId"], "end_time": time_in_sql(each["endTime"]), "metrics": each["metrics"], "total_batches": each["totalBatches"],
            "trial_run_id": each["trialRunId"], "archived": each["archived"], "metric_group": each["group"], "partition_type": "X"}


def dump_text():
    """As pg_dump orders it, by names; experiments lie in the order of their last changes."""
    rows = {
        "allocations": [{"allocation_id": f"{TASK}.{run}", "task_id": TASK, "start_time": start, "end_time": end} for run, start, end in
                        [(2, "2024-05-01 10:20:00", "2024-05-01 11:00:00"), (1, "2024-05-01 10:00:00", "2024-05-01 10:10:00")]],
        "checkpoints_v2": [{"id": 70 + place, "uuid": shown["uuid"], "task_id": TASK, "allocation_id": shown["allocationId"], "report_time": "2024-05-01 08:59:00+00",
                            "state": shown["state"][6:], "resources": {"model.pt": 1234, "sub/": 0}, "metadata": shown["metadata"], "size": 1234,
                            "storage_id": 1 if place == 0 else None} for place, shown in enumerate(CHECKPOINTS[11])],
        "cluster_id": [{"cluster_id": CLUSTER}],
        "experiments": [experiment_row(EXPERIMENTS[place]) for place in (1, 0, 2, 3)],
        "generic_metrics": [metric_row(1, REPORTS[11, "mine"][0]), metric_row(2, REPORTS[11, "mine"][1])],
        "model_versions": [{"id": 90, "version": 1, "checkpoint_uuid": UUIDS[0], "creation_time": "2024-05-03 00:00:00+00", "last_updated_time": "2024-05-04 00:00:00+00",
                            "metadata": {}, "name": "v", "comment": "c", "notes": None, "model_id": 9, "user_id": 7, "labels": "{}"}],
        "models": [{"id": 9, "name": "best model", "description": "d", "creation_time": "2024-05-03 00:00:00+00", "last_updated_time": "2024-05-04 00:00:00+00",
                    "metadata": {"k": 1}, "labels": '{"x y"}', "user_id": 2, "archived": False, "notes": "n", "workspace_id": 3}],
        "projects": [{"id": 1, "name": "Uncategorized", "description": None, "workspace_id": 1, "user_id": 1, "archived": False, "immutable": True, "notes": [], "key": None},
                     {"id": 5, "name": "Cifar", "description": "p", "workspace_id": 3, "user_id": 2, "archived": False, "immutable": False,
                      "notes": [{"name": "a", "contents": "b"}], "key": "CIF"}],
        "raw_steps": [metric_row(place, each) for place, each in enumerate(REPORTS[11, "training"])],
        "raw_validations": [metric_row(1, REPORTS[11, "validation"][0])],
        "run_id_task_id": [{"run_id": 11, "task_id": TASK}],
        "runs": [{"id": number, "experiment_id": shown["experimentId"], "state": shown["state"][6:], "hparams": shown["hparams"],
                  "start_time": time_in_sql(shown["startTime"]), "end_time": time_in_sql(shown["endTime"]), "total_batches": 3000, "restarts": shown["restarts"],
                  "warm_start_checkpoint_id": 70 if number == 21 else None, "searcher_metric_value": shown["searcherMetricValue"]}
                 for number, shown in ((number, trial(number)) for number in (12, 11, 21))],
        "runs_metadata": [{"run_id": 11, "metadata": {"note": "x"}}],
        "storage_backend": [{"id": 1, "shared_fs_id": 4, "s3_id": None}],
        "storage_backend_shared_fs": [{"id": 4, "host_path": "/data/ckpt", "container_path": "/determined_shared_fs", "storage_path": None, "propagation": "rprivate"}],
        "system_metrics": [metric_row(1, REPORTS[11, "gpu"][0])],
        "trials_v2": [{"run_id": 11, "request_id": "bbbbbbbb-0000-4000-8000-000000000001", "seed": 42}],
        "users": [{"id": 1, "username": "admin", "password_hash": "$2a$", "admin": True, "active": True, "display_name": None},
                  {"id": 2, "username": "ann", "password_hash": "$2a$", "admin": False, "active": True, "display_name": "Ann"},
                  {"id": 7, "username": "left", "password_hash": None, "admin": False, "active": False, "display_name": None}],
        "workspaces": [{"id": 1, "name": "Uncategorized", "user_id": 1, "archived": False, "immutable": True},
                       {"id": 3, "name": "Vision", "user_id": 2, "archived": False, "immutable": False}]}
    blocks = "".join(f"--\n-- Data for Name: {table}; Type: TABLE DATA\n--\n\n" + block(table, some) for table, some in rows.items())
    return f"--\n-- PostgreSQL database dump\n--\nSET client_encoding = 'UTF8';\nCREATE TABLE public.users (\n    id integer\n);\n\n{blocks}--\n-- done\n--\n"


def write_dump(path):
    (gzip.open if path.suffix == ".gz" else open)(path, "wt", encoding="utf-8", newline="\n").write(dump_text())
    return path
