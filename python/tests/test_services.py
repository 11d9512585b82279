"""What service jobs run: how they say where they are, who gets in, archives of checkpoints, links to event files."""
import http.client
import io
import json
import signal
import tarfile
import threading
import zipfile
from pathlib import Path

import pytest

from local_http import LocalServer, QuietHandler
from muster.core.session import Session
from muster.core.storage import FolderStorage
from muster.services import checkpoint, checkpoint_files, tensorboard
from muster.services.announcer import Announcer, ServiceError


class Controller:
    """Answers every announcement with `status` and keeps what was said."""

    def __init__(self):
        self.said = []
        self.status = 200
        controller = self

        class Handler(QuietHandler):
            def do_POST(self):  # and PATCH
                controller.said.append((self.path, self.headers["Grpc-Metadata-x-allocation-token"], json.loads(self.body())))
                self.answer(controller.status, b"{}")

            do_PATCH = do_POST

        self.server = LocalServer(Handler)
        self.url = self.server.url


@pytest.fixture
def controller():
    made = Controller()
    yield made
    made.server.stop()


@pytest.fixture
def announcer(controller):
    made = Announcer(Session(controller.url, "token", 5), "a.1")
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "checkpoint"
    (made / "code" / "deep").mkdir(parents=True)
    (made / "empty").mkdir()
    (made / "weights").write_bytes(bytes(range(256)) * 4000)
    (made / "code" / "deep" / "a.py").write_text("print(1)\n")
    (made / "secret").symlink_to("/etc/shadow")
    (made / "everywhere").symlink_to("/")
    return made


PATHS = ["code", "code/deep", "code/deep/a.py", "empty", "weights"]


def test_it_says_where_it_serves_again_and_again(controller, announcer, monkeypatch):
    monkeypatch.setattr("muster.services.announcer.ANNOUNCE_S", 0.05)
    announcer.announce(4242)
    announcer.wait_idle(0.5)
    path, token, body = controller.said[0]
    assert (path, token) == ("/api/v1/allocations/a.1/proxy_address", "Bearer token")
    assert body == {"port": 4242, "secret": announcer.secret} and len(announcer.secret) >= 32
    assert len(controller.said) >= 3 and all(said == controller.said[0] for said in controller.said)


def test_it_ends_with_its_job(controller, announcer, monkeypatch):
    monkeypatch.setattr("muster.services.announcer.ANNOUNCE_S", 0.05)
    announcer.announce(4242)
    controller.status = 403
    announcer.wait_idle(3600)


def test_what_goes_wrong_is_told(controller, announcer):
    announcer.fail("pip install it")
    assert controller.said[-1][2] == {"failure": "pip install it"}


def test_nobody_is_idle_in_the_middle_of_a_request(announcer):
    with announcer.request():
        assert announcer.idle_s() == 0.0
        with announcer.request():
            pass
        assert announcer.idle_s() == 0.0
    assert 0 < announcer.idle_s() < 5


@pytest.mark.parametrize("suffix", [".tar", ".tgz", ".zip"])
def test_an_archive_has_files_and_folders_and_no_links(folder, suffix):
    out = io.BytesIO()
    checkpoint.write_archive(folder, suffix, out)
    out.seek(0)
    if suffix == ".zip":
        with zipfile.ZipFile(out) as archive:
            names = [name.rstrip("/") for name in archive.namelist()]
            weights = archive.read("weights")
    else:
        with tarfile.open(fileobj=out, mode="r:gz" if suffix == ".tgz" else "r:") as archive:
            names = archive.getnames()
            weights = archive.extractfile("weights").read()
    assert sorted(names) == PATHS and names.index("code") < names.index("code/deep") and weights == (folder / "weights").read_bytes()


def ask(port, path, secret):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path, headers={"Muster-Service-Secret": secret} if secret is not None else {})
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, body


def serve_in_thread(wish, announcer, controller):
    thread = threading.Thread(target=checkpoint.serve, args=(wish, announcer), daemon=True)
    thread.start()
    for _ in range(500):
        if controller.said:
            break
        thread.join(0.01)
    return thread, controller.said[0][2]["port"]


def test_one_client_with_the_secret_gets_it_and_it_ends(folder, controller, announcer):
    wish = {"uuid": "u", "folders": ["/nowhere", str(folder)], "storage": ""}
    thread, port = serve_in_thread(wish, announcer, controller)
    for secret in (None, "", "guess", announcer.secret + "x"):
        assert ask(port, "/checkpoint.tgz", secret)[0] == 403
    assert ask(port, "/checkpoint.exe", announcer.secret)[0] == 404
    assert thread.is_alive()
    status, body = ask(port, "/checkpoint.tgz", announcer.secret)
    assert status == 200 and sorted(tarfile.open(fileobj=io.BytesIO(body)).getnames()) == PATHS
    thread.join(10)
    assert not thread.is_alive()


def test_an_archive_that_breaks_off_has_no_end(folder, controller, announcer, monkeypatch):
    def broken(_folder, _suffix, out):
        out.write(b"x" * 10)
        raise OSError("the disk is gone")
    monkeypatch.setattr(checkpoint, "write_archive", broken)
    _, port = serve_in_thread({"uuid": "u", "folders": [str(folder)], "storage": ""}, announcer, controller)
    with pytest.raises(http.client.IncompleteRead):
        ask(port, "/checkpoint.tar", announcer.secret)


def test_files_that_are_not_there_are_told_of_by_place(announcer):
    with pytest.raises(ServiceError, match="neither in /nowhere/a nor in /nowhere/b"):
        checkpoint.serve({"uuid": "u", "folders": ["/nowhere/a", "/nowhere/b"], "storage": ""}, announcer)


def runs_in(tmp_path, **more):
    return [{"name": "digits-12", "folders": [f"{tmp_path}/run/trial-{{trial}}/tensorboard", f"{tmp_path}/det/{{trial}}"], "trials": [], **more}]


def test_every_trials_folder_is_linked_under_a_name_for_people(tmp_path):
    for made in ("run/trial-7/tensorboard", "run/trial-x/tensorboard", "run/trial-9", "run/other", "det/8", "det/7", "run/trial-11/tensorboard"):
        (tmp_path / made).mkdir(parents=True)
    target = tmp_path / "links"
    assert tensorboard.link(target, runs_in(tmp_path)) == 4
    found = {path.relative_to(target).as_posix(): str(path.resolve()) for path in target.glob("*/*")}
    assert found == {"digits-12/trial-7": f"{tmp_path}/run/trial-7/tensorboard", "digits-12/trial-11": f"{tmp_path}/run/trial-11/tensorboard",
                     "digits-12/trial-7.2": f"{tmp_path}/det/7", "digits-12/trial-8": f"{tmp_path}/det/8"}
    (tmp_path / "run/trial-9/tensorboard").mkdir()
    assert tensorboard.link(target, runs_in(tmp_path)) == 5, "one that began to write later"
    assert [name for name, _ in tensorboard.links_of(runs_in(tmp_path, trials=[11]))] == ["digits-12/trial-11"]
    assert tensorboard.links_of(runs_in(tmp_path / "nowhere")) == []


def test_the_door_asks_for_the_secret_and_keeps_it(announcer):
    seen = []

    def application(environ, start_response):
        seen.append(dict(environ))
        start_response("200 OK", [])
        return [b"board"]

    statuses = []
    door = tensorboard.guarded(application, announcer)
    assert b"".join(door({"HTTP_MUSTER_SERVICE_SECRET": announcer.secret, "PATH_INFO": "/"}, lambda status, _: statuses.append(status))) == b"board"
    assert seen == [{"PATH_INFO": "/"}]
    for environ in ({}, {"HTTP_MUSTER_SERVICE_SECRET": "x"}):
        assert b"controller" in b"".join(door(environ, lambda status, _: statuses.append(status)))
    assert [status[:3] for status in statuses] == ["200", "403", "403"] and len(seen) == 1


def test_a_service_that_is_told_to_end_leaves_nothing_behind(scripts, controller, tmp_path):
    script = scripts("""
        import sys, tempfile, threading
        from muster.services import __main__ as services

        def serve(wish, announcer):
            with tempfile.TemporaryDirectory() as name:
                print("folder", name, flush=True)
                announcer.wait_idle(600)

        services._KINDS["tensorboard"] = serve
        sys.exit(services.main())
    """, MUSTER_SERVICE=json.dumps({"kind": "tensorboard"}), TMPDIR=tmp_path, DET_MASTER=controller.url, DET_SESSION_TOKEN="t",
                     DET_ALLOCATION_ID="1.0.1")
    folder = Path(script.wait_for("folder").split()[1])
    assert folder.is_dir()
    script.process.terminate()
    assert script.process.wait(30) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []
    assert controller.said == [], "its end is no failure"


def test_tensorboard_that_is_missing_is_named_with_the_way_out(announcer, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tensorboard", None)
    with pytest.raises(ServiceError, match="pip install tensorboard"):
        tensorboard.serve({"runs": [], "idle_seconds": 1}, announcer)


@pytest.fixture
def stored(tmp_path):
    """A whole checkpoint in a folder of checkpoints: its storage, its uuid, what is known of it."""
    uuid = "11111111-2222-4333-8444-555555555555"
    folder = tmp_path / "store" / uuid
    (folder / "code").mkdir(parents=True)
    for name in ("a.pt", "b.pt", "code/x.py"):
        (folder / name).write_text(name)
    known = {"a.pt": 4, "b.pt": 4, "code/": 0, "code/x.py": 9}
    (folder / "resources.json").write_text(json.dumps(known))
    (folder / "metadata.json").write_text("{}")
    return FolderStorage(tmp_path / "store"), uuid, known


def test_files_that_match_are_removed_and_what_is_left_is_told(stored):
    storage, uuid, known = stored
    assert checkpoint_files.remove(storage, uuid, {**known, "metadata.json": 2, "gone": 1}, ["*.pt"]) == {"code/": 0, "code/x.py": 9, "metadata.json": 2}
    assert not (storage.whole(uuid) / "a.pt").exists() and (storage.whole(uuid) / "code/x.py").exists() and storage.is_whole(uuid)
    assert checkpoint_files.remove(storage, uuid, known, []) == {"code/": 0, "code/x.py": 9}, "no pattern: looked at again"
    assert checkpoint_files.remove(storage, uuid, known, ["**/*"]) == {}
    assert not storage.whole(uuid).exists() and not storage.partial(uuid).exists()


@pytest.mark.parametrize("glob", ["/etc/*", "../*", "code/../../*", ""])
def test_no_pattern_leads_out(stored, glob):
    storage, uuid, known = stored
    with pytest.raises(ValueError, match="leaves the checkpoint"):
        checkpoint_files.remove(storage, uuid, known, [glob])
    assert storage.resources(uuid) == known


def test_each_checkpoint_is_tried_and_those_that_stay_are_named(stored, controller):
    storage, uuid, known = stored
    wish = {"globs": ["a.pt"], "checkpoints": [
        {"uuid": "99999999-2222-4333-8444-555555555555", "resources": {}, "storage": "", "folders": ["/nowhere"]},
        {"uuid": uuid, "resources": known, "storage": "", "folders": [str(storage.whole(uuid))]}]}
    session = Session(controller.url, "token", 5)
    with pytest.raises(ServiceError, match="^checkpoint 99999999-2222-4333-8444-555555555555: .*/nowhere$"):
        checkpoint_files.serve(wish, session)
    ((path, _, body),) = controller.said
    assert path == "/api/v1/checkpoints"
    assert body == {"checkpoints": [{"uuid": uuid, "resources": {"resources": {"b.pt": 4, "code/": 0, "code/x.py": 9}}}]}
