"""Where the files of checkpoints lie: what every storage can do, and the storage that is a folder which all ranks see.

    <uuid>/           a whole checkpoint: the script's files, metadata.json, resources.json ({path: bytes})
    <uuid>.partial/   one being written or removed; rank N stages its files in .rank-N/ where several ranks write

A checkpoint becomes whole by one rename, after every file and folder of it is on disk. Its registry is elsewhere, and so
is storage in S3 (s3_storage.py).
"""
from __future__ import annotations

import enum
import os
import shutil
import socket
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Container, ContextManager, Dict, Iterator, List, Mapping, Optional, Protocol, Sequence
from uuid import UUID

from muster.core import durable, values
from muster.core.errors import CheckpointError, CheckpointNotFoundError, StorageError

METADATA, RESOURCES = "metadata.json", "resources.json"
RESERVED = (METADATA, RESOURCES)
_PARTIAL = ".partial"

Selector = Callable[[str], bool]


def is_uuid(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False


def check_uuid(name: str) -> None:
    """Before anything is deleted. Errors: CheckpointNotFoundError: a folder given by its path may be read, no more."""
    if not is_uuid(name):
        raise CheckpointNotFoundError(f"{name!r} is no uuid of a checkpoint of this storage, which alone can be deleted")


@contextmanager
def disk_errors(attempt: str, folder: Path) -> Iterator[None]:
    """Makes OSError a StorageError that names the folder."""
    try:
        yield
    except OSError as error:
        raise durable.storage_error(attempt, folder, error) from error


def list_files(folder: Path, selector: Optional[Selector] = None, may_link: bool = False) -> Dict[str, int]:
    """Bytes by path relative to `folder`, in the order of paths; a subfolder is "name/" with 0 bytes.

    `selector` is asked for each path, subfolders too; a file may be taken without its subfolder.
    Errors: CheckpointError for what is neither file nor folder, for links (to files too unless `may_link`), and for the
    names that a checkpoint keeps for itself; StorageError.
    """
    found: Dict[str, int] = {}

    def fail(error: OSError) -> None:
        raise error

    with disk_errors("read files", folder):
        for parent, folders, files in os.walk(folder, onerror=fail):
            for name in folders + files:
                path = Path(parent, name)
                relative = path.relative_to(folder).as_posix() + ("/" if name in folders else "")
                if selector is not None and not selector(relative):
                    continue
                found[relative] = _size_bytes(path, relative, name in folders, may_link)
    return dict(sorted(found.items()))


def _size_bytes(path: Path, relative: str, is_folder: bool, may_link: bool) -> int:
    if relative in RESERVED:
        raise CheckpointError(f"{path}: a checkpoint keeps the name {relative} for itself; rename the file or leave it out")
    if path.is_symlink() and (is_folder or not may_link):
        raise CheckpointError(f"{path} is a link, and a checkpoint holds files themselves; copy what it points to")
    if is_folder:
        return 0
    if not path.is_file():
        raise CheckpointError(f"{path} is no file; a checkpoint holds files and folders")
    return path.stat().st_size


class Presence(enum.Enum):
    ABSENT = 0
    PARTIAL = 1  # being written or removed, or left so by a crash
    WHOLE = 2


class Storage(Protocol):
    """Any process; who may write which uuid is the registry's business. A checkpoint is whole or counts as not there.

    Where a call takes `uuid_or_path`, the folder of a checkpoint may be given by its path, whatever the storage.
    Errors of every call: StorageError.
    """

    @property
    def location(self) -> str:
        """Names the place, for people and for the run folder."""

    # ---- reading ----

    def is_whole(self, uuid: str) -> bool: ...
    def presences(self, uuids: Sequence[str]) -> List[Presence]: ...

    def unfinished_names(self, announced: Container[str]) -> List[str]:
        """What lies there and is neither whole checkpoints nor announced, in the order of names; [] if others use it too."""

    def metadata(self, uuid_or_path: str) -> Dict[str, Any]:
        """Errors: CheckpointNotFoundError, CorruptionError."""

    def resources(self, uuid_or_path: str) -> Dict[str, int]:
        """Errors: CheckpointNotFoundError, CorruptionError. Of one that this package did not write, its files are listed."""

    def restored(self, uuid_or_path: str) -> ContextManager[Path]:
        """A folder with its files, to be read only, until the block ends. Errors: CheckpointNotFoundError."""

    def fetch(self, uuid_or_path: str, target: Path, paths: Sequence[str]) -> None:
        """Copies these of its resources into a folder. Errors: CheckpointNotFoundError."""

    # ---- writing ----

    def begin(self, uuid: str) -> None: ...

    def stage(self, uuid: str, rank: Optional[int]) -> Path:
        """Where a rank may write its files; `rank` is None when it writes alone."""

    def place(self, uuid: str, paths: Sequence[str], source: Path, is_staged: bool) -> None:
        """Brings files of a folder to where they belong, durably. With `is_staged` they are moved, and the stage ends."""

    def unstage(self, stage: Path) -> None:
        """Removes what is left of a stage whose checkpoint failed."""

    def finish(self, uuid: str, metadata: Mapping[str, Any], resources: Mapping[str, int]) -> None:
        """Makes it whole. Requires: every rank has placed its files. Errors: CheckpointError when one is not there."""

    def discard(self, uuid: str) -> None:
        """Removes what is not whole; nothing if it is not there."""

    def unmake(self, uuid: str) -> None:
        """From now on it is not whole, whatever happens. Errors: CheckpointNotFoundError."""

    def remove(self, uuid: str, paths: List[str]) -> Dict[str, int]:
        """Removes files of a whole checkpoint; the answer is what is left of its resources.

        A crash may leave files that the resources do not name, never the reverse.
        """

    def matching(self, uuid: str, globs: List[str]) -> List[str]:
        """Resources that a pattern of pathlib (`**` goes deep) matches; of a folder that matches, all that is in it.

        Errors: ValueError for a pattern that leaves the checkpoint.
        """


class FolderStorage:
    """One folder of checkpoints; a Storage."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    @property
    def location(self) -> str:
        return str(self.folder)

    def check(self) -> None:
        """Errors: StorageError when checkpoints cannot be written there. Makes nothing: only what is there is looked at."""
        there = self.folder
        while not there.exists() and there != there.parent:
            there = there.parent
        if not there.is_dir():
            raise StorageError(f"checkpoints are to go to {self.folder}, but {there} is no folder; give another one")
        if not os.access(there, os.W_OK | os.X_OK):
            raise StorageError(f"checkpoints are to go to {self.folder}, but this user may not write to {there} on {socket.gethostname()}; make it "
                               "writable on every node, or give another folder")

    def whole(self, uuid: str) -> Path:
        return self.folder / uuid

    def partial(self, uuid: str) -> Path:
        return self.folder / (uuid + _PARTIAL)

    def is_whole(self, uuid: str) -> bool:
        return is_uuid(uuid) and (self.whole(uuid) / METADATA).is_file()

    def has_partial(self, uuid: str) -> bool:
        return is_uuid(uuid) and self.partial(uuid).is_dir()

    def presences(self, uuids: Sequence[str]) -> List[Presence]:
        return [Presence.WHOLE if self.is_whole(uuid) else
                Presence.PARTIAL if self.has_partial(uuid) else Presence.ABSENT for uuid in uuids]

    def unfinished_names(self, announced: Container[str]) -> List[str]:
        if not self.folder.is_dir():
            return []
        with disk_errors("list checkpoints", self.folder):
            names = sorted(os.listdir(self.folder))
        return [name for name in names if not self.is_whole(name) and name.replace(_PARTIAL, "") not in announced]

    def find(self, uuid_or_path: str) -> Path:
        """The folder of a whole checkpoint here, or of any folder given by its path.

        Errors: CheckpointNotFoundError, also for one that is not whole.
        """
        if is_uuid(uuid_or_path):
            if self.is_whole(uuid_or_path):
                return self.whole(uuid_or_path)
            state = "was never finished" if self.has_partial(uuid_or_path) else "is not there"
            raise CheckpointNotFoundError(f"checkpoint {uuid_or_path} {state} in {self.folder}")
        return folder_at(uuid_or_path)

    def metadata(self, uuid_or_path: str) -> Dict[str, Any]:
        folder = self.find(uuid_or_path)
        if not (folder / METADATA).is_file():
            raise CheckpointNotFoundError(f"{folder} has no {METADATA}: it is no checkpoint of this package")
        metadata: Dict[str, Any] = values.decode(durable.read_document(folder / METADATA))
        return metadata

    def resources(self, uuid_or_path: str) -> Dict[str, int]:
        folder = self.find(uuid_or_path)
        if (folder / RESOURCES).is_file():
            return durable.read_document(folder / RESOURCES)
        return list_files(folder, lambda path: path not in RESERVED, may_link=True)

    @contextmanager
    def restored(self, uuid_or_path: str) -> Iterator[Path]:
        yield self.find(uuid_or_path)

    def fetch(self, uuid_or_path: str, target: Path, paths: Sequence[str]) -> None:
        source = self.find(uuid_or_path)
        with disk_errors(f"download checkpoint {uuid_or_path}", target):
            make_folders(target, paths)
            for path in paths:
                if path.endswith("/"):
                    continue
                temporary = target / f"{path}.{os.getpid()}.partial"
                try:
                    shutil.copyfile(source / path, temporary)
                    os.replace(temporary, target / path)
                finally:
                    temporary.unlink(missing_ok=True)

    # ---- writing ----

    def begin(self, uuid: str) -> None:
        with disk_errors(f"begin checkpoint {uuid}", self.folder):
            durable.make_folder(self.folder)
            self.partial(uuid).mkdir()
            durable.sync_folder(self.folder)

    def stage(self, uuid: str, rank: Optional[int]) -> Path:
        stage = self.partial(uuid)
        if rank is not None:
            stage = stage / f".rank-{rank}"
            with disk_errors(f"begin checkpoint {uuid}", self.folder):
                stage.mkdir()
        return stage

    def place(self, uuid: str, paths: Sequence[str], source: Path, is_staged: bool) -> None:
        target = self.partial(uuid)
        with disk_errors(f"write checkpoint {uuid}", self.folder):
            make_folders(target, paths)
            for path in paths:
                if path.endswith("/"):
                    continue
                if not is_staged:
                    shutil.copyfile(source / path, target / path)
                elif source != target:
                    os.rename(source / path, target / path)
                durable.sync_file(target / path)
            if is_staged and source != target:
                shutil.rmtree(source)

    def unstage(self, stage: Path) -> None:
        """It goes with the partial checkpoint in which it lies."""

    def finish(self, uuid: str, metadata: Mapping[str, Any], resources: Mapping[str, int]) -> None:
        partial = self.partial(uuid)
        with disk_errors(f"finish checkpoint {uuid}", self.folder):
            for relative, size_bytes in resources.items():
                path = partial / relative
                if not (path.is_dir() if relative.endswith("/") else path.is_file() and path.stat().st_size == size_bytes):
                    raise CheckpointError(f"checkpoint {uuid}: rank 0 does not see {relative} of {size_bytes} bytes in "
                                          f"{partial}; checkpoint storage must be one folder that all nodes share")
            durable.replace_file(partial / RESOURCES, dict(resources))
            durable.replace_file(partial / METADATA, metadata)
            for parent, _, _ in os.walk(partial):
                durable.sync_folder(Path(parent))
            os.rename(partial, self.whole(uuid))
            durable.sync_folder(self.folder)

    def discard(self, uuid: str) -> None:
        if self.has_partial(uuid):
            with disk_errors(f"remove checkpoint {uuid}", self.folder):
                shutil.rmtree(self.partial(uuid))

    def unmake(self, uuid: str) -> None:
        check_uuid(uuid)
        whole = self.find(uuid)
        with disk_errors(f"delete checkpoint {uuid}", self.folder):
            os.rename(whole, self.partial(uuid))
            durable.sync_folder(self.folder)

    def remove(self, uuid: str, paths: List[str]) -> Dict[str, int]:
        check_uuid(uuid)
        folder = self.find(uuid)
        left = {path: size for path, size in self.resources(uuid).items() if path not in set(paths)}
        with disk_errors(f"delete files of checkpoint {uuid}", self.folder):
            durable.replace_file(folder / RESOURCES, left)
            for path in sorted(paths, reverse=True):  # a folder after what is in it
                if path.endswith("/"):
                    os.rmdir(folder / path)
                else:
                    (folder / path).unlink()
        return left

    def matching(self, uuid: str, globs: List[str]) -> List[str]:
        return matching_in(self.find(uuid), self.resources(uuid), globs)


def folder_at(path_text: str) -> Path:
    """The folder of a checkpoint that is given by its path. Errors: CheckpointNotFoundError."""
    path = Path(path_text)
    if path.name.endswith(_PARTIAL):
        raise CheckpointNotFoundError(f"checkpoint {path} was never finished")
    if not path.is_dir():
        raise CheckpointNotFoundError(f"checkpoint {path_text!r} is neither a uuid nor a folder")
    return path.absolute()


def make_folders(target: Path, paths: Sequence[str]) -> None:
    """All that these paths need below `target`, and itself. Errors: OSError."""
    target.mkdir(parents=True, exist_ok=True)
    for folder in {target / (path if path.endswith("/") else os.path.dirname(path)) for path in paths}:
        folder.mkdir(parents=True, exist_ok=True)


def matching_in(folder: Path, resources: Mapping[str, int], globs: List[str]) -> List[str]:
    """As Storage.matching, of a folder that has these resources. Errors: ValueError."""
    matched = set()
    for glob in globs:
        if not glob or glob.startswith("/") or ".." in Path(glob).parts:
            raise ValueError(f"glob {glob!r} is empty or leaves the checkpoint")
        for path in folder.glob(glob):
            relative = path.relative_to(folder).as_posix()
            if relative == ".":
                matched.update(resources)
            matched.update(each for each in resources if each == relative or each.startswith(relative + "/"))
    return [each for each in resources if each in matched and not _keeps_something(each, resources, matched)]


def _keeps_something(path: str, resources: Mapping[str, int], matched: Container[str]) -> bool:
    """Whether it is a folder of which something stays."""
    return path.endswith("/") and any(each.startswith(path) and each not in matched for each in resources)
