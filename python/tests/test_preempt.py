"""Being asked to stop: by a signal, a file, a deadline; alone and by ranks."""
import json
import os
import signal
import threading
import time

import pytest

from muster import core
from muster.core.environment import Environment
from muster.core.preempt import EnvironmentSource

STEPS = """
import sys, time
from muster import core
with core.init(distributed=core.DistributedContext.from_environment(), preempt_mode=core.PreemptMode.{mode}) as context:
    print("ready", flush=True)
    step = 0
    while {asks}:
        step += 1
        time.sleep(0.001)
    print("stopped", step, context.preempt.reason, flush=True)
"""
ASKS = "not context.preempt.should_preempt()"


def test_a_signal_to_one_rank_stops_all_at_the_same_step(ranks, tmp_path):
    scripts = ranks(STEPS.format(mode="WorkersAskChief", asks=ASKS), 3, MUSTER_RUN_DIR=tmp_path)
    for script in scripts:
        script.wait_for("ready")
    time.sleep(0.05)
    os.kill(scripts[2].pid, signal.SIGTERM)
    said = {script.end()[0] for script in scripts}
    assert len(said) == 1 and "SIGTERM on rank 2" in said.pop()
    assert json.loads((tmp_path / "status.json").read_text())["stop_acknowledged"] == "SIGTERM on rank 2"


def test_without_exchange_each_rank_hears_for_itself(ranks, tmp_path):
    scripts = ranks(STEPS.format(mode="WorkersAskMaster", asks=ASKS), 2, MUSTER_RUN_DIR=tmp_path)
    for script in scripts:
        script.wait_for("ready")
    os.kill(scripts[1].pid, signal.SIGTERM)
    assert "SIGTERM" in scripts[1].end()[0] and scripts[0].process.poll() is None
    os.kill(scripts[0].pid, signal.SIGTERM)
    assert scripts[0].end()[0].endswith(" SIGTERM\n")


def test_chief_only(ranks, tmp_path):
    scripts = ranks(STEPS.format(mode="ChiefOnly", asks=ASKS), 2, MUSTER_RUN_DIR=tmp_path)
    assert "rank 1 asks should_preempt(), but the mode is ChiefOnly" in scripts[1].end(1)[1]
    scripts[0].wait_for("ready")
    os.kill(scripts[0].pid, signal.SIGTERM)
    assert "SIGTERM" in scripts[0].end()[0]


def test_the_stop_file(tmp_path, monkeypatch):
    stop = tmp_path / "stop"
    monkeypatch.setenv("MUSTER_STOP_FILE", str(stop))
    with core.init(run_dir=tmp_path / "run") as context:
        assert not context.preempt.should_preempt()
        stop.write_text("")
        assert context.preempt.should_preempt() and context.preempt.reason == f"stop file {stop}"
        stop.unlink()
        assert context.preempt.should_preempt()  # for ever


def test_the_deadline_less_its_margin():
    def reason(now, **fields):
        return EnvironmentSource(Environment(**fields), clock=lambda: now).reason()

    assert reason(939.9, deadline=1000.0) is None and reason(940.0, deadline=1000.0) == "deadline"
    assert reason(940.0, deadline=1000.0, deadline_margin_s=5.0) is None
    assert reason(1e12) is None


def test_the_deadline_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("MUSTER_DEADLINE", str(time.time() + 30))
    with core.init(run_dir=tmp_path) as context:
        assert context.preempt.should_preempt() and context.preempt.reason == "deadline"
    monkeypatch.setenv("MUSTER_DEADLINE_MARGIN", "10")
    with core.init(run_dir=tmp_path) as context:
        assert not context.preempt.should_preempt()


def test_the_first_true_acknowledges_unless_told_not_to(tmp_path):
    def status():
        try:
            return json.loads((tmp_path / "status.json").read_text()).get("stop_acknowledged")
        except FileNotFoundError:
            return None

    with core.init(run_dir=tmp_path) as context:
        assert not context.preempt.should_preempt()
        os.kill(os.getpid(), signal.SIGTERM)
        assert context.preempt.should_preempt(auto_ack=False) and status() is None
        context.preempt.acknowledge_preemption_signal()
        assert status() == "SIGTERM"


def test_the_earlier_handler_is_called_too_and_comes_back(tmp_path):
    heard = []

    def mine(number, _frame):
        heard.append(number)

    before = signal.signal(signal.SIGTERM, mine)
    try:
        with core.init(run_dir=tmp_path) as context:
            os.kill(os.getpid(), signal.SIGTERM)
            assert context.preempt.should_preempt() and heard == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is mine
        with core.init(run_dir=tmp_path) as context:
            later = signal.signal(signal.SIGTERM, signal.SIG_IGN)
            later(signal.SIGTERM, None)  # a later handler that passes it on
            assert context.preempt.should_preempt()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("name", ["SIGUSR1", "USR1"])
def test_another_signal(tmp_path, monkeypatch, name):
    monkeypatch.setenv("MUSTER_STOP_SIGNAL", name)
    terminate = signal.getsignal(signal.SIGTERM)
    with core.init(run_dir=tmp_path) as context:
        assert signal.getsignal(signal.SIGTERM) is terminate
        os.kill(os.getpid(), signal.SIGUSR1)
        assert context.preempt.should_preempt() and context.preempt.reason == "SIGUSR1"
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL


def test_a_forked_child_is_ended_by_the_signal(scripts, tmp_path):
    script = scripts("""
        import multiprocessing, os, signal, time
        from muster import core
        with core.init() as context:
            child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
            child.start()
            child.terminate()
            child.join(10)
            print(child.exitcode, context.preempt.should_preempt())
            os.kill(os.getpid(), signal.SIGTERM)
            print(context.preempt.should_preempt())
        """, MUSTER_RUN_DIR=tmp_path)
    assert script.end()[0] == "-15 False\nTrue\n"


def test_outside_the_main_thread_no_signal_is_caught(tmp_path, caplog):
    before = signal.getsignal(signal.SIGTERM)
    handlers = []

    def run():
        with core.init(run_dir=tmp_path):
            handlers.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert handlers == [before] and "outside the main thread, where SIGTERM cannot be caught" in caplog.text
