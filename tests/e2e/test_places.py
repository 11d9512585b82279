"""Workspaces, projects, templates and versions by Muster's own commands."""
import re

from conftest import until
from test_http import Web, create


def muster(cluster, *words, **more):
    return cluster.run("muster", *map(str, words), **more)


def refused(cluster, text, *words):
    told = muster(cluster, *words, check=False)
    assert told.code != 0 and text in told.err, told


def test_workspaces_and_projects(cluster):
    web = Web(cluster)
    muster(cluster, "workspace", "create", "vision")
    muster(cluster, "project", "create", "vision", "cifar", "--description", "small pictures")
    first, row = [line.split() for line in muster(cluster, "project", "list").out.splitlines()[1:]]
    assert first[:3] == ["1", "Uncategorized", "Uncategorized"]
    assert row[1:3] == ["cifar", "vision"] and web.get(f"projects/{row[0]}")["project"]["name"] == "cifar"
    first, row = [line.split() for line in muster(cluster, "workspace", "list").out.splitlines()[1:]]
    assert first[:2] == ["1", "Uncategorized"]
    assert row[1] == "vision" and row[3] == "1" and web.get(f"workspaces/{row[0]}")["workspace"]["name"] == "vision"
    experiment = create(web, "true")
    muster(cluster, "experiment", "move", experiment, "vision", "cifar")
    shown = web.get(f"experiments/{experiment}")["experiment"]
    assert (shown["workspaceName"], shown["projectName"]) == ("vision", "cifar")
    assert f"\n{experiment} " in muster(cluster, "project", "list-experiments", "vision", "cifar").out
    muster(cluster, "experiment", "move", experiment, "Uncategorized", "Uncategorized")
    assert f"\n{experiment} " in muster(cluster, "project", "list-experiments", "1", "1").out
    assert web.get(f"experiments/{experiment}")["experiment"]["workspaceName"] == "Uncategorized"
    muster(cluster, "experiment", "move", experiment, "vision", "cifar")
    for words in (("workspace", "delete", "1"), ("workspace", "archive", "Uncategorized"), ("project", "create", "Uncategorized", "x")):
        refused(cluster, "Uncategorized", *words)
    refused(cluster, "there is no project imagenet: see muster project list", "experiment", "move", experiment, "vision", "imagenet")
    refused(cluster, "there is no workspace none", "project", "create", "none", "x")
    refused(cluster, "has projects", "workspace", "delete", "vision")
    for name in ("vision", "Uncategorized"):
        refused(cluster, f"there is a workspace named {name} already", "workspace", "create", name)
    muster(cluster, "project", "delete", "vision", "cifar")
    shown = web.get(f"experiments/{experiment}")["experiment"]
    assert (shown["projectId"], shown["projectName"], shown["workspaceName"]) == (1, "Uncategorized", "Uncategorized")
    muster(cluster, "workspace", "delete", "vision")
    assert web.get(f"experiments/{experiment}")["experiment"]["workspaceName"] == "Uncategorized"
    (cluster.work / "lost.yaml").write_text("name: l\nentrypoint: 'true'\nsearcher: {name: single, metric: m}\nworkspace: vision\nproject: cifar\n")
    refused(cluster, "there is no workspace vision", "experiment", "create", "lost.yaml")


def test_places_are_renamed_described_and_archived(cluster):
    web = Web(cluster)
    muster(cluster, "workspace", "create", "sound")
    muster(cluster, "project", "create", "sound", "speech")
    experiment = create(web, "true")
    muster(cluster, "experiment", "move", experiment, "sound", "speech")
    muster(cluster, "workspace", "edit", "sound", "--name", "audio")
    muster(cluster, "project", "edit", "audio", "speech", "--name", "voices", "--description", "who speaks", "--note", "plan", "first\nsecond")
    shown = web.get(f"experiments/{experiment}")["experiment"]
    assert (shown["workspaceName"], shown["projectName"]) == ("audio", "voices")
    project = web.get(f"projects/{shown['projectId']}")["project"]
    assert project["description"] == "who speaks" and project["notes"] == [{"name": "plan", "contents": "first\nsecond"}]
    assert "who speaks\n\nplan\nfirst\nsecond\n" in muster(cluster, "project", "describe", "audio", "voices").out
    added = web.ask("POST", f"/api/v1/projects/{project['id']}/notes", {"name": "more", "contents": ""})
    assert [each["name"] for each in added["notes"]] == ["plan", "more"]
    assert web.ask("PUT", f"/api/v1/projects/{project['id']}/notes", {"notes": []}) == {"notes": []}
    web.ask("PUT", f"/api/v1/projects/{project['id']}/notes", {"notes": [{"name": "x"}]}, check=400)
    muster(cluster, "project", "archive", "audio", "voices")
    (cluster.work / "closed.yaml").write_text("name: l\nentrypoint: 'true'\nsearcher: {name: single, metric: m}\nworkspace: audio\nproject: voices\n")
    refused(cluster, "project voices is archived: muster project unarchive brings it back", "experiment", "create", "closed.yaml")
    muster(cluster, "project", "unarchive", "audio", "voices")
    muster(cluster, "experiment", "create", "closed.yaml")
    muster(cluster, "workspace", "archive", "audio")
    assert re.search(r"audio +\S+ +1 +archived", muster(cluster, "workspace", "list").out)
    web.ask("PATCH", "/api/v1/workspaces/1", {"name": "x"}, check=400)
    refused(cluster, "there is a workspace named Uncategorized already", "workspace", "edit", "audio", "--name", "Uncategorized")


def test_what_places_and_models_have_not_is_refused_by_name(cluster):
    """Not taken and passed over: a model that was to be moved would stay where it is without a word."""
    web = Web(cluster)
    asked = [("POST", "workspaces", {"name": "w", "defaultComputePool": "gpus"}, "defaultComputePool"),
             ("PATCH", "projects/2", {"key": "ABC"}, "key"),
             ("POST", "models", {"name": "placed", "workspaceName": "vision"}, "models belong to no workspace"),
             ("PATCH", "models/placed", {"workspaceName": "vision"}, "models belong to no workspace"),
             ("PUT", "templates/t", {"config": {}, "workspaceId": 7}, "templates belong to no workspace"),
             ("POST", "projects/1/experiments/kill", {"experimentIds": [], "filters": {"name": "x"}}, "filters"),
             ("PUT", "projects/1/experiments/retain_logs", {"experimentIds": [1], "numDays": 3, "filters": {"name": "x"}}, "filters")]
    assert web.post("models", {"name": "placed", "workspaceName": "Uncategorized"})["model"]["workspaceId"] == 1
    for method, path, body, named in asked:
        assert named in web.ask(method, f"/api/v1/{path}", body, check=501)["error"]["error"], path


def test_templates(cluster):
    (cluster.work / "small.yaml").write_text("max_restarts: 1\nresources: {slots_per_trial: 1}\n")
    (cluster.work / "text.yaml").write_text("just words\n")
    muster(cluster, "template", "set", "small", "small.yaml")
    muster(cluster, "template", "set", "small", "small.yaml")
    assert [line.split()[0] for line in muster(cluster, "template", "list").out.splitlines()] == ["NAME", "small"]
    assert muster(cluster, "template", "describe", "small").out == '{"max_restarts": 1, "resources": {"slots_per_trial": 1}}\n'
    refused(cluster, "not a map", "template", "set", "other", "text.yaml")
    muster(cluster, "template", "delete", "small")
    refused(cluster, "there is no template small", "template", "describe", "small")


def test_one_trial_is_ended_and_the_others_go_on(cluster):
    (cluster.work / "two.yaml").write_text("name: two\nentrypoint: sleep 60\nmax_restarts: 0\nresources: {slots_per_trial: 0}\n"
                                           "searcher: {name: random, metric: m, max_trials: 2, max_length: {batches: 1}}\n")
    experiment = re.search(r"experiment (\d+)", muster(cluster, "experiment", "create", "two.yaml").out).group(1)
    rows = lambda: {line.split()[0]: line.split()[2] for line in muster(cluster, "experiment", "describe", experiment).out.split("TRIAL ")[-1].splitlines()[1:]}
    until(lambda: list(rows().values()) == ["RUNNING", "RUNNING"])
    first, second = rows()
    muster(cluster, "trial", "kill", first)
    until(lambda: rows()[first] == "CANCELED")
    assert rows()[second] == "RUNNING"
    refused(cluster, "there is no trial 9999", "trial", "kill", 9999)
    muster(cluster, "experiment", "kill", experiment)
