"""One writer at a time, and which run this is."""
import json
import os
import socket
import subprocess

import pytest

from muster import core
from muster.core.environment import Environment
from muster.core.run_folder import RunFolder, default_path, run_number

HOLD = """
import sys
from muster import core
context = core.init(run_dir=sys.argv[1] if len(sys.argv) > 1 else None)
print("open", context.info.run_id, flush=True)
input()
"""


def test_two_processes_are_refused_with_the_other_ones_pid(scripts, tmp_path):
    holder = scripts(HOLD, MUSTER_RUN_DIR=tmp_path)
    assert holder.wait_for("open") == "open 1"
    text = f"{tmp_path} is in use by pid {holder.pid} on {socket.gethostname()}"
    with pytest.raises(core.RunFolderInUseError, match=text):
        core.init(run_dir=tmp_path)
    holder.kill()
    with core.init(run_dir=tmp_path) as context:
        assert context.info.run_id == 2
        with pytest.raises(core.RunFolderInUseError, match="this very process"):
            core.init(run_dir=tmp_path)


@pytest.mark.parametrize("delay_s", [0.0, 0.5])
def test_a_forked_child_that_outlives_its_parent_does_not_keep_the_folder(scripts, tmp_path, delay_s):
    parent = scripts(f"""
        import os, time
        os.register_at_fork(after_in_child=lambda: time.sleep({delay_s}))  # before it lets go of the lock
        from muster import core
        core.init()
        child = os.fork()
        if child == 0:
            time.sleep(60)
        print("child", child, flush=True)
        input()
        """, MUSTER_RUN_DIR=tmp_path)
    child = int(parent.wait_for("child").split()[1])
    try:
        parent.kill()
        core.init(run_dir=tmp_path).close()
    finally:
        os.kill(child, 9)


def test_numbers_of_runs():
    assert run_number(Environment(), 0) == 1 and run_number(Environment(), 3) == 4
    assert run_number(Environment(run_id=3), 3) == 3
    assert run_number(Environment(restart_count=2), 0) == 3
    assert run_number(Environment(restart_count=1), 5) == 6  # the folder has been used by other jobs
    with pytest.raises(core.StaleRunError, match="MUSTER_RUN_ID is 2, but run 3"):
        run_number(Environment(run_id=2), 3)


def test_runs_are_counted_on_disk(tmp_path, monkeypatch):
    for expected in (1, 2):
        with core.init(run_dir=tmp_path) as context:
            assert context.info.run_id == expected
    monkeypatch.setenv("MUSTER_RUN_ID", "7")
    for _ in range(2):
        with core.init(run_dir=tmp_path) as context:
            assert context.info.run_id == 7
    lines = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    assert [line["run"] for line in lines] == [1, 2, 7] and lines[0]["pid"] == os.getpid()
    monkeypatch.setenv("MUSTER_RUN_ID", "6")
    with pytest.raises(core.StaleRunError):
        core.init(run_dir=tmp_path)


def test_a_run_that_lost_its_lock_is_stale_once_another_began(tmp_path):
    folder = RunFolder(tmp_path, Environment())
    folder.check_current()
    with open(tmp_path / "runs.jsonl", "a", encoding="utf-8") as runs:
        runs.write('{"run": 2}\n')
    with pytest.raises(core.StaleRunError, match="run 1 of .* is stale: run 2 has begun"):
        folder.check_current()
    folder.close()


def test_where_runs_lie_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(default_path(Environment(job_id=5))) == "muster-runs/job-5"
    of_muster = Environment(job_id=5, cluster_id="0123456789abcdef")
    assert str(default_path(of_muster)) == "muster-runs/job-5-01234567"  # another cluster has a job 5, too
    assert str(default_path(Environment(run_dir=tmp_path, job_id=5))) == str(tmp_path)
    with core.init() as context:
        assert context.info.run_dir.parent == tmp_path / "muster-runs" and context.info.run_dir.is_dir()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(core.StorageError, match=f"{tmp_path}/file/run"):
        core.init(run_dir=tmp_path / "file" / "run")


def test_the_lock_is_not_inherited_by_programs(tmp_path):
    with core.init(run_dir=tmp_path):
        child = subprocess.Popen(["sleep", "60"])
    try:
        core.init(run_dir=tmp_path).close()
    finally:
        child.kill()
        child.wait()
