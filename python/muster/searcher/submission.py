"""An experiment made from a program: its configuration, and the folder of its code."""
from __future__ import annotations

import base64
import json
import os
import pathlib
from typing import Any, Dict, List, Sequence, Union

from muster.core.session import Session

_FILE, _FOLDER = ord("0"), ord("5")
_NEVER_SENT = frozenset({"__pycache__", ".git"})


def create_experiment(session: Session, config: Union[Dict[str, Any], str], code: str, without: Sequence[pathlib.Path] = ()) -> int:
    """The id of a new experiment that runs. `config`: a configuration, or the path of a file of it. `code`: a folder; what lies
    `without` is not sent. Errors: ControllerError with all that is wrong with the configuration; OSError."""
    text = json.dumps(config) if isinstance(config, dict) else pathlib.Path(config).read_text()
    answer = session.call("POST", "/experiments", {"config": text, "activate": True,
                                                   "modelDefinition": _items(pathlib.Path(code), without)})
    return int(answer["experiment"]["id"])


def _items(root: pathlib.Path, without: Sequence[pathlib.Path]) -> List[Dict[str, Any]]:
    left_out = {path.resolve() for path in without}
    items: List[Dict[str, Any]] = []
    for folder, folders, files in os.walk(root):
        place = pathlib.Path(folder)
        folders[:] = sorted(name for name in folders if name not in _NEVER_SENT and (place / name).resolve() not in left_out)
        items += [_item(root, place / name, _FOLDER) for name in folders]
        items += [_item(root, place / name, _FILE) for name in sorted(files)
                  if (place / name).is_file() and (place / name).resolve() not in left_out]
    return items


def _item(root: pathlib.Path, path: pathlib.Path, kind: int) -> Dict[str, Any]:
    status = path.stat()
    content = path.read_bytes() if kind == _FILE else b""
    return {"path": path.relative_to(root).as_posix(), "type": kind, "content": base64.b64encode(content).decode(),
            "mtime": str(int(status.st_mtime)), "mode": status.st_mode & 0o777, "uid": status.st_uid, "gid": status.st_gid}
