"""What a site gives experiments that come over HTTP, and what their makers are told of a configuration that is hardly meant."""

import pytest

from conftest import BIN, experiment_folder, until
from test_http import Web

SITE = """
defaults:
  environment: {{environment_variables: ["PATH={tools}:/usr/bin:/bin", WHERE=everywhere, KIND=site]}}
  checkpoint_storage: {{type: shared_fs, host_path: {storage}}}
  log_policies: [{{name: Out of luck, pattern: "no luck at all", action: cancel_retries}}]
partitions:
  debug:
    max_restarts: 0
    environment: {{environment_variables: [WHERE=debug]}}
"""
CONFIG = """
entrypoint: site-tool
max_restarts: 1
environment: {environment_variables: [KIND=mine]}
searcher: {name: single, metric: loss}
"""


@pytest.fixture
def site(own_cluster):
    """A cluster whose site has defaults and a second partition."""
    cluster = own_cluster(nodes=1, cpus=4)
    tools = cluster.base / "tools"
    tools.mkdir()
    (tools / "site-tool").write_text('#!/bin/sh\necho "tool $WHERE $KIND $PATH"\n')
    (tools / "site-tool").chmod(0o755)
    cluster.site = cluster.base / "defaults.yaml"
    cluster.site.write_text(SITE.format(tools=tools, storage=cluster.base / "storage"))
    with (cluster.dir / "slurm.conf").open("a") as conf:
        conf.write(f"PartitionName=debug Nodes=ALL\nMusterDefaults={cluster.site}\n")
    read_again(cluster)
    return cluster


def read_again(cluster):
    log = cluster.dir / "log/controller.log"
    starts = log.read_text().count("musterd: epoch")
    cluster.run("scontrol", "reconfigure")
    until(lambda: log.read_text().count("musterd: epoch") > starts, "the controller starts again")
    until(lambda: cluster.run("sinfo", check=False).code == 0, "it answers")


def made(web, config):
    return web.post("experiments", {"config": config, "activate": True})


def output(cluster, web, experiment):
    assert web.wait_state(experiment, "STATE_COMPLETED", "STATE_ERROR") == "STATE_COMPLETED"
    (trial,) = web.get(f"experiments/{experiment}/trials")["trials"]
    return (experiment_folder(cluster.base / "storage", experiment) / f"trial-{trial['id']}" / "output.log").read_text()


def test_they_stand_where_an_experiment_says_nothing(site):
    web = Web(site)
    plain = made(web, CONFIG)["experiment"]
    assert output(site, web, plain["id"]) == f"tool everywhere mine {site.base}/tools:/usr/bin:/bin:{BIN}\n"
    assert plain["config"]["max_restarts"] == 1 and plain["config"]["log_policies"][0]["name"] == "Out of luck"
    debug = made(web, CONFIG.replace("max_restarts: 1", "resources: {resource_pool: debug}"))["experiment"]
    assert output(site, web, debug["id"]).startswith("tool debug mine ")
    assert debug["config"]["max_restarts"] == 0
    assert plain["originalConfig"] == CONFIG, "what its maker wrote is kept"


def test_errors_still_name_the_makers_lines(site):
    error = Web(site).post("experiments", {"config": CONFIG.replace("max_restarts: 1", "max_restarts: -1")}, check=400)["error"]["error"]
    assert "line 3: max_restarts: -1 is not possible" in error


def test_a_file_with_an_error_changes_nothing(site):
    web = Web(site)
    site.site.write_text("defaults:\n  max_restarts: none\n")
    refused = site.run("scontrol", "reconfigure", check=False)
    assert refused.code == 1 and f"{site.site} is wrong" in refused.err and "line 2: defaults.max_restarts" in refused.err, refused
    assert made(web, CONFIG)["experiment"]["config"]["log_policies"][0]["name"] == "Out of luck"
    site.site.write_text("defaults: {max_restarts: 7}\n")
    read_again(site)
    assert made(Web(site), "entrypoint: x\nsearcher: {name: single, metric: loss}\n")["experiment"]["config"]["max_restarts"] == 7
    site.site.chmod(0o666)
    refused = site.run("scontrol", "reconfigure", check=False)
    assert refused.code == 1 and "can be written by others" in refused.err, refused


def test_what_is_hardly_meant_is_told_to_its_maker(cluster):
    web = Web(cluster)
    doubtful = "entrypoint: 'true'\nsearcher:\n  name: single\n  metric: val_accuracy\n"
    doubt = ["line 4: searcher.metric: the search looks for the smallest val_accuracy; if more of it is better, write "
             "searcher.smaller_is_better: false"]
    checked = web.post("experiments", {"config": doubtful, "validateOnly": True})
    assert (checked["configWarnings"], checked["warnings"]) == (doubt, []), "Determined's own are words of its own list"
    assert made(web, doubtful)["configWarnings"] == doubt
    assert made(web, doubtful + "  smaller_is_better: false\n")["configWarnings"] == []
