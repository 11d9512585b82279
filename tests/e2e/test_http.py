"""HTTP with real processes: who may, what is made, what runs report and ask, what survives a crash. Determined's own package is
tried against it in tests/clients."""
import base64
import http.client
import io
import json
import os
import re
import signal
import tarfile
import threading
import time

import pytest

CONFIG = """
name: web
entrypoint: {entrypoint}
hyperparameters: {{lr: 0.1}}
max_restarts: 0
searcher: {{name: single, metric: loss, smaller_is_better: true}}
checkpoint_storage: {{type: shared_fs, host_path: {storage}}}
"""


class Web:
    """A client of the cluster's HTTP, with a token."""

    def __init__(self, cluster, token=None, header="Authorization"):
        values = dict(line[len("export "):].split("=", 1) for line in cluster.run("muster", "env", "--dir", cluster.dir).out.splitlines())
        self.cluster = cluster
        self.address = values["DET_MASTER"].strip("'").removeprefix("http://")
        self.token = values["DET_USER_TOKEN"].strip("'") if token is None else token
        self.header = header

    def ask(self, method, path, body=None, check=200, timeout=60):
        connection = http.client.HTTPConnection(self.address, timeout=timeout)
        headers = {self.header: f"Bearer {self.token}"} if self.token else {}
        data = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        connection.request(method, path, data, headers)
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        assert check is None or reply.status == check, (method, path, reply.status, text)
        self.status = reply.status
        return json.loads(text) if text else None

    def get(self, path, **more):
        return self.ask("GET", f"/api/v1/{path}", **more)

    def post(self, path, body=None, **more):
        return self.ask("POST", f"/api/v1/{path}", body, **more)

    def wait_state(self, experiment, *states, timeout=60):
        deadline = time.monotonic() + timeout
        state = None
        while time.monotonic() < deadline:
            state = self.get(f"experiments/{experiment}")["experiment"]["state"]
            if state in states:
                return state
            time.sleep(0.1)
        raise AssertionError(f"experiment {experiment} is {state}, not {states}")


@pytest.fixture(scope="module")
def web(cluster):
    return Web(cluster)


def create(web, entrypoint, files=None, **more):
    storage = web.cluster.base / "storage"
    files = files or {}
    body = {
        "config": CONFIG.format(entrypoint=json.dumps(entrypoint), storage=storage),
        "modelDefinition": [{"path": name, "type": 48, "mode": 0o100755, "mtime": "0", "content": base64.b64encode(text.encode()).decode()}
                            for name, text in files.items()],
        "activate": True, **more}
    return web.post("experiments", body)["experiment"]["id"]


def running_trial(web, entrypoint="sleep 300"):
    """The experiment, its trial, and a client with the trial's own token."""
    experiment = create(web, f"env | grep '^DET_' > $MUSTER_RUN_DIR/variables.new; mv $MUSTER_RUN_DIR/variables.new $MUSTER_RUN_DIR/variables; {entrypoint}")
    web.wait_state(experiment, "STATE_RUNNING")
    trial = web.get(f"experiments/{experiment}/trials")["trials"][0]["id"]
    file = web.cluster.base / f"storage/experiment-{experiment}/trial-{trial}/variables"
    deadline = time.monotonic() + 30
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    variables = dict(line.split("=", 1) for line in file.read_text().splitlines())
    task = Web(web.cluster, variables["DET_SESSION_TOKEN"], "Grpc-Metadata-x-allocation-token")
    return experiment, trial, task, variables


def report(trial, step, group="training", run=1, **metrics):
    return {"group": group, "metrics": {"trialId": trial, "trialRunId": run, "stepsCompleted": step,
                                        "metrics": {"avgMetrics": metrics, "batchMetrics": None}}}


def test_only_who_has_a_token_is_answered(cluster, web):
    assert web.ask("GET", "/info")["version"] == "0.38.1"
    for token in ("", "x", web.token[:-3] + "abc"):
        stranger = Web(cluster, token)
        error = stranger.get("experiments", check=401)["error"]
        assert error["reason"] == "Unauthenticated" and error["code"] == 16
    assert web.get("me")["user"]["admin"] is True
    for word in ("bearer", "BEARER"):
        connection = http.client.HTTPConnection(web.address, timeout=60)
        connection.request("GET", "/api/v1/me", headers={"Authorization": f"{word} {web.token}"})
        assert connection.getresponse().status == 200, "the scheme's name is in any case (RFC 9110)"
        connection.close()
    assert web.get("no/such/path", check=501)["error"]["reason"] == "Unimplemented"
    assert web.get("experiments/999999", check=404)["error"]["reason"] == "NotFound"
    assert web.get("experiments/x", check=400)["error"]["reason"] == "InvalidArgument"
    assert web.ask("DELETE", "/api/v1/me", check=405)


def test_a_token_is_a_password_and_nobody_gets_in_without(cluster, web):
    import getpass
    import hashlib
    hashed = lambda text: hashlib.sha512(b"GubPEmmotfiK9TMD6Zdw" + text.encode()).hexdigest()
    token = cluster.run("muster", "token", "--days", 3).out.strip()
    nobody = Web(cluster, "")
    login = lambda name, password, check=200: nobody.post("auth/login", {"username": name, "password": password, "isHashed": True}, check=check)
    reply = login(getpass.getuser(), hashed(token))
    assert Web(cluster, reply["token"]).get("me")["user"]["username"] == getpass.getuser()
    for name, password in ((getpass.getuser(), ""), (getpass.getuser(), hashed("x")), ("determined", hashed("x")), ("no-such-user", "")):
        assert "invalid credentials" in login(name, password, check=403)["error"]["error"]


def test_the_open_user_is_the_operators_own(web):
    nobody = Web(web.cluster, "")
    token = nobody.post("auth/login", {"username": "determined", "password": "", "isHashed": True})["token"]
    assert Web(web.cluster, token).get("me")["user"]["admin"] is True


@pytest.mark.root_only
def test_nobody_else_is_the_open_user(web):
    script = ("import http.client, sys; c = http.client.HTTPConnection(sys.argv[1]); "
              """c.request("POST", "/api/v1/auth/login", '{"username": "determined", "password": ""}'); print(c.getresponse().status)""")
    out = web.cluster.run("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "/usr/bin/python3", "-c", script, web.address).out
    assert out == "403\n"


@pytest.mark.root_only
def test_keys_to_a_storage_are_shown_to_their_owner_alone(web):
    storage = {"type": "s3", "bucket": "b", "prefix": "p", "access_key": "AKIAOURS", "secret_key": "hush"}
    config = json.dumps({"name": "keys", "entrypoint": "sleep 300", "max_restarts": 0, "checkpoint_storage": storage,
                         "searcher": {"name": "single", "metric": "loss"}})
    (web.cluster.work / "keys.yaml").write_text(config)  # by the command: the trial's folder then lies where it is given
    created = web.cluster.run("muster", "experiment", "create", "keys.yaml", "--paused").out
    experiment = int(re.search(r"experiment (\d+)", created).group(1))
    own = web.get(f"experiments/{experiment}")["experiment"]
    assert storage.items() <= own["config"]["checkpoint_storage"].items() and own["originalConfig"] == config
    uuid = "99999999-2222-4333-8444-555555555555"
    as_nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    stranger = Web(web.cluster, web.cluster.run(*as_nobody, "muster", "token").out.strip())
    assert stranger.get("me")["user"]["admin"] is False
    shown = stranger.get(f"experiments/{experiment}")
    assert shown["config"]["checkpoint_storage"]["bucket"] == "b" and shown["config"]["checkpoint_storage"]["access_key"] is None
    texts = [json.dumps(shown)]
    for words in ([], ["--original"]):  # the owner's first: what was answered to one is not kept for the other
        assert "AKIAOURS" in web.cluster.run("muster", "experiment", "config", experiment, *words).out
        texts.append(web.cluster.run(*as_nobody, "muster", "experiment", "config", experiment, *words).out)
        texts.append(web.cluster.run(*as_nobody, "muster", "experiment", "describe", experiment).out)
        assert '"bucket": "b"' in texts[-2]
    web.post(f"experiments/{experiment}/activate")
    web.wait_state(experiment, "STATE_RUNNING")
    (trial,) = web.get(f"experiments/{experiment}/trials")["trials"]
    checkpoint = {"uuid": uuid, "taskId": trial["taskId"], "allocationId": trial["taskId"] + ".1", "resources": {"model": "1"},
                  "metadata": {"steps_completed": 1}, "reportTime": "2026-01-01T00:00:00Z", "state": "STATE_COMPLETED", "training": {}}
    web.post("checkpoints", checkpoint)
    web.post("models", {"name": "with-keys"})
    web.post("models/with-keys/versions", {"modelName": "with-keys", "checkpointUuid": uuid})
    paths = (f"checkpoints/{uuid}", f"experiments/{experiment}/checkpoints", f"trials/{trial['id']}/checkpoints",
             "models/with-keys/versions")
    for path in paths:
        assert "hush" in json.dumps(web.get(path))
        texts.append(json.dumps(stranger.get(path)))
        assert uuid in texts[-1]
    assert not any("AKIAOURS" in text or "hush" in text for text in texts), texts
    web.post(f"experiments/{experiment}/kill")


def test_a_runs_token_speaks_for_the_run_alone(web):
    experiment, trial, task, variables = running_trial(web)
    other = create(web, "sleep 300")
    for call in (lambda: task.post(f"experiments/{other}/kill", check=403), lambda: task.post(f"trials/{trial}/kill", check=403),
                 lambda: task.post("models", {"name": "x"}, check=403), lambda: task.post("experiments", {"config": ""}, check=403)):
        assert "speaks for the run alone" in call()["error"]["error"]
    owner = Web(web.cluster, variables["DET_USER_TOKEN"])
    owner.post(f"experiments/{other}/kill")
    owner.post(f"experiments/{experiment}/kill")
    web.wait_state(experiment, "STATE_CANCELED")
    assert task.get("me", check=403) and owner.get("me", check=403), "both ended with the job"


def test_an_experiment_is_made_from_files_and_its_code_comes_back(web):
    experiment = create(web, "sh run.sh", {"run.sh": "echo hello from the code; cat lib/x.txt", "lib/x.txt": "deep\n"})
    assert web.wait_state(experiment, "STATE_COMPLETED", "STATE_ERROR") == "STATE_COMPLETED"
    trial = web.get(f"experiments/{experiment}/trials")["trials"][0]
    assert trial["state"] == "STATE_COMPLETED" and trial["hparams"] == {"lr": 0.1}
    output = (web.cluster.base / f"storage/experiment-{experiment}/trial-{trial['id']}/output.log").read_text()
    assert output == "hello from the code\ndeep\n"
    archive = tarfile.open(fileobj=io.BytesIO(base64.b64decode(web.get(f"experiments/{experiment}/model_def")["b64Tgz"])))
    assert sorted(archive.getnames()) == ["lib/x.txt", "run.sh"]
    listed = web.get("experiments?limit=1&orderBy=ORDER_BY_DESC")
    assert listed["experiments"][0]["id"] == experiment and listed["pagination"]["endIndex"] == 1


def test_wrong_configurations_are_refused_with_the_reason(web):
    body = {"config": "name: x\nentrypoint: true\nsearcher: {name: nonsense, metric: m}\n"}
    assert "nonsense" in web.post("experiments", body, check=400)["error"]["error"]
    assert "config" in web.post("experiments", {}, check=400)["error"]["error"]
    assert "no JSON" in web.post("experiments", "{", check=400)["error"]["error"]
    out = {"config": CONFIG.format(entrypoint='"true"', storage="/tmp"), "modelDefinition": [{"path": "../x", "content": ""}]}
    assert "leads out" in web.post("experiments", out, check=400)["error"]["error"]
    checked = web.post("experiments", {"config": CONFIG.format(entrypoint='"true"', storage="/tmp"), "validateOnly": True})
    assert checked["config"]["max_restarts"] == 0


def test_metrics_are_kept_as_they_were_reported(web):
    experiment, trial, task, _ = running_trial(web)
    send = lambda *a, check=200, **k: task.post(f"trials/{trial}/metrics", report(trial, *a, **k), check=check)
    for step in range(1, 31):
        send(step, loss=1 / step, note="NaN" if step == 7 else step)
    send(30, loss=1 / 30, note=30)
    assert "other values" in send(30, loss=5, check=400)["error"]["error"]
    assert "invalid run id, 2 (reported) != 1 (expected)" in send(31, run=2, loss=5, check=400)["error"]["error"]
    assert task.post(f"trials/{trial + 1000}/metrics", report(trial + 1000, 1, loss=1), check=403)
    many = {f"m{number:05d}": number / 3 for number in range(5_000)}  # longer than what is parsed on the thread of HTTP
    send(1, group="wide", **many)
    wide = web.get(f"trials/metrics/trial_metrics?trialIds={trial}&group=wide")
    assert wide["result"]["metrics"][0]["metrics"]["avg_metrics"] == many
    assert "avgMetrics" in task.post(f"trials/{trial}/metrics", {**report(trial, 2, group="wide"), "note": "x" * 100_000, "metrics": {}}, check=400)["error"]["error"]
    assert "10000 different" in send(2, group="wide", **{f"n{number}": 1 for number in range(5_000)}, check=400)["error"]["error"]
    assert "has a name" in send(2, group="wide", **{"": 1}, check=400)["error"]["error"]
    assert "whole number" in send(2.5, group="wide", x=1, check=400)["error"]["error"]
    assert task.post("webhooks/custom", {"data": {"title": "t", "description": "d", "level": "info"}, "experimentId": experiment, "trialId": trial}) == {}
    send(10, group="validation", loss=0.5)
    send(20, group="validation", loss=0.25)
    send(30, group="my_group", x="Infinity")
    shown = web.get(f"trials/{trial}")["trial"]
    summary = shown["summaryMetrics"]["avg_metrics"]
    assert summary["loss"]["count"] == 30 and summary["loss"]["min"] == 1 / 30 and summary["note"]["mean"] == "NaN"
    assert shown["bestValidation"]["metrics"]["avgMetrics"] == {"loss": 0.25} and shown["totalBatchesProcessed"] == 30
    assert web.get(f"experiments/{experiment}/searcher/best_searcher_validation_metric") == {"metric": 0.25}
    work = web.get(f"trials/{trial}/workloads?limit=5&offset=29")
    assert work["pagination"]["total"] == 32 and len(work["workloads"]) == 3
    series = web.get(f"trials/time-series?trialIds={trial}&metricNames=loss&group=training&maxDatapoints=10")
    points = series["trials"][0]["metrics"][0]["data"]
    assert len(points) <= 10 and points[0] == {"batches": 1, "values": {"loss": 1.0}, "time": points[0]["time"]} and points[-1]["batches"] == 30
    assert web.post(f"experiments/{experiment}/kill") == {}
    web.wait_state(experiment, "STATE_CANCELED")
    assert task.post(f"trials/{trial}/metrics", report(trial, 40, loss=1), check=403), "the token ended with the run"


def test_parameters_are_honoured_or_refused_by_name(web):
    experiment = create(web, "true")
    web.wait_state(experiment, "STATE_COMPLETED", "STATE_ERROR")
    web.post(f"experiments/{experiment}/archive")
    listed = lambda query: [each["id"] for each in web.get(f"experiments?{query}")["experiments"]]
    for yes in ("true", "True", "1"):
        assert experiment in listed(f"archived={yes}")
    for no in ("false", "F", "0"):
        assert experiment not in listed(f"archived={no}")
    assert listed(f"experimentIdFilter.incl={experiment}") == listed(f"experimentIdFilter.gte={experiment}&experimentIdFilter.lt={experiment + 1}") == [experiment]
    assert listed("states=STATE_COMPLETED&states=STATE_ERROR&sortBy=SORT_BY_CHECKPOINT_SIZE&orderBy=ORDER_BY_DESC")
    for query, named in (("archived=maybe", "neither true nor false"), ("states=COMPLETED", "states: 'COMPLETED' is not there"), ("sort=x", "has no parameter 'sort'"),
                         ("experimentIdFilter.incl=x", "an experiment"), ("sortBy=SORT_BY_COLOUR", "sortBy: 'SORT_BY_COLOUR' is not there"), ("orderBy=down", "orderBy")):
        assert named in web.get(f"experiments?{query}", check=400)["error"]["error"], query
    web.ask("PATCH", f"/api/v1/experiments/{experiment}", {"notes": 5}, check=400)
    web.ask("PATCH", f"/api/v1/experiments/{experiment}", {"labels": "x"}, check=400)


def test_what_the_search_cannot_use_is_not_stored(web):
    experiment, trial, task, _ = running_trial(web, "sleep 60")
    task.post("runs/start", {"runId": trial, "checkpointStorage": None})
    refused = task.post(f"trials/{trial}/metrics", report(trial, 3, group="validation", loss="high"), check=400)
    assert "the searcher metric loss is not a number" in refused["error"]["error"]
    assert web.get(f"trials/{trial}/workloads")["workloads"] == [] and web.get(f"trials/{trial}")["trial"]["summaryMetrics"] == {}
    web.post(f"experiments/{experiment}/kill")


def test_a_run_hears_at_once_that_it_should_stop(web):
    experiment, trial, task, variables = running_trial(web, "while [ ! -e $MUSTER_RUN_DIR/stop ]; do sleep 0.1; done")
    allocation = variables["DET_ALLOCATION_ID"]
    task.post("runs/start", {"runId": trial, "checkpointStorage": None})
    signals = f"allocations/{allocation}/signals"
    assert task.get(f"{signals}/preemption?timeout_seconds=0") == {"preempt": False}
    begin = time.monotonic()
    assert task.get(f"{signals}/preemption?timeout_seconds=1") == {"preempt": False}
    assert 0.9 < time.monotonic() - begin < 10
    heard = {}
    waiter = threading.Thread(target=lambda: heard.update(task.get(f"{signals}/preemption?timeout_seconds=60"), at=time.monotonic()))
    waiter.start()
    time.sleep(0.5)
    paused = time.monotonic()
    web.post(f"experiments/{experiment}/pause")
    waiter.join(30)
    assert heard["preempt"] is True and heard["at"] - paused < 5
    task.post(f"{signals}/ack_preemption")
    (web.cluster.base / f"storage/experiment-{experiment}/trial-{trial}/stop").write_text("")
    deadline = time.monotonic() + 30
    while web.get(f"trials/{trial}")["trial"]["state"] != "STATE_PAUSED" and time.monotonic() < deadline:
        time.sleep(0.1)
    assert web.get(f"trials/{trial}")["trial"]["state"] == "STATE_PAUSED"
    assert web.post(f"experiments/{experiment}/kill") == {}


def test_a_checkpoint_is_known_and_is_what_the_next_run_goes_on_from(web):
    first = 'if [ -z "$DET_LATEST_CHECKPOINT" ]; then while [ ! -e $MUSTER_RUN_DIR/stop ]; do sleep 0.1; done; exit 0; fi; echo "from $DET_LATEST_CHECKPOINT at $DET_STEPS_COMPLETED"; cat /run/determined/info/cluster.json'
    experiment, trial, task, variables = running_trial(web, first)
    uuid = "11111111-2222-4333-8444-555555555555"
    body = {"uuid": uuid, "taskId": variables["DET_TASK_ID"], "allocationId": variables["DET_ALLOCATION_ID"], "metadata": {"steps_completed": 8},
            "resources": {"w": "3", "code/": "0"}, "state": "STATE_COMPLETED", "storageId": None, "training": {}, "reportTime": "2026-11-22T11:39:15.638556+00:00"}
    for _ in range(2):
        assert task.post("checkpoints", body) == {}
    assert task.post("checkpoints", {**body, "resources": {"w": "4"}}, check=400)
    shown = web.get(f"checkpoints/{uuid}")["checkpoint"]
    assert shown["resources"] == {"w": "3", "code/": "0"} and shown["training"]["trialId"] == trial and shown["state"] == "STATE_COMPLETED"
    task.post("runs/start", {"runId": trial, "checkpointStorage": None})
    task.post(f"allocations/{variables['DET_ALLOCATION_ID']}/signals/ack_preemption")
    web.cluster.run("scontrol", "requeue", web.get(f"trials/{trial}")["trial"]["jobId"])
    (web.cluster.base / f"storage/experiment-{experiment}/trial-{trial}/stop").write_text("")
    assert web.wait_state(experiment, "STATE_COMPLETED", "STATE_ERROR") == "STATE_COMPLETED"
    output = (web.cluster.base / f"storage/experiment-{experiment}/trial-{trial}/output.log").read_text()
    assert f"from {uuid} at 8\n" in output and f'"latest_checkpoint": "{uuid}"' in output
    model = web.post("models", {"name": "m"})["model"]
    version = web.post("models/m/versions", {"checkpointUuid": uuid, "modelName": "m"})["modelVersion"]
    assert version["version"] == 1 and version["checkpoint"]["uuid"] == uuid
    assert web.get(f"models/{model['id']}/versions")["model"]["numVersions"] == 1
    muster = lambda *words, **more: web.cluster.run("muster", *words, **more)
    assert f"{uuid}  {trial}" in muster("checkpoint", "list", experiment).out and "COMPLETED" in muster("checkpoint", "list", "--trial", trial).out
    assert '"steps_completed": 8' in muster("checkpoint", "describe", uuid).out
    assert muster("model", "register", "m", uuid, "--name", "again").out == "Registered version 2 of model m\n"
    assert uuid in muster("model", "describe", "m").out and " m " in muster("model", "list").out

    use = {"trialId": trial, "checkpointUuid": uuid, "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE", "modelId": model["id"], "modelVersion": 2}
    for wrong, code in (({"trialId": 0}, 400), ({"trialId": 999}, 404), ({"checkpointUuid": "none"}, 400), ({"trialSourceInfoType": "X"}, 400),
                        ({"modelVersion": None}, 400), ({"modelVersion": 9}, 404), ({"modelId": 9}, 404), ({"modelId": -1}, 400)):
        web.post("trial-source-info", {"trialSourceInfo": {**use, **wrong}}, check=code)
    web.post("trial-source-info", {"trialSourceInfo": {**use, "checkpointUuid": "none", "modelId": None, "modelVersion": None}}, check=404)
    assert web.post("trial-source-info", {"trialSourceInfo": use}) == {"trialId": trial, "checkpointUuid": uuid}
    assert f"Used by: trial {trial} (inference, version 2 of model {model['id']})" in muster("checkpoint", "describe", uuid).out
    assert web.get(f"checkpoints/{uuid}/metrics") == web.get("models/m/versions/2/metrics?metricGroup=none") == {"metrics": []}
    web.get(f"checkpoints/{uuid}/metrics?trialSourceInfoType=no", check=400)
    for words, text in ((("checkpoint", "list"), "of which experiment?"), (("checkpoint", "describe", "x"), "there is no checkpoint x"),
                        (("model", "register", "none", uuid), "there is no model none"), (("model", "create", "m"), "a model named m already")):
        refused = muster(*words, check=False)
        assert refused.code == 1 and text in refused.err
    patch = {"checkpoints": [{"uuid": uuid, "resources": {"resources": {}}}]}
    assert "registry" in web.ask("PATCH", "/api/v1/checkpoints", patch, check=400)["error"]["error"]
    web.ask("DELETE", "/api/v1/models/m")
    web.ask("PATCH", "/api/v1/checkpoints", patch)
    assert web.get(f"checkpoints/{uuid}")["checkpoint"]["state"] == "STATE_DELETED"


def test_logs_are_a_stream_that_ends_with_the_trial(web):
    experiment = create(web, "echo first; echo 'WARNING: second' >&2; sleep 2; printf 'third \\377\\n'")
    web.wait_state(experiment, "STATE_RUNNING", "STATE_COMPLETED")
    trial = web.get(f"experiments/{experiment}/trials")["trials"][0]["id"]
    connection = http.client.HTTPConnection(web.address, timeout=60)
    connection.request("GET", f"/api/v1/trials/{trial}/logs?follow=true", headers={"Authorization": f"Bearer {web.token}"})
    reply = connection.getresponse()
    assert reply.headers["Transfer-Encoding"] == "chunked"
    lines = [json.loads(line)["result"] for line in reply.read().decode().splitlines()]
    assert [line["log"] for line in lines if line["stdtype"] == "stdout"] == ["first\n", "third \ufffd\n"]
    warning = next(line for line in lines if line["stdtype"] == "stderr")
    assert warning["level"] == "LOG_LEVEL_WARNING" and warning["message"].endswith("|| WARNING: WARNING: second\n")
    connection.request("GET", f"/api/v1/trials/{trial}/logs?limit=1&orderBy=ORDER_BY_DESC&searchText=ir&levels=LOG_LEVEL_UNSPECIFIED",
                       headers={"Authorization": f"Bearer {web.token}"})
    newest = [json.loads(line)["result"]["log"] for line in connection.getresponse().read().decode().splitlines()]
    assert newest == ["third \ufffd\n"]
    assert web.get("trials/999999/logs", check=404)["error"]["reason"] == "NotFound"


def test_workspaces_projects_templates_and_metadata(web):
    workspace = web.post("workspaces", {"name": "w"})["workspace"]["id"]
    project = web.post(f"workspaces/{workspace}/projects", {"name": "p"})["project"]["id"]
    web.post("templates/small", {"template": {"config": {"max_restarts": 3, "description": "from the template"}}})
    experiment = create(web, "true", template="small", projectId=project)
    shown = web.get(f"experiments/{experiment}")["experiment"]
    assert (shown["projectId"], shown["workspaceId"], shown["projectName"], shown["description"]) == (project, workspace, "p", "from the template")
    assert web.get(f"workspaces/{workspace}/projects")["projects"][0]["numExperiments"] == 1
    assert [shown["id"] for shown in web.get(f"experiments?projectId={project}")["experiments"]] == [experiment]
    beyond = project + (1 << 32)  # of which 32 bits are this project's
    assert "projectId" in web.get(f"experiments?projectId={beyond}", check=400)["error"]["error"]
    assert "destinationProjectId" in web.post(f"experiments/{experiment}/move", {"destinationProjectId": beyond}, check=400)["error"]["error"]
    assert "projectId" in web.post("experiments", {"config": CONFIG.format(entrypoint="x", storage="/tmp"), "projectId": beyond}, check=400)["error"]["error"]
    assert "no project" in web.post("experiments", {"config": CONFIG.format(entrypoint="x", storage="/tmp"), "projectId": project + 99}, check=404)["error"]["error"]
    assert "no template" in web.post("experiments", {"config": CONFIG.format(entrypoint="x", storage="/tmp"), "template": "none"}, check=404)["error"]["error"]
    web.post(f"experiments/{experiment}/move", {"destinationProjectId": 1})
    assert web.get(f"experiments/{experiment}")["experiment"]["projectId"] == 1
    assert web.post("workspaces", {"name": "w"}, check=409)
    web.wait_state(experiment, "STATE_COMPLETED")
    (trial,) = web.get(f"experiments/{experiment}/trials")["trials"]
    patched = web.ask("PATCH", f"/api/v1/experiments/{experiment}", {"id": experiment, "labels": ["a", "b"], "description": None, "name": "new", "notes": None})
    assert patched["experiment"]["labels"] == ["a", "b"] and patched["experiment"]["description"] == "from the template"
    assert web.post(f"runs/{trial['id']}/metadata", {"metadata": {"a": {"b": [1, 2.5, None]}}})["metadata"]["a"]["b"] == [1, 2.5, None]
    assert web.get(f"runs/{trial['id']}/metadata")["metadata"] == {"a": {"b": [1, 2.5, None]}}


def test_changes_at_once_of_one_model_all_hold(web):
    web.post("models", {"name": "many-hands"})
    wanted = {"description": lambda turn: f"d{turn}", "notes": lambda turn: f"n{turn}", "labels": lambda turn: [f"l{turn}"],
              "metadata": lambda turn: {"m": turn}}
    for turn in range(10):
        hands = [threading.Thread(target=web.ask, args=("PATCH", "/api/v1/models/many-hands", {name: value(turn)})) for name, value in wanted.items()]
        for hand in hands:
            hand.start()
        for hand in hands:
            hand.join()
        model = web.get("models/many-hands")["model"]
        assert {name: model[name] for name in wanted} == {name: value(turn) for name, value in wanted.items()}


def test_hostile_requests_hurt_nobody(cluster, web):
    import socket
    host, port = web.address.split(":")
    for bytes_sent in (b"\x16\x03\x01\x02\x00", b"GET / HTTP/1.1\r\n", b"POST /api/v1/auth/login HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
                       b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", b"FOO / HTTP/1.1\r\n\r\n"):
        connection = socket.create_connection((host, int(port)), timeout=20)
        connection.sendall(bytes_sent)
        connection.settimeout(1)
        try:
            connection.recv(4096)
        except (socket.timeout, ConnectionError):
            pass
        connection.close()
    assert web.ask("POST", "/api/v1/models", b" " * (17 << 20), check=413, timeout=120)
    assert web.post("models", "[" * 100_000, check=400)
    idle = [socket.create_connection((host, int(port)), timeout=20) for _ in range(200)]
    assert web.get("me")["user"]["active"] is True
    for connection in idle:
        connection.close()
    assert web.ask("GET", "/readyz") == {"status": "ok"}


def test_what_was_acknowledged_survives_the_controller(own_cluster):
    cluster = own_cluster(nodes=1, cpus=4)
    web = Web(cluster)
    experiment, trial, task, _ = running_trial(web)
    acknowledged = 0
    for round_ in range(3):
        stop = time.monotonic() + 0.7
        while time.monotonic() < stop:
            task.post(f"trials/{trial}/metrics", report(trial, acknowledged + 1, loss=acknowledged))
            acknowledged += 1
        os.kill(cluster.pid("controller"), signal.SIGKILL)
        cluster.up()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                assert task.post(f"trials/{trial}/metrics", report(trial, acknowledged, loss=acknowledged - 1)) == {}, "a repeat succeeds"
                break
            except (ConnectionError, AssertionError):
                time.sleep(0.1)
        summary = web.get(f"trials/{trial}")["trial"]["summaryMetrics"]["avg_metrics"]["loss"]
        assert summary["count"] == acknowledged, "no point lost, none doubled"
    assert web.address == Web(cluster).address, "it comes back where it was"
