"""What jobs serve, reached through the controller: who gets through, what goes on of a request, TensorBoard, files of checkpoints."""
import http.client
import io
import json
import os
import select
import signal
import socket
import tarfile
import time
import zipfile

import pytest

from conftest import experiment_folder, until
from test_http import Web, create, running_trial

# Serves on a port of its own and says so; shows each request as it came. What it is sent after "/echo" comes back.
SERVICE = r'''
import http.server, json, os, threading, time, urllib.request

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *words): pass
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding"):
            body = b""
            while True:
                size = int(self.rfile.readline(), 16)
                body += self.rfile.read(size)
                self.rfile.readline()
                if not size: break
        if self.headers.get("Muster-Service-Secret") != "open-sesame":
            return self.reply(403, b"who are you?")
        if self.path.startswith("/echo"):
            return self.reply(200, body)
        if self.path == "/slow":  # longer than any test waits: a machine under load must not see it answer first
            time.sleep(300)
        if self.path == "/away":
            return self.reply(302, b"", [("Location", "/elsewhere"), ("Set-Cookie", "theirs=1")])
        if self.path == "/powers":
            return self.reply(200, b"", [("Service-Worker-Allowed", "/"), ("Clear-Site-Data", '"*"'), ("Strict-Transport-Security", "max-age=99"),
                                         ("Set-Cookie", "auth=theirs; Path=/"), ("X-Theirs", "yes")])
        if self.path == "/endless":
            self.send_response(200); self.send_header("Transfer-Encoding", "chunked"); self.end_headers()
            self.wfile.write(b"5\r\nbegin\r\n"); self.wfile.flush(); time.sleep(1); os._exit(7)
        seen = {"method": self.command, "path": self.path, "headers": dict(self.headers), "size": len(body)}
        self.reply(201, json.dumps(seen).encode(), [("X-Theirs", "yes"), ("Content-Type", "application/json")])
    def reply(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers: self.send_header(name, value)
        self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    do_GET = do_POST = do_PUT = do_DELETE = answer

class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128  # of five, most connections made at once wait for the kernel's second try

server = Server(("0.0.0.0", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
while True:
    said = json.dumps({"port": server.server_address[1], "secret": "open-sesame", "proxyAddress": "192.0.2.1"}).encode()
    request = urllib.request.Request(os.environ["DET_MASTER"] + "/api/v1/allocations/" + os.environ["DET_ALLOCATION_ID"] + "/proxy_address",
                                     said, {"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]})
    try:
        urllib.request.urlopen(request, timeout=10).read()
    except OSError as error:
        print(error, flush=True)
    with open(os.environ["MUSTER_RUN_DIR"] + "/port", "w") as file: file.write(str(server.server_address[1]))
    time.sleep(0.5)
'''


class Reply:
    def __init__(self, reply):
        self.status = reply.status
        self.headers = reply.headers
        self.body = reply.read()

    def json(self):
        return json.loads(self.body)

    def error(self):
        return self.json()["error"]["error"]

    def __repr__(self):
        return f"{self.status} {self.headers.items()} {self.body[:2000]!r}"


def fetch(web, path, method="GET", body=None, headers=None, token=True, chunked=False, at=None):
    connection = http.client.HTTPConnection(at or web.address, timeout=60)
    own = {"Authorization": f"Bearer {web.token}"} if token else {}
    connection.request(method, path, body, {**own, **(headers or {})}, encode_chunked=chunked)
    try:
        return Reply(connection.getresponse())
    finally:
        connection.close()


def services_address(cluster):
    """Where browsers see services: an origin of its own."""
    return (cluster.dir / "state/http-services.address").read_text().strip()


def as_nobody(cluster):
    words = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    return Web(cluster, cluster.run(*words, "muster", "token").out.strip())


@pytest.fixture(scope="module")
def web(cluster):
    return Web(cluster)


@pytest.fixture(scope="module")
def served(cluster, web):
    """A trial that serves: its experiment, and the path of its service."""
    script = cluster.base / "service.py"
    script.write_text(SERVICE)
    experiment, trial, task, variables = running_trial(web, f"exec python3 {script}")
    path = f"/proxy/{variables['DET_TASK_ID']}"
    until(lambda: fetch(web, f"{path}/").status != 502, "its first announcement")
    yield {"experiment": experiment, "trial": trial, "task": task, "variables": variables, "path": path}
    web.post(f"experiments/{experiment}/kill")
    web.wait_state(experiment, "STATE_CANCELED")


def test_a_request_goes_on_and_comes_back(web, served):
    reply = fetch(web, f"{served['path']}/a/b%20c?x=1&y=%2F", headers={"X-Mine": "1", "Cookie": "auth=x; other=y", "Connection": "keep-alive, X-Mine"})
    assert reply.status == 201 and reply.headers["X-Theirs"] == "yes", reply
    seen = reply.json()
    assert (seen["method"], seen["path"]) == ("GET", "/a/b%20c?x=1&y=%2F")
    headers = {name.lower(): value for name, value in seen["headers"].items()}
    assert headers["x-mine"] == "1" and headers["x-forwarded-prefix"] == served["path"] and headers["host"] == web.address
    assert not {"authorization", "cookie"} & set(headers), "what opens our own doors stays here"
    assert web.token not in reply.body.decode()


@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_are_streamed_both_ways(web, served, chunked):
    body = os.urandom(1 << 20) * 20  # more than the API takes
    sent = iter([body[at:at + 100_000] for at in range(0, len(body), 100_000)]) if chunked else body
    reply = fetch(web, f"{served['path']}/echo", "POST", sent, {"Transfer-Encoding": "chunked"} if chunked else {}, chunked=chunked)
    assert reply.status == 200 and reply.body == body


def test_redirections_stay_below_its_path_and_its_cookies_away(web, served):
    reply = fetch(web, f"{served['path']}/away")
    assert (reply.status, reply.headers["Location"]) == (302, f"{served['path']}/elsewhere")
    assert "Set-Cookie" not in reply.headers
    reply = fetch(web, served["path"])
    assert (reply.status, reply.headers["Location"]) == (302, served["path"] + "/")


@pytest.mark.root_only
def test_only_its_owner_and_operators_get_through(cluster, web, served):
    stranger = as_nobody(cluster)
    assert fetch(stranger, f"{served['path']}/").status == 403
    assert "is " in fetch(stranger, f"{served['path']}/").error()
    assert stranger.post(f"services/{served['variables']['DET_TASK_ID']}/ticket", check=403)
    assert fetch(web, f"{served['path']}/", token=False).status == 401
    task = {"Authorization": f"Bearer {served['variables']['DET_SESSION_TOKEN']}"}
    assert fetch(web, f"{served['path']}/", headers=task, token=False).status == 403, "a run speaks for its trial, not as its owner"
    owner = {"Authorization": f"Bearer {served['variables']['DET_USER_TOKEN']}"}
    assert fetch(web, f"{served['path']}/", headers=owner, token=False).status == 201


def test_a_browser_gets_in_by_a_ticket_that_opens_nothing_else(web, served):
    given = web.post(f"services/{served['variables']['DET_TASK_ID']}/ticket")
    assert given["path"].startswith(served["path"] + "/?muster_ticket=")
    there = services_address(web.cluster)
    assert given["url"] == f"http://{there}{given['path']}" and there != web.address
    browse = lambda path, **more: fetch(web, path, token=False, at=there, **more)
    sent_on = fetch(web, given["path"] + "&x=1", token=False, headers={"Host": f"localhost:{web.address.split(':')[1]}"})
    assert sent_on.status == 307 and sent_on.headers["Referrer-Policy"] == "no-referrer"
    assert sent_on.headers["Location"] == f"http://localhost:{there.split(':')[1]}{served['path']}/?x=1&muster_ticket={given['ticket']}"
    reply = browse(given["path"] + "&x=1")
    assert reply.status == 302 and reply.headers["Location"] == served["path"] + "/?x=1"
    cookie = reply.headers["Set-Cookie"]
    assert f"Path={served['path']}/;" in cookie and "HttpOnly" in cookie
    cookie = {"Cookie": cookie.split(";")[0]}
    page = browse(f"{served['path']}/page", headers=cookie)
    assert page.json()["path"] == "/page" and "Content-Security-Policy" not in page.headers
    for headers in ({"Origin": web.address}, {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}):
        assert browse(f"{served['path']}/echo", method="POST", body=b"x", headers={**cookie, **headers}).status == 403
    assert browse(f"{served['path']}/echo", method="POST", body=b"x", headers={**cookie, "Origin": f"http://{there}"}).body == b"x"
    assert browse(f"{served['path']}/", headers={**cookie, "Host": "evil.example"}).status == 421
    assert fetch(web, "/api/v1/me", headers=cookie, token=False).status == 401
    assert fetch(web, "/api/v1/me", headers={"Authorization": f"Bearer {given['ticket']}"}, token=False).status == 401
    second = create(web, "sleep 300")
    web.wait_state(second, "STATE_RUNNING")
    other = f"/proxy/{web.get(f'experiments/{second}/trials')['trials'][0]['taskId']}/"
    for reply in (browse(f"{other}?muster_ticket={given['ticket']}"), browse(other, headers=cookie),
                  fetch(web, f"{other}?muster_ticket={given['ticket']}", token=False)):
        assert reply.status == 403 and "another service's" in reply.error()
    web.post(f"experiments/{second}/kill")
    assert fetch(web, f"{served['path']}/?muster_ticket=x.y.z", token=False).status == 403
    login = {"Cookie": f"auth={web.token}"}
    assert browse(f"{served['path']}/", headers=login).status == 401, "a login does not go along to users' pages"
    sent_on = fetch(web, f"{served['path']}/a?b=c", headers=login, token=False)
    assert sent_on.status == 307 and sent_on.headers["Location"].startswith(f"http://{there}{served['path']}/a?b=c&muster_ticket=")
    assert browse(sent_on.headers["Location"].removeprefix(f"http://{there}")).status == 302, "it brings a ticket instead"
    for path in ("/", "/info", "/api/v1/me", "/api/v1/auth/login"):
        assert browse(path, headers={"Authorization": f"Bearer {web.token}"}).status == 404, "the API is elsewhere"


def test_a_service_has_no_power_over_the_origin(web, served):
    reply = fetch(web, f"{served['path']}/powers")
    assert reply.status == 200 and reply.headers["X-Theirs"] == "yes"
    for name in ("Service-Worker-Allowed", "Clear-Site-Data", "Strict-Transport-Security", "Set-Cookie"):
        assert name not in reply.headers
    policy = reply.headers["Content-Security-Policy"]
    assert "sandbox" in policy and "allow-same-origin" not in policy, "beside the API a page has no origin"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"


def test_who_comes_past_the_controller_is_refused_by_the_secret(cluster, web, served):
    port = int((experiment_folder(cluster.base / "storage", served["experiment"]) / f"trial-{served['trial']}" / "port").read_text())
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/", headers={"Muster-Service-Secret": "guess"})
    assert connection.getresponse().status == 403
    connection.close()
    assert fetch(web, f"{served['path']}/", headers={"Muster-Service-Secret": "x"}).status == 403, "nor does a client bring one"


def test_the_controller_is_no_service(web, served):
    """Speaking to itself it would be taken for its operator."""
    task, name = served["task"], served["variables"]["DET_ALLOCATION_ID"]
    own = int(web.address.rsplit(":", 1)[1])
    assert "own" in task.post(f"allocations/{name}/proxy_address", {"port": own}, check=400)["error"]["error"]
    for body in ({"port": 80}, {"port": 70000}, {"port": 5000, "secret": "a b"}, {"port": 5000, "secret": "x" * 300}):
        assert task.post(f"allocations/{name}/proxy_address", body, check=400)
    assert web.post(f"allocations/{name}/proxy_address", {"port": 5000}, check=403), "not even its owner speaks for it"


def test_what_is_not_served_says_why(cluster, web, served):
    nothing = create(web, "sleep 300")
    web.wait_state(nothing, "STATE_RUNNING")
    trial = web.get(f"experiments/{nothing}/trials")["trials"][0]
    reply = fetch(web, f"/proxy/{trial['taskId']}/")
    assert reply.status == 502 and "does not serve yet: it is RUNNING" in reply.error()
    web.post(f"experiments/{nothing}/kill")
    web.wait_state(nothing, "STATE_CANCELED")
    reply = fetch(web, f"/proxy/{trial['taskId']}/")
    assert reply.status == 404 and "has ended: CANCELLED" in reply.error(), reply
    for name in ("x", "00000000-0000-4000-8000-000000000001", "1.00000000-0000-4000-8000-0000ffffffff"):
        assert fetch(web, f"/proxy/{name}/").status == 404
    assert fetch(web, f"{served['path']}/", headers={"Upgrade": "websocket", "Connection": "Upgrade"}).status == 501
    assert fetch(web, f"{served['path']}/").status == 201


def test_idle_connections_to_services_are_not_kept(cluster, web, served):
    """Each request has its own, which ends with it."""
    before = len(os.listdir(f"/proc/{cluster.pid('controller')}/fd"))
    for _ in range(50):
        assert fetch(web, f"{served['path']}/").status == 201
    until(lambda: len(os.listdir(f"/proc/{cluster.pid('controller')}/fd")) <= before + 5, "their descriptors are closed", 10)


def test_clients_that_leave_in_the_middle_hurt_nobody(cluster, web, served):
    host, port = web.address.split(":")
    head = f"Host: localhost\r\nAuthorization: Bearer {web.token}\r\n"
    requests = [f"GET {served['path']}/ HTTP/1.1\r\n{head}\r\n", f"POST {served['path']}/echo HTTP/1.1\r\n{head}Content-Length: 1000000\r\n\r\n" + "x" * 5000,
                f"POST {served['path']}/echo HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", f"GET {served['path']}/slow HTTP/1.1\r\n{head}\r\n"]
    for round_ in range(60):
        connection = socket.create_connection((host, int(port)), timeout=20)
        connection.sendall(requests[round_ % 4].encode())
        time.sleep(0.003 * (round_ % 7))
        connection.close()
    pid = cluster.pid("controller")
    reply = fetch(web, f"{served['path']}/")
    assert reply.status == 201 and cluster.pid("controller") == pid
    waiting = []
    seen = []

    def ask_slowly():
        waiting.append(socket.create_connection((host, int(port)), timeout=20))
        waiting[-1].sendall(f"GET {served['path']}/slow HTTP/1.1\r\n{head}\r\n".encode())

    def is_one_too_many():
        seen.append(fetch(web, f"{served['path']}/").status)
        if seen[-1] != 429:
            ask_slowly()  # one of the others has been answered after all, or is not there yet
        return seen[-1] == 429

    def what_was_answered():
        answered = [connection.recv(300) for connection in waiting if select.select([connection], [], [], 0)[0]]
        return f"one too many: {len(waiting)} were asked, {len(answered)} answered, such as {answered[:3]}; meanwhile {seen[-5:]}"

    for _ in range(70):
        ask_slowly()
    until(is_one_too_many, what_was_answered)
    for connection in waiting:
        connection.close()
    until(lambda: fetch(web, f"{served['path']}/").status == 201, "their places are given back")


def test_a_service_that_dies_is_told_and_the_controller_learns_anew(own_cluster):
    cluster = own_cluster(nodes=1, cpus=4)
    web = Web(cluster)
    script = cluster.base / "service.py"
    script.write_text(SERVICE)
    experiment, _, _, variables = running_trial(web, f"python3 {script}; sleep 300")
    path = f"/proxy/{variables['DET_TASK_ID']}"
    until(lambda: fetch(web, f"{path}/").status == 201, "its first announcement")
    os.kill(cluster.pid("controller"), signal.SIGKILL)
    cluster.up()
    until(lambda: fetch(web, f"{path}/").status == 201, "it announces itself to the next controller", 30)
    connection = http.client.HTTPConnection(web.address, timeout=30)
    connection.request("GET", f"{path}/endless", headers={"Authorization": f"Bearer {web.token}"})
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        connection.getresponse().read()
    reply = fetch(web, f"{path}/")
    assert reply.status == 502 and "does not answer" in reply.error() and "job " in reply.error(), reply
    web.post(f"experiments/{experiment}/kill")


# ---- TensorBoard ----

# Stands in for the program where it is not installed: lists the runs that it is given.
STAND_IN = '''
import os, threading, wsgiref.simple_server

class WerkzeugServer:
    def __init__(self, application, flags):
        self.server = wsgiref.simple_server.make_server(flags.host, 0, application)
    def serve_forever(self):
        self.server.serve_forever()
    def get_url(self):
        return f"http://node:{self.server.server_port}/"

class TensorBoard:
    def __init__(self, plugins, server_class):
        self.server_class = server_class
    def configure(self, argv):
        self.flags = dict(word[2:].split("=", 1) for word in argv[1:])
    def launch(self):
        flags = type("Flags", (), self.flags)
        def application(environ, start_response):
            start_response("200 OK", [("Content-Type", "text/plain")])
            found = [os.path.relpath(os.path.join(parent, name), flags.logdir)
                     for parent, _, names in os.walk(flags.logdir, followlinks=True) for name in names]
            return ["\\n".join([environ["PATH_INFO"], *sorted(found)]).encode()]
        server = self.server_class(application, flags)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server.get_url()
'''


@pytest.fixture(scope="module")
def stand_in(cluster):
    """Variables under which python3 has a TensorBoard."""
    package = cluster.base / "packages" / "tensorboard"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "default.py").write_text("def get_plugins():\n    return []\n")
    (package / "program.py").write_text(STAND_IN)
    return {"PYTHONPATH": str(package.parent)}


@pytest.fixture(scope="module")
def written(cluster, web):
    """An experiment that has written event files, and its trial."""
    experiment = create(web, "mkdir -p $MUSTER_RUN_DIR/tensorboard/metrics && echo x > $MUSTER_RUN_DIR/tensorboard/metrics/events.out.1")
    assert web.wait_state(experiment, "STATE_COMPLETED", "STATE_ERROR") == "STATE_COMPLETED"
    return experiment, web.get(f"experiments/{experiment}/trials")["trials"][0]["id"]


def page(web, address):
    """What a browser sees that follows the address."""
    there = services_address(web.cluster)
    prefix = f"http://{there}"
    assert address.startswith(prefix), address
    reply = fetch(web, address[len(prefix):], token=False, at=there)
    assert reply.status == 302, reply
    return fetch(web, reply.headers["Location"], headers={"Cookie": reply.headers["Set-Cookie"].split(";")[0]}, token=False, at=there)


def test_a_tensorboard_shows_experiments_and_trials_by_name(cluster, web, stand_in, written):
    experiment, trial = written
    ran = cluster.run("muster", "tensorboard", experiment, "--idle", "90s", "--description", "of mine", env=stand_in)
    assert "is job" in ran.err and "does not serve yet" in ran.err
    shown = page(web, ran.out.strip())
    assert shown.status == 200 and shown.body.decode() == f"/\nweb-{experiment}/trial-{trial}/metrics/events.out.1", shown
    (board,) = [one for one in web.get("tensorboards")["tensorboards"] if one["state"] == "STATE_RUNNING"]
    assert (board["description"], board["experimentIds"], board["trialIds"]) == ("of mine", [experiment], [])
    assert web.get(f"tensorboards/{board['id']}")["config"]["idle_timeout"] == "90s"
    reply = fetch(web, f"/det/interactive/{board['id']}/tensorboard/of%20mine/normal/%2Fdet%2Fwait?x=1", token=False)
    assert (reply.status, reply.headers["Location"]) == (302, board["serviceAddress"]), "where Determined's client leads a browser"
    listed = cluster.run("muster", "tensorboard", "list").out
    assert board["id"] in listed and "RUNNING" in listed and "of mine" in listed
    assert page(web, cluster.run("muster", "tensorboard", "open", board["jobId"]).out.strip()).status == 200
    row = cluster.run("squeue", "-h", "-j", board["jobId"], "-o", "%j %u %C").out.split()
    assert row[0] == "tensorboard" and row[2] == "1"
    cluster.run("muster", "tensorboard", "kill", board["id"][:20])
    until(lambda: web.get(f"tensorboards/{board['id']}")["tensorboard"]["state"] == "STATE_TERMINATED", "its end")
    assert board["id"] not in cluster.run("muster", "tensorboard", "list").out
    assert board["id"] in cluster.run("muster", "tensorboard", "list", "--all").out
    assert fetch(web, f"/proxy/{board['id']}/").status == 404


def test_a_tensorboard_ends_when_nobody_looks(cluster, web, stand_in, written):
    _, trial = written
    name = cluster.run("muster", "tensorboard", "--trial", trial, "--idle", "2s", "--no-wait", env=stand_in).out.strip()
    board = web.get(f"tensorboards/{name}")["tensorboard"]
    assert board["trialIds"] == [trial]
    assert cluster.wait_ended(int(board["jobId"]))["State"] == "COMPLETED"


def test_without_tensorboard_the_way_out_is_named(cluster, web, written):
    if os.path.exists("/usr/lib/python3/dist-packages/tensorboard"):
        pytest.skip("this machine's python3 has one")
    ran = cluster.run("muster", "tensorboard", written[0], check=False, env={"PYTHONPATH": ""})
    assert ran.code == 1 and "pip install tensorboard" in ran.err, ran


def test_what_a_tensorboard_cannot_do_is_refused_by_name(cluster, web, written):
    experiment = written[0]
    for more, text in (({"config": {"entrypoint": "x"}}, "config.entrypoint"), ({"config": {"resources": {"slots": 2}}}, "config.resources.slots"),
                       ({"config": {"idle_timeout": "soon"}}, "idle_timeout"), ({"config": {"environment": {"image": "x"}}}, "environment.image")):
        assert text in web.post("tensorboards", {"experimentIds": [experiment], **more}, check=400)["error"]["error"]
    for more in ({"files": [{"path": "x"}]}, {"filters": {"name": "x"}}, {"templateName": "t"}, {"workspaceId": 3}):
        assert web.post("tensorboards", {"experimentIds": [experiment], **more}, check=501)
    assert "which" in web.post("tensorboards", {}, check=400)["error"]["error"]
    assert web.post("tensorboards", {"experimentIds": [999999]}, check=404) and web.post("tensorboards", {"trialIds": [999999]}, check=404)
    for name in ("x", web.get(f"trials/{written[1]}")["trial"]["taskId"]):
        assert web.get(f"tensorboards/{name}", check=404) and web.post(f"tensorboards/{name}/kill", check=404)
    for words in (("999999",), ("--trial", "999999"), ("kill", "nonsense"), ()):
        assert cluster.run("muster", "tensorboard", *words, check=False).code == 1


@pytest.mark.root_only
def test_a_tensorboard_is_its_users_alone(cluster, web, stand_in, written):
    stranger = as_nobody(cluster)
    made = stranger.post("tensorboards", {"experimentIds": [written[0]], "environment": [f"PATH={os.environ['PATH']}", f"PYTHONPATH={stand_in['PYTHONPATH']}"]})
    board = made["tensorboard"]
    assert board["username"] == "nobody" and made["warnings"] == []
    assert cluster.run("squeue", "-h", "-j", board["jobId"], "-o", "%u").out.strip() == "nobody"
    own = cluster.run("muster", "tensorboard", written[0], "--no-wait", env=stand_in).out.strip()
    assert stranger.post(f"tensorboards/{own}/kill", check=403) and stranger.post(f"services/{own}/ticket", check=403)
    assert fetch(stranger, f"/proxy/{own}/").status == 403
    web.post(f"tensorboards/{own}/kill")
    web.post(f"tensorboards/{board['id']}/kill")


# ---- files of checkpoints ----

FILES = {"weights": os.urandom(3_000_000), "code/train.py": b"print(1)\n", "metadata.json": b"{}"}


def checkpointed(web, uuid):
    """A checkpoint that a trial has written and reported; its experiment, and the folder of its files."""
    experiment, trial, task, variables = running_trial(web)
    folder = web.cluster.base / "storage" / uuid
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    resources = {**{name: str(len(content)) for name, content in FILES.items()}, "code/": "0"}
    task.post("checkpoints", {"uuid": uuid, "taskId": variables["DET_TASK_ID"], "allocationId": variables["DET_ALLOCATION_ID"],
                              "metadata": {"steps_completed": 1}, "resources": resources, "state": "STATE_COMPLETED"})
    return experiment, folder


@pytest.fixture(scope="module")
def checkpoint(cluster, web):
    uuid = "22222222-2222-4333-8444-555555555555"
    experiment, folder = checkpointed(web, uuid)
    web.post(f"experiments/{experiment}/kill")
    web.wait_state(experiment, "STATE_CANCELED")
    return uuid, folder


def files_in(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_files_of_a_checkpoint_come_through_the_controller(cluster, web, checkpoint):
    uuid, _ = checkpoint
    target = cluster.base / "got" / "it"
    assert cluster.run("muster", "checkpoint", "download", uuid, "--output", target).out == f"{target}\n"
    assert files_in(target) == FILES
    again = cluster.run("muster", "checkpoint", "download", uuid, "-o", target, check=False)
    assert again.code == 1 and "is not empty" in again.err
    job = cluster.run("squeue", "-h", "-t", "all", "-n", "checkpoint.download", "-o", "%i %T").out.split()
    cluster.wait_state(int(job[0]), "COMPLETED")


@pytest.mark.parametrize("accept, kind", [("application/gzip", "tgz"), ("", "tgz"), ("application/x-tar", "tar"), ("application/zip", "zip")])
def test_an_archive_is_what_the_client_takes(web, checkpoint, accept, kind):
    uuid, _ = checkpoint
    reply = fetch(web, f"/checkpoints/{uuid}", headers={"Accept": accept} if accept else {})
    assert reply.status == 200 and reply.headers["Content-Disposition"] == f'attachment; filename="{uuid}.{kind}"'
    if kind == "zip":
        with zipfile.ZipFile(io.BytesIO(reply.body)) as archive:
            assert archive.read("weights") == FILES["weights"]
    else:
        with tarfile.open(fileobj=io.BytesIO(reply.body), mode="r:gz" if kind == "tgz" else "r:") as archive:
            assert archive.extractfile("weights").read() == FILES["weights"]


def test_a_download_that_cannot_be_says_why(cluster, web, checkpoint):
    uuid, folder = checkpoint
    assert fetch(web, "/checkpoints/33333333-2222-4333-8444-555555555555").status == 404
    assert fetch(web, f"/checkpoints/{uuid}", token=False).status == 401
    assert fetch(web, f"/checkpoints/{uuid}", headers={"Accept": "text/html"}).status == 400
    folder.rename(folder.with_name("away"))
    try:
        ran = cluster.run("muster", "checkpoint", "download", uuid, check=False)
        assert ran.code == 1 and str(folder) in ran.err and not (cluster.work / "checkpoints" / uuid).exists(), ran
    finally:
        folder.with_name("away").rename(folder)


@pytest.mark.root_only
def test_only_its_owner_and_operators_download_it(cluster, web, checkpoint):
    stranger = as_nobody(cluster)
    assert fetch(stranger, f"/checkpoints/{checkpoint[0]}").status == 403
    assert stranger.post("checkpoints/rm", {"checkpointUuids": [checkpoint[0]], "checkpointGlobs": ["*"]}, check=403)


@pytest.mark.root_only
def test_a_download_runs_as_its_owner_whoever_asks(cluster, web):
    stranger = as_nobody(cluster)
    os.chmod(cluster.base / "storage", 0o777)
    uuid = "66666666-2222-4333-8444-555555555555"
    experiment, _ = checkpointed(stranger, uuid)
    assert fetch(web, f"/checkpoints/{uuid}").status == 200
    assert cluster.run("squeue", "-h", "-t", "all", "-n", "checkpoint.download", "-u", "nobody", "-o", "%u").out.split() == ["nobody"]
    stranger.post(f"experiments/{experiment}/kill")


def test_who_leaves_is_waited_for_no_longer(own_cluster):
    cluster = own_cluster(nodes=1, cpus=1)
    web = Web(cluster)
    uuid = "44444444-2222-4333-8444-555555555555"
    checkpointed(web, uuid)  # its trial has the only CPU
    connection = socket.create_connection(web.address.split(":"), timeout=20)
    connection.sendall(f"GET /checkpoints/{uuid} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {web.token}\r\n\r\n".encode())
    jobs = lambda state: cluster.run("squeue", "-h", "-t", state, "-n", "checkpoint.download", "-o", "%i").out.split()
    until(lambda: jobs("PENDING"), "the job that is to send it")
    connection.close()
    until(lambda: jobs("CANCELLED"), "its end, for nobody wants it")


def test_files_of_checkpoints_are_removed_by_pattern(cluster, web):
    uuid = "55555555-2222-4333-8444-555555555555"
    experiment, folder = checkpointed(web, uuid)
    known = lambda: web.get(f"checkpoints/{uuid}")["checkpoint"]
    refused = cluster.run("muster", "checkpoint", "rm", uuid, "--glob", "*", check=False)
    assert refused.code == 1 and "goes on from" in refused.err
    web.post(f"experiments/{experiment}/kill")
    web.wait_state(experiment, "STATE_CANCELED")
    for glob in ("../*", "/etc/*", ""):
        assert "leads out" in web.post("checkpoints/rm", {"checkpointUuids": [uuid], "checkpointGlobs": [glob]}, check=400)["error"]["error"]
    cluster.run("muster", "checkpoint", "rm", uuid, "--glob", "wei*")
    until(lambda: known()["state"] == "STATE_PARTIALLY_DELETED", "what is left is known")
    assert set(known()["resources"]) == {"code/", "code/train.py", "metadata.json"} and "weights" not in files_in(folder)
    (folder / "resources.json").unlink()
    (folder / "code" / "train.py").unlink()
    cluster.run("muster", "checkpoint", "rm", uuid)
    until(lambda: "code/train.py" not in known()["resources"], "it is looked at again")
    cluster.run("muster", "checkpoint", "rm", uuid, "--glob", "**/*")
    until(lambda: known()["state"] == "STATE_DELETED", "nothing is left")
    assert not folder.exists()
    assert web.post("checkpoints/rm", {"checkpointUuids": [uuid], "checkpointGlobs": []}, check=400)
    assert web.post("checkpoints/rm", {"checkpointUuids": ["x"], "checkpointGlobs": []}, check=404)
