"""Checkpoints in S3 are whole or not there, whatever breaks; the store is moto's.

    $(tools/clients_env.sh)/bin/python -m pytest python/tests/test_s3_storage.py
"""
import hashlib
import importlib.util
import json
import logging
import os
import random
import re
import tempfile
import time
from uuid import UUID, uuid4

import pytest

from muster import core
from muster.core import bucket, scratch
from muster.core.local import LocalMetrics
from s3_server import ACCESS_KEY, BUCKET, SECRET_KEY, S3Server

for _name in ("boto3", "moto", "flask"):
    if importlib.util.find_spec(_name) is None:
        pytest.skip(f"{_name} is not installed: tools/clients_env.sh makes an environment that has it", allow_module_level=True)

PART = 5 << 20  # the least that a store takes


@pytest.fixture(scope="module")
def store():
    server = S3Server()
    yield server
    server.close()


@pytest.fixture(scope="module", autouse=True)
def one_loader():
    """What boto3 knows of services is read once: it is most of the time that opening a store takes."""
    from botocore import loaders, session
    known = loaders.create_loader()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "create_loader", lambda *arguments: known)
        yield


@pytest.fixture
def s3(store, tmp_path, monkeypatch):
    """The store, emptied, and a temporary folder of the test's own."""
    store.faults.clear()
    store.requests.clear()
    store.held.clear()
    store.release.clear()
    for key in store.objects():
        store.client.delete_object(Bucket=BUCKET, Key=key)
    for each in store.unfinished_uploads():
        store.client.abort_multipart_upload(Bucket=BUCKET, Key=each["Key"], UploadId=each["UploadId"])
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("MUSTER_CHECKPOINT_STORAGE", json.dumps(store.settings()))
    monkeypatch.setenv("MUSTER_RUN_DIR", str(tmp_path / "run"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    yield store
    scratch.private_folder().release()  # sweeps what killed processes left
    leftovers = [path.name for path in (tmp_path / "tmp").glob("muster-*/*")]
    assert leftovers == [], "something was left on the node's disk"


def variables(s3, tmp_path, **more):
    return {"MUSTER_CHECKPOINT_STORAGE": json.dumps(s3.settings()), "MUSTER_RUN_DIR": tmp_path / "run",
            "TMPDIR": tmp_path / "tmp", **more}


def tree(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def write(context, steps=1, **files):
    with context.checkpoint.store_path({"steps_completed": steps}) as (path, uuid):
        tree(path, **files or {"model": f"weights {steps}"})
    return uuid


def events(tmp_path, uuid):
    lines = [json.loads(line) for line in (tmp_path / "run" / "checkpoints.jsonl").read_text().splitlines()]
    return [line["event"] for line in lines if line["uuid"] == uuid]


def test_upload_and_everything_that_reads(s3, tmp_path):
    source = tree(tmp_path / "source", model="weights", sub__optimizer="moments")
    (source / "empty").mkdir()
    with core.init() as context:
        uuid = context.checkpoint.upload(source, {"steps_completed": 7, "best": float("inf")})
        assert str(UUID(uuid)) == uuid and context.checkpoint.latest() == uuid
        objects = s3.objects()
        assert objects.keys() == {f"runs/{uuid}/{name}" for name in
                                  ("model", "sub/", "sub/optimizer", "empty/", "metadata.json", "resources.json")}
        assert objects[f"runs/{uuid}/sub/optimizer"] == b"moments" and objects[f"runs/{uuid}/empty/"] == b""
        assert json.loads(objects[f"runs/{uuid}/resources.json"]) == {"empty/": 0, "model": 7, "sub/": 0, "sub/optimizer": 7}
        assert s3.requests.index(f"PUT /{BUCKET}/runs/{uuid}/metadata.json") == \
            max(place for place, request in enumerate(s3.requests) if request.startswith("PUT"))
        assert context.checkpoint.get_metadata(uuid) == {"steps_completed": 7, "best": float("inf")}
        with context.checkpoint.restore_path(uuid) as path:
            assert (path / "sub" / "optimizer").read_text() == "moments" and (path / "empty").is_dir()
            with context.checkpoint.restore_path(str(path)) as same:  # by its path, as MUSTER_RESUME_FROM may say
                assert same == path and context.checkpoint.get_metadata(str(path))["steps_completed"] == 7
        assert not path.exists()
        context.checkpoint.download(uuid, tmp_path / "copy")
        assert contents(tmp_path / "copy") == {"model": "weights", "sub/optimizer": "moments"}
        assert (tmp_path / "copy/empty").is_dir()
        context.checkpoint.download(uuid, tmp_path / "part", selector=lambda path: path.endswith("optimizer"))
        assert contents(tmp_path / "part") == {"sub/optimizer": "moments"}
        for unknown in (str(uuid4()), "nowhere"):
            with pytest.raises(core.CheckpointNotFoundError, match=unknown):
                context.checkpoint.download(unknown, tmp_path / "none")
        with pytest.raises(KeyError):
            with context.checkpoint.store_path({"steps_completed": 8}) as (path, failed):
                tree(path, model="half")
                raise KeyError
        assert not path.exists() and not any(failed in key for key in s3.objects())


def test_the_next_run_goes_on_from_it(s3, tmp_path):
    with core.init() as context:
        older, newer = write(context, 1), write(context, 2)
    assert not (tmp_path / "run" / "checkpoints").exists()
    with core.init() as context:
        assert (context.info.run_id, context.info.latest_checkpoint) == (2, newer)
        kept = context.checkpoint.hold_path(newer)
        assert (kept / "model").read_text() == "weights 2"
        context.checkpoint.delete(newer)
        assert context.checkpoint.latest() == older
        assert kept.is_dir()
    assert not kept.exists()
    assert SECRET_KEY not in "".join(path.read_text() for path in (tmp_path / "run").iterdir() if path.is_file())


def test_files_of_a_checkpoint_are_deleted_by_patterns(s3):
    with core.init() as context:
        uuid = write(context, model="m", sub__a="a", sub__b="b")
        context.checkpoint.delete(uuid, ["sub/*"])
        assert {key.partition(uuid)[2] for key in s3.objects()} == {"/model", "/sub/", "/metadata.json", "/resources.json"}
        with context.checkpoint.restore_path(uuid) as path:
            assert contents(path).keys() == {"model", "metadata.json", "resources.json"} and (path / "sub").is_dir()
        context.checkpoint.delete(uuid, ["model", "sub"])
        assert s3.objects() == {} and context.checkpoint.latest() is None
        with pytest.raises(core.CheckpointNotFoundError, match=f"checkpoint {uuid} is not there in s3://checkpoints/runs at"):
            context.checkpoint.get_metadata(uuid)


def test_a_large_file_travels_in_parts(s3, tmp_path, monkeypatch):
    monkeypatch.setattr(bucket, "PART_BYTES", PART)
    data = random.Random(1).randbytes(3 * PART + 12345)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "model").write_bytes(data)
    with core.init() as context:
        uuid = context.checkpoint.upload(tmp_path / "source", {"steps_completed": 1})
        assert sum("uploadId" in request and request.startswith("PUT") for request in s3.requests) == 4
        with context.checkpoint.restore_path(uuid) as path:
            assert hashlib.sha256((path / "model").read_bytes()).digest() == hashlib.sha256(data).digest()


RANKS = """
    import sys, time
    from muster import core
    with core.init(distributed=core.DistributedContext.from_environment()) as context:
        rank = context.distributed.rank
        with context.checkpoint.store_path({"steps_completed": 3} if rank == 0 else {}, shard=True) as (path, uuid):
            for number in range(5):
                (path / f"shard-{rank}-{number}").write_text(f"{rank} {number}")
            (path / "shared").write_text("of all")
            (path / "sub").mkdir()
        with context.checkpoint.restore_path(uuid) as path:
            context.distributed.allgather(None)
            print(uuid, len(list(path.iterdir())), path, flush=True)
            context.distributed.allgather(None)
"""


def test_many_ranks_write_one_and_share_a_copy(s3, tmp_path, ranks):
    begun = ranks(RANKS, 3, **variables(s3, tmp_path))
    answers = {script.end()[0].strip() for script in begun}
    assert len(answers) == 1  # all of one node read the same copy
    uuid, count, _ = answers.pop().split()
    assert int(count) == 3 * 5 + 2 + 2
    objects = s3.objects(f"runs/{uuid}/")
    assert objects[f"runs/{uuid}/shard-2-4"] == b"2 4" and objects[f"runs/{uuid}/sub/"] == b""
    assert sum(request.startswith("GET") and "shard-2-3" in request for request in s3.requests) == 2  # a rank's, and this test's


def test_a_rank_that_cannot_upload_leaves_nothing(s3, tmp_path, ranks):
    s3.fail("PUT .*shard-1-", 403, times=100, code="AccessDenied")
    begun = ranks(RANKS, 2, **variables(s3, tmp_path))
    errors = [script.end(code=1)[1] for script in begun]
    assert "StorageError: cannot write objects in s3://checkpoints/runs at" in errors[1] and "get, put and delete" in errors[1]
    assert re.search("CheckpointError: checkpoint .* was not written; rank 1 could not write its files", errors[0])
    assert s3.objects() == {}


def test_ranks_with_different_storages_are_told(s3, tmp_path, ranks):
    code = """
        from muster import core
        import os
        name = "MUSTER_CHECKPOINT_STORAGE"
        os.environ[name] = os.environ[name].replace("runs", "run" + os.environ["RANK"])
        core.init(distributed=core.DistributedContext.from_environment())
    """
    for script in ranks(code, 2, **variables(s3, tmp_path)):
        assert "checkpoints of rank 0 go to s3://checkpoints/run0 at" in script.end(code=1)[1]


@pytest.mark.parametrize("what", [500, 503, "drop"])
def test_a_request_that_fails_is_repeated(s3, what):
    s3.fail("PUT .*/model", what, times=2, code="SlowDown")
    s3.fail("GET .*/model", what, times=2, code="SlowDown")
    with core.init() as context:
        uuid = write(context)
        with context.checkpoint.restore_path(uuid) as path:
            assert (path / "model").read_text() == "weights 1"
    assert all(left == 0 for _, _, left, _ in s3.faults)


@pytest.mark.parametrize("pattern", ["PUT .*/model-5", "PUT .*/resources.json", "PUT .*/metadata.json"])
def test_a_store_that_fails_in_the_middle_leaves_no_checkpoint(s3, tmp_path, pattern):
    s3.fail(pattern, 403, times=1, code="AccessDenied")
    with core.init() as context:
        with pytest.raises(core.StorageError, match="cannot write objects .*AccessDenied"):
            write(context, **{f"model-{number}": "x" for number in range(10)})
        assert s3.objects() == {} and context.checkpoint.latest() is None
        (failed,) = {json.loads(line)["uuid"] for line in (tmp_path / "run" / "checkpoints.jsonl").read_text().splitlines()}
        assert events(tmp_path, failed) == ["announced", "discarded"]
        assert write(context, 2) == context.checkpoint.latest()  # and training may go on


def test_one_whose_last_answer_was_lost_is_taken_back(s3, monkeypatch):
    """The object is there, but the run does not know: it fails, and what it failed at must not come back later."""
    with core.init() as context:
        wrote = context.checkpoint._storage._bucket.write  # pylint: disable=protected-access

        def unanswered(key, content):
            wrote(key, content)
            if key.endswith("metadata.json"):
                raise core.StorageError("no answer")
        monkeypatch.setattr(context.checkpoint._storage._bucket, "write", unanswered)  # pylint: disable=protected-access
        with pytest.raises(core.StorageError, match="no answer"):
            write(context)
    assert s3.objects() == {}
    with core.init() as again:
        assert again.info.latest_checkpoint is None


def test_an_object_that_vanished_is_noticed(s3):
    with core.init() as context:
        with pytest.raises(core.CheckpointError, match="s3://checkpoints/runs at .* has nothing of model, which has 1 bytes"):
            with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
                tree(path, model="m")
                original = context.checkpoint._storage.finish  # pylint: disable=protected-access

                def finish(*arguments):
                    s3.client.delete_object(Bucket=BUCKET, Key=f"runs/{uuid}/model")
                    original(*arguments)
                context.checkpoint._storage.finish = finish  # pylint: disable=protected-access
        assert s3.objects() == {}


KILLED = f"""
    from muster import core
    from muster.core import bucket
    bucket.PART_BYTES = {PART}
    with core.init() as context:
        with context.checkpoint.store_path({{"steps_completed": 1}}) as (path, uuid):
            (path / "before").write_text("x")
        print(uuid, flush=True)
        with context.checkpoint.store_path({{"steps_completed": 2}}) as (path, uuid):
            print(uuid, flush=True)
            input()
            (path / "large").write_bytes(bytes({3 * PART}))
            (path / "small").write_text("x")
"""


@pytest.mark.parametrize("held", ["PUT .*/large.*partNumber=2", "GET .*prefix=.*", "PUT .*/metadata.json"])
def test_what_a_killed_upload_left_is_swept_by_the_next_run(s3, tmp_path, scripts, held):
    """In the middle of a large file, when all files are there, and before the last object."""
    script = scripts(KILLED, **variables(s3, tmp_path))
    first, second = script.line(), script.line()
    s3.fail(held, "hold")
    script.process.stdin.write("\n")
    script.process.stdin.flush()
    if not s3.held.wait(30):
        raise AssertionError(f"{held} was not asked for: {s3.requests}")
    script.kill()
    s3.release.set()
    assert any(second in key for key in s3.objects()) or s3.unfinished_uploads()
    with core.init() as context:
        assert context.info.latest_checkpoint == first
        assert not any(second in key for key in s3.objects()) and s3.unfinished_uploads() == []
        assert events(tmp_path, second) == ["announced", "discarded"]


REFUSALS = {"nothing": None, "gone": ("DELETE .*uploadId", 404, "NoSuchUpload"), "no right": ("DELETE .*uploadId", 403, "AccessDenied"),
            "no such verb": ("DELETE .*uploadId", 405, "MethodNotAllowed"), "no list": ("GET .*uploads", 501, "NotImplemented")}


@pytest.mark.parametrize("refused", list(REFUSALS))
def test_parts_are_swept_also_where_no_object_is_there_yet(s3, tmp_path, scripts, caplog, refused):
    """Parts that are gone already, or that may not be removed, keep no run from beginning."""
    script = scripts(KILLED, **variables(s3, tmp_path))
    _, second = script.line(), script.line()
    s3.fail("PUT .*/small", "hold")
    s3.fail("PUT .*/large.*partNumber=2", "hold")
    script.process.stdin.write("\n")
    script.process.stdin.flush()
    deadline = time.monotonic() + 30
    while not s3.unfinished_uploads():
        assert time.monotonic() < deadline, s3.requests
        time.sleep(0.05)
    script.kill()
    s3.release.set()
    assert not any(second in key for key in s3.objects())
    if refused != "nothing":
        pattern, status, code = REFUSALS[refused]
        s3.fail(pattern, status, times=100, code=code)
    caplog.set_level(logging.INFO, "muster")
    with core.init():
        assert events(tmp_path, second) == ["announced", "discarded"]
    s3.faults.clear()
    assert (s3.unfinished_uploads() == []) == (refused == "nothing")
    assert ("its parts stay until" in caplog.text) == (refused not in ("nothing", "gone")), caplog.text


def test_a_store_that_is_out_of_order_is_not_taken_for_one_that_refuses(s3):
    s3.client.create_multipart_upload(Bucket=BUCKET, Key="runs/x/part")
    with core.init() as context:
        opened = context.checkpoint._storage._bucket  # pylint: disable=protected-access
        for request in ("GET .*uploads", "DELETE .*uploadId"):
            s3.fail(request, 503, times=100, code="SlowDown")
            with pytest.raises(core.StorageError, match="cannot abort uploads of objects in .*SlowDown"):
                opened.abort_uploads("")
            s3.faults.clear()
        opened.abort_uploads("")
    assert s3.unfinished_uploads() == []


def test_one_that_was_whole_when_its_writer_was_killed_is_completed(s3, tmp_path, monkeypatch):
    context = core.init()
    registry = context.checkpoint._registry  # pylint: disable=protected-access
    monkeypatch.setattr(registry, "complete", lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
            tree(path, model="m")
    context.close()
    with core.init() as again:
        assert again.info.latest_checkpoint == uuid and events(tmp_path, uuid) == ["announced", "completed"]


def test_a_deletion_that_was_cut_short_is_finished(s3, tmp_path):
    context = core.init()
    uuid = write(context, model="m", other="o")
    s3.fail("DELETE .*/model", 403, code="AccessDenied")
    with pytest.raises(core.StorageError, match="cannot delete objects"):
        context.checkpoint.delete(uuid)
    context.close()
    with core.init() as again:
        assert again.info.latest_checkpoint is None and s3.objects() == {}
    assert events(tmp_path, uuid)[-1] == "deleted"


def test_one_that_was_announced_and_never_begun_is_discarded(s3, tmp_path, scripts):
    script = scripts("""
        from muster import core
        with core.init() as context:
            with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
                (path / "model").write_text("x")
                print(uuid, flush=True)
                input()
    """, **variables(s3, tmp_path))
    uuid = script.line()
    script.kill()
    with core.init() as context:
        assert context.info.latest_checkpoint is None and events(tmp_path, uuid) == ["announced", "discarded"]
        write(context)  # and sweeps the stage


def test_another_place_leaves_what_earlier_runs_began(s3, tmp_path, monkeypatch, caplog):
    context = core.init()
    whole = write(context)
    context.checkpoint._registry.announce(str(uuid4()))  # pylint: disable=protected-access
    context.close()
    monkeypatch.setenv("MUSTER_CHECKPOINT_STORAGE", json.dumps(s3.settings(prefix="other")))
    with core.init() as again:
        assert again.info.latest_checkpoint is None
    assert "checkpoints that earlier runs began in s3://checkpoints/runs at" in caplog.text
    assert events(tmp_path, whole) == ["announced", "completed"] and f"runs/{whole}/metadata.json" in s3.objects()


@pytest.mark.parametrize("change, text", [
    ({"access_key": "AKIAWRONG", "secret_key": "wrong-secret"}, "InvalidAccessKeyId.*check access_key and secret_key"),
    ({"access_key": None, "secret_key": None}, "there are no keys: give access_key and secret_key in checkpoint_storage"),
    ({"bucket": "no-such-bucket"}, "NoSuchBucket.*make the bucket, or correct its name"),
    ({"bucket": "Not A Bucket"}, "cannot list objects in s3://Not A Bucket"),
    ({"endpoint_url": "http://127.0.0.1:9"}, "nobody answers there; check endpoint_url"),
])
def test_a_store_that_cannot_be_used_is_an_error_at_the_beginning(s3, monkeypatch, change, text):
    monkeypatch.setattr(bucket, "ATTEMPTS", 1)
    with pytest.raises(core.StorageError, match=text) as raised:
        core.init(checkpoint_storage=s3.settings(**change))
    shown = str(raised.value)
    assert ACCESS_KEY not in shown and "AKIAWRONG" not in shown and "secret" not in shown.replace("secret_key", "")\
        .replace("AWS_SECRET_ACCESS_KEY", "")


def test_keys_may_come_from_the_environment(s3, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    with core.init(checkpoint_storage={"type": "s3", "bucket": BUCKET, "endpoint_url": s3.url}) as context:
        uuid = write(context)
    assert f"{uuid}/metadata.json" in s3.objects()


def test_no_random_number_of_the_training_is_drawn(s3):
    s3.fail("PUT .*/model", 503, code="SlowDown")  # boto3's pauses are drawn by chance
    random.seed(5)
    expected = random.random()
    random.seed(5)
    with core.init() as context:
        uuid = write(context)
        with context.checkpoint.restore_path(uuid):
            pass
    assert random.random() == expected


def test_metrics_are_kept_before_a_checkpoint_is_whole(s3, monkeypatch):
    kept = []
    append = LocalMetrics.append

    def slow(self, rows):
        kept.append(any(request.endswith("metadata.json") and request.startswith("PUT") for request in s3.requests))
        append(self, rows)
    monkeypatch.setattr(LocalMetrics, "append", slow)
    with core.init() as context:
        context.train.report_training_metrics(1, {"loss": 1})
        write(context)
    assert kept == [False]


# ---- with Determined's own package ----

@pytest.fixture
def determineds(s3):
    storage = pytest.importorskip("determined.common.storage", reason="determined is not installed")
    return storage.build({**s3.settings(), "save_trial_best": 1}, container_path=None)


def test_determined_reads_ours(s3, tmp_path, determineds):
    with core.init() as context:
        uuid = write(context, model="m", sub__a="a")
    determineds.download(uuid, tmp_path / "theirs")
    assert contents(tmp_path / "theirs").keys() == {"model", "sub/a", "metadata.json", "resources.json"}
    assert json.loads((tmp_path / "theirs" / "metadata.json").read_text()) == {"steps_completed": 1}


def test_ours_reads_determineds(s3, tmp_path, determineds):
    uuid = str(uuid4())
    determineds.upload(tree(tmp_path / "source", model="m", sub__a="a", **{"metadata.json": '{"steps_completed": 4}'}), uuid)
    with core.init() as context:
        assert context.checkpoint.get_metadata(uuid) == {"steps_completed": 4}
        with context.checkpoint.restore_path(uuid) as path:
            assert contents(path).keys() == {"model", "sub/a", "metadata.json"}
        context.checkpoint.download(uuid, tmp_path / "copy")
        assert contents(tmp_path / "copy") == {"model": "m", "sub/a": "a"}
        context.checkpoint.delete(uuid)
    assert s3.objects() == {}
