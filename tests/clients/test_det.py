"""(c), (d), (e): every command of det, what it asks, and that the package can read what it is answered."""
import json
import re
import tarfile
import uuid
from pathlib import Path

import pytest
import requests
from ruamel import yaml

from conftest import MODEL, until

SCRIPT = "python3 core_script.py"


@pytest.fixture(scope="module")
def done(experiments, det):
    """An experiment that has completed: its id, its trial's, and its last checkpoint's uuid."""
    experiment = experiments.create("done", f"{SCRIPT} 6", "--config", "description=one that is done", golden="experiment-create",
                                    labels=["first"])
    experiments.wait(experiment)
    (trial,) = experiments.trials(experiment)
    return experiment, trial, experiments.workloads(trial, "checkpoint")[-1]["uuid"]


@pytest.fixture
def running(experiments, det):
    """One that trains for a minute, killed with the test."""
    experiment = experiments.create("running", f"{SCRIPT} 200 0.3")
    yield experiment
    det("experiment", "kill", experiment, code=None)


# ---- experiments ----

def test_create_paused_and_activate(experiments, det):
    experiment = experiments.create("held", f"{SCRIPT} 2", "--paused", golden="experiment-create-paused")
    assert experiments.describe(experiment)["state"] == "STATE_PAUSED"
    det("experiment", "activate", experiment, golden="experiment-activate")
    experiments.wait(experiment)


def test_create_and_follow(experiments, det):
    file = experiments.configuration("followed", f"{SCRIPT} 3 0.2")
    ran = det("experiment", "create", "-f", file, MODEL, golden="experiment-create-follow")
    assert "Following first trial with ID" in ran.out and "checkpoint" in ran.out and "best 0.3333" in ran.out


def test_a_configuration_that_is_wrong_is_refused_by_name(experiments, det):
    file = experiments.configuration("wrong", "true", searcher={"name": "no_such_search", "metric": "x"})
    ran = det("experiment", "create", file, MODEL, code=1)
    assert "no_such_search" in ran.err
    (exchange,) = [each for each in ran.exchanges if each.method == "POST"]
    assert exchange.status == 400


def test_list(det, done):
    rows = det("experiment", "list", golden="experiment-list").rows()
    (row,) = [row for row in rows if row["ID"] == str(done[0])]
    assert (row["Name"], row["State"], row["Progress"]) == ("done", "COMPLETED", "100.0%")
    everything = det("experiment", "list", "--all", golden="experiment-list-all").rows()
    assert {row["ID"] for row in rows} <= {row["ID"] for row in everything}


def test_list_pages(det, done, experiments):
    experiments.wait(experiments.create("second", f"{SCRIPT} 1"))
    whole = det("experiment", "list").rows()
    assert len(whole) >= 2 and det("experiment", "list", "--limit", 1).rows() == whole


def test_describe(det, done):
    experiment, trial, _ = done
    ran = det("experiment", "describe", experiment, golden="experiment-describe")
    assert re.search(rf"{experiment} +\| COMPLETED +\| 100.0%", ran.out)
    assert re.search(rf"{trial} +\| +{experiment} +\| COMPLETED", ran.out)
    ran = det("experiment", "describe", experiment, "--metrics", golden="experiment-describe-metrics")
    assert "Training Metric: loss" in ran.out and "Validation Metric: validation_loss" in ran.out and "0.25" in ran.out


def test_describe_what_is_not_there(det):
    ran = det("experiment", "describe", 999999, code=1)
    assert ran.exchanges[-1].status == 404


def test_logs(det, done, running):
    experiment = done[0]
    whole = det("experiment", "logs", experiment, golden="experiment-logs").out
    assert "began at 0" in whole and re.search(r"^\[[\d-]+T[\d:.]+Z\] \S+ .*\|\| .*began at 0", whole, re.M)
    tail = det("experiment", "logs", experiment, "--tail", 2, golden="experiment-logs-tail").out
    lines = [line for line in whole.splitlines() if line.startswith("[")]
    assert [line for line in tail.splitlines() if line.startswith("[")] == lines[-2:]
    assert lines == [line for line in det("experiment", "logs", "-f", experiment, golden="experiment-logs-follow").out.splitlines()
                     if line.startswith("[")]


def test_following_ends_with_the_trial(det, experiments):
    experiment = experiments.create("follow", f"{SCRIPT} 6 0.5")
    until(lambda: experiments.trials(experiment), "a trial")
    ran = det("experiment", "logs", "-f", experiment)
    assert "best 0.1666" in ran.out
    # A second for the trial to end, and one for its state.
    until(lambda: experiments.describe(experiment)["state"] == "STATE_COMPLETED", "its end", 10)


def test_pause_kill_and_wait(det, experiments, running):
    det("experiment", "pause", running, golden="experiment-pause")
    assert experiments.describe(running)["state"] == "STATE_PAUSED"
    det("experiment", "kill", running, golden="experiment-kill")
    det("experiment", "wait", running, "--polling-interval", 1, code=1)
    assert experiments.describe(running)["state"] == "STATE_CANCELED"


def test_cancel(det, experiments, running):
    det("experiment", "cancel", running, golden="experiment-cancel")
    experiments.wait(running, "CANCELED")


def test_wait(det, done):
    det("experiment", "wait", done[0], golden="experiment-wait")


def test_archive_and_unarchive(det, experiments, done):
    experiment = done[0]
    det("experiment", "archive", experiment, golden="experiment-archive")
    assert experiments.describe(experiment)["archived"] is True
    assert str(experiment) not in {row["ID"] for row in det("experiment", "list").rows()}
    det("experiment", "unarchive", experiment, golden="experiment-unarchive")
    assert experiments.describe(experiment)["archived"] is False


def test_labels(det, experiments, done):
    experiment = done[0]
    det("experiment", "label", "add", experiment, "blue", golden="experiment-label-add")
    assert sorted(experiments.describe(experiment)["labels"]) == ["blue", "first"]
    det("experiment", "label", "remove", experiment, "blue", golden="experiment-label-remove")
    assert experiments.describe(experiment)["labels"] == ["first"]


def test_set_texts(det, experiments, done):
    experiment = done[0]
    det("experiment", "set", "name", experiment, "renamed", golden="experiment-set-name")
    det("experiment", "set", "description", experiment, "told anew", golden="experiment-set-description")
    found = experiments.describe(experiment)
    assert (found["name"], found["description"], found["labels"]) == ("renamed", "told anew", ["first"])


def test_set_resources(det, experiments, running):
    det("experiment", "set", "priority", running, 60, golden="experiment-set-priority")
    det("experiment", "set", "weight", running, 2, golden="experiment-set-weight")
    det("experiment", "set", "max-slots", running, 4, golden="experiment-set-max-slots")
    resources = experiments.describe(running)["config"]["resources"]
    assert (resources["priority"], resources["weight"], resources["max_slots"]) == (60, 2, 4)


def test_config(det, done):
    config = _yaml(det("experiment", "config", done[0], golden="experiment-config").out)
    assert config["searcher"]["name"] == "single" and config["description"] == "one that is done"
    assert config["checkpoint_storage"]["save_trial_latest"] == 1 and config["max_restarts"] == 0


def _yaml(text):
    return yaml.YAML(typ="safe", pure=True).load(text)


def test_model_definition(det, done, tmp_path):
    det("experiment", "download-model-def", done[0], "--output-dir", tmp_path, golden="experiment-download-model-def")
    with tarfile.open(tmp_path / f"experiment_{done[0]}_model_def.tgz") as archive:
        assert "core_script.py" in {name.lstrip("./") for name in archive.getnames()}


def test_lists_of_an_experiment(det, done):
    experiment, trial, checkpoint = done
    (row,) = det("experiment", "list-trials", experiment, golden="experiment-list-trials").rows()
    assert (row["Trial ID"], row["State"]) == (str(trial), "COMPLETED")
    rows = det("experiment", "list-checkpoints", experiment, golden="experiment-list-checkpoints").rows()
    assert checkpoint in {row["UUID"] for row in rows}
    (best, *_) = det("experiment", "list-checkpoints", experiment, "--best", 1, golden="experiment-list-checkpoints-best").rows()
    assert (best["UUID"], best["Validation Metric"][:6]) == (checkpoint, "0.1666")


# ---- trials and checkpoints ----

def test_trial(det, done):
    experiment, trial, _ = done
    ran = det("trial", "describe", trial, golden="trial-describe")
    assert re.search(rf"^ *{experiment} +\| COMPLETED", ran.out, re.M)
    ran = det("trial", "describe", trial, "--metrics", golden="trial-describe-metrics")
    assert '"validation_loss": 0.25' in ran.out and '"loss": 0.5' in ran.out


def test_trial_logs(det, done):
    trial = done[1]
    assert "began at 0" in det("trial", "logs", trial, golden="trial-logs").out
    filtered = det("trial", "logs", trial, "--head", 1, "--level", "INFO", golden="trial-logs-filtered").out
    assert len([line for line in filtered.splitlines() if line.startswith("[")]) <= 1


def test_log_retention(det, experiments, done):
    experiment, trial, _ = done
    det("experiment", "set", "log-retention", experiment, "--days", 50, golden="experiment-set-log-retention")
    assert experiments.trial(trial)["logRetentionDays"] == 50
    det("trial", "set", "log-retention", trial, "--forever", golden="trial-set-log-retention")
    assert experiments.trial(trial)["logRetentionDays"] == -1


def test_trial_kill(det, experiments, running):
    (trial,) = until(lambda: experiments.trials(running), "a trial")
    det("trial", "kill", trial, golden="trial-kill")
    until(lambda: experiments.trial(trial)["state"] == "STATE_CANCELED", "its end")


def test_checkpoint(det, done):
    experiment, trial, checkpoint = done
    ran = det("checkpoint", "describe", checkpoint, golden="checkpoint-describe")
    assert re.search(rf"{experiment} +\| +{trial} +\| +6 +\|.*{checkpoint}", ran.out)
    absent = det("checkpoint", "describe", uuid.uuid4(), code=1)
    assert absent.exchanges[-1].status == 404


@pytest.mark.parametrize("mode", ["direct", "master"])
def test_checkpoint_download(det, done, tmp_path, mode):
    det("checkpoint", "download", done[2], "-o", tmp_path / "to", "--mode", mode, golden=f"checkpoint-download-{mode}")
    assert json.loads((tmp_path / "to" / "state.json").read_text()) == {"done": 6}


def test_the_best_checkpoints_of_an_experiment(det, served, experiments, tmp_path):
    experiment = experiments.create("rated", f"{SCRIPT} 12", searcher={"name": "single", "metric": "steps", "smaller_is_better": False},
                                    checkpoint_storage={"type": "shared_fs", "host_path": str(served.storage), "save_trial_latest": 3})
    experiments.wait(experiment)

    def steps_of(*words):
        ran = det("experiment", "download", experiment, "-o", tmp_path / str(len(list(tmp_path.iterdir()))), "-q", *words)
        return [json.loads((Path(line) / "state.json").read_text())["done"] for line in ran.out.splitlines()]

    by_loss = ("--sort-by", "validation_loss", "--smaller-is-better")
    assert steps_of("--top-n", 2, *by_loss, "true") == [12, 8]
    assert steps_of("--top-n", 2, *by_loss, "false") == [4, 8]
    assert steps_of(*by_loss, "false") == [4]


def test_files_of_a_checkpoint_are_removed(det, experiments):
    experiment = experiments.create("thinned", f"{SCRIPT} 2")
    experiments.wait(experiment)
    (trial,) = experiments.trials(experiment)
    uuid = experiments.workloads(trial, "checkpoint")[-1]["uuid"]
    shown = lambda: json.loads(det("trial", "describe", trial, "--json").out)["workloads"]
    state = lambda: {each["checkpoint"]["uuid"]: each["checkpoint"] for each in shown() if each.get("checkpoint")}[uuid]
    assert "state.json" in state()["resources"]
    det("checkpoint", "rm", uuid, "--yes", golden="checkpoint-rm-refresh")
    det("checkpoint", "rm", uuid, "--glob", "state.*", "--yes", golden="checkpoint-rm")
    until(lambda: state()["state"] == "STATE_DELETED" and not state()["resources"], "nothing of it is left")


# ---- TensorBoard ----

def test_tensorboard(det, done, served):
    experiment, trial, _ = done
    ran = det("tensorboard", "start", experiment, "--no-browser", "--config", "idle_timeout=10m", golden="tensorboard-start")
    assert "is ready" in ran.out + ran.err and f"{served.url}/" not in ran.out
    (row,) = [row for row in det("tensorboard", "list", golden="tensorboard-list").rows() if row["state"] == "RUNNING"]
    assert row["experimentIds"] == f"[{experiment}]"
    headers = {"Authorization": f"Bearer {served.token}"}
    look = lambda path: requests.get(f"{served.url}/proxy/{row['id']}/{path}", headers=headers, timeout=60)
    assert look("").status_code == 200 and "TensorBoard" in look("").text
    runs = until(lambda: look("data/runs").json(), "the trial's event files are read")
    assert any(f"-{experiment}/trial-{trial}" in run for run in runs), runs
    tags = until(lambda: look("data/plugin/scalars/tags").json(), "their scalars")
    assert any("loss" in tag for found in tags.values() for tag in found), tags
    det("tensorboard", "kill", row["id"], golden="tensorboard-kill")
    until(lambda: not [each for each in det("tensorboard", "list").rows() if each["state"] == "RUNNING"], "its end")


def test_tensorboard_in_the_background(det, done):
    name = det("tensorboard", "start", "--trial-ids", done[1], "--detach", golden="tensorboard-start-detach").out.strip()
    assert json.loads(det("tensorboard", "list", "--json").out)[-1]["id"] == name
    det("tensorboard", "kill", name[:12])


# ---- the registry of models ----

def test_models(det, done):
    det("model", "create", "digits", golden="model-create")
    assert "digits" in {row["Name"] for row in det("model", "list", golden="model-list").rows()}
    ran = det("model", "register-version", "digits", done[2], golden="model-register-version")
    assert done[2] in ran.out
    assert done[2] in det("model", "list-versions", "digits", golden="model-list-versions").out
    assert done[2] in det("model", "describe", "digits", golden="model-describe").out
    assert det("model", "create", "digits", code=1).exchanges[-1].status in (400, 409)


# ---- people, places, the cluster ----

def test_people(det, served):
    assert served.user in det("user", "whoami", golden="user-whoami").out
    assert served.user in {row["Username"] for row in det("user", "list", golden="user-list").rows()}


def test_a_wrong_token_is_no_login(det):
    ran = det("user", "whoami", code=1, variables={"DET_USER_TOKEN": "no-such-token"})
    assert ran.exchanges[-1].status == 401


def test_places_are_made_changed_and_closed(det, experiments):
    det("workspace", "create", "lab", golden="workspace-create")
    det("project", "create", "lab", "first", "--description", "one")
    det("project", "edit", "lab", "first", "--new_name", "second", "--description", "two", golden="project-edit")
    (row,) = det("workspace", "list-projects", "lab").rows()
    assert (row["Name"], row["Description"]) == ("second", "two")
    det("workspace", "edit", "lab", "--name", "house", golden="workspace-edit")
    det("project", "archive", "house", "second", golden="project-archive")
    file = experiments.configuration("placed", "true", workspace="house", project="second")
    refused = det("experiment", "create", file, MODEL, code=1)
    assert "project second is archived" in refused.err
    det("project", "unarchive", "house", "second")
    det("workspace", "archive", "house", golden="workspace-archive")
    det("workspace", "unarchive", "house")
    assert "house" in [row["Name"] for row in det("workspace", "list").rows()]


def test_places(det):
    assert "Uncategorized" in {row["Name"] for row in det("workspace", "list", golden="workspace-list").rows()}
    assert "Uncategorized" in {row["Name"] for row in det("project", "list", "Uncategorized", golden="project-list").rows()}


def test_preview_of_a_search(det, experiments):
    file = experiments.configuration("preview", "true", hyperparameters={"lr": {"type": "log", "base": 10, "minval": -3, "maxval": 0}},
                                     searcher={"name": "adaptive_asha", "metric": "accuracy", "max_trials": 16,
                                               "time_metric": "epochs", "max_time": 16})
    ran = det("preview-search", file, golden="preview-search")
    counts = [(int(row["Trials"]), row["Training Time"]) for row in ran.rows()]
    assert sum(count for count, _ in counts) == 16 and all("epochs" in time for _, time in counts)


def test_jobs(det, experiments, running):
    job = experiments.describe(running)["jobId"]
    (row,) = [row for row in det("job", "list", golden="job-list").rows() if row["ID"] == job]
    assert row["Job Name"].endswith(f"({running})")
    det("job", "update", job, "--priority", 44, golden="job-update")
    assert experiments.describe(running)["config"]["resources"]["priority"] == 44


def test_the_cluster(det):
    agents = det("agent", "list", golden="agent-list").rows()
    assert len(agents) == 2 and {row["Enabled"] for row in agents} == {"True"}
    slots = det("slot", "list", golden="slot-list").rows()
    assert {row["Agent ID"] for row in slots} == {row["Agent ID"] for row in agents}
    assert {row["Type"] for row in slots} == {"cpu"}
    info = det("master", "info", golden="master-info").out
    assert "version: 0.38.1" in info
    version = _yaml(det("version", golden="version").out)
    assert version["master"]["version"] == "0.38.1" and version["master"]["cluster_id"] in info


def test_nodes_are_drained_and_come_back(det):
    det("agent", "disable", "node2", "--drain", golden="agent-disable-drain")
    row = next(row for row in det("agent", "list").rows() if row["Agent ID"] == "node2")
    assert (row["Enabled"], row["Draining"]) == ("False", "True")
    det("agent", "enable", "node2", golden="agent-enable")
    row = next(row for row in det("agent", "list").rows() if row["Agent ID"] == "node2")
    assert (row["Enabled"], row["Draining"]) == ("True", "False")
    assert "there is no agent node9: det agent list and sinfo show those that are" in det("agent", "disable", "node9", code=1).err


def test_templates(det, experiments, served):
    (served.work / "small.yaml").write_text("description: from the template\n")
    (served.work / "other.yaml").write_text("description: from another\n")
    det("template", "create", "small", "small.yaml", golden="template-create")
    assert "there is a template named small already" in det("template", "create", "small", "small.yaml", code=1).err
    experiment = experiments.create("layered", "true", "--template", "small")
    assert experiments.describe(experiment)["description"] == "from the template"
    det("template", "set-value", "config", "small", "other.yaml", golden="template-set-value")
    assert "from another" in det("template", "describe", "small", golden="template-describe").out
    det("template", "set", "small", "small.yaml", golden="template-set")
    assert "from the template" in det("template", "list", "-d", golden="template-list").out
    det("template", "remove", "small", golden="template-remove")
    det("template", "describe", "small", code=1)


def test_a_slot_names_what_runs_on_it(det, experiments, running):
    (trial,) = until(lambda: experiments.trials(running), "a trial")
    until(lambda: experiments.workloads(trial, "training"), "a report")
    taken = [row for row in det("slot", "list").rows() if row["Allocation ID"] != "FREE"]
    assert len(taken) == 1 and f"{trial}" in taken[0]["Task Name"]


# ---- after the end ----

def _states(det, experiment):
    """Of its checkpoints, by their steps."""
    rows = det("experiment", "list-checkpoints", experiment).rows()
    return {int(row["# of Batches"]): row["State"] for row in rows}


def _folders(served, det, experiment):
    """The steps of those whose files are there."""
    rows = det("experiment", "list-checkpoints", experiment).rows()
    return {int(row["# of Batches"]) for row in rows if (served.storage / row["UUID"]).exists()}


def test_what_is_not_kept_goes_at_the_end_and_with_another_policy(det, served, experiments):
    experiment = experiments.create("kept", f"{SCRIPT} 12", checkpoint_storage={
        "type": "shared_fs", "host_path": str(served.storage), "save_trial_latest": 1, "save_trial_best": 2, "save_experiment_best": 0})
    experiments.wait(experiment)  # with checkpoints after 4, 8 and 12 steps, each better than the one before
    until(lambda: _folders(served, det, experiment) == {8, 12}, "the first is collected")
    until(lambda: _states(det, experiment) == {4: "DELETED", 8: "COMPLETED", 12: "COMPLETED"}, "and known to be gone")
    ran = det("experiment", "set", "gc-policy", experiment, "--save-experiment-best", 0, "--save-trial-best", 0,
              "--save-trial-latest", 1, "--yes", golden="experiment-set-gc-policy")
    assert "Set GC policy" in ran.out
    until(lambda: _folders(served, det, experiment) == {12}, "the second goes too")
    preview = det("dev", "curl", f"/experiments/{experiment}/preview_gc?save_experiment_best=0&save_trial_best=0&save_trial_latest=0")
    (row,) = json.loads(preview.out[preview.out.index("{"):])["checkpoints"]
    assert (row["StepsCompleted"], row["State"]) == (12, "COMPLETED")


def test_checkpoints_are_deleted_unless_the_registry_names_them(det, served, experiments):
    experiment = experiments.create("doomed", f"{SCRIPT} 4")
    experiments.wait(experiment)
    (trial,) = experiments.trials(experiment)
    (checkpoint,) = {each["uuid"] for each in experiments.workloads(trial, "checkpoint")}
    det("model", "create", "kept")
    det("model", "register-version", "kept", checkpoint)
    refused = det("checkpoint", "delete", checkpoint, "--yes", code=1)
    assert "model registry" in refused.err + refused.out and (served.storage / checkpoint).exists()
    det("model", "delete", "kept")
    det("checkpoint", "delete", checkpoint, "--yes", golden="checkpoint-delete")
    until(lambda: not (served.storage / checkpoint).exists(), "its files go")
    until(lambda: _states(det, experiment) == {4: "DELETED"}, "and that is known")


def test_an_experiment_that_ended_goes_on(det, experiments):
    experiment = experiments.create("continued", f"{SCRIPT} 60 0.5")
    (trial,) = until(lambda: experiments.trials(experiment), "a trial")
    until(lambda: experiments.workloads(trial, "checkpoint"), "a checkpoint")
    det("experiment", "cancel", experiment)
    experiments.wait(experiment, "CANCELED")
    det("experiment", "continue", experiment, "--config", "max_restarts=1", golden="experiment-continue")
    found = experiments.wait(experiment)
    assert found["config"]["max_restarts"] == 1
    began = re.findall(r"began at (\d+)", experiments.printed(experiment, trial))
    assert began[0] == "0" and int(began[1]) >= 4, "the second run goes on from the checkpoint"
    assert sorted(each["totalBatches"] for each in experiments.workloads(trial, "validation"))[-1] == 60
    refused = det("experiment", "continue", experiment, "--config", "hyperparameters.x={type: double, minval: 0, maxval: 1}", code=1)
    assert "hyperparameters" in refused.err


def test_an_experiment_is_deleted_with_all_that_it_wrote(det, served, experiments):
    experiment = experiments.create("deleted", f"{SCRIPT} 4")
    experiments.wait(experiment)
    (trial,) = experiments.trials(experiment)
    (checkpoint,) = {each["uuid"] for each in experiments.workloads(trial, "checkpoint")}
    assert experiments.folder(experiment, trial).exists()
    det("experiment", "delete", experiment, "--yes", golden="experiment-delete")
    until(lambda: det("experiment", "describe", experiment, code=None).code != 0, "it is gone")
    assert not (served.storage / checkpoint).exists() and not experiments.folder(experiment, trial).parent.exists()
    assert det("trial", "describe", trial, code=1).exchanges[-1].status == 404


def test_a_trial_begins_with_another_ones_checkpoint(det, experiments, done):
    experiment = experiments.create("warm", f"{SCRIPT} 8", searcher={
        "name": "single", "metric": "validation_loss", "smaller_is_better": True, "source_trial_id": done[1]})
    experiments.wait(experiment)
    (trial,) = experiments.trials(experiment)
    assert "began at 6" in experiments.printed(experiment, trial)
    assert experiments.trial(trial)["warmStartCheckpointUuid"] == done[2]
