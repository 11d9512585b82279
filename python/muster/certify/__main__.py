"""Certifies that a training script goes on where it was interrupted.

    python -m muster.certify train.py --lr 0.1
    python -m muster.certify --interruptions 12 -- python3 -m torch.distributed.run --nproc_per_node 2 train.py

The script runs once undisturbed; then again, killed, asked to stop, and killed while it writes a checkpoint, at steps of
the training drawn by a seed; then the last checkpoints and the metric series of both are compared, value by value. The
script reports to MUSTER_RUN_DIR, as all do that use muster.core, muster.pytorch or an adapter. Where they differ, it runs
undisturbed once more, to tell whether it repeats itself at all.

Exit code: 0 exact, or equal within --within; 1 it differs; 2 a wrong argument; 3 the script failed, or was not certified.
"""
from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from muster.certify import contents, verdict
from muster.certify.run_watch import last_checkpoint
from muster.certify.trial_runs import (KINDS, Interruption, Script, ScriptError, TrialRuns, own_variables, planned,
                                       script_command)
from muster.certify.verdict import Comparison

EXACT, DIFFERS, NOT_CERTIFIED = 0, 1, 3


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="muster certify", description=__doc__, allow_abbrev=False,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--interruptions", type=int, default=6, metavar="N", help="how many (default %(default)s)")
    found.add_argument("--kinds", default=",".join(KINDS), help="of which kinds, in turn (default %(default)s)")
    found.add_argument("--at", metavar="STEPS", help="at these steps instead of drawn ones: 10,25,40")
    found.add_argument("--seed", type=int, default=0, metavar="N", help="of the steps drawn (default %(default)s)")
    found.add_argument("--within", type=float, default=0.0, metavar="X",
                       help="accept floating-point values that differ by a share of up to X (default: none)")
    found.add_argument("--timeout", type=float, default=3600.0, metavar="SECONDS", help="of one start (default %(default)s)")
    found.add_argument("--folder", type=Path, help="where to keep the runs; default a temporary one, removed if exact")
    found.add_argument("--json", type=Path, metavar="FILE", help="write the outcome there too")
    found.add_argument("script", nargs=argparse.REMAINDER, help="script.py, -m module or a command, with its arguments")
    return found


class Certification:
    """Of one script, in one folder."""

    def __init__(self, script: Script, folder: Path) -> None:
        self._script = script
        self._folder = folder
        self.made: List[Interruption] = []
        self.missed: List[Interruption] = []

    def undisturbed(self, name: str) -> TrialRuns:
        begun = time.monotonic()
        runs = TrialRuns(self._script, self._folder / name)
        runs.run()
        print(f"{name}: {time.monotonic() - begun:.1f} s, steps up to {max(runs.steps, default=0)}", flush=True)
        return runs

    def interrupted(self, plan: Sequence[Interruption]) -> TrialRuns:
        runs = TrialRuns(self._script, self._folder / "interrupted")
        for interruption in plan:
            if not runs.run(interruption):
                self.missed.append(interruption)
                continue
            last = last_checkpoint(runs.folder)
            self.made.append(replace(interruption, resumed_from=None if last is None else last.steps_completed))
        runs.run()
        print(f"interrupted: {', '.join(map(str, self.made)) or 'not once'}", flush=True)
        if self.missed:
            print(f"  it ended before these: {', '.join(map(str, self.missed))}", flush=True)
        return runs


def comparisons_of(one: TrialRuns, other: TrialRuns) -> List[Comparison]:
    checkpoints = [last_checkpoint(each.folder) for each in (one, other)]
    found: List[Dict[str, Any]] = []
    for each in checkpoints:
        found.append({} if each is None else
                     {"steps_completed": each.steps_completed, **contents.of_checkpoint(each.folder)})
    return [verdict.compared("checkpoint", found[0], found[1]),
            verdict.compared("metrics", contents.of_series(one.folder), contents.of_series(other.folder))]


def checked(found: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.script[:1] == ["--"]:
        options.script = options.script[1:]
    if not options.script:
        found.error("which script? give it after the options")
    options.kinds = options.kinds.split(",")
    for kind in options.kinds:
        if kind not in KINDS:
            found.error(f"--kinds has {kind!r}; there are {', '.join(KINDS)}")
    if options.at is not None:
        steps = options.at.split(",")
        if not all(step.isdigit() for step in steps):
            found.error(f"--at is {options.at!r}; it reads like 10,25,40")
        options.at = sorted(map(int, steps))
    if options.interruptions < 1 or options.within < 0 or options.timeout <= 0:
        found.error("--interruptions and --timeout lie above 0, --within at 0 or above")
    if options.folder is not None and options.folder.exists() and any(options.folder.iterdir()):
        found.error(f"--folder {options.folder} is not empty")


def main(arguments: Sequence[str]) -> int:
    found = parser()
    options = found.parse_args(arguments)
    checked(found, options)
    folder = options.folder.absolute() if options.folder is not None else Path(tempfile.mkdtemp(prefix="muster-certify-"))
    script = Script(script_command(options.script, sys.executable), own_variables(), options.timeout)
    certification = Certification(script, folder)
    has_runs = True
    try:
        code = certify(certification, options)
        has_runs = code != EXACT
    except ScriptError as error:
        print(f"not certified: {error}", file=sys.stderr)
        code = NOT_CERTIFIED
    except OSError as error:
        print(f"not certified: the script cannot be started: {error}", file=sys.stderr)
        code, has_runs = NOT_CERTIFIED, False
    if not has_runs and options.folder is None:
        shutil.rmtree(folder)
    else:
        print(f"the runs are in {folder}")
    return code


def certify(certification: Certification, options: argparse.Namespace) -> int:
    """The exit code. Errors: ScriptError."""
    twin = certification.undisturbed("uninterrupted")
    if options.at is not None:
        plan = [Interruption(options.kinds[place % len(options.kinds)], step) for place, step in enumerate(options.at)]
    else:
        plan = planned(twin.steps, options.interruptions, options.kinds, options.seed)
    comparisons = comparisons_of(twin, certification.interrupted(plan))
    print("\n".join(verdict.lines_of(comparisons)))
    parting = verdict.parted(comparisons, certification.made)
    if parting is not None:
        print(parting)
    again: Optional[List[Comparison]] = None
    if any(each.apart for each in comparisons):
        again = comparisons_of(twin, certification.undisturbed("uninterrupted again"))
        print(f"two uninterrupted runs: {verdict.summary(again, options.within)}")
    is_accepted = bool(certification.made) and verdict.is_accepted(comparisons, options.within)
    said = verdict.summary(comparisons, options.within) if certification.made else "not certified: it was not interrupted"
    print(f"verdict: {said}", flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps({
            "verdict": said, "is_accepted": is_accepted, "interruptions": [vars(each) for each in certification.made],
            "missed": [vars(each) for each in certification.missed], "parted": None if parting is None else asdict(parting),
            "comparisons": verdict.document(comparisons),
            "uninterrupted_twice": None if again is None else verdict.summary(again, options.within)}, indent=1), encoding="utf-8")
    if not certification.made or said == "nothing to compare":
        return NOT_CERTIFIED
    return EXACT if is_accepted else DIFFERS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
