"""`context.checkpoint`: writing checkpoints that are whole or not there, alone or by all ranks, and reading them again."""
from __future__ import annotations

import hashlib
import logging
import os
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, TypeVar, Union
from uuid import uuid4

from muster.core import values
from muster.core.backend import CheckpointRegistry
from muster.core.distributed import DistributedContext
from muster.core.errors import CheckpointError, MusterError, NotChiefError
from muster.core.storage import Selector, Storage, check_uuid, list_files

PathLike = Union[str, "os.PathLike[str]"]
T = TypeVar("T")

_log = logging.getLogger("muster")


class CheckpointContext:
    """Any rank may read. Writes with `shard=True` are called by all ranks together, others and deletions by rank 0."""

    def __init__(self, distributed: DistributedContext, storage: Storage, registry: Optional[CheckpointRegistry],
                 drain_metrics: Callable[[], None]) -> None:
        """`registry` is rank 0's. `drain_metrics` runs before a checkpoint becomes whole, so that the metrics which led
        there are kept too."""
        self._distributed = distributed
        self._storage = storage
        self._registry = registry
        self._drain_metrics = drain_metrics
        self._kept = ExitStack()

    def upload(self, ckpt_dir: Optional[PathLike], metadata: Optional[Mapping[str, Any]] = None, *, shard: bool = False,
               selector: Optional[Selector] = None) -> str:
        """Copies a folder's files into a new checkpoint; the answer is its uuid, once it is whole.

        `metadata` holds at least steps_completed, on rank 0. `selector(path)` says which files to take, by their path
        within the folder. With `shard`, a rank without files passes None; the same name on several ranks must mean the
        same contents; metadata of lower ranks comes before that of higher ones.
        Errors: NotChiefError, ValueError, TypeError; CheckpointError that names the ranks; StorageError.
        """
        if ckpt_dir is None and not shard:
            raise ValueError("upload(None) has nothing to write; only a rank of a sharded upload may have no files")
        source = None if ckpt_dir is None else Path(ckpt_dir)
        write = self._begin(metadata, shard)
        try:
            files = write.agree("list its files", lambda: _listed(source, selector))
            write.share(files, source)
            return write.finish()
        except BaseException:
            write.discard()
            raise

    @contextmanager
    def store_path(self, metadata: Optional[Mapping[str, Any]] = None, *, shard: bool = False) -> Iterator[Tuple[Path, str]]:
        """Gives a folder to write into, in the storage where that is a folder, and the new uuid; whole when the block has
        ended.

        With `shard`, every rank gets a folder of its own. An exception in the block, on any rank, leaves no checkpoint.
        Errors: as `upload`.
        """
        write = self._begin(metadata, shard)
        try:
            with write.stage() as stage:
                write.agree("make its folder", lambda: None)
                try:
                    yield stage, write.uuid
                except Exception as error:
                    write.send_failure("write its files", error)
                    raise
                files = write.agree("list its files", lambda: _listed(stage, None, may_link=False))
                write.share(files, stage, is_staged=True)
            write.finish()
        except BaseException:
            write.discard()
            raise

    def _begin(self, metadata: Optional[Mapping[str, Any]], shard: bool) -> "_Write":
        if not shard and self._distributed.rank != 0:
            raise NotChiefError(f"rank {self._distributed.rank} writes a checkpoint that is not sharded; only rank 0 "
                                "does, or all ranks with shard=True")
        ranks = self._distributed if shard else DistributedContext.single()
        return _Write(ranks, self._storage, self._registry, self._drain_metrics, metadata)

    @contextmanager
    def restore_path(self, uuid: str) -> Iterator[Path]:
        """The folder of a checkpoint, to be read only and until the block ends. `uuid` may be a path.

        Where the storage is no folder, it is downloaded once for all ranks of a node that have it at the same time.
        Errors: CheckpointNotFoundError, StorageError.
        """
        with self._storage.restored(str(uuid)) as folder:
            yield folder

    def hold_path(self, uuid: str) -> Path:
        """As restore_path, until the context ends: for who reads it later. Errors: as restore_path."""
        return self._kept.enter_context(self._storage.restored(str(uuid)))

    def close(self) -> None:
        self._kept.close()

    def download(self, uuid: str, ckpt_dir: PathLike, selector: Optional[Selector] = None) -> None:
        """Copies a checkpoint's files into a folder, made if need be. Ranks may share it: each file is replaced whole.

        Errors: CheckpointNotFoundError, StorageError.
        """
        paths = [path for path in self._storage.resources(str(uuid)) if selector is None or selector(path)]
        self._storage.fetch(str(uuid), Path(ckpt_dir), paths)

    def delete(self, uuid: str, globs: Optional[Sequence[str]] = None) -> None:
        """Removes a checkpoint, or those of its files that a pattern of pathlib matches. Nothing left: it is gone.

        Errors: NotChiefError, CheckpointNotFoundError, ValueError, StorageError.
        """
        if self._registry is None:
            raise NotChiefError(f"rank {self._distributed.rank} deletes checkpoint {uuid}; only rank 0 does")
        check_uuid(uuid)
        if globs is not None:
            matching = self._storage.matching(uuid, list(globs))
            if len(matching) < len(self._storage.resources(uuid)):
                if matching:
                    self._registry.delete(uuid, self._storage.remove(uuid, matching))
                return
        self._storage.unmake(uuid)
        self._registry.delete(uuid, {})
        self._storage.discard(uuid)

    def get_metadata(self, uuid: str) -> Dict[str, Any]:
        """Errors: CheckpointNotFoundError, CorruptionError."""
        return self._storage.metadata(str(uuid))

    def latest(self) -> Optional[str]:
        """The uuid of the checkpoint that this trial completed last and still has. Called by rank 0.

        Errors: NotChiefError; the others have `context.info.latest_checkpoint` of the start.
        """
        if self._registry is None:
            raise NotChiefError(f"rank {self._distributed.rank} asks for the latest checkpoint; while training only "
                                "rank 0 knows it")
        return self._registry.latest()


def _listed(source: Optional[Path], selector: Optional[Selector], may_link: bool = True) -> Dict[str, int]:
    if source is None:
        return {}
    if not source.is_dir():
        raise CheckpointError(f"{source} is no folder")
    return list_files(source, selector, may_link)


def owners(listings: Sequence[Mapping[str, int]]) -> Dict[str, int]:
    """Which rank writes each path: the lowest that has it. Pure."""
    chosen: Dict[str, int] = {}
    for rank, listing in enumerate(listings):
        for path in listing:
            chosen.setdefault(path, rank)
    return dict(sorted(chosen.items()))


def shared_names(listings: Sequence[Mapping[str, int]]) -> Set[str]:
    """Files that more than one rank has; their contents must be compared. Pure.

    Errors: CheckpointError when a name is a file on one rank and a folder on another.
    """
    ranks: Dict[str, List[int]] = {}
    for rank, listing in enumerate(listings):
        for path in listing:
            ranks.setdefault(path, []).append(rank)
    for path, holders in ranks.items():
        if path + "/" in ranks:
            raise CheckpointError(f"{path} is a file on {_ranks(holders)} and a folder on {_ranks(ranks[path + '/'])}")
    return {path for path, holders in ranks.items() if len(holders) > 1 and not path.endswith("/")}


def check_same(digests: Sequence[Mapping[str, str]]) -> None:
    """Errors: CheckpointError that names path and ranks when a name's contents differ. Pure."""
    for path in sorted({path for each in digests for path in each}):
        holders: Dict[str, List[int]] = {}
        for rank, each in enumerate(digests):
            if path in each:
                holders.setdefault(each[path], []).append(rank)
        if len(holders) > 1:
            groups = " and ".join(_ranks(ranks) for ranks in holders.values())
            raise CheckpointError(f"{path} differs between {groups}; give each rank's file a name of its own")


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


class _Write:
    """One checkpoint on its way: begun, staged and shared by all its ranks in step, finished by rank 0.

    Each step is agreed on: one rank's failure is every rank's, and names that rank.
    """

    def __init__(self, ranks: DistributedContext, storage: Storage, registry: Optional[CheckpointRegistry],
                 drain_metrics: Callable[[], None], metadata: Optional[Mapping[str, Any]]) -> None:
        self.rank = ranks.rank
        self._ranks = ranks
        self._storage = storage
        self._registry = registry
        self._drain_metrics = drain_metrics
        self._resources: Dict[str, int] = {}
        self._state = "begun"
        self.uuid = ""
        self._metadata = self._merged(self.agree("read its metadata", lambda: self._checked(metadata)))
        self.uuid = self.agree("begin", self._announced)[0]

    def _checked(self, metadata: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
        encoded: Dict[str, Any] = values.encode_document("checkpoint metadata", dict(metadata or {}))
        if self.rank == 0:
            if "steps_completed" not in encoded:
                raise ValueError('checkpoint metadata needs "steps_completed": pass metadata={"steps_completed": n}')
            values.check_steps(encoded["steps_completed"])
        return encoded

    @staticmethod
    def _merged(parts: Sequence[Mapping[str, Any]]) -> Dict[str, Any]:
        merged: Dict[str, Any] = {}
        for part in reversed(parts):
            merged.update(part)
        return merged

    def _announced(self) -> str:
        if self._registry is None:
            return ""
        self.uuid = str(uuid4())
        self._registry.announce(self.uuid)
        self._storage.begin(self.uuid)
        return self.uuid

    def agree(self, step: str, work: Callable[[], T]) -> List[T]:
        """Runs `work` on every rank; the answers in the order of ranks. Errors: this rank's own, else CheckpointError."""
        try:
            mine = work()
        except Exception as error:  # pylint: disable=broad-except
            self.send_failure(step, error)
            raise
        return self._answers(mine, None)

    def send_failure(self, step: str, error: Exception) -> None:
        try:
            self._answers(None, f"could not {step}: {type(error).__name__}: {error}")
        except MusterError:
            pass  # this rank raises its own

    def _answers(self, mine: Any, failure: Optional[str]) -> List[Any]:
        answers = self._ranks.allgather((mine, failure))
        failed = [f"rank {rank} {text}" for rank, (_, text) in enumerate(answers) if text is not None]
        if failed:
            raise CheckpointError(f"checkpoint {self.uuid}".rstrip() + " was not written; " + "; ".join(failed))
        return [value for value, _ in answers]

    @contextmanager
    def stage(self) -> Iterator[Path]:
        """Where this rank may write."""
        try:
            stage = self._storage.stage(self.uuid, self.rank if self._ranks.size > 1 else None)
        except Exception as error:
            self.send_failure("make its folder", error)
            raise
        try:
            yield stage
        except BaseException:
            self._storage.unstage(stage)
            raise

    def share(self, listings: Sequence[Mapping[str, int]], source: Optional[Path], is_staged: bool = False) -> None:
        """Brings every rank's files, each once, to where they belong, on disk."""
        shared = shared_names(listings)
        if shared:
            mine = shared.intersection(listings[self.rank])
            check_same(self.agree("read its files",
                                  lambda: {path: _digest(Path(source or "", path)) for path in sorted(mine)}))
        chosen = owners(listings)
        self._resources = {path: listings[rank][path] for path, rank in chosen.items()}
        mine = [path for path, rank in chosen.items() if rank == self.rank]
        self.agree("write its files", lambda: self._storage.place(self.uuid, mine, source or Path(), is_staged))

    def finish(self) -> str:
        self.agree("finish it", self._finished)
        self._state = "whole"
        return self.uuid

    def _finished(self) -> None:
        if self._registry is None:
            return
        self._drain_metrics()
        self._storage.finish(self.uuid, self._metadata, self._resources)
        self._state = "whole"
        self._registry.complete(self.uuid, self._metadata, self._resources)

    def discard(self) -> None:
        """Removes what there is of it, on rank 0; what cannot be removed is swept by the next run."""
        if self._registry is None or not self.uuid or self._state == "whole":
            return
        try:
            self._storage.discard(self.uuid)
            self._registry.discard(self.uuid)
        except Exception as error:  # pylint: disable=broad-except
            _log.warning("checkpoint %s was not written, and its files remain until the next start: %s", self.uuid, error)
