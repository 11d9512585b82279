"""Training code of a user of the Core API: counts, reports, checkpoints, and goes on where its last run stopped.

core_script.py STEPS [SECONDS]: with a pause of SECONDS after each of STEPS.
"""
import json
import logging
import math
import sys
import time

import determined
from determined.common.api import errors


def best_validation(context, expected: float):
    """The package's reports are sent by a thread of its own, so the last one may be on its way when the best is asked for."""
    deadline = time.monotonic() + 30
    found = context.train.get_experiment_best_validation()
    while found != expected and time.monotonic() < deadline:
        time.sleep(0.2)
        found = context.train.get_experiment_best_validation()
    return found


def main() -> None:
    steps, pause_s = int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    info = determined.get_cluster_info()
    with determined.core.init() as context:
        done = 0
        if info.latest_checkpoint:
            with context.checkpoint.restore_path(info.latest_checkpoint) as path:
                done = json.loads((path / "state.json").read_text())["done"]
        print(f"began at {done} with {json.dumps(info.trial.hparams, sort_keys=True)} seed {info.trial.trial_seed}", flush=True)
        if info.trial.hparams.get("is_bad"):
            raise determined.InvalidHP("is_bad is set")
        context.train.set_status("training")
        begin = done
        while done < steps:
            if begin == 0:  # a run that is to be interrupted takes its time, the next one does not
                time.sleep(pause_s)
            done += 1
            context.train.report_training_metrics(done, {"loss": 1 / done})
            context.train.report_progress(done / steps)
            is_asked = context.preempt.should_preempt()
            if done % 4 == 0 or done == steps or is_asked:
                context.train.report_validation_metrics(done, {"validation_loss": 1 / done, "steps": done, "odd": math.nan})
                context.train.report_metrics("extra", done, {"count": done, "least": -math.inf})
                with context.checkpoint.store_path({"steps_completed": done}) as (path, uuid):
                    (path / "state.json").write_text(json.dumps({"done": done}))
                print(f"checkpoint {uuid} at {done}", flush=True)
            if is_asked:
                print(f"asked to stop at {done}", flush=True)
                return
        try:
            context.alert(title="trained", description=f"{steps} steps")
        except errors.APIException as error:
            print(f"no alert: {error.status_code} {error.message}", flush=True)
        print(f"best {best_validation(context, 1 / steps)}", flush=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=determined.LOG_FORMAT)
    main()
