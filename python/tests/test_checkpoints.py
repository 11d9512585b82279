"""Checkpoints are whole or not there; several ranks write one together."""
import json
import os
import time
from uuid import UUID, uuid4

import pytest

from muster import core
from muster.core.checkpoints import check_same, owners, shared_names
from muster.core.local import LocalMetrics


@pytest.fixture
def context(tmp_path):
    with core.init(run_dir=tmp_path / "run") as opened:
        yield opened


def tree(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def names(context):
    return sorted(os.listdir(context.info.run_dir / "checkpoints"))


def store(context, steps=1, **files):
    with context.checkpoint.store_path({"steps_completed": steps}) as (path, uuid):
        tree(path, **files or {"model": f"weights {steps}"})
    return uuid


def test_upload_and_everything_that_reads(context, tmp_path):
    source = tree(tmp_path / "source", model="weights", sub__optimizer="moments")
    (source / "empty").mkdir()
    uuid = context.checkpoint.upload(source, {"steps_completed": 7, "best": float("inf")})
    assert str(UUID(uuid)) == uuid and names(context) == [uuid] and context.checkpoint.latest() == uuid
    assert context.checkpoint.get_metadata(uuid) == {"steps_completed": 7, "best": float("inf")}
    with context.checkpoint.restore_path(uuid) as path:
        assert (path / "sub" / "optimizer").read_text() == "moments"
        assert json.loads((path / "resources.json").read_text()) == {"empty/": 0, "model": 7, "sub/": 0, "sub/optimizer": 7}
        with context.checkpoint.restore_path(str(path)) as same:  # by its path, as MUSTER_RESUME_FROM may say
            assert same == path and context.checkpoint.get_metadata(str(path))["steps_completed"] == 7
    context.checkpoint.download(uuid, tmp_path / "copy")
    assert contents(tmp_path / "copy") == {"model": "weights", "sub/optimizer": "moments"}
    assert (tmp_path / "copy/empty").is_dir()
    context.checkpoint.download(uuid, tmp_path / "part", selector=lambda path: path.endswith("optimizer"))
    assert contents(tmp_path / "part") == {"sub/optimizer": "moments"}
    assert contents(source) == {"model": "weights", "sub/optimizer": "moments"}


def test_a_selector_and_links_to_files(context, tmp_path):
    source = tree(tmp_path / "source", model="weights", junk="x", sub__deep="d")
    (source / "link").symlink_to(source / "model")
    uuid = context.checkpoint.upload(str(source), {"steps_completed": 1}, selector=lambda path: path in ("link", "sub/deep"))
    with context.checkpoint.restore_path(uuid) as path:
        assert contents(path).keys() == {"link", "sub/deep", "metadata.json", "resources.json"}
        assert not (path / "link").is_symlink() and (path / "link").read_text() == "weights"


def test_a_block_that_fails_leaves_nothing(context):
    with pytest.raises(KeyError):
        with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
            tree(path, model="half")
            raise KeyError
    assert names(context) == [] and context.checkpoint.latest() is None
    with pytest.raises(core.CheckpointNotFoundError, match=f"checkpoint {uuid} is not there in"):
        with context.checkpoint.restore_path(uuid):
            pass


def test_what_cannot_be_in_a_checkpoint_is_refused_by_name(context, tmp_path):
    def refused(text, error=core.CheckpointError, metadata=None):
        with pytest.raises(error, match=text):
            context.checkpoint.upload(tmp_path / "source", {"steps_completed": 1} if metadata is None else metadata)
        assert not os.path.exists(context.info.run_dir / "checkpoints") or names(context) == []

    refused("source is no folder")
    source = tree(tmp_path / "source", model="x")
    refused('"steps_completed"', ValueError, metadata={"a": 1})
    refused("steps_completed is -1", ValueError, metadata={"steps_completed": -1})
    refused(r"checkpoint metadata\['a'\] is a set", TypeError, metadata={"steps_completed": 1, "a": {1}})
    with pytest.raises(ValueError, match="nothing to write"):
        context.checkpoint.upload(None, {"steps_completed": 1})
    (source / "metadata.json").write_text("{}")
    refused("keeps the name metadata.json")
    (source / "metadata.json").unlink()
    os.mkfifo(source / "pipe")
    refused("pipe is no file")
    (source / "pipe").unlink()
    (source / "folder_link").symlink_to(tmp_path)
    refused("folder_link is a link")


def test_latest_is_the_one_completed_last_and_still_there(context, tmp_path):
    uuids = [store(context, steps) for steps in (5, 3, 4)]
    assert context.checkpoint.latest() == uuids[2]
    context.checkpoint.delete(uuids[2])
    assert context.checkpoint.latest() == uuids[1]
    context.close()
    with core.init(run_dir=tmp_path / "run") as again:
        assert again.info.latest_checkpoint == uuids[1] == again.checkpoint.latest() and names(again) == sorted(uuids[:2])


def test_resume_from_comes_before_the_folders_own(context, monkeypatch, tmp_path):
    store(context)
    context.close()
    monkeypatch.setenv("MUSTER_RESUME_FROM", "/somewhere/else")
    with core.init(run_dir=tmp_path / "run") as again:
        assert again.info.latest_checkpoint == "/somewhere/else"
        with pytest.raises(core.CheckpointNotFoundError, match="'/somewhere/else' is neither"):
            with again.checkpoint.restore_path(again.info.latest_checkpoint):
                pass


def test_deleting_some_files(context):
    uuid = store(context, model="m", optimizer="o", logs__a="1", logs__b="2", logs__deep__c="3")
    context.checkpoint.delete(uuid, ["logs/deep", "optimi*", "nothing"])
    with context.checkpoint.restore_path(uuid) as path:
        kept = contents(path)
        assert json.loads(kept.pop("resources.json")) == {"logs/": 0, "logs/a": 1, "logs/b": 1, "model": 1}
        assert kept.keys() == {"metadata.json", "model", "logs/a", "logs/b"} and not (path / "logs/deep").exists()
    context.checkpoint.delete(uuid, ["none"])
    for glob in ("../*", "/tmp/*", ""):
        with pytest.raises(ValueError, match="leaves the checkpoint"):
            context.checkpoint.delete(uuid, [glob])
    context.checkpoint.delete(uuid, ["**/*"])
    assert names(context) == [] and context.checkpoint.latest() is None
    with pytest.raises(core.CheckpointNotFoundError, match=uuid):
        context.checkpoint.delete(uuid)


def test_only_a_checkpoint_of_this_storage_is_deleted(context, tmp_path):
    """What is given by its path may be read; it is nobody's to delete."""
    store(context)
    given = tree(tmp_path / "given", weights="w")
    (given / "metadata.json").write_text("{}")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for name in (str(given), f"{given}/", "../../given", "", ".", "../.."):
        for globs in (None, ["**/*"], ["weights"]):
            with pytest.raises(core.CheckpointNotFoundError, match="no uuid"):
                context.checkpoint.delete(name, globs)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    with context.checkpoint.restore_path(str(given)) as path:
        assert path == given


def test_storage_elsewhere_and_shared(tmp_path):
    storage = tmp_path / "storage"
    uuids = []
    for name in "ab":
        with core.init(run_dir=tmp_path / name, checkpoint_storage=storage) as context:
            uuids.append(store(context))
            assert context.checkpoint.latest() == uuids[-1]
    with core.init(run_dir=tmp_path / "a", checkpoint_storage=str(storage)) as context:
        assert context.info.latest_checkpoint == uuids[0] and sorted(os.listdir(storage)) == sorted(uuids)
        with context.checkpoint.restore_path(uuids[1]) as path:
            assert contents(path)["model"] == "weights 1"


def test_metrics_are_kept_before_the_checkpoint_they_led_to(context, monkeypatch):
    keep = LocalMetrics.append
    monkeypatch.setattr(LocalMetrics, "append", lambda self, rows: (time.sleep(0.2), keep(self, rows)))
    context.train.report_training_metrics(1, {"loss": 1})
    seen = []
    real = os.rename

    def rename(old, new):
        seen.append(core.read_metrics(context.info.run_dir))
        real(old, new)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "rename", rename)
        store(context)
    assert [list(each) for each in seen] == [["training"]]


def test_every_file_and_folder_is_on_disk_before_the_rename(context, tmp_path, monkeypatch):
    seen = []
    sync, rename = os.fsync, os.rename
    monkeypatch.setattr(os, "fsync", lambda file: (seen.append(os.readlink(f"/proc/self/fd/{file}")), sync(file)))
    monkeypatch.setattr(os, "rename", lambda old, new: (seen.append("rename"), rename(old, new)))
    uuid = context.checkpoint.upload(tree(tmp_path / "source", model="m", sub__deep="d"), {"steps_completed": 1})
    partial = str(context.info.run_dir / "checkpoints" / uuid) + ".partial"
    before = set(seen[:seen.index("rename")])
    inside = ("model", "sub", "sub/deep", "metadata.json.new", "resources.json.new")
    assert {partial, *(f"{partial}/{name}" for name in inside)} <= before
    assert str(context.info.run_dir / "checkpoints") in seen[seen.index("rename"):]


def test_a_folder_that_somebody_else_wrote(context, tmp_path):
    given = tree(tmp_path / "given", model="m", metadata__x="1")
    (given / "metadata.json").write_text("{}")
    context.checkpoint.download(str(given), tmp_path / "copy")
    assert contents(tmp_path / "copy") == {"model": "m", "metadata/x": "1"}
    (given / "metadata.json").unlink()
    with pytest.raises(core.CheckpointNotFoundError, match="has no metadata.json"):
        context.checkpoint.get_metadata(str(given))


WRITING = """
import os, time
from muster import core
with core.init() as context:
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "model").write_text("weights")
    print("whole", uuid, flush=True)
    step = 1
    while True:
        step += 1
        with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
            for part in range(20):
                (path / f"part{part}").write_bytes(bytes([step % 256]) * 20000)
        print("whole", uuid, flush=True)
"""


def test_a_kill_while_writing_never_leaves_a_torn_checkpoint(scripts, tmp_path):
    for number, delay_s in enumerate((0.0, 0.012, 0.03, 0.07)):
        folder = tmp_path / str(number)
        script = scripts(WRITING, MUSTER_RUN_DIR=folder)
        told = [script.wait_for("whole").split()[1]]
        time.sleep(delay_s)
        script.kill()
        told += [line.split()[1] for line in script.process.stdout.read().splitlines()]
        with core.init(run_dir=folder) as context:
            found = names(context)  # what was unfinished is swept
            assert set(told) <= set(found) and len(found) <= len(told) + 1
            for uuid in found:
                steps = context.checkpoint.get_metadata(uuid)["steps_completed"]
                with context.checkpoint.restore_path(uuid) as path:
                    resources = json.loads((path / "resources.json").read_text())
                    assert len(resources) == (1 if steps == 1 else 20)
                    for name, size_bytes in resources.items():
                        block = (path / name).read_bytes()
                        assert len(block) == size_bytes and (steps == 1 or set(block) == {steps % 256})
            assert context.info.latest_checkpoint in found
            assert context.checkpoint.get_metadata(context.info.latest_checkpoint)["steps_completed"] == len(found)


HALF = """
from muster import core
context = core.init()
with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
    (path / "model").write_text("half")
    print("half", uuid, flush=True)
    input()
"""


def test_only_what_this_folder_announced_is_swept(scripts, tmp_path, caplog):
    script = scripts(HALF, MUSTER_RUN_DIR=tmp_path)
    uuid = script.wait_for("half").split()[1]
    assert os.listdir(tmp_path / "checkpoints") == [uuid + ".partial"]
    script.kill()
    foreign = [f"{uuid4()}.partial", "notes"]
    for name in foreign:
        (tmp_path / "checkpoints" / name).mkdir()
    with core.init(run_dir=tmp_path) as context:
        assert names(context) == sorted(foreign) and context.info.latest_checkpoint is None
        with pytest.raises(core.CheckpointNotFoundError, match="was never finished"):
            context.checkpoint.get_metadata(foreign[0][:-8])
        with pytest.raises(core.CheckpointNotFoundError, match="was never finished"):
            context.checkpoint.get_metadata(str(tmp_path / "checkpoints" / foreign[0]))
    assert "holds 2 entries that are no checkpoints" in caplog.text and foreign[0] in caplog.text and uuid not in caplog.text


def test_an_unfinished_one_is_swept_where_it_was_begun(scripts, tmp_path):
    script = scripts(HALF.replace("core.init()", f"core.init(checkpoint_storage={str(tmp_path / 'old')!r})"),
                     MUSTER_RUN_DIR=tmp_path / "run")
    script.wait_for("half")
    script.kill()
    core.init(run_dir=tmp_path / "run").close()
    assert os.listdir(tmp_path / "old") == []


def test_a_crash_after_the_rename_is_made_good(context, tmp_path):
    uuid = store(context)
    context.close()
    log = tmp_path / "run" / "checkpoints.jsonl"
    log.write_text(log.read_text().splitlines()[0] + "\n")
    for _ in range(2):
        with core.init(run_dir=tmp_path / "run") as again:
            assert again.info.latest_checkpoint == uuid
    assert [json.loads(line)["event"] for line in log.read_text().splitlines()] == ["announced", "completed"]


def test_a_crash_while_deleting_is_made_good(context, tmp_path, monkeypatch):
    uuid = store(context)
    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", lambda _: (_ for _ in ()).throw(OSError(5, "crash")))
        with pytest.raises(core.StorageError):
            context.checkpoint.delete(uuid)
    assert names(context) == [uuid + ".partial"] and context.checkpoint.latest() is None
    context.close()
    with core.init(run_dir=tmp_path / "run") as again:
        assert names(again) == [] and again.info.latest_checkpoint is None


def test_a_full_disk_is_an_error_that_names_the_folder(small_disk, tmp_path):
    with core.init(run_dir=tmp_path / "run", checkpoint_storage=small_disk) as context:
        first = store(context)
        text = f"cannot write checkpoint .* in {small_disk}: No space left on device; make room"
        with pytest.raises(core.StorageError, match=text):
            context.checkpoint.upload(tree(tmp_path / "source", big="x" * 3_000_000), {"steps_completed": 2})
        assert os.listdir(small_disk) == [first] and context.checkpoint.latest() == first
        store(context, 3)


# ---- several ranks ----

def test_who_writes_what():
    listings = [{"a": 1, "sub/": 0}, {"b": 1, "a": 1, "sub/": 0}, {}]
    assert owners(listings) == {"a": 0, "b": 1, "sub/": 0} and shared_names(listings) == {"a"}
    with pytest.raises(core.CheckpointError, match="sub is a file on rank 1 and a folder on rank 0"):
        shared_names([{"sub/": 0}, {"sub": 3}])
    check_same([{"a": "1", "b": "2"}, {"a": "1"}, {"b": "2"}])
    with pytest.raises(core.CheckpointError, match="a differs between ranks 0, 2 and rank 1; give each"):
        check_same([{"a": "1"}, {"a": "2"}, {"a": "1"}])


SHARDED = """
import os, sys, tempfile
from pathlib import Path
from muster import core
with core.init(distributed=core.DistributedContext.from_environment()) as context:
    rank = context.distributed.rank
    def write(path):
        (path / "sub").mkdir()
        (path / "sub" / f"shard-{rank}").write_text("x" * (rank + 1))
        (path / "same").write_text("equal")
    {body}
"""


def sharded(ranks, tmp_path, body, size=3, codes=None):
    code = SHARDED.replace("{body}", body.replace("\n", "\n    "))
    begun = ranks(code, size, MUSTER_RUN_DIR=tmp_path / "run")
    return [script.end(None if codes is None else codes[rank]) for rank, script in enumerate(begun)]


BOTH_WAYS = """
metadata = {"steps_completed": 4 + rank, f"rank{rank}": rank}
with context.checkpoint.store_path(metadata, shard=True) as (path, uuid):
    write(path)
print(uuid)
source = None
if rank != 1:
    source = Path(tempfile.mkdtemp())
    write(source)
uuid = context.checkpoint.upload(source, metadata, shard=True)
print(uuid)
with context.checkpoint.restore_path(uuid) as path:
    print(sorted(each.name for each in path.rglob("*")))
"""


def test_all_ranks_write_one_checkpoint(ranks, tmp_path):
    said = [out.splitlines() for out, _ in sharded(ranks, tmp_path, BOTH_WAYS, codes=[0, 0, 0])]
    assert said[0] == said[1] == said[2]
    assert said[0][2] == "['metadata.json', 'resources.json', 'same', 'shard-0', 'shard-2', 'sub']"
    stored = tmp_path / "run" / "checkpoints" / said[0][0]
    assert json.loads((stored / "metadata.json").read_text()) == {"steps_completed": 4, "rank0": 0, "rank1": 1, "rank2": 2}
    assert contents(stored)["sub/shard-2"] == "xxx" and not list(stored.glob(".rank*"))
    assert json.loads((stored / "resources.json").read_text()) == {
        "same": 5, "sub/": 0, "sub/shard-0": 1, "sub/shard-1": 2, "sub/shard-2": 3}


def test_names_in_conflict_are_an_error_of_all_ranks(ranks, tmp_path):
    body = """
try:
    with context.checkpoint.store_path({"steps_completed": 1}, shard=True) as (path, uuid):
        (path / "model").write_text("same" if rank != 1 else "oops")
except core.CheckpointError as error:
    print(error)
"""
    for out, err in sharded(ranks, tmp_path, body, codes=[0, 0, 0]):
        assert out == "model differs between ranks 0, 2 and rank 1; give each rank's file a name of its own\n", err
    assert os.listdir(tmp_path / "run" / "checkpoints") == []


def test_a_failure_on_one_rank_is_a_failure_of_all(ranks, tmp_path):
    body = """
try:
    with context.checkpoint.store_path({"steps_completed": 1}, shard=True) as (path, uuid):
        write(path)
        if rank == 2:
            raise KeyError("gone")
except core.CheckpointError as error:
    print(error)
except KeyError as error:
    print("own", error)
context.distributed.allgather(None)  # the ranks are still in step
"""
    outs = [out for out, _ in sharded(ranks, tmp_path, body, codes=[0, 0, 0])]
    assert outs[2] == "own 'gone'\n" and outs[0] == outs[1]
    assert "was not written; rank 2 could not write its files: KeyError: 'gone'" in outs[0]
    assert os.listdir(tmp_path / "run" / "checkpoints") == []


def test_a_failure_in_a_step_that_all_take_leaves_them_in_step(ranks, tmp_path):
    body = """
for missing in (0, 1):
    try:
        context.checkpoint.upload("/nowhere" if rank == missing else ".", {"steps_completed": 1}, shard=True,
                                  selector=lambda _: False)
    except core.CheckpointError as error:
        print(error)
context.distributed.allgather(None)
"""
    lines = [out.splitlines() for out, _ in sharded(ranks, tmp_path, body, size=2, codes=[0, 0])]
    assert lines[0][0] == lines[1][1] == "/nowhere is no folder"
    assert "rank 1 could not list its files: CheckpointError: /nowhere is no folder" in lines[0][1]
    assert "rank 0 could not list its files" in lines[1][0] and os.listdir(tmp_path / "run" / "checkpoints") == []


def test_a_rank_that_dies_leaves_no_checkpoint(ranks, tmp_path):
    body = """
with context.checkpoint.store_path({"steps_completed": 1}, shard=True) as (path, uuid):
    write(path)
    if rank == 1:
        os.kill(os.getpid(), 9)
"""
    outs = sharded(ranks, tmp_path, body, codes=[1, -9, 1])
    assert "DistributedError: rank 1 went away" in outs[0][1] and "rank 1 went away" in outs[2][1]
    with core.init(run_dir=tmp_path / "run") as context:
        assert names(context) == [] and context.info.latest_checkpoint is None


def test_other_ranks_write_only_shards(ranks, tmp_path):
    body = """
for call in (lambda: context.checkpoint.upload("x", {"steps_completed": 1}), lambda: context.checkpoint.delete("x"),
             context.checkpoint.latest, lambda: context.train.report_training_metrics(1, {}), lambda: context.train.flush(),
             lambda: context.train.report_progress(0.5)):
    try:
        if rank == 1:
            call()
    except core.NotChiefError as error:
        print(error)
"""
    lines = sharded(ranks, tmp_path, body, size=2, codes=[0, 0])[1][0].splitlines()
    assert len(lines) == 6 and all(line.startswith("rank 1 ") for line in lines)
