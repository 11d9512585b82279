"""HTTP with real processes: who may, what is made, what runs report and ask, what survives a crash. Determined's own package is
tried against it in tests/clients."""
import base64
import getpass
import hashlib
import http.client
import io
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tarfile
import threading
import time

import pytest

from conftest import experiment_folder, until

# Debian has this account; the tests run as root and as nobody.
SOMEBODY_ELSE = "daemon"

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

    def ask(self, method, path, body=None, check=200, timeout=60, headers=None):
        connection = http.client.HTTPConnection(self.address, timeout=timeout)
        headers = {**({self.header: f"Bearer {self.token}"} if self.token else {}), **(headers or {})}
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
    file = lambda: experiment_folder(web.cluster.base / "storage", experiment) / f"trial-{trial}" / "variables"
    until(lambda: file().exists(), "the trial's variables")
    variables = dict(line.split("=", 1) for line in file().read_text().splitlines())
    task = Web(web.cluster, variables["DET_SESSION_TOKEN"], "Grpc-Metadata-x-allocation-token")
    return experiment, trial, task, variables


def report(trial, step, group="training", run=1, **metrics):
    return {"group": group, "metrics": {"trialId": trial, "trialRunId": run, "stepsCompleted": step,
                                        "metrics": {"avgMetrics": metrics, "batchMetrics": None}}}


def test_what_a_command_did_is_there_for_whoever_asks_next(web):
    """HTTP's own replica may lag while nobody is connected, and not once somebody is."""
    experiment = create(web, "sleep 600", activate=False)
    for priority in range(10, 40):
        web.cluster.run("muster", "experiment", "set", str(experiment), "--priority", str(priority))
        shown = web.get(f"experiments/{experiment}")["experiment"]
        assert shown["config"]["resources"]["priority"] == priority
    web.post(f"experiments/{experiment}/kill", {})


def test_a_trial_that_came_by_http_finds_the_programs_by_name(web):
    experiment = create(web, "command -v srun && muster report --step 1 loss=0.5")
    assert web.wait_state(experiment, "STATE_COMPLETED", "STATE_ERROR") == "STATE_COMPLETED"


def test_a_trial_on_two_nodes_that_came_by_http_needs_no_path(web):
    """Each of its nodes runs the command; srun, which brings it there, is nobody's to name."""
    storage = web.cluster.base / "storage"
    config = CONFIG.format(entrypoint=json.dumps("command -v srun && touch $MUSTER_RUN_DIR/on-$SLURMD_NODENAME"), storage=storage)
    experiment = web.post("experiments", {"config": config + "resources: {slots_per_trial: 4}\n", "activate": True})["experiment"]["id"]
    assert web.wait_state(experiment, "STATE_COMPLETED", "STATE_ERROR") == "STATE_COMPLETED"
    (trial,) = web.get(f"experiments/{experiment}/trials")["trials"]
    folder = experiment_folder(storage, experiment) / f"trial-{trial['id']}"
    assert sorted(file.name for file in folder.glob("on-*")) == ["on-node1", "on-node2"]


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


def hashed(text):
    """What Determined's client makes of a password."""
    return hashlib.sha512(b"GubPEmmotfiK9TMD6Zdw" + text.encode()).hexdigest()


def login(web, name, password, check=200):
    return Web(web.cluster, "").post("auth/login", {"username": name, "password": password, "isHashed": True}, check=check)


@pytest.fixture
def failing(own_cluster):
    """A cluster of its own: failed logins make their peer wait."""
    return Web(own_cluster(nodes=1))


def test_a_token_is_a_password_and_nobody_gets_in_without(cluster, failing):
    me = getpass.getuser()
    token = failing.cluster.run("muster", "token", "--days", 3).out.strip()
    reply = login(failing, me, hashed(token))
    assert Web(failing.cluster, reply["token"]).get("me")["user"]["username"] == me
    for name, password in ((me, ""), (me, hashed("x")), ("determined", ""), ("determined", hashed("x")), ("no-such-user", "x"), (SOMEBODY_ELSE, hashed(token))):
        assert "invalid credentials" in login(failing, name, password, check=401)["error"]["error"]
    for _ in range(4):
        login(failing, "determined", "", check=401)
    assert "in a minute" in login(failing, me, hashed(token), check=429)["error"]["error"], "also with the right one"
    assert failing.get("me")["user"]["username"] == me, "a token is no password"


def test_a_login_is_a_cookie_that_ends(web):
    connection = http.client.HTTPConnection(web.address, timeout=60)
    token = web.cluster.run("muster", "token", "--days", 2).out.strip()
    connection.request("POST", "/api/v1/auth/login", json.dumps({"username": getpass.getuser(), "password": token}))
    cookie = connection.getresponse().headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and f"Max-Age={7 * 86400}" in cookie


def test_a_password_for_once_logs_in_once(web):
    me = getpass.getuser()
    once = web.cluster.run("muster", "token", "--once").out.strip()
    login(web, SOMEBODY_ELSE, hashed(once), check=401)
    reply = login(web, me, hashed(once))
    assert Web(web.cluster, reply["token"]).get("me")["user"]["admin"] is True
    login(web, me, hashed(once), check=401)


def test_muster_up_says_how_to_log_in(own_cluster):
    cluster = own_cluster(nodes=1)
    cluster.down()
    said = cluster.run("muster", "up", *cluster.args, "--detach").err
    user, password = re.search(r"user (\S+), password (\S+)", said).groups()
    web = Web(cluster)
    assert f"http://{web.address}" in said
    assert login(web, user, password)["user"]["username"] == user == getpass.getuser()


@pytest.mark.root_only
def test_a_password_for_once_is_for_this_machine_and_its_user(web):
    once = web.cluster.run(*AS_NOBODY, "muster", "token", "--once").out.strip()
    assert login(web, "nobody", once)["user"]["admin"] is False


AS_NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]


def tokens(web, *words):
    return [line.split() for line in web.cluster.run("muster", "token", "list", *words).out.splitlines()[1:]]


@pytest.mark.root_only
def test_tokens_are_listed_and_revoked_for_good(own_cluster):
    web = Web(own_cluster(nodes=1))
    cluster = web.cluster
    token = cluster.run(*AS_NOBODY, "muster", "token", "--days", 5).out.strip()
    assert cluster.run(*AS_NOBODY, "muster", "token", "--days", 5).out.strip() == token, "one for one end"
    by_login = login(web, "nobody", token)["token"]
    mine = [line.split() for line in cluster.run(*AS_NOBODY, "muster", "token", "list").out.splitlines()[1:]]
    assert {row[1] for row in mine} == {"nobody"} and len(mine) == 2, mine
    assert {"root", "nobody"} <= {row[1] for row in tokens(web)}, "an operator sees all"
    made = next(row[0] for row in mine if "muster" in row)
    root_token = next(row[0] for row in tokens(web) if row[1] == "root")
    assert "there is no token" in cluster.run(*AS_NOBODY, "muster", "token", "revoke", root_token, check=False).err
    assert web.get("me")
    nobody, session = Web(cluster, token), Web(cluster, by_login)
    assert nobody.get("me") and session.get("me")
    cluster.run(*AS_NOBODY, "muster", "token", "revoke", made)
    for _ in range(2):
        assert "revoked" in nobody.get("me", check=401)["error"]["error"]
        assert session.get("me")["user"]["username"] == "nobody"
        os.kill(cluster.pid("controller"), signal.SIGKILL)
        cluster.up()
    login(web, "nobody", token, check=401)
    session.post("auth/logout")
    session.get("me", check=401)
    assert {row[-1] for row in tokens(web, "--revoked") if row[1] == "nobody"} == {"revoked"}
    again = Web(cluster, cluster.run(*AS_NOBODY, "muster", "token").out.strip())
    assert again.get("me")
    assert "only operators" in again.post("tokens/revoke-all", {"username": "root"}, check=403)["error"]["error"]
    cluster.run("muster", "token", "revoke", "--all", "--user", "nobody")
    assert again.get("me", check=401)
    assert web.ask("PATCH", f"/api/v1/tokens/{root_token}", {"setRevoked": True})["tokenInfo"]["revoked"] is True
    assert web.get("me", check=401), "the token that env gave"
    assert Web(cluster).get("me"), "which gives another"


def test_a_token_lasts_no_longer_than_the_site_lets_it(own_cluster):
    web = Web(own_cluster(nodes=1, conf={"MusterHttpTokenDays": "3"}))
    given = web.cluster.run("muster", "token", "--days", 3650)
    claims = json.loads(base64.urlsafe_b64decode(given.out.split(".")[1] + "=="))
    assert time.time() < claims["exp"] <= time.time() + 3 * 86400 and int(claims["jti"]) > 0
    assert "MusterHttpTokenDays" in given.err
    assert web.get("me")


@pytest.mark.root_only
def test_a_user_who_is_gone_is_refused(own_cluster):
    """Accounts are looked up again: one that was removed, or has another number, opens nothing."""
    web = Web(own_cluster(nodes=1))
    name = f"gone{os.getpid()}"
    subprocess.run(["useradd", "-M", name], check=True)
    try:
        token = web.cluster.run("setpriv", f"--reuid={name}", f"--regid={name}", "--clear-groups", "muster", "token").out.strip()
    finally:
        subprocess.run(["userdel", name], check=True)
    assert "is no user any more" in Web(web.cluster, token).get("me", check=401)["error"]["error"]


def test_connections_that_are_reset_at_once_end_nobodys_service(own_cluster):
    """As a scan of the ports makes them."""
    web = Web(own_cluster(nodes=1))
    services = (web.cluster.dir / "state/http-services.address").read_text().strip()
    for address in (web.address, services):
        host, port = address.rsplit(":", 1)
        for _ in range(500):
            with socket.create_connection((host, int(port)), timeout=5) as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert web.ask("GET", "/readyz") == {"status": "ok"}
    assert web.cluster.run("sinfo", "-h", timeout=10).code == 0
    connection = http.client.HTTPConnection(services, timeout=10)
    connection.request("GET", "/")
    assert connection.getresponse().status in (401, 403, 404)


def test_half_sent_requests_lock_nobody_out(own_cluster):
    """Of strangers on this machine each user has so many connections; root's are not counted among them."""
    web = Web(own_cluster(nodes=1, conf={"MusterHttpConnections": "64", "MusterHttpPeerConnections": "24"}))
    host, port = web.address.split(":")
    script = """
import socket, sys, time
held, refused = [], 0
for _ in range(200):
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5)
    s.sendall(b"POST /api/v1/auth/login HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 60000\\r\\n\\r\\n{")
    s.settimeout(0.2 if len(held) >= 24 else 0.01)
    try:
        refused += s.recv(12) == b"HTTP/1.1 429"
    except (TimeoutError, ConnectionError):
        pass
    held.append(s)
print(refused, flush=True)
sys.stdin.readline()
held[0].settimeout(30)
print(held[0].recv(12).decode(), flush=True)
"""
    words = AS_NOBODY if os.geteuid() == 0 else []
    flood = web.cluster.popen(*words, "/usr/bin/python3", "-c", script, host, port)
    try:
        refused = int(flood.stdout.readline())
        if os.geteuid() == 0:
            assert refused > 100, "more than one user's share is refused, and told why"
            assert web.get("me")["user"]["admin"] is True and web.ask("GET", "/readyz") == {"status": "ok"}
        flood.stdin.write("\n")
        flood.stdin.flush()
        if os.geteuid() == 0:
            assert flood.stdout.readline().startswith("HTTP/1.1 408"), "a stranger's body has a deadline"
    finally:
        flood.kill()
        flood.wait()


def test_a_user_has_so_many_requests_under_way(own_cluster):
    if os.geteuid() != 0:
        pytest.skip("operators are not counted")
    web = Web(own_cluster(nodes=1, conf={"MusterHttpUserRequests": "4"}))
    token = web.cluster.run(*AS_NOBODY, "muster", "token").out.strip()
    import socket
    host, port = web.address.split(":")
    waiting = [socket.create_connection((host, int(port)), timeout=20) for _ in range(4)]
    for connection in waiting:  # their bodies are awaited
        connection.sendall(f"POST /api/v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: 9\r\n\r\n".encode())
    nobody = Web(web.cluster, token)
    until(lambda: nobody.get("me", check=None) and nobody.status == 429, "one too many")
    assert web.get("me"), "others are not kept waiting"
    for connection in waiting:
        connection.close()
    until(lambda: nobody.get("me", check=None) and nobody.status == 200, "their places are given back")


def test_what_is_no_http_is_told_so_and_nothing_else(web):
    import socket
    host, port = web.address.split(":")
    for head in ("Content-Length: 0x10", "Content-Length: -1", "Content-Length: x", "Transfer-Encoding: nonsense"):
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(f"POST /livez HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n".encode())
            reply = connection.recv(4096).decode()
        assert reply.startswith("HTTP/1.1 4"), (head, reply)
        assert "stack" not in reply and ".c++" not in reply and "0x7f" not in reply, reply
        if "0x10" in head:
            assert reply.startswith("HTTP/1.1 400") and "text/plain" in reply, reply


@pytest.mark.root_only
def test_keys_to_a_storage_are_shown_to_their_owner_alone(web):
    storage = {"type": "s3", "bucket": "b", "prefix": "p", "access_key": "AKIAOURS", "secret_key": "hush"}
    config = json.dumps({"name": "keys", "entrypoint": "sleep 300", "max_restarts": 0, "checkpoint_storage": storage, "visibility": "cluster",
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


@pytest.mark.root_only
def test_an_experiment_is_its_owners_until_it_is_opened(web):
    """Its name, state, progress and metrics are everybody's; code, configuration, variables, logs and forks are not."""
    cluster = web.cluster
    files = {"run.sh": "echo printed-secret-42; sleep 300", "secret_file.txt": "code-secret-43"}
    code = [{"path": name, "type": 48, "mode": 0o100755, "mtime": "0", "content": base64.b64encode(text.encode()).decode()} for name, text in files.items()]
    config = {"name": "closed", "entrypoint": "sh run.sh --key entry-secret-44", "max_restarts": 0, "hyperparameters": {"lr": 0.1},
              "searcher": {"name": "single", "metric": "loss"}, "environment": {"environment_variables": ["WANDB_API_KEY=variable-secret-45"]},
              "checkpoint_storage": {"type": "shared_fs", "host_path": str(cluster.base / "storage-secret-46")}}
    experiment = web.post("experiments", {"config": json.dumps(config), "modelDefinition": code, "activate": True})["experiment"]["id"]
    web.wait_state(experiment, "STATE_RUNNING")
    (trial,) = web.get(f"experiments/{experiment}/trials")["trials"]
    uuid = "99999999-3333-4333-8444-555555555555"
    web.post("checkpoints", {"uuid": uuid, "taskId": trial["taskId"], "allocationId": trial["taskId"] + ".1", "resources": {"file-secret-47": "1"},
                             "metadata": {"steps_completed": 1}, "reportTime": "2026-01-01T00:00:00Z", "state": "STATE_COMPLETED", "training": {}})
    stranger = Web(cluster, cluster.run(*AS_NOBODY, "muster", "token").out.strip())
    log = f"/api/v1/trials/{trial['id']}/logs"

    def lines(client):
        connection = http.client.HTTPConnection(client.address, timeout=60)
        connection.request("GET", log, headers={"Authorization": f"Bearer {client.token}"})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()

    until(lambda: "printed-secret-42" in lines(web)[1], "its output")
    folder = experiment_folder(cluster.base / "storage-secret-46", experiment)
    assert folder.stat().st_mode & 0o077 == 0, "as private on disk as at our doors"
    assert (cluster.base / "storage-secret-46").stat().st_mode & 0o055 == 0o055, "others' experiments lie there too"
    fork = {"config": json.dumps({**config, "name": "forked"}), "parentId": experiment, "activate": False}
    set_to = lambda name: cluster.run("muster", "experiment", "set", experiment, "--visibility", name)

    def read_all():
        """Everything that others may ask for, as one text."""
        texts = [json.dumps(stranger.get(path)) for path in (
            f"experiments/{experiment}", "experiments", f"experiments/{experiment}/trials", f"trials/{trial['id']}", f"checkpoints/{uuid}",
            f"experiments/{experiment}/checkpoints", f"trials/{trial['id']}/checkpoints", f"trials/{trial['id']}/workloads?filter=FILTER_OPTION_CHECKPOINT")]
        for words in (("experiment", "config", experiment), ("experiment", "config", experiment, "--original"), ("experiment", "describe", experiment),
                      ("experiment", "list"), ("trial", "describe", trial["id"]), ("checkpoint", "describe", uuid)):
            texts.append(cluster.run(*AS_NOBODY, "muster", *words, check=False).out)
        return "\n".join(texts)

    shown = read_all()
    assert '"closed"' in shown and uuid in shown and "STATE_RUNNING" in shown, "that it is there, and how far it is"
    assert not re.findall(r"(?:entry|variable|storage|file|code|printed)-secret-\d+", shown), shown
    for path in (f"experiments/{experiment}/model_def", ):
        assert "--visibility cluster" in stranger.get(path, check=403)["error"]["error"]
    status, text = lines(stranger)
    assert "printed-secret" not in text and ("PermissionDenied" in text or status == 403), (status, text)
    assert "root's" in cluster.run(*AS_NOBODY, "muster", "trial", "logs", trial["id"], check=False).err
    assert "root's" in stranger.post("experiments", fork, check=403)["error"]["error"]
    assert cluster.run(*AS_NOBODY, "muster", "experiment", "fork", experiment, check=False).code != 0
    assert cluster.run(*AS_NOBODY, "muster", "experiment", "set", experiment, "--visibility", "cluster", check=False).code != 0
    assert web.get(f"experiments/{experiment}")["experiment"]["visibility"] == "private"
    set_to("cluster")
    assert web.get(f"experiments/{experiment}")["experiment"]["visibility"] == "cluster"
    opened = read_all()
    assert "variable-secret-45" in opened and "file-secret-47" in opened
    assert "code-secret-43" not in opened and stranger.get(f"experiments/{experiment}/model_def")["b64Tgz"]
    assert "printed-secret-42" in lines(stranger)[1]
    assert stranger.post("experiments", fork)["experiment"]["forkedFrom"] == experiment
    web.ask("PATCH", f"/api/v1/experiments/{experiment}", {"visibility": "private"})
    assert stranger.get(f"experiments/{experiment}/model_def", check=403)
    assert "private, project, cluster" in web.ask("PATCH", f"/api/v1/experiments/{experiment}", {"visibility": "all"}, check=400)["error"]["error"]
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


def test_a_name_that_is_not_ours_is_refused(cluster, web):
    """A page under a name that its owner points at this machine is this controller's own to a browser."""
    port = web.address.split(":")[1]
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example"):
        for path in ("/info", "/livez", "/api/v1/me", "/proxy/x/"):
            assert "MusterHttpHosts" in web.ask("GET", path, check=421, headers={"Host": host})["error"]["error"]
        assert web.post("auth/login", {"username": "determined", "password": ""}, check=421, headers={"Host": host})
    for host in (f"localhost:{port}", "localhost", f"127.0.0.1:{int(port) - 1}", f"[::1]:{port}", os.uname().nodename):
        assert web.ask("GET", "/api/v1/me", headers={"Host": host})["user"]["admin"] is True, "a tunnel has another port"


def test_a_listed_name_is_ours(own_cluster):
    web = Web(own_cluster(nodes=1, conf={"MusterHttpHosts": "gpu.example.org,*.muster.example"}))
    for host, status in (("gpu.example.org", 200), ("a.muster.example:443", 200), ("muster.example", 421)):
        web.ask("GET", "/api/v1/me", headers={"Host": host}, check=status)


def test_no_other_origins_page_changes_anything(web):
    own = f"http://{web.address}"
    change = lambda check, **headers: web.post("models", {"name": f"by-page-{time.monotonic_ns()}"}, check=check, headers={
        name.replace("_", "-"): value for name, value in headers.items()})
    port = int(web.address.split(":")[1])
    for headers in ({"Origin": "http://evil.example"}, {"Origin": f"http://127.0.0.1:{port + 1}"}, {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"},
                    {"Origin": own, "Sec_Fetch_Site": "same-site"}):
        assert "another origin" in change(403, **headers)["error"]["error"]
    for headers in ({}, {"Origin": own}, {"Origin": own, "Sec_Fetch_Site": "same-origin"}, {"Sec_Fetch_Site": "none"}):
        change(200, **headers)
    assert web.get("me", headers={"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"})["user"], "reading is for the browser to refuse"


def test_a_cookie_alone_changes_nothing(web):
    browser = Web(web.cluster, "")
    cookie = {"Cookie": f"auth={web.token}"}
    assert browser.get("me", headers=cookie)["user"]["admin"] is True
    for more in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"}):
        error = browser.post("models", json.dumps({"name": "by-cookie"}), check=403, headers={**cookie, **more})
        assert "X-Muster-Request" in error["error"]["error"]
    assert web.get("models/by-cookie", check=404)
    browser.post("models", {"name": "by-cookie"}, headers={**cookie, "Content-Type": "application/json"})
    browser.post("models/by-cookie/archive", headers={**cookie, "X-Muster-Request": "1"})


def test_an_experiment_is_made_from_files_and_its_code_comes_back(web):
    experiment = create(web, "sh run.sh", {"run.sh": "echo hello from the code; cat lib/x.txt", "lib/x.txt": "deep\n"})
    assert web.wait_state(experiment, "STATE_COMPLETED", "STATE_ERROR") == "STATE_COMPLETED"
    trial = web.get(f"experiments/{experiment}/trials")["trials"][0]
    assert trial["state"] == "STATE_COMPLETED" and trial["hparams"] == {"lr": 0.1}
    output = (experiment_folder(web.cluster.base / "storage", experiment) / f"trial-{trial['id']}" / "output.log").read_text()
    assert output == "hello from the code\ndeep\n"
    archive = tarfile.open(fileobj=io.BytesIO(base64.b64decode(web.get(f"experiments/{experiment}/model_def")["b64Tgz"])))
    assert sorted(archive.getnames()) == ["lib/x.txt", "run.sh"]
    listed = web.get("experiments?limit=1&orderBy=ORDER_BY_DESC")
    assert listed["experiments"][0]["id"] == experiment and listed["pagination"]["endIndex"] == 1


@pytest.mark.long
def test_code_that_is_too_large_is_refused_by_name_and_holds_nobody_up(own_cluster):
    """As `det` sends it: each file of the folder as a text in one body."""
    cluster = own_cluster(nodes=1)
    web = Web(cluster)
    blocks = [base64.b64encode(os.urandom(24 << 20)).decode() for _ in range(4)]
    files = [{"path": f"data{i}.bin", "type": 48, "mode": 0o100644, "mtime": "0", "content": block}
             for i, block in enumerate(blocks)]
    config = CONFIG.format(entrypoint='"true"', storage=cluster.base / "storage")
    body = json.dumps({"config": config, "modelDefinition": files, "activate": True})
    refused = []
    sender = threading.Thread(target=lambda: refused.append((web.post("experiments", body, check=None, timeout=300), web.status)))
    sender.start()
    other = Web(cluster)
    while sender.is_alive():
        assert cluster.run("squeue", "-h", timeout=30).out == ""
        assert other.get("experiments", timeout=30)["experiments"] == []
    ((answer, status),) = refused
    assert status in (400, 413) and "the code comes to more than 56 MiB" in answer["error"]["error"], (status, answer)
    assert other.get("experiments")["experiments"] == [] and cluster.run("sacct", "-X", "-n", "-o", "JobID").out == ""
    assert web.wait_state(create(web, "true"), "STATE_COMPLETED", "STATE_ERROR") == "STATE_COMPLETED"


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
    alert = {"data": {"title": "t", "description": "d", "level": "info"}, "experimentId": experiment, "trialId": trial}
    assert "core_context.alert" in task.post("webhooks/custom", alert, check=501)["error"]["error"]
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
    web.ask("PATCH", f"/api/v1/experiments/{experiment}", {"labels": [1]}, check=400)


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
    (experiment_folder(web.cluster.base / "storage", experiment) / f"trial-{trial}" / "stop").write_text("")
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
    (experiment_folder(web.cluster.base / "storage", experiment) / f"trial-{trial}" / "stop").write_text("")
    assert web.wait_state(experiment, "STATE_COMPLETED", "STATE_ERROR") == "STATE_COMPLETED"
    output = (experiment_folder(web.cluster.base / "storage", experiment) / f"trial-{trial}" / "output.log").read_text()
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


def test_agents_show_each_device_with_the_job_that_has_it(own_cluster):
    web = Web(own_cluster(nodes=1, gpus=3, cpus=4))
    experiments = [create(web, "sleep 300") for _ in range(3)]
    for experiment in experiments:
        web.wait_state(experiment, "STATE_RUNNING")

    def holders():
        (agent,) = web.get("agents")["agents"]
        return [(slot["container"] or {}).get("id") for _, slot in sorted(agent["slots"].items())]

    before = until(lambda: None not in holders() and holders(), "all slots are taken")
    assert len(set(before)) == 3
    named = {task["resources"][0]["container_id"]: task["name"] for task in web.ask("GET", "/tasks").values()}
    assert set(named) == set(before)
    assert {task["name"] for task in web.get("tasks")["allocationIdToSummary"].values()} == set(named.values())
    first = int(re.search(r"Experiment (\d+)", named[before[0]]).group(1))
    web.post(f"experiments/{first}/kill")
    web.wait_state(first, "STATE_CANCELED")
    until(lambda: holders() == [None, before[1], before[2]], holders)
    (pool,) = web.get("resource-pools")["resourcePools"]
    assert (pool["slotsAvailable"], pool["slotsUsed"]) == (3, 2)


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


def test_a_nul_in_a_variables_name_is_refused_at_every_door(web):
    experiment = create(web, "true")
    told = web.post("tensorboards", {"experimentIds": [experiment], "config": {"environment": {"environment_variables": ["A\x00B=1"]}}}, check=400)
    assert "NUL" in json.dumps(told), told
    config = CONFIG.format(entrypoint='"true"', storage=web.cluster.base / "storage") + 'environment: {environment_variables: ["A\\0B=1"]}\n'
    told = web.post("experiments", {"config": config, "activate": True}, check=400)
    assert "there is a NUL" in json.dumps(told), told
    assert web.get("experiments")["pagination"]["total"] >= 1


def test_names_that_are_no_utf8_are_refused_and_what_comes_back_is_json(web):
    experiment = create(web, "true")
    web.ask("PATCH", f"/api/v1/experiments/{experiment}", b'{"name": "bad\xff"}', check=400)
    web.get("models/%ff", check=404)
