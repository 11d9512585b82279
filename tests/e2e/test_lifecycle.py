"""Experiments beyond one life, with real daemons and real files: continued, forked, copied, collected, deleted, ended by a budget."""
import re

import pytest

from conftest import ROOT, experiment_folder, until
from test_http import Web

TRAIN = """\
import json
import sys
import time

from muster import core

steps, pause_s = int(sys.argv[1]), float(sys.argv[2])
with core.init() as context:
    done, origin = 0, "nobody"
    if context.info.latest_checkpoint:
        with context.checkpoint.restore_path(context.info.latest_checkpoint) as path:
            state = json.loads((path / "state.json").read_text())
        if context.info.is_warm_start:
            origin = state["run"]
        else:
            done, origin = state["done"], state["origin"]
    print(f"begins at {done} after {origin}", flush=True)
    while done < steps:
        done += 1
        context.train.report_validation_metrics(done, {"loss": context.info.hparams.get("lr", 1.0) / done, "epochs": done})
        time.sleep(pause_s)
        is_asked = context.preempt.should_preempt()
        if done % 4 == 0 or is_asked or done == steps:
            with context.checkpoint.store_path({"steps_completed": done}) as (path, _):
                (path / "state.json").write_text(json.dumps({"done": done, "origin": origin, "run": context.info.run_dir.name}))
        if is_asked:
            break
"""


@pytest.fixture(scope="module")
def lab(cluster):
    (cluster.work / "code").mkdir(exist_ok=True)
    (cluster.work / "code" / "train.py").write_text(TRAIN)
    return Lab(cluster)


class Lab:
    """Experiments of that code, from the command line."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.storage = cluster.work / "storage"

    def create(self, arguments, searcher="{name: single, metric: loss}", *more, storage=""):
        text = (f"name: e\nentrypoint: /usr/bin/python3 train.py {arguments}\nmax_restarts: 0\nsearcher: {searcher}\n"
                "hyperparameters: {lr: {type: double, minval: 0.5, maxval: 1.5}}\n"
                f"checkpoint_storage: {{type: shared_fs, host_path: {self.storage}{storage}}}\n"
                f"environment: {{environment_variables: [PYTHONPATH={ROOT / 'python'}]}}\n")
        (self.cluster.work / "e.yaml").write_text(text)
        return self.created("create", "e.yaml", "code", *more)

    def created(self, *words):
        return int(re.search(r"Created experiment (\d+)", self.run(*words).out).group(1))

    def run(self, *words, **options):
        return self.cluster.run("muster", "experiment", *map(str, words), **options)

    def state(self, experiment):
        return re.search(r": ([A-Z_]+),", self.run("describe", experiment).out).group(1)

    def wait(self, experiment, state="COMPLETED"):
        self.run("wait", experiment, "-q", check=False, timeout=120)
        assert self.state(experiment) == state, self.run("describe", experiment).out

    def trials(self, experiment):
        found = self.run("describe", experiment).out
        return [int(line.split()[0]) for line in found[found.index("TRIAL "):].splitlines()[1:]]

    def printed(self, experiment, trial):
        return (experiment_folder(self.storage, experiment) / f"trial-{trial}" / "output.log").read_text()

    def checkpoints(self, experiment):
        """(steps, state, uuid) of each."""
        rows = [line.split() for line in self.cluster.run("muster", "checkpoint", "list", str(experiment)).out.splitlines()[1:]]
        return [(int(row[3]), row[4], row[0]) for row in rows]


def test_a_run_that_was_asked_to_stop_leaves_nothing_on_any_node(lab):
    """The file that asks it lies in the spool of each node that it has."""
    (lab.cluster.work / "wide.yaml").write_text("name: wide\nentrypoint: \"trap 'exit 0' TERM; sleep 60 & wait\"\nmax_restarts: 0\n"
                                                "resources: {slots_per_trial: 4}\nsearcher: {name: single, metric: loss}\n")
    experiment = lab.created("create", "wide.yaml")
    folders = lambda: sorted(path.parent.name for path in (lab.cluster.dir / "spool").glob("*/job*"))
    until(lambda: "RUNNING" in lab.run("describe", experiment).out)
    until(lambda: folders() == ["node1"], folders)  # its script
    lab.run("cancel", experiment)
    lab.wait(experiment, "CANCELED")
    until(lambda: not folders(), folders)


def test_checkpoints_that_nothing_keeps_are_collected_by_a_job_of_the_owners(lab):
    experiment = lab.create("12 0", storage=", save_trial_latest: 1, save_trial_best: 0")
    lab.wait(experiment)
    until(lambda: [state for _, state, _ in lab.checkpoints(experiment)] == ["DELETED", "DELETED", "COMPLETED"], "they are collected")
    assert {steps: (lab.storage / uuid).exists() for steps, _, uuid in lab.checkpoints(experiment)} == {4: False, 8: False, 12: True}
    assert "collect." in lab.cluster.run("sacct", "-X", "-n", "-P", "-o", "jobname").out
    (last,) = [uuid for steps, _, uuid in lab.checkpoints(experiment) if steps == 12]
    lab.cluster.run("muster", "checkpoint", "delete", last)
    until(lambda: not (lab.storage / last).exists(), "the last goes when it is asked for")


def test_a_folder_of_the_nodes_is_storage_like_any_other(lab):
    place = lab.cluster.work / "of the nodes"
    file = lab.cluster.work / "e.yaml"

    def create(folder):
        lab.create("12 0")  # for its file; what it runs is of no interest
        text = file.read_text()
        file.write_text(re.sub(r"checkpoint_storage: .*", f'checkpoint_storage: {{type: directory, container_path: "{folder}", save_trial_best: 0}}', text))
        return lab.created("create", "e.yaml", "code")

    experiment = create(place)
    lab.wait(experiment)
    until(lambda: [state for _, state, _ in lab.checkpoints(experiment)] == ["DELETED", "DELETED", "COMPLETED"], "they are collected")
    assert {steps: (place / uuid).exists() for steps, _, uuid in lab.checkpoints(experiment)} == {4: False, 8: False, 12: True}
    shown = Web(lab.cluster).get(f"experiments/{experiment}")["experiment"]["config"]["checkpoint_storage"]
    assert shown == {"type": "directory", "container_path": str(place), "save_experiment_best": 0, "save_trial_best": 0, "save_trial_latest": 1}
    fork = lab.created("fork", experiment, "--config", "hyperparameters.lr=0.25")
    lab.wait(fork)
    assert experiment_folder(place, fork).is_dir() and len(list(place.glob("*/metadata.json"))) >= 2
    lab.run("delete", experiment)
    until(lambda: lab.run("describe", experiment, check=False).code != 0, "it is deleted")
    assert not experiment_folder(place, experiment).exists()

    (lab.cluster.work / "file").write_text("in the way")
    blocked = create(lab.cluster.work / "file" / "deep")
    lab.wait(blocked, "ERROR")
    told = lab.run("describe", blocked).out
    assert str(lab.cluster.work / "file" / "deep") in told, told
    wrong = lab.run("create", "-", "code", "--config", "checkpoint_storage.container_path=deep", stdin=file.read_text(), check=False)
    assert wrong.code == 1 and "is no folder's absolute path" in wrong.err + wrong.out


def test_a_deletion_that_fails_says_so_and_leaves_nothing_to_go_on_from(lab):
    other = Lab(lab.cluster)
    other.storage = lab.cluster.work / "locked"
    (other.storage / "collection.log").mkdir(parents=True)  # where the job that deletes wants to write
    experiment = other.create("4 0")
    other.wait(experiment)
    ((_, _, uuid),) = other.checkpoints(experiment)
    other.run("delete", experiment)
    until(lambda: other.state(experiment) == "DELETE_FAILED", "it fails")
    assert (other.storage / uuid / "state.json").exists()
    assert other.checkpoints(experiment)[0][1] == "ERROR", "how far the job came, nobody knows"
    assert "could not delete its files" in other.run("describe", experiment).out
    (other.storage / "collection.log").rmdir()
    other.run("delete", experiment)
    until(lambda: other.run("describe", experiment, check=False).code != 0, "it goes at last")
    assert not (other.storage / uuid).exists()


def test_an_experiment_goes_on_after_its_end_and_is_forked_and_deleted(lab):
    experiment = lab.create("16 0.2")
    until(lambda: lab.checkpoints(experiment), "a checkpoint")
    lab.run("kill", experiment)
    lab.wait(experiment, "CANCELED")
    lab.run("continue", experiment, "--config", "max_restarts=2")
    lab.wait(experiment)
    (trial,) = lab.trials(experiment)
    first, second = re.findall(r"begins at (\d+) after nobody", lab.printed(experiment, trial))
    assert first == "0" and int(second) >= 4
    assert re.search(rf"^{trial} +\d+ +COMPLETED +2 ", lab.run("describe", experiment).out, re.M), "its second run"
    refused = lab.run("continue", experiment, "--config", "name=other", check=False)
    assert refused.code == 1 and "name: continuing an experiment cannot change it" in refused.err
    fork = lab.created("fork", experiment, "--config", "hyperparameters.lr=0.25")
    lab.wait(fork)
    assert f"Forked from: experiment {experiment}" in lab.run("describe", fork).out
    lab.run("delete", experiment)
    until(lambda: lab.run("describe", experiment, check=False).code != 0, "it is deleted")
    assert not experiment_folder(lab.storage, experiment).exists()
    assert lab.run("delete", experiment, check=False).code == 1, "it is there no more"


def test_copies_of_population_based_training_begin_where_their_originals_were(lab):
    experiment = lab.create("100 0.05", "{name: pbt, metric: loss, time_metric: epochs, population_size: 4, num_rounds: 2, length_per_round: 4, "
                            "replace_function: {truncate_fraction: 0.25}, explore_function: {resample_probability: 0, perturb_factor: 0.2}}")
    lab.wait(experiment)
    *first, copy = lab.trials(experiment)
    assert len(first) == 4
    (origin,) = re.findall(r"begins at 0 after (trial-\d+)", lab.printed(experiment, copy))
    assert int(origin.split("-")[1]) in first
    assert [re.findall(r"begins at (\d+) after (\w+)", lab.printed(experiment, trial))[0] for trial in first] == [("0", "nobody")] * 4
    again = [trial for trial in first if len(re.findall("begins at", lab.printed(experiment, trial))) == 2]
    assert len(again) == 3, "the worst is replaced, the others go on"
    assert all(int(re.findall(r"begins at (\d+)", lab.printed(experiment, trial))[1]) >= 4 for trial in again)


def test_a_budget_ends_an_experiment_for_good(lab):
    experiment = lab.create("1000 0.1", "{name: single, metric: loss}", "--config", "budget.gpu_hours=0.001")
    lab.wait(experiment, "CANCELED")
    told = lab.run("describe", experiment).out
    assert "its budget of 0.001 GPU-hours is used up" in told and "of 0.001 GPU-hours" in told
    assert lab.checkpoints(experiment), "it could save what it had"


def test_priority_orders_ones_own_trials_live(lab):
    cluster = lab.cluster
    filler, last = (cluster.sbatch("sleep 600", "-n", str(count)) for count in (7, 1))
    for job in (filler, last):
        cluster.wait_state(job, "RUNNING")
    first, second = lab.create("1000 0.1"), lab.create("1000 0.1")
    lab.run("set", second, "--priority", 1)
    cluster.run("scancel", str(last))
    until(lambda: lab.run("describe", second).out.count("RUNNING"), "the later one runs")
    assert "RUNNING" not in lab.run("describe", first).out
    refused = lab.run("set", second, "--priority", 100, check=False)
    assert refused.code == 1 and "1 to 99" in refused.err + refused.out
    lab.run("kill", first, second)
    cluster.run("scancel", str(filler))


def test_what_is_set_at_any_time_is_shown(lab):
    experiment = lab.create("12 0", "{name: random, metric: loss, max_trials: 2}", "--paused")
    lab.run("set", experiment, "--notes", "first\nsecond", "--max-slots", 2, "--log-retention", 3)
    assert "  Notes: first\n    second\n" in lab.run("describe", experiment).out
    web = Web(lab.cluster)
    assert web.get(f"experiments/{experiment}")["experiment"]["config"]["resources"]["max_slots"] == 2
    lab.run("activate", experiment)
    lab.wait(experiment)
    trial = lab.trials(experiment)[0]
    assert "Logs are kept for 3 days" in lab.cluster.run("muster", "trial", "describe", str(trial)).out
    for words, text in ((("--max-slots", 0), "--max-slots"), (("--name", "two\nlines"), "control characters"), (("--log-retention", -2), "--log-retention")):
        refused = lab.run("set", experiment, *words, check=False)
        assert refused.code != 0 and text in refused.err + refused.out, refused


def test_one_version_of_a_model_is_deleted(lab):
    experiment = lab.create("4 0")
    lab.wait(experiment)
    uuid = next(uuid for _, state, uuid in lab.checkpoints(experiment) if state == "COMPLETED")
    model = lambda *words, **more: lab.cluster.run("muster", "model", *words, **more)
    model("create", "kept")
    for version in (1, 2):
        assert f"version {version} of" in model("register", "kept", uuid).out
    assert "model registry" in lab.cluster.run("muster", "checkpoint", "delete", uuid, check=False).err
    model("delete", "kept", "--version", "1")
    assert [line.split()[0] for line in model("describe", "kept").out.splitlines() if uuid in line] == ["2"]
    assert "has no version 1" in model("delete", "kept", "--version", "1", check=False).err
    model("delete", "kept")
    lab.cluster.run("muster", "checkpoint", "delete", uuid)


def test_certify_is_the_packages(lab):
    told = lab.cluster.run("muster", "certify", "--interruptions", "0", "x.py", env={"PYTHONPATH": str(ROOT / "python")}, check=False)
    assert told.code == 2 and "lie above 0" in told.err
