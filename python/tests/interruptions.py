"""Trainings in processes of their own that are interrupted at chosen points, and bugs to plant in them.

The processes are forked from one that has loaded torch already, so that a start costs milliseconds.
"""
import faulthandler
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import traceback
from typing import NamedTuple, Optional

import save_points
from conftest import TIMEOUT_S, is_of_contract, rank_variables


class Interruption(NamedTuple):
    """At the first batch from `batch` on: "kill", "stop" or "save", which kills at `point` of the first checkpoint that is
    written from then on. On one rank."""
    kind: str
    batch: int
    rank: int = 0
    point: Optional[str] = None


def _arrange(interruption):
    """Lets this process interrupt itself."""
    import char_model

    is_armed = []
    train_batch = char_model.CharModel.train_batch

    def watching(self, batch, epoch_idx, batch_idx):
        if batch_idx >= interruption.batch and not is_armed:
            is_armed.append(True)
            if interruption.kind == "kill":
                save_points.die()
            if interruption.kind == "stop":
                os.kill(os.getpid(), signal.SIGTERM)
        return train_batch(self, batch, epoch_idx, batch_idx)

    char_model.CharModel.train_batch = watching
    if interruption.kind == "save":
        save_points.arrange(lambda point: is_armed and point == interruption.point, interruption.rank)


def _plant(bug):
    """Breaks the resuming of this process in one of the ways people break it."""
    from muster.pytorch import saved_state, trainer
    from muster.pytorch.units import Position

    def patch_state(change):
        read = saved_state.TrainerState.read.__func__

        def changed(cls, folder):
            state = read(cls, folder)
            state.position = Position(**{**vars(state.position), **change(state.position)})
            return state
        saved_state.TrainerState.read = classmethod(changed)

    def keep_only(name, kept):
        load = saved_state.SavedState.load_shared

        def changed(self, saved):
            load(self, {**saved, name: kept(self)})
        saved_state.SavedState.load_shared = changed

    if bug == "random state":
        saved_state.SavedState.load_random = lambda self, saved: None
    elif bug == "sampler":
        patch_state(lambda position: {"epoch_batches": 0, "epoch_records": 0})
    elif bug == "learning rate":
        keep_only("schedulers", lambda self: [each.scheduler.state_dict() for each in self._context.schedulers])
    elif bug == "optimizer":
        keep_only("optimizers", lambda self: [each.state_dict() for each in self._context.optimizers])
    elif bug == "off by one":
        patch_state(lambda position: {"batches": position.batches + 1})
    elif bug == "stale checkpoint":
        read = trainer.read_tensors

        def stale(path):
            folders = sorted(path.parent.parent.iterdir(), key=lambda folder: (folder / "state.pt").stat().st_mtime_ns)
            older = folders[max(0, folders.index(path.parent) - 1)]
            return read(older / path.name if path.name == "state.pt" else path)
        trainer.read_tensors = stale
    else:
        raise ValueError(bug)


BUGS = ("random state", "sampler", "learning rate", "optimizer", "off by one", "stale checkpoint")


def _prepare(variables, log):
    for name in filter(is_of_contract, list(os.environ)):
        del os.environ[name]
    os.environ.update({name: str(value) for name, value in variables.items()})
    multiprocessing.set_start_method("fork", force=True)  # for its loader's workers, which then notice when it is killed
    sys.stdout = sys.stderr = open(log, "a", encoding="utf-8", buffering=1)
    faulthandler.dump_traceback_later(TIMEOUT_S / 2, file=sys.stderr)


def _begin(variables, batches, interruption, bug, log):
    _prepare(variables, log)
    try:
        import char_model
        if interruption is not None:
            _arrange(interruption)
        if bug is not None:
            _plant(bug)
        result = char_model.train(batches)
        print(result)
        code = 0 if result.is_completed else 3
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    os._exit(code)


def _answer(variables, function, arguments, log):
    _prepare(variables, log)
    try:
        answer = function(*arguments)
        with open(f"{log}.answer", "wb") as file:
            pickle.dump(answer, file)
        code = 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    os._exit(code)


def answers(function, folder, size, *arguments, **variables):
    """What a function of a module answers on each rank, each a process of its own. Errors: AssertionError."""
    each_rank = rank_variables(size, max(1, size // 2)) if size > 1 else [{}]
    port, log = _free_port(), folder.with_suffix(".log")
    processes = []
    try:
        for rank, each in enumerate(each_rank):
            each = {**each, "MUSTER_RUN_DIR": folder, **({"MASTER_PORT": port} if size > 1 else {}), **variables}
            process = _forkserver().Process(target=_answer, args=(each, function, arguments, f"{log}.{rank}"))
            process.start()
            processes.append(process)
        for process in processes:
            process.join(TIMEOUT_S)
        codes = [process.exitcode for process in processes]
    finally:
        for process in processes:
            if process.exitcode is None:
                process.kill()
                process.join(TIMEOUT_S)
    logs = "".join(open(f"{log}.{rank}", encoding="utf-8").read()[-3000:] for rank in range(size))
    assert set(codes) == {0}, f"exit codes {codes}:\n{logs}"
    found = []
    for rank in range(size):
        with open(f"{log}.{rank}.answer", "rb") as file:
            found.append(pickle.load(file))
    return found


def _forkserver():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "torch.distributed", "numpy", "char_model", "muster.pytorch"])
    return context


def _free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def run(folder, batches, size=1, interruption=None, bug=None, hparams="{}", kill_after_s=None):
    """One start of the training; the answer is "completed", "stopped" or "killed". Every process has ended by then.

    Errors: AssertionError with what the ranks said when one failed by itself.
    """
    variables = rank_variables(size, max(1, size // 2)) if size > 1 else [{}]
    port, log = _free_port(), folder.with_suffix(".log")
    processes = []
    try:
        for rank, each in enumerate(variables):
            mine = interruption if interruption is not None and interruption.rank == rank else None
            each = {**each, "MUSTER_RUN_DIR": folder, "MUSTER_HPARAMS": hparams}
            if size > 1:
                each["MASTER_PORT"] = port
            process = _forkserver().Process(target=_begin, args=(each, batches, mine, bug, f"{log}.{rank}"), daemon=False)
            process.start()
            processes.append(process)
        if kill_after_s is not None:
            processes[0].join(kill_after_s)
            processes[0].kill()
        wanted = interruption.rank if interruption is not None else 0
        processes[wanted].join(TIMEOUT_S)
        is_killed = processes[wanted].exitcode == -signal.SIGKILL
        for process in () if is_killed else processes:
            process.join(TIMEOUT_S)
        codes = [process.exitcode for process in processes]
    finally:
        for process in processes:
            if process.exitcode is None:
                process.kill()
                process.join(TIMEOUT_S)
    if is_killed:
        return "killed"
    if set(codes) == {0} or set(codes) == {3}:
        return "completed" if codes[0] == 0 else "stopped"
    logs = "".join(open(f"{log}.{rank}", encoding="utf-8").read()[-3000:] for rank in range(size))
    raise AssertionError(f"exit codes {codes} (None: it had not ended after {TIMEOUT_S} s):\n{logs}")
