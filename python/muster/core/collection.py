"""Deletes checkpoints where MUSTER_CHECKPOINT_STORAGE says that they are: what a controller's job runs for storage in S3.

    python3 -m muster.core.collection UUID...

What is not there is no error; each of the others is tried, whatever comes of the one before. Exit status 1: something stayed.
"""
from __future__ import annotations

import os
import sys
from typing import List

from muster.core.errors import MusterError
from muster.core.s3_storage import S3Storage
from muster.core.storage import FolderStorage, Storage, is_uuid
from muster.core.storage_settings import VARIABLE, S3Settings, read_storage_text


def storage_of(text: str) -> Storage:
    """Errors: ValueError, ImportError."""
    choice = read_storage_text(text)
    return S3Storage(choice) if isinstance(choice, S3Settings) else FolderStorage(choice)


def main(uuids: List[str]) -> int:
    try:
        storage = storage_of(os.environ[VARIABLE])
    except KeyError:
        print(f"muster: {VARIABLE} is not set: where are they?", file=sys.stderr)
        return 1
    except (ValueError, ImportError, MusterError) as error:
        print(f"muster: {error}", file=sys.stderr)
        return 1
    status = 0
    for uuid in uuids:
        try:
            if not is_uuid(uuid):
                raise ValueError(f"'{uuid}' is no uuid")
            if isinstance(storage, FolderStorage) and storage.is_whole(uuid):
                storage.unmake(uuid)
            storage.discard(uuid)
        except (ValueError, MusterError) as error:
            print(f"muster: checkpoint {uuid} stays: {error}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
