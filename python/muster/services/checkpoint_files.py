"""Removes files of checkpoints by patterns, where they lie, and tells the controller what is left of each.

Without patterns nothing is removed, and the controller is told which of the files that it knows are still there.
"""
from __future__ import annotations

from typing import Any, Dict, List, Mapping

from muster.core.errors import ControllerError, MusterError
from muster.core.session import Session
from muster.core.storage import RESERVED, FolderStorage, Storage
from muster.services.announcer import ServiceError
from muster.services.checkpoint import find_folder, storage_at


def storage_for(wish: Mapping[str, Any]) -> Storage:
    """Where the files of this checkpoint lie. Errors: ServiceError."""
    if wish.get("storage"):
        return storage_at(wish["storage"])
    folder = find_folder(wish)
    if folder is None:
        raise ServiceError(f"the files of checkpoint {wish['uuid']} are neither in " + " nor in ".join(wish["folders"]))
    return FolderStorage(folder.parent)


def remove(storage: Storage, uuid: str, known: Mapping[str, int], globs: List[str]) -> Dict[str, int]:
    """What is left of the files that the controller knows. Nothing but a checkpoint's own documents left: it is removed whole.

    Errors: MusterError; ValueError for a pattern that leaves the checkpoint.
    """
    there = storage.resources(uuid)
    matched = storage.matching(uuid, globs)
    left = {path: size for path, size in there.items() if path not in set(matched)}
    if matched and not left:
        storage.unmake(uuid)
        storage.discard(uuid)
        return {}
    if matched:
        storage.remove(uuid, matched)
    return {path: size for path, size in known.items() if path in left or path in RESERVED}


def serve(wish: Mapping[str, Any], session: Session) -> None:
    """Each checkpoint, whatever comes of the one before. Errors: ServiceError that names those that stayed."""
    failures: List[str] = []
    for one in wish["checkpoints"]:
        try:
            left = remove(storage_for(one), one["uuid"], one["resources"], list(wish["globs"]))
            session.call("PATCH", "/checkpoints", {"checkpoints": [{"uuid": one["uuid"], "resources": {"resources": left}}]})
            print(f"checkpoint {one['uuid']}: {len(left)} of {len(one['resources'])} files and folders are left", flush=True)
        except (ServiceError, MusterError, ControllerError, ValueError, OSError) as error:
            failures.append(f"checkpoint {one['uuid']}: {error}")
    if failures:
        raise ServiceError("; ".join(failures))
