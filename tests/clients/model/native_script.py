"""Training code that uses muster.core, in a trial of the controller: as core_script.py, in its own words.

native_script.py STEPS [SECONDS]
"""
import math
import sys
import time

from muster import core


def main() -> None:
    steps, pause_s = int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    with core.init() as context:
        done = 0
        if context.info.latest_checkpoint:
            done = context.checkpoint.get_metadata(context.info.latest_checkpoint)["steps_completed"]
        print(f"run {context.info.run_id} began at {done} with {context.info.hparams}", flush=True)
        if done == 0:
            context.train.set_metadata({"data": {"rows": 3}})
        context.train.set_status("training")
        begin = done
        while done < steps:
            if begin == 0:  # a run that is to be interrupted takes its time, the next one does not
                time.sleep(pause_s)
            done += 1
            context.train.report_training_metrics(done, {"loss": 1 / done, "odd": math.nan})
            context.train.report_progress(done / steps)
            is_asked = context.preempt.should_preempt()
            if done == steps or is_asked:
                context.train.report_validation_metrics(done, {"validation_loss": 1 / done})
                with context.checkpoint.store_path({"steps_completed": done}) as (path, uuid):
                    (path / "model").write_text(f"after {done}")
                print(f"checkpoint {uuid} at {done}", flush=True)
            if is_asked:
                print(f"asked to stop at {done} by {context.preempt.reason}", flush=True)
                return
        print(f"metadata {context.train.get_metadata()}", flush=True)


if __name__ == "__main__":
    main()
