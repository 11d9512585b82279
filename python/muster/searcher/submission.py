"""An experiment made from a program: its configuration, and the folder of its code."""
from __future__ import annotations

import base64
import fnmatch
import json
import os
import pathlib
from typing import Any, Dict, List, Sequence, Union

from muster.core.session import Session

_FILE, _FOLDER = ord("0"), ord("5")
_NEVER_SENT = frozenset({"__pycache__", ".git"})
_RUNS = "muster-runs"  # what earlier trials wrote, at the top
_IGNORED = ".detignore"  # patterns, a line each


def create_experiment(session: Session, config: Union[Dict[str, Any], str], code: str, without: Sequence[pathlib.Path] = ()) -> int:
    """The id of a new experiment that runs. `config`: a configuration, or the path of a file of it. `code`: a folder; what lies
    `without` is not sent, nor what its .detignore names, as by `muster experiment create`. Errors: ControllerError with all that is wrong with the configuration; OSError."""
    text = json.dumps(config) if isinstance(config, dict) else pathlib.Path(config).read_text()
    answer = session.call("POST", "/experiments", {"config": text, "activate": True,
                                                   "modelDefinition": _items(pathlib.Path(code), without)})
    return int(answer["experiment"]["id"])


def _items(root: pathlib.Path, without: Sequence[pathlib.Path]) -> List[Dict[str, Any]]:
    left_out = {path.resolve() for path in (*without, root / _RUNS)}
    patterns = _patterns(root / _IGNORED)
    items: List[Dict[str, Any]] = []

    def is_sent(path: pathlib.Path) -> bool:
        names = (path.name, path.relative_to(root).as_posix())
        is_ignored = any(fnmatch.fnmatch(name, pattern) for name in names for pattern in patterns)
        return path.name not in _NEVER_SENT and path.resolve() not in left_out and not is_ignored

    for folder, folders, files in os.walk(root):
        place = pathlib.Path(folder)
        folders[:] = sorted(name for name in folders if is_sent(place / name))
        items += [_item(root, place / name, _FOLDER) for name in folders]
        items += [_item(root, place / name, _FILE) for name in sorted(files) if (place / name).is_file() and is_sent(place / name)]
    return items


def _patterns(file: pathlib.Path) -> List[str]:
    if not file.is_file():
        return []
    lines = (line.strip() for line in file.read_text().splitlines())
    return [line.strip("/") for line in lines if line and not line.startswith("#")]


def _item(root: pathlib.Path, path: pathlib.Path, kind: int) -> Dict[str, Any]:
    status = path.stat()
    content = path.read_bytes() if kind == _FILE else b""
    return {"path": path.relative_to(root).as_posix(), "type": kind, "content": base64.b64encode(content).decode(),
            "mtime": str(int(status.st_mtime)), "mode": status.st_mode & 0o777, "uid": status.st_uid, "gid": status.st_gid}
