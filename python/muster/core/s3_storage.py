"""Checkpoints as objects of a bucket, under the keys that Determined gives them, so that both read each other's.

    <prefix>/<uuid>/<path>            the script's files; a folder is an empty object with "/" at its end
    <prefix>/<uuid>/resources.json    {path: bytes}
    <prefix>/<uuid>/metadata.json     comes last and goes first: with it the checkpoint is whole

Ranks write their files side by side; nothing is renamed. What they write, and what is read again, passes through folders
on the node's own disk (scratch.py), of which a checkpoint has one however many processes of the node read it.
"""
from __future__ import annotations

import hashlib
import json
import posixpath
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Container, Dict, Iterator, List, Mapping, Optional, Sequence

from muster.core import values
from muster.core.bucket import Bucket, at_once
from muster.core.errors import CheckpointError, CheckpointNotFoundError, CorruptionError
from muster.core.scratch import HeldFolder, private_folder, shared_folder
from muster.core.storage import (METADATA, RESERVED, RESOURCES, FolderStorage, Presence, disk_errors, is_uuid, make_folders,
                                 matching_in)
from muster.core.storage_settings import S3Settings


class S3Storage:
    """A Storage. Forked children must not use it."""

    def __init__(self, settings: S3Settings) -> None:
        """Connects to nothing. Errors: ImportError without boto3; StorageError."""
        self.location = settings.location
        self._prefix = settings.prefix
        self._bucket = Bucket(settings)
        self._stages: Dict[Path, HeldFolder] = {}
        self._elsewhere = FolderStorage(Path())  # for checkpoints that are given by their path

    def check(self) -> None:
        """Whether the bucket can be reached, before hours are spent on what it shall keep. Errors: StorageError."""
        self._bucket.check()

    def _key(self, uuid: str, path: str) -> str:
        return posixpath.join(self._prefix, uuid, path)

    # ---- reading ----

    def is_whole(self, uuid: str) -> bool:
        return is_uuid(uuid) and self._bucket.exists(self._key(uuid, METADATA))

    def presences(self, uuids: Sequence[str]) -> List[Presence]:
        return at_once(self._presence, uuids)

    def _presence(self, uuid: str) -> Presence:
        if self.is_whole(uuid):
            return Presence.WHOLE
        return Presence.ABSENT if self._bucket.is_empty(self._key(uuid, "")) else Presence.PARTIAL

    def unfinished_names(self, announced: Container[str]) -> List[str]:
        return []

    def metadata(self, uuid_or_path: str) -> Dict[str, Any]:
        if not is_uuid(uuid_or_path):
            return self._elsewhere.metadata(uuid_or_path)
        found: Dict[str, Any] = values.decode(self._metadata(uuid_or_path))
        return found

    def resources(self, uuid_or_path: str) -> Dict[str, int]:
        if not is_uuid(uuid_or_path):
            return self._elsewhere.resources(uuid_or_path)
        self._metadata(uuid_or_path)
        document = self._document(uuid_or_path, RESOURCES)
        if document is not None:
            return document
        return {path: size for path, size in self._listed(uuid_or_path).items() if path not in RESERVED}

    @contextmanager
    def restored(self, uuid_or_path: str) -> Iterator[Path]:
        if not is_uuid(uuid_or_path):
            with self._elsewhere.restored(uuid_or_path) as folder:
                yield folder
            return
        self._metadata(uuid_or_path)
        name = f"{uuid_or_path}-{hashlib.sha256(self.location.encode()).hexdigest()[:8]}"
        held = shared_folder(name, lambda folder: self._download(uuid_or_path, folder, list(self._listed(uuid_or_path))))
        try:
            yield held.path
        finally:
            held.release()

    def fetch(self, uuid_or_path: str, target: Path, paths: Sequence[str]) -> None:
        if not is_uuid(uuid_or_path):
            self._elsewhere.fetch(uuid_or_path, target, paths)
            return
        self._metadata(uuid_or_path)
        self._download(uuid_or_path, target, paths)

    def _download(self, uuid: str, target: Path, paths: Sequence[str]) -> None:
        with disk_errors(f"download checkpoint {uuid}", target):
            make_folders(target, paths)
        self._bucket.download({self._key(uuid, path): target / path for path in paths if not path.endswith("/")})

    def _listed(self, uuid: str) -> Dict[str, int]:
        """All of its objects by their paths."""
        begin = len(self._key(uuid, ""))
        return {key[begin:]: size for key, size in self._bucket.sizes(self._key(uuid, "")).items() if len(key) > begin}

    def _metadata(self, uuid: str) -> Dict[str, Any]:
        document = self._document(uuid, METADATA)
        if document is None:
            state = "is not there" if self._presence(uuid) is Presence.ABSENT else "was never finished"
            raise CheckpointNotFoundError(f"checkpoint {uuid} {state} in {self.location}")
        return document

    def _document(self, uuid: str, name: str) -> Optional[Dict[str, Any]]:
        content = self._bucket.read(self._key(uuid, name))
        if content is None:
            return None
        try:
            document = json.loads(content)
        except ValueError as error:
            raise CorruptionError(f"{name} of checkpoint {uuid} in {self.location} is not JSON: {error}") from error
        if not isinstance(document, dict):
            raise CorruptionError(f"{name} of checkpoint {uuid} in {self.location} is not a JSON object")
        return document

    # ---- writing ----

    def begin(self, uuid: str) -> None:
        """Its first object begins it."""

    def stage(self, uuid: str, rank: Optional[int]) -> Path:
        held = private_folder()
        self._stages[held.path] = held
        return held.path

    def place(self, uuid: str, paths: Sequence[str], source: Path, is_staged: bool) -> None:
        self._bucket.upload({self._key(uuid, path): source / path for path in paths if not path.endswith("/")})
        at_once(lambda path: self._bucket.write(self._key(uuid, path), b""), [path for path in paths if path.endswith("/")])
        if is_staged:
            self.unstage(source)

    def unstage(self, stage: Path) -> None:
        held = self._stages.pop(stage, None)
        if held is not None:
            held.release()

    def finish(self, uuid: str, metadata: Mapping[str, Any], resources: Mapping[str, int]) -> None:
        there = self._listed(uuid)
        for path, size_bytes in resources.items():
            if there.get(path) != size_bytes:
                raise CheckpointError(f"checkpoint {uuid}: {self.location} has {_shown(there.get(path))} of {path}, which has "
                                      f"{size_bytes} bytes; was the file changed while it was uploaded, or does a rule of "
                                      "the bucket delete objects?")
        self._write_document(uuid, RESOURCES, resources)
        self._write_document(uuid, METADATA, metadata)

    def _write_document(self, uuid: str, name: str, document: Mapping[str, Any]) -> None:
        self._bucket.write(self._key(uuid, name), json.dumps(document, allow_nan=False, indent=1).encode() + b"\n")

    def discard(self, uuid: str) -> None:
        """Also one whose last object arrived although the store's answer did not."""
        self._bucket.delete([self._key(uuid, METADATA)])
        self._bucket.abort_uploads(self._key(uuid, ""))
        self._bucket.delete(self._bucket.sizes(self._key(uuid, "")))

    def unmake(self, uuid: str) -> None:
        self._metadata(uuid)
        self._bucket.delete([self._key(uuid, METADATA)])

    def remove(self, uuid: str, paths: List[str]) -> Dict[str, int]:
        left = {path: size for path, size in self.resources(uuid).items() if path not in set(paths)}
        self._write_document(uuid, RESOURCES, left)
        self._bucket.delete([self._key(uuid, path) for path in paths])
        return left

    def matching(self, uuid: str, globs: List[str]) -> List[str]:
        """The patterns are pathlib's own, so they are put to a folder with empty files of these names."""
        resources = self.resources(uuid)
        with tempfile.TemporaryDirectory(prefix="muster-") as name, disk_errors("match names", Path(name)):
            make_folders(Path(name), list(resources))
            for path in resources:
                if not path.endswith("/"):
                    Path(name, path).touch()
            return matching_in(Path(name), resources, globs)


def _shown(size_bytes: Optional[int]) -> str:
    return "nothing" if size_bytes is None else f"{size_bytes} bytes"
