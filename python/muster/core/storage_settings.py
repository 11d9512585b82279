"""Where checkpoints go, as people say it: a folder's path, s3://bucket/prefix, or Determined's checkpoint_storage of type
directory or s3. Pure.

Nothing here shows a key: neither an error nor what an object prints as.
"""
from __future__ import annotations

import json
import os
import posixpath
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Union
from urllib.parse import urlsplit

VARIABLE = "MUSTER_CHECKPOINT_STORAGE"
S3_SCHEME = "s3://"
_S3_NAMES = ("bucket", "prefix", "endpoint_url", "access_key", "secret_key")
_OF_THE_CONTROLLER = ("type", "save_experiment_best", "save_trial_best", "save_trial_latest")


@dataclass(frozen=True)
class S3Settings:
    """`prefix` stands before the uuid of every checkpoint, "" for none. Without keys, boto3 looks for its own.

    `endpoint_url`: of a store other than Amazon's.
    """
    bucket: str
    prefix: str = ""
    endpoint_url: Optional[str] = None
    access_key: Optional[str] = field(default=None, repr=False)
    secret_key: Optional[str] = field(default=None, repr=False)

    @property
    def location(self) -> str:
        """Names the place, for people and for the run folder."""
        place = S3_SCHEME + "/".join(filter(None, (self.bucket, self.prefix)))
        return f"{place} at {self.endpoint_url}" if self.endpoint_url else place


StorageChoice = Union[Path, S3Settings]
StorageValue = Union[str, "os.PathLike[str]", Mapping[str, Any]]


def read_storage(what: str, value: StorageValue) -> StorageChoice:
    """`what` is to blame in errors: an argument's or a variable's name. Errors: ValueError, TypeError."""
    if isinstance(value, Mapping):
        return _directory(what, value) if value.get("type") == "directory" else _s3(what, value)
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{what} is a {type(value).__name__}; it is a folder, s3://bucket/prefix or a dict of type directory or s3")
    text = os.fspath(value)
    if text.startswith(S3_SCHEME):
        bucket, _, prefix = text[len(S3_SCHEME):].partition("/")
        return _s3(what, {"type": "s3", "bucket": bucket, "prefix": prefix})
    return Path(text)


def read_storage_text(text: str) -> StorageChoice:
    """The variable's: JSON of an object, or else as `read_storage` takes it."""
    if not text.lstrip().startswith("{"):
        return read_storage(VARIABLE, text)
    try:
        document: Dict[str, Any] = json.loads(text)
    except ValueError as error:  # the text may hold keys, and is not shown
        raise ValueError(f"{VARIABLE} is no JSON: {error}") from None
    return read_storage(VARIABLE, document)


def _directory(what: str, value: Mapping[str, Any]) -> Path:
    for name in value:
        if name not in ("container_path",) + _OF_THE_CONTROLLER:
            raise ValueError(f"{what} has {name!r}; of a directory there is container_path")
    path = value.get("container_path")
    if not isinstance(path, (str, os.PathLike)) or not os.path.isabs(path):
        raise ValueError(f"container_path of {what} is {path!r}; it is a folder's absolute path, the same on all nodes")
    return Path(path)


def _s3(what: str, value: Mapping[str, Any]) -> S3Settings:
    if value.get("type") != "s3":
        raise ValueError(f'{what} is of type {value.get("type")!r}; "directory" and "s3" are there, and folders by their path')
    for name in value:
        if name not in _S3_NAMES + _OF_THE_CONTROLLER:
            raise ValueError(f"{what} has {name!r}; of storage in S3 there are {', '.join(_S3_NAMES)}")
    texts = {name: value[name] for name in _S3_NAMES if value.get(name) not in (None, "")}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise ValueError(f"{name} of {what} is no text")
    if "bucket" not in texts:
        raise ValueError(f"{what} names no bucket")
    if ("access_key" in texts) != ("secret_key" in texts):
        raise ValueError(f"access_key and secret_key of {what} belong together; give both or neither")
    url = urlsplit(texts.get("endpoint_url", "http://host"))
    if url.scheme not in ("http", "https") or not url.hostname or url.username or url.query or url.fragment:
        raise ValueError(f"endpoint_url of {what} is no URL of the form https://host:port")
    return S3Settings(**{**texts, "prefix": _prefix(what, texts.get("prefix", ""))})


def _prefix(what: str, prefix: str) -> str:
    """As Determined spells it, so that both find each other's checkpoints."""
    if ".." in prefix.split("/"):
        raise ValueError(f"prefix {prefix!r} of {what} holds '..'; name the folder itself")
    return posixpath.normpath(prefix).lstrip("/") if prefix else ""
