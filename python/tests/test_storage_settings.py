"""What people may say of where checkpoints go."""
import json
import sys
from pathlib import Path

import pytest

from muster import core
from muster.core.environment import read_environment
from muster.core.storage_settings import S3Settings, read_storage, read_storage_text

KEYS = {"access_key": "AKIAOURS", "secret_key": "hush"}


@pytest.mark.parametrize("value, expected", [
    ("a/folder", Path("a/folder")),
    (Path("/data"), Path("/data")),
    ({"type": "directory", "container_path": "/data/ckpt", "save_trial_latest": 2}, Path("/data/ckpt")),
    ("s3://b", S3Settings("b")),
    ("s3://b/some/where/", S3Settings("b", "some/where")),
    ({"type": "s3", "bucket": "b", "prefix": "/a//b/", "save_trial_best": 1}, S3Settings("b", "a/b")),
    ({"type": "s3", "bucket": "b", "endpoint_url": "http://h:9", **KEYS}, S3Settings("b", "", "http://h:9", "AKIAOURS", "hush")),
    ({"type": "s3", "bucket": "b", "prefix": None, "endpoint_url": ""}, S3Settings("b")),
])
def test_is_read(value, expected):
    assert read_storage("x", value) == expected


@pytest.mark.parametrize("value, text", [
    ({"type": "gcs", "bucket": "b"}, "x is of type 'gcs'"),
    ({"type": "directory", "container_path": "ckpt"}, "container_path of x is 'ckpt'; it is a folder's absolute path"),
    ({"type": "directory"}, "container_path of x is None"),
    ({"type": "directory", "container_path": "/d", "host_path": "/e"}, "x has 'host_path'; of a directory there is container_path"),
    ({"type": "s3"}, "x names no bucket"),
    ("s3://", "x names no bucket"),
    ({"type": "s3", "bucket": "b", "buckets": 1}, "x has 'buckets'; of storage in S3 there are bucket,"),
    ({"type": "s3", "bucket": 7}, "bucket of x is no text"),
    ({"type": "s3", "bucket": "b", "access_key": "AKIAOURS"}, "belong together"),
    ({"type": "s3", "bucket": "b", "prefix": "a/../b"}, "holds '..'"),
    ({"type": "s3", "bucket": "b", "endpoint_url": "minio:9000"}, "is no URL of the form"),
    ({"type": "s3", "bucket": "b", "endpoint_url": "http://ann:hush@host"}, "is no URL of the form"),
])
def test_what_is_wrong_is_named_and_keys_are_not(value, text):
    with pytest.raises(ValueError, match=text) as raised:
        read_storage("x", value)
    assert "AKIAOURS" not in str(raised.value) and "hush" not in str(raised.value)


def test_another_type_is_refused():
    with pytest.raises(TypeError, match="checkpoint_storage is a int; it is a folder"):
        core.init(checkpoint_storage=7)


def test_the_variable_is_a_place_or_json(monkeypatch, tmp_path):
    assert read_environment({"MUSTER_CHECKPOINT_STORAGE": "s3://b/p"}).checkpoint_storage == S3Settings("b", "p")
    assert read_storage_text(json.dumps({"type": "s3", "bucket": "b", **KEYS})).secret_key == "hush"
    with pytest.raises(ValueError, match="MUSTER_CHECKPOINT_STORAGE is no JSON: ") as raised:
        read_storage_text('{"type": "s3", "secret_key": "hush"')
    assert "hush" not in str(raised.value)
    monkeypatch.setenv("MUSTER_CHECKPOINT_STORAGE", str(tmp_path / "all"))
    with core.init(run_dir=tmp_path / "run") as context:
        with context.checkpoint.store_path({"steps_completed": 1}) as (_, uuid):
            pass
    assert (tmp_path / "all" / uuid / "metadata.json").is_file()


def test_a_folder_that_cannot_be_written_to_is_seen_at_the_beginning(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(core.StorageError, match=f"checkpoints are to go to {tmp_path}/file/deep, but {tmp_path}/file is no folder"):
        core.init(run_dir=tmp_path / "run", checkpoint_storage=tmp_path / "file" / "deep")
    monkeypatch.setattr("muster.core.storage.os.access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(core.StorageError, match=f"this user may not write to {tmp_path} on .*; make it writable on every node"):
        core.init(run_dir=tmp_path / "run", checkpoint_storage={"type": "directory", "container_path": str(tmp_path / "new" / "deep")})
    assert not (tmp_path / "new").exists()
    with core.init(run_dir=tmp_path / "run"):
        pass  # nothing of it is left in use


def test_keys_are_not_printed():
    settings = S3Settings("b", "p", "http://h", **KEYS)
    assert "AKIAOURS" not in repr(settings) and "hush" not in repr(settings)
    assert settings.location == "s3://b/p at http://h" and S3Settings("b").location == "s3://b"


def test_without_boto3_the_error_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(ImportError, match=r"checkpoints in s3://b/p need boto3: pip install 'muster\[s3\]'"):
        core.init(run_dir=tmp_path / "run", checkpoint_storage="s3://b/p")
    assert not (tmp_path / "run").exists()
