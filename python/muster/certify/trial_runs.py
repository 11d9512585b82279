"""The runs of a certification: a script from its beginning to its end, undisturbed or interrupted at chosen steps."""
from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence, Set

from muster.certify.processes import MarkedCommand
from muster.certify.run_watch import RunWatch

KINDS = ("kill", "stop", "save")
_POLL_S = 0.001
_NOT_FOR_THE_SCRIPT = ("MUSTER_RUN_DIR", "MUSTER_RUN_ID", "MUSTER_STOP_FILE", "MUSTER_RESUME_FROM", "MUSTER_DEADLINE",
                       "MUSTER_CHECKPOINT_STORAGE", "SLURM_RESTART_COUNT")


@dataclass(frozen=True)
class Interruption:
    """Once `step` was reported: "kill" ends every process at once; "save" does so within the next checkpoint; "stop" asks
    the script to stop, by the stop file. `resumed_from`: the step of the checkpoint that was the last one then; None: there was none."""
    kind: str
    step: int
    resumed_from: Optional[int] = None

    def __str__(self) -> str:
        return f"{self.kind} at {self.step}"


class ScriptError(RuntimeError):
    """The script failed, or took too long, by itself. The message says how, and where its output is."""


@dataclass(frozen=True)
class Script:
    """`command` as it is started; `start_timeout_s` bounds one start."""
    command: Sequence[str]
    variables: Mapping[str, str]
    start_timeout_s: float


class TrialRuns:
    """Starts of one script that share a run folder."""

    def __init__(self, script: Script, folder: Path) -> None:
        """`folder` is made; the script's output goes to a file beside it."""
        self._script = script
        self.folder = folder
        self.output = folder.with_suffix(".log")
        self._stop_file = folder.with_suffix(".stop")
        self.steps: Set[int] = set()
        """Those that the last start reported."""
        folder.mkdir(parents=True)

    def run(self, interruption: Optional[Interruption] = None) -> bool:
        """One start, to its end; whether the interruption was made before the script had ended.

        Errors: ScriptError when it ends with another code than 0 without having been killed.
        """
        self._stop_file.unlink(missing_ok=True)
        watch = RunWatch(self.folder)
        started = MarkedCommand(self._script.command, self._variables(), self.output)
        deadline = time.monotonic() + self._script.start_timeout_s
        try:
            is_made = self._interrupted(started, watch, interruption, deadline)
            if is_made and interruption is not None and interruption.kind != "stop":
                return True
            code = started.wait(max(0.0, deadline - time.monotonic()))
        finally:
            started.kill()
        watch.look()
        self.steps = watch.seen
        if code is None:
            raise ScriptError(f"the script had not ended after {self._script.start_timeout_s:g} s"
                              f"{' although it was asked to stop' if is_made else ''}; its output is in {self.output}")
        if code != 0:
            raise ScriptError(f"the script ended with {code}; its output is in {self.output}")
        return is_made

    def _variables(self) -> Dict[str, str]:
        kept = {name: value for name, value in self._script.variables.items() if name not in _NOT_FOR_THE_SCRIPT}
        return {**kept, "MUSTER_RUN_DIR": str(self.folder), "MUSTER_STOP_FILE": str(self._stop_file)}

    def _interrupted(self, started: MarkedCommand, watch: RunWatch, interruption: Optional[Interruption],
                     deadline: float) -> bool:
        while interruption is not None and started.poll() is None and time.monotonic() < deadline:
            watch.look()
            if watch.steps >= interruption.step and (interruption.kind != "save" or watch.is_saving):
                if interruption.kind == "stop":
                    self._stop_file.touch()
                else:
                    started.kill()
                return True
            time.sleep(_POLL_S)
        return False


def planned(steps: Set[int], count: int, kinds: Sequence[str], seed: int) -> List[Interruption]:
    """At rising steps, drawn from those that an uninterrupted run reported, without the last. Pure.

    Fewer than `count` where there are fewer steps.
    """
    draw = random.Random(seed)
    candidates = sorted(steps)[:-1]
    chosen = sorted(draw.sample(candidates, min(count, len(candidates))))
    return [Interruption(kinds[place % len(kinds)], step) for place, step in enumerate(chosen)]


def script_command(words: Sequence[str], python: str) -> List[str]:
    """A script.py or -m module by this Python; anything else as it is."""
    if words[0].endswith(".py") or words[0] == "-m":
        return [python, *words]
    return list(words)


def own_variables() -> Dict[str, str]:
    return dict(os.environ)
