"""What trials' tasks write, from the node to the reader: every line once and in order, whatever dies meanwhile."""
import http.client
import json
import os
import re
import signal
import time

import pytest

from conftest import until
from test_experiment import create, folder, trials, wait, write
from test_http import Web

# Numbered lines on both streams, faster than a tick of the agent, over LINES lines.
CHATTER = """#!/bin/sh
i=0
while [ $i -lt "${LINES_EACH:-300}" ]; do
  echo "out $MUSTER_TRIAL_ID $SLURM_PROCID $i"
  echo "err $MUSTER_TRIAL_ID $SLURM_PROCID $i" >&2
  i=$((i + 1))
  [ $((i % 10)) -eq 0 ] && sleep "${PAUSE:-0.02}"
done
printf 'no end of line'
"""


def chatter(cluster, more="", lr="0.1", searcher="name: single"):
    code = cluster.work / "code"
    code.mkdir(exist_ok=True)
    (code / "chatter.sh").write_text(CHATTER)
    (code / "chatter.sh").chmod(0o755)
    return write(cluster, f"name: talk\nentrypoint: ./chatter.sh\nhyperparameters: {{lr: {lr}}}\n"
                          f"searcher: {{metric: accuracy, {searcher}}}\n{more}")


def script(cluster, line):
    return write(cluster, f"name: talk\nentrypoint: {json.dumps(line)}\nsearcher: {{metric: accuracy, name: single}}\n")


def logs(cluster, trial, *options, **more):
    return cluster.run("muster", "trial", "logs", trial, "--plain", *options, **more).out.splitlines()


def expected(stream, trial, rank, lines=300):
    return [f"{stream} {trial} {rank} {i}" for i in range(lines)]


def whole(cluster, trial, ranks, lines=300):
    """Each stream of each rank has every line once, in order."""
    for rank in ranks:
        for stream, name in (("out", "stdout"), ("err", "stderr")):
            last = ["no end of line"] if stream == "out" else []
            assert logs(cluster, trial, "--rank", rank, "--stdtype", name) == expected(stream, trial, rank, lines) + last
    return True


def test_two_trials_at_once(cluster):
    experiment = create(cluster, chatter(cluster, lr="{type: categorical, vals: [0.1, 0.2]}", searcher="name: grid"))
    wait(cluster, experiment)
    numbers = [row["TRIAL"] for row in trials(cluster, experiment)]
    assert len(numbers) == 2
    for trial in numbers:
        assert whole(cluster, trial, [0])
        # The file in the run's folder has both streams, as it always had.
        file = (folder(cluster, experiment, trial) / "output.log").read_text()
        assert [line for line in file.splitlines() if line.startswith("err")] == expected("err", trial, 0)
        assert file.count("\n") == 600 and "no end of line" in file
    both = cluster.run("muster", "experiment", "logs", experiment, "--plain").out.splitlines()
    assert len(both) == 2 * 601 and {line.split(" | ")[0] for line in both} == {f"trial {trial}" for trial in numbers}


def test_both_ranks_of_a_trial_on_two_nodes(cluster):
    experiment = create(cluster, chatter(cluster, "resources: {slots_per_trial: 4}\n"))
    wait(cluster, experiment)
    (trial,) = [row["TRIAL"] for row in trials(cluster, experiment)]
    assert whole(cluster, trial, [0, 1])
    assert len(logs(cluster, trial)) == 2 * 601
    file = (folder(cluster, experiment, trial) / "output.log").read_text()
    for rank in (0, 1):
        # What has no end of line is followed by what another rank writes.
        assert re.findall(rf"out {trial} {rank} \d+", file) == expected("out", trial, rank)


def test_a_launcher_names_its_ranks(cluster):
    experiment = create(cluster, script(cluster, "for i in 0 1 2; do echo \"[rank=$i] INFO: hello from $i\"; done; echo plain; printf '[rank=1] '"))
    wait(cluster, experiment)
    (trial,) = [row["TRIAL"] for row in trials(cluster, experiment)]
    assert logs(cluster, trial, "--rank", 2) == ["INFO: hello from 2"]
    assert logs(cluster, trial, "--rank", 0) == ["INFO: hello from 0", "plain"]
    assert "[rank=2] INFO: hello from 2\n" in (folder(cluster, experiment, trial) / "output.log").read_text()
    assert re.match(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d \[rank=2\] INFO: hello from 2\n$",
                    cluster.run("muster", "trial", "logs", trial, "--search", "FROM 2", "-i").out)


def test_lines_are_chosen(cluster):
    experiment = create(cluster, script(cluster, "for i in $(seq 1 50); do echo \"INFO: step $i\"; done; echo 'ERROR: it broke' >&2; echo bye"))
    wait(cluster, experiment)
    (trial,) = [row["TRIAL"] for row in trials(cluster, experiment)]
    assert logs(cluster, trial, "--head", 2) == ["INFO: step 1", "INFO: step 2"]
    assert logs(cluster, trial, "--tail", 1, "--stdtype", "stdout") == ["bye"]
    assert logs(cluster, trial, "--tail", 3, "--search", "step") == ["INFO: step 48", "INFO: step 49", "INFO: step 50"]
    assert logs(cluster, trial, "--stdtype", "stderr") == ["ERROR: it broke"] == logs(cluster, trial, "--level", "warning")
    assert logs(cluster, trial, "--regex", "step [12]0$") == ["INFO: step 10", "INFO: step 20"]
    assert logs(cluster, trial, "--run", 2) == [] == logs(cluster, trial, "--since", "now+1hour")
    assert len(logs(cluster, trial, "--since", "now-1hour")) == 52
    for options, text in ((("--level", "loud"), "'loud' is none of"), (("--stdtype", "x"), "neither stdout nor stderr"),
                          (("--regex", "("), "missing"), (("--search", "a", "--regex", "b"), "excludes"),
                          (("--head", "1", "--tail", "1"), "excludes")):
        refused = cluster.run("muster", "trial", "logs", trial, *options, check=False)
        assert refused.code == 1 and text in refused.err + refused.out, refused
    refused = cluster.run("muster", "trial", "logs", 4711, check=False)
    assert refused.code == 1 and "there is no trial 4711" in refused.err
    assert "--follow" in cluster.run("muster", "trial", "logs", "--help").out


def test_following_shows_lines_as_they_are_written_and_ends_with_the_trial(cluster):
    line = "for i in $(seq 1 8); do date +%s.%N; sleep 0.3; done"
    experiment = create(cluster, script(cluster, line))
    (trial,) = [row["TRIAL"] for row in until(lambda: trials(cluster, experiment))]
    follower = cluster.popen("muster", "trial", "logs", "-f", "--plain", trial)
    lags = [time.time() - float(line) for line in follower.stdout]
    assert follower.wait(20) == 0 and len(lags) == 8, follower.stderr.read()
    assert max(lags[1:]) < 1, lags  # the first was perhaps there before
    wait(cluster, experiment)


def test_following_an_experiment_ends_with_it(cluster):
    experiment = create(cluster, chatter(cluster, lr="{type: categorical, vals: [0.1, 0.2, 0.3]}", searcher="name: grid"))
    told = cluster.run("muster", "experiment", "logs", "-f", "--plain", experiment, timeout=300).out.splitlines()
    for row in trials(cluster, experiment):
        trial = row["TRIAL"]
        assert row["STATE"] == "COMPLETED"
        mine = [line.split(" | ")[1] for line in told if line.startswith(f"trial {trial} | ")]
        assert [line for line in mine if line.startswith("out")] == expected("out", trial, 0)
        assert len(mine) == 601


def test_an_interrupted_follower_leaves_no_half_line(cluster):
    experiment = create(cluster, script(cluster, "while true; do echo still here; sleep 0.1; done"))
    (trial,) = [row["TRIAL"] for row in until(lambda: trials(cluster, experiment))]
    follower = cluster.popen("muster", "trial", "logs", "-f", "--plain", trial)
    assert follower.stdout.readline() == "still here\n"
    follower.send_signal(signal.SIGINT)
    out, err = follower.communicate(timeout=10)
    assert set(out.splitlines()) <= {"still here"} and (out == "" or out.endswith("\n")) and err == ""
    cluster.run("muster", "experiment", "kill", experiment)
    wait(cluster, experiment, code=2)


def test_a_later_run_has_its_own_lines(cluster):
    experiment = create(cluster, write(cluster, "name: again\nentrypoint: 'echo try $MUSTER_RUN_ID; exit 3'\nmax_restarts: 2\n"
                                                "searcher: {name: single, metric: loss}\n"))
    wait(cluster, experiment, code=1)
    (trial,) = [row["TRIAL"] for row in trials(cluster, experiment)]
    assert logs(cluster, trial) == ["try 1", "try 2", "try 3"]
    assert logs(cluster, trial, "--run", 2) == ["try 2"]


@pytest.mark.parametrize("victim", ["controller", "agent-node1"])
def test_every_line_once_whatever_is_killed(own_cluster, victim):
    cluster = own_cluster(nodes=2, gpus=2, cpus=4)
    experiment = create(cluster, chatter(cluster, "resources: {slots_per_trial: 4}\n"
                                                  "environment: {environment_variables: [LINES_EACH=3000, PAUSE=0.01]}\n"))
    (trial,) = [row["TRIAL"] for row in until(lambda: trials(cluster, experiment))]
    follower = cluster.popen("muster", "trial", "logs", "-f", "--plain", "--rank", "1", "--stdtype", "stdout", trial)
    until(lambda: len(logs(cluster, trial)) > 100)
    for _ in range(3):
        os.kill(cluster.pid(victim), signal.SIGKILL)
        time.sleep(0.3)
        cluster.up()
        time.sleep(0.5)
    wait(cluster, experiment)
    until(lambda: len(logs(cluster, trial)) == 2 * 6001)
    assert whole(cluster, trial, [0, 1], lines=3000)
    out, err = follower.communicate(timeout=30)
    assert out.splitlines() == expected("out", trial, 1, 3000) + ["no end of line"], err


def test_output_beyond_the_window_arrives_whole(cluster):
    experiment = create(cluster, script(cluster, "seq 1 700000"))
    told = cluster.run("muster", "experiment", "logs", "-f", "--plain", experiment, timeout=300).out.splitlines()
    (trial,) = [row["TRIAL"] for row in trials(cluster, experiment)]
    assert told == [f"trial {trial} | {i}" for i in range(1, 700001)]
    # Nothing is left on the node once the controller has it.
    until(lambda: not [f for spool in cluster.dir.glob("**/output") for f in spool.iterdir()])


def test_what_a_very_long_line_goes_on_with_is_marked_wherever_it_is_shown(cluster):
    """20,000 bytes of one line are two lines, and never look like two that the task wrote."""
    experiment = create(cluster, script(cluster, "head -c 20000 /dev/zero | tr '\\0' x; echo; echo short"))
    wait(cluster, experiment)
    (row,) = trials(cluster, experiment)
    assert logs(cluster, row["TRIAL"]) == ["x" * 16384, "[continued] " + "x" * 3616, "short"]
    web = Web(cluster)
    connection = http.client.HTTPConnection(web.address, timeout=60)
    connection.request("GET", f"/api/v1/trials/{row['TRIAL']}/logs", headers={web.header: f"Bearer {web.token}"})
    lines = [json.loads(line)["result"] for line in connection.getresponse().read().decode().splitlines()]
    connection.close()
    assert [line["log"] for line in lines] == ["x" * 16384 + "\n", "[continued] " + "x" * 3616 + "\n", "short\n"]
    assert lines[1]["message"].endswith("|| [continued] " + "x" * 3616 + "\n")
