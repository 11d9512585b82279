"""What the machine does meanwhile."""
import subprocess
import sys
import time

import pytest

from conftest import wait_until
from muster import core
from muster.core import gpus, own_use, profiler
from muster.core.gpus import mean_of_gpus, parse_gpus
from muster.core.profiler import (Counters, Proc, ProfilerContext, cpu_ticks, disk_bytes, mean, memory_bytes,
                                  network_bytes, rates)

DISKSTATS = """\
 259       0 nvme0n1 10 0 1000 5 20 0 2000 9 0 0 0
 259       1 nvme0n1p1 10 0 900 5 20 0 1900 9 0 0 0
   8       0 sda 1 0 10 5 2 0 20 9 0 0 0
   8       1 sda1 1 0 10 5 2 0 20 9 0 0 0
   7       0 loop0 1 0 77 5 2 0 77 9 0 0 0
 253       0 dm-0 1 0 77 5 2 0 77 9 0 0 0
"""
NET_DEV = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0
  eth0:1500 1 0 0 0 0 0 0 2500 1 0 0 0 0 0 0
   ib0: 500 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0
"""


def test_reading_proc():
    assert cpu_ticks("cpu  10 5 15 100 20 1 4 0 7 0\ncpu0 ...") == (35, 155)
    assert disk_bytes(DISKSTATS) == (1010 * 512, 2020 * 512)
    assert network_bytes(NET_DEV) == (2000, 3000)
    assert memory_bytes("MemTotal: 100 kB\nMemFree: 10 kB\nMemAvailable: 60 kB\n") == {
        "used_bytes": 40960, "available_bytes": 61440}


def test_rates_and_means():
    before, after = Counters(10, 100, 0, 0, 500, 0), Counters(60, 200, 1000, 3000, 500, 8)
    assert rates(before, after, 2.0) == {"cpu": {"utilization_ratio": 0.5},
                                         "disk": {"read_bytes_per_s": 500, "written_bytes_per_s": 1500},
                                         "network": {"received_bytes_per_s": 0, "sent_bytes_per_s": 4}}
    assert rates(before, before, 1.0)["cpu"] == {"utilization_ratio": 0.0}
    assert mean([{"cpu": {"a": 1.0}}, {"cpu": {"a": 2.0}}]) == {"cpu": {"a": 1.5}}


def test_samples_are_averaged_and_kept_by_time(tmp_path):
    begin = time.time()
    with core.init(run_dir=tmp_path) as context:
        context.profiler.on(sampling_interval_s=0.01, samples_per_report=3)
        with pytest.raises(RuntimeError, match="on already"):
            context.profiler.on()
        wait_until(lambda: len(core.read_metrics(tmp_path).get("cpu", [])) >= 2, "two reports")
        context.profiler.off()
        context.profiler.off()
    series = core.read_metrics(tmp_path)
    assert list(series) == ["cpu", "disk", "memory", "network", "trial"]
    assert all(each.steps is None and begin <= each.time <= time.time() for each in series["cpu"])
    assert all(0 <= each.metrics["utilization_ratio"] <= 1 for each in series["cpu"])
    assert all(each.metrics["used_bytes"] > 1e6 for each in series["memory"])


class Recorded:
    def __init__(self):
        self.reports = []

    def report_system_metrics(self, group, metrics):
        self.reports.append((group, metrics))


def test_how_many_samples_make_a_report():
    class Fake(Proc):
        reads = 0

        def counters(self):
            self.reads += 1
            return Counters(all_ticks=self.reads)

        def memory(self):
            return {"used_bytes": float(self.reads)}

    fake, train = Fake(), Recorded()
    profiled = ProfilerContext(train, 0, fake)
    profiled.on(0.01, 4)
    wait_until(lambda: fake.reads >= 7, "six samples")
    profiled.off()
    used = [metrics["used_bytes"] for group, metrics in train.reports if group == "memory"]
    assert used[0] == (2 + 3 + 4 + 5) / 4 and len(used) >= 2  # the rest at the end


def test_where_there_is_no_proc_it_says_so_once(tmp_path, caplog):
    profiled = ProfilerContext(Recorded(), 0, Proc(tmp_path))
    for _ in range(2):
        profiled.on()
        profiled.off()
    assert caplog.text.count("the profiler stays off") == 1
    for wrong in ((0, 10), (1, 0)):
        with pytest.raises(ValueError, match="sampling every"):
            profiled.on(*wrong)
    assert profiler.Proc().counters().all_ticks > 0


# ---- GPUs ----

CSV = """\
GPU-aaa, 40, 1000
GPU-bbb, [N/A], 2000
GPU-ccc, [Not Supported], [N/A]
"""


def nvidia_smi(folder, monkeypatch, body):
    """Puts one on PATH that notes its arguments."""
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\necho \"$@\" >> {folder}/asked\n{body}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder / "asked"


def test_reading_nvidia_smi():
    assert parse_gpus(CSV) == {"GPU-aaa": {"gpu_util": 40.0, "gpu_free_memory": 1000.0 * 2 ** 20},
                               "GPU-bbb": {"gpu_free_memory": 2000.0 * 2 ** 20}, "GPU-ccc": {}}
    assert parse_gpus("\n") == {}
    for wrong in ("No devices were found", "GPU-aaa, x, 1"):
        with pytest.raises(ValueError):
            parse_gpus(wrong)
    assert mean_of_gpus([{"a": {"gpu_util": 1.0}}, {}, {"a": {"gpu_util": 2.0}, "b": {"gpu_util": 7.0}, "c": {}}]) == \
        {"a": {"gpu_util": 1.5}, "b": {"gpu_util": 7.0}}


def test_gpus_are_reported_in_determineds_shape(tmp_path, monkeypatch):
    asked = nvidia_smi(tmp_path, monkeypatch, f"cat <<E\n{CSV}E")
    monkeypatch.setenv("DET_AGENT_ID", "node7")
    with core.init(run_dir=tmp_path / "run") as context:
        context.profiler.on(sampling_interval_s=0.01, samples_per_report=2)
        wait_until(lambda: core.read_metrics(tmp_path / "run").get("gpu"), "a report")
    rows = core.read_metrics(tmp_path / "run")["gpu"]
    assert rows[0].steps is None and rows[0].metrics == {"node7": {
        "GPU-aaa": {"gpu_util": 40.0, "gpu_free_memory": 1000.0 * 2 ** 20}, "GPU-bbb": {"gpu_free_memory": 2000.0 * 2 ** 20}}}
    assert set(asked.read_text().splitlines()) == \
        {"--query-gpu=uuid,utilization.gpu,memory.free --format=csv,noheader,nounits"}


@pytest.mark.parametrize("body", ["exit 9", "echo 'NVIDIA-SMI has failed'", "exec sleep 60"])
def test_without_gpus_the_rest_is_reported_and_nobody_asks_twice(tmp_path, monkeypatch, caplog, body):
    asked = nvidia_smi(tmp_path, monkeypatch, body)
    monkeypatch.setattr(gpus, "TIMEOUT_S", 0.3)
    with core.init(run_dir=tmp_path / "run") as context:
        context.profiler.on(sampling_interval_s=0.01, samples_per_report=2)
        wait_until(lambda: len(core.read_metrics(tmp_path / "run").get("cpu", [])) >= 2, "two reports")
    assert "gpu" not in core.read_metrics(tmp_path / "run") and len(asked.read_text().splitlines()) == 1
    assert not [each for each in caplog.records if each.levelname == "WARNING"]


def test_a_gpu_that_stops_telling_is_asked_three_times(tmp_path, monkeypatch):
    asked = nvidia_smi(tmp_path, monkeypatch, f"test -e {tmp_path}/gone && exit 1; echo GPU-a, 1, 1")
    found = gpus.Gpus()
    assert found.sample().keys() == {"GPU-a"}
    (tmp_path / "gone").touch()
    for _ in range(2 * gpus.FAILURES_MAX):
        assert found.sample() == {}
    assert len(asked.read_text().splitlines()) == 2 + gpus.FAILURES_MAX


def test_where_there_is_no_nvidia_smi_nothing_is_started(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(gpus.subprocess, "run", None)
    assert gpus.Gpus().sample() == {}


# ---- by the experiment's file ----

def rows(folder, group="cpu"):
    return core.read_metrics(folder).get(group, [])


@pytest.fixture
def quick(monkeypatch):
    """Samples a hundred times as often, so that a short training has reports."""
    real = ProfilerContext._start
    monkeypatch.setattr(ProfilerContext, "_start", lambda self, _interval, _samples: real(self, 0.01, 1))


def test_the_experiments_file_turns_it_on(tmp_path, monkeypatch, quick):
    monkeypatch.setenv("MUSTER_PROFILING", "{}")
    with core.init(run_dir=tmp_path):
        wait_until(lambda: rows(tmp_path, "trial"), "a report")
    assert set(rows(tmp_path, "trial")[0].metrics) == {"cpu_cores", "rss_bytes", "read_bytes_per_s", "written_bytes_per_s", "processes"}


def test_it_begins_and_ends_with_the_batches_that_the_file_names(tmp_path, monkeypatch, quick):
    monkeypatch.setenv("MUSTER_PROFILING", '{"begin_on_batch": 3, "end_after_batch": 5}')
    with core.init(run_dir=tmp_path) as context:
        context.train.report_training_metrics(2, {"loss": 1.0})
        time.sleep(0.2)
        context.train.flush()
        assert not rows(tmp_path)
        context.train.report_training_metrics(3, {"loss": 1.0})
        wait_until(lambda: rows(tmp_path), "a report")
        context.train.report_training_metrics(5, {"loss": 1.0})
        known = len(rows(tmp_path))
        wait_until(lambda: len(rows(tmp_path)) > known, "another, for batch 5 is in it")
        context.train.report_training_metrics(6, {"loss": 1.0})
        context.train.flush()
        ended = len(rows(tmp_path))
        time.sleep(0.2)
        context.train.flush()
        assert len(rows(tmp_path)) == ended


def test_a_training_that_turns_it_on_or_off_itself_decides(tmp_path, monkeypatch, quick):
    monkeypatch.setenv("MUSTER_PROFILING", "{}")
    with core.init(run_dir=tmp_path) as context:
        context.profiler.on(sampling_interval_s=0.01)
        context.profiler.off()
        known = len(rows(tmp_path))
        context.train.report_training_metrics(1, {"loss": 1.0})
        time.sleep(0.1)
    assert len(rows(tmp_path)) == known


@pytest.mark.parametrize("text", ["on", "[]", '{"begin_on_batch": -1}', '{"begin_on_batch": true}', '{"sync": 1}', '{"end_after_batch": 1.5}'])
def test_a_wrong_wish_is_named(tmp_path, monkeypatch, text):
    monkeypatch.setenv("MUSTER_PROFILING", text)
    with pytest.raises(ValueError, match="MUSTER_PROFILING is"):
        core.init(run_dir=tmp_path)


# ---- the trial's own share ----

def test_reading_what_a_process_uses():
    step = "muster-c-0123456789abcdef/job00003.0.batch"
    assert own_use.step_of(f"9:name=systemd:/\n7:freezer:/{step}\n") == own_use.step_of(f"0::/outer/{step}/task0\n") != None
    assert own_use.step_of("0::/user.slice/muster-x/y\n") is None
    stat = "7 (a b) c) S 1 7 42 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 5"
    assert own_use.session_of(stat) == 42
    assert own_use.ticks_of(stat) == 100
    assert own_use.storage_bytes("rchar: 9\nread_bytes: 3\nwrite_bytes: 4\ncancelled_write_bytes: 1\n") == (3, 4)
    before, after = own_use.Use(100, 0, 50, 7, 1), own_use.Use(300, 10, 0, 9, 2)
    assert own_use.rates(before, after, 2.0, 100) == {
        "cpu_cores": 1.0, "rss_bytes": 9.0, "read_bytes_per_s": 5.0, "written_bytes_per_s": 0.0, "processes": 2.0}


def test_its_share_is_that_of_its_processes_and_of_no_others(tmp_path):
    """A session of its own is busy and writes; another beside it is busier and does not count."""
    busy = "import os,sys,time\nend=time.monotonic()+{0}\nwhile time.monotonic()<end: pass"
    other = subprocess.Popen([sys.executable, "-c", busy.format(6)], start_new_session=True)
    own = subprocess.Popen([sys.executable, "-c", "import subprocess,sys\nheld=bytearray(80<<20)\nfor i in range(0,80<<20,4096): held[i]=1\n"
                            f"open({str(tmp_path / 'x')!r},'wb').write(held)\n"
                            "print('ready',flush=True)\nsubprocess.run([sys.executable,'-c'," + repr(busy.format(3)) + "])"],
                           start_new_session=True, stdout=subprocess.PIPE, text=True)
    try:
        assert own.stdout.readline() == "ready\n"
        use = own_use.OwnUse(pid=own.pid)
        before, begin = use.read(), time.monotonic()
        time.sleep(1.5)
        after, seconds = use.read(), time.monotonic() - begin
        told = own_use.rates(before, after, seconds, use.ticks_per_s)
        assert 0.05 < told["cpu_cores"] <= 1.2, told  # one process, of which a busy machine may leave little
        assert told["rss_bytes"] > 80 << 20 and told["processes"] == 2
        assert own.wait(60) == 0
    finally:
        for process in (own, other):
            process.kill()
            process.wait()
