"""TensorBoard over the event files of trials, wherever they lie, under names that people read.

It runs in this process, behind a door that asks for the announcer's secret. Its folder of logs holds links to those of the
trials: <experiment>/trial-<id>. Trials that begin later, and writers that do, are linked when their files are there.
"""
from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, Sequence, Tuple
from urllib.parse import urlsplit

from muster.services.announcer import SECRET_HEADER, Announcer, ServiceError

RELINK_S = 10.0
_TRIAL = "{trial}"
_SECRET_KEY = "HTTP_" + SECRET_HEADER.upper().replace("-", "_")

Application = Callable[[Dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def guarded(application: Application, announcer: Announcer) -> Application:
    """The same, for those who know the secret."""

    def answer(environ: Dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        with announcer.request():
            if not announcer.is_known(str(environ.pop(_SECRET_KEY, ""))):
                start_response("403 Forbidden", [("Content-Type", "text/plain")])
                return [b"This TensorBoard is reached through the controller: muster tensorboard list\n"]
            return application(environ, start_response)

    return answer


def trials_under(template: str) -> List[int]:
    """Ids of the trials that have such a folder. `template` holds {trial} once: /runs/trial-{trial}/tensorboard."""
    before, after = template.split(_TRIAL)
    parent, prefix = os.path.split(before)
    try:
        names = os.listdir(parent)
    except FileNotFoundError:
        return []
    tails = [name[len(prefix):] for name in names if name.startswith(prefix)]
    return sorted(int(tail) for tail in tails if tail.isdigit() and os.path.isdir(f"{before}{tail}{after}"))


def links_of(runs: Sequence[Mapping[str, Any]]) -> List[Tuple[str, str]]:
    """(name, target) of every folder of logs that is there. Errors: ServiceError: nobody may look there."""
    found: List[Tuple[str, str]] = []
    for run in runs:
        for template in run["folders"]:
            try:
                trials = trials_under(template)
            except PermissionError as error:
                raise ServiceError(f"{error.filename} may not be read; ask its owner for the right, or open your own experiments") from error
            wanted = run.get("trials") or trials
            for trial in (trial for trial in trials if trial in wanted):
                found.append((f"{run['name']}/trial-{trial}", template.replace(_TRIAL, str(trial))))
    return found


def link(folder: Path, runs: Sequence[Mapping[str, Any]]) -> int:
    """Makes the links that are missing; the second of one name is name.2. The answer: how many there are now."""
    linked = {os.readlink(path) for path in folder.glob("*/*")}
    for name, target in links_of(runs):
        if target in linked:
            continue
        path, count = folder / name, 1
        while path.is_symlink():
            count += 1
            path = folder / f"{name}.{count}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
        linked.add(target)
    return len(linked)


def _relink_until(folder: Path, runs: Sequence[Mapping[str, Any]], over: threading.Event) -> None:
    while not over.wait(RELINK_S):
        try:
            link(folder, runs)
        except (OSError, ServiceError) as error:
            print(f"muster: {error}", flush=True)


def serve(wish: Mapping[str, Any], announcer: Announcer) -> None:
    """Until nobody has looked for "idle_seconds". Errors: ServiceError."""
    try:
        from tensorboard import default, program  # type: ignore # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise ServiceError(f"python3 on {os.uname().nodename} has no TensorBoard ({error}): pip install tensorboard there, or let "
                           "the experiment's PATH begin with an environment that has it") from error

    class Server(program.WerkzeugServer):  # type: ignore
        """TensorBoard's own, behind the door."""

        def __init__(self, application: Application, flags: Any) -> None:
            super().__init__(guarded(application, announcer), flags)

    over = threading.Event()
    with tempfile.TemporaryDirectory(prefix="muster-tensorboard-") as name:
        folder = Path(name)
        if link(folder, wish["runs"]) == 0:
            print("muster: none of these trials has written event files yet: muster.core, the trainers, and writers of your own below "
                  "$MUSTER_RUN_DIR/tensorboard do (docs/reference/services.md)", flush=True)
        board = program.TensorBoard(default.get_plugins(), server_class=Server)
        board.configure(argv=["tensorboard", f"--logdir={folder}", "--host=0.0.0.0", "--port=0", "--load_fast=false",
                              "--reload_interval=5", "--reload_multifile=true"])
        port = urlsplit(board.launch()).port
        announcer.announce(int(port or 0))
        threading.Thread(target=_relink_until, args=(folder, wish["runs"], over), name="links", daemon=True).start()
        try:
            announcer.wait_idle(float(wish["idle_seconds"]))
        finally:
            over.set()
