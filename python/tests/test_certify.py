"""`python -m muster.certify`: it says exact of what is, and says where of what is not."""
import json
import os

import pytest

from conftest import wait_until
from muster.certify import contents, verdict
from muster.certify.processes import MarkedCommand
from muster.certify.trial_runs import Interruption, planned

# A training in plain Python: a random walk. BUG breaks the resuming.
WALK = """
import json, os, random, sys, time
from muster import core
BUG = {bug!r}
with core.init() as context:
    random.seed(BUG == "unseeded" and os.getpid() or 5)
    step, place = 0, 0.0
    if context.info.latest_checkpoint:
        with context.checkpoint.restore_path(context.info.latest_checkpoint) as path:
            saved = json.loads((path / "state.json").read_text())
        step, place = saved["step"], saved["place"]
        if BUG != "random state":
            random.setstate((saved["random"][0], tuple(saved["random"][1]), saved["random"][2]))
        if BUG == "off by one":
            step += 1
        if BUG == "rounding":
            place += 1e-12
    while step < 60:
        step += 1
        place += random.random()
        context.train.report_training_metrics(step, {{"place": place}})
        is_stopped = context.preempt.should_preempt()
        if step % 5 == 0 or is_stopped:
            with context.checkpoint.store_path({{"steps_completed": step}}) as (path, uuid):
                text = json.dumps({{"step": step, "place": place, "random": random.getstate()}})
                (path / "state.json").write_text(text)
                time.sleep({save_s})
        if is_stopped:
            break
        time.sleep(0.005)
    sys.exit({code})
"""


@pytest.fixture
def certify(scripts, memory_path):
    """certify(code, *options, bug=...) is (stdout, outcome)."""
    def run(code, *options, bug=None, fails=0, save_s=0.03):
        script, outcome = memory_path / "walk.py", memory_path / "outcome.json"
        script.write_text(WALK.format(bug=bug, code=fails, save_s=save_s))
        words = ["--folder", str(memory_path / "runs"), "--json", str(outcome), *options, str(script)]
        out, err = scripts("-m muster.certify " + " ".join(words)).end(code)
        return out + err, json.loads(outcome.read_text()) if outcome.exists() else None
    return run


def test_what_goes_on_exactly_is_certified(certify):
    said, outcome = certify(0, "--interruptions", "6")
    assert outcome["verdict"] == "exact" and outcome["is_accepted"]
    kinds = [each["kind"] for each in outcome["interruptions"]]
    assert len(kinds) >= 4 and {"kill", "stop"} <= set(kinds)
    assert [each["within"] for each in outcome["comparisons"]] == [0.0, 0.0]
    assert outcome["comparisons"][1]["values"] == 60 and "metrics: exact, 60 values" in said


def test_a_kill_within_a_save(certify):
    _, outcome = certify(0, "--kinds", "save", "--at", "3,23,43", save_s=0.1)
    assert len(outcome["interruptions"]) == 3


@pytest.mark.parametrize("bug, where", [("random state", "training at "), ("off by one", "training at ")])
def test_what_does_not_is_not_and_it_says_where(certify, bug, where):
    said, outcome = certify(1, "--kinds", "stop", "--at", "12,33", bug=bug)
    assert outcome["verdict"] != "exact" and not outcome["is_accepted"]
    assert any(each["place"].startswith(where) for each in outcome["comparisons"][1]["differences"])
    assert outcome["uninterrupted_twice"] == "exact" and "two uninterrupted runs: exact" in said
    first, second = outcome["interruptions"]
    assert outcome["parted"] == {"step": first["resumed_from"] + 1, "behind": first} and first["step"] <= first["resumed_from"]
    assert f"they part behind the stop at {first['step']}, at step {first['resumed_from'] + 1}" in said
    assert first["resumed_from"] < second["resumed_from"]


def test_a_kill_is_named_though_what_differs_lies_before_it(certify):
    """The run after it begins at the checkpoint, not at the step that was reported last."""
    said, outcome = certify(1, "--kinds", "kill", "--at", "13", bug="random state")
    (kill,) = outcome["interruptions"]
    assert kill["resumed_from"] in (5, 10) and outcome["parted"] == {"step": kill["resumed_from"] + 1, "behind": kill}
    assert f"they part behind the kill at 13, at step {kill['resumed_from'] + 1}" in said


def test_rounding_is_measured_and_accepted_where_allowed(certify, memory_path):
    said, outcome = certify(1, "--kinds", "stop", "--at", "12", bug="rounding")
    assert outcome["verdict"].startswith("differs by up to ") and 0 < outcome["comparisons"][1]["within"] < 1e-10
    assert " values differ, by up to " in said
    os.rename(memory_path / "runs", memory_path / "before")
    _, outcome = certify(0, "--kinds", "stop", "--at", "12", "--within", "1e-9", bug="rounding")
    assert outcome["verdict"].startswith("equal within ")


def test_a_script_that_does_not_repeat_itself_is_told_apart(certify):
    _, outcome = certify(1, "--kinds", "stop", "--at", "12", bug="unseeded")
    assert outcome["uninterrupted_twice"].startswith("differs")


def test_what_cannot_be_certified(certify, scripts, memory_path):
    assert "the script ended with 4" in certify(3, fails=4)[0]
    (memory_path / "runs" / "x").mkdir(parents=True, exist_ok=True)
    assert "is not empty" in certify(2)[0]
    (memory_path / "silent.py").write_text("pass\n")
    temporary = memory_path / "t"
    temporary.mkdir()
    out, _ = scripts(f"-m muster.certify {memory_path}/silent.py", TMPDIR=temporary).end(3)
    assert "not certified: it was not interrupted" in out and f"the runs are in {temporary}/" in out
    kept = list(temporary.iterdir())
    for words, text in (("", "which script"), ("--kinds pause x.py", "'pause'"), ("--at 1,b x.py", "'1,b'"),
                        ("--interruptions 0 x.py", "lie above 0")):
        assert text in scripts(f"-m muster.certify {words}".rstrip()).end(2)[1]
    out, err = scripts("-m muster.certify /nowhere/at/all", TMPDIR=temporary).end(3)
    assert "cannot be started" in err and out == "" and list(temporary.iterdir()) == kept, "it leaves nothing behind"


def test_every_process_of_a_command_is_ended(tmp_path):
    command = MarkedCommand(["/bin/sh", "-c", "setsid sleep 97 & setsid setsid sleep 98 & echo ready; wait"],
                            dict(os.environ), tmp_path / "out")
    wait_until(lambda: "ready" in (tmp_path / "out").read_text(), "the command's start")
    assert len(command._marked()) >= 1
    command.kill()
    assert command._marked() == [] and command.poll() is not None


def test_plans_follow_from_the_seed():
    steps = set(range(1, 101))
    plan = planned(steps, 6, ("kill", "stop"), seed=3)
    assert plan == planned(steps, 6, ("kill", "stop"), seed=3) != planned(steps, 6, ("kill", "stop"), seed=4)
    assert [each.kind for each in plan] == ["kill", "stop"] * 3
    assert [each.step for each in plan] == sorted({each.step for each in plan})
    assert planned({5, 9}, 6, ("kill",), 0) == [Interruption("kill", 5)] and planned(set(), 6, ("kill",), 0) == []


# ---- contents ----

def test_every_bit_counts():
    torch = pytest.importorskip("torch")
    one = {"a": torch.tensor([1.0, float("nan"), -0.0]), "b": [1, 2.0, {"c": True}], "d": (), "e": torch.zeros(0)}

    def found(value):
        return dict(contents.leaves(value))
    assert set(found(one)) == {"a", "b[0]", "b[1]", "b[2].c", "d", "e"}
    same = {"a": torch.tensor([1.0, float("nan"), -0.0]), "b": [1, 2.0, {"c": True}], "d": (), "e": torch.zeros(0)}
    assert contents.differences(found(one), found(same)) == []
    assert contents.digest_of(found(one)) == contents.digest_of(found(same))
    for name, other in (("a", torch.tensor([1.0, float("nan"), 0.0])), ("a", one["a"].double()), ("a", one["a"][None]),
                        ("e", torch.zeros(0, 1)), ("d", []), ("b", [1, 2, {"c": True}]), ("b", [True, 2.0, {"c": True}]),
                        ("b", [1, 2.0]), ("b", [1, 2.0000000000000004, {"c": True}])):
        changed = found({**same, name: other})
        assert contents.differences(found(one), changed) != [], (name, other)
        assert contents.digest_of(found(one)) != contents.digest_of(changed), (name, other)


def test_how_far_apart():
    torch = pytest.importorskip("torch")

    def within(one, other):
        return verdict.compared("x", {"v": one}, {"v": other}).within
    assert within(torch.tensor([1.0, 4.0]), torch.tensor([1.5, 4.0])) == 0.125
    assert within(2.0, 1.0) == 0.5 and within(1.0, 1.0) == 0.0
    assert within(1, 2) is None and within(torch.tensor([1]), torch.tensor([2])) is None
    assert within(torch.tensor([1.0]), torch.tensor([float("nan")])) is None and within(1.0, "1.0") is None
    missing = verdict.compared("x", {"v": 1.0}, {})
    assert missing.within is None and missing.apart[0].text == "only in the first"
    assert verdict.summary([missing]) == "differs" and not verdict.is_accepted([missing], 1.0)
    nothing = verdict.compared("x", {}, {})
    assert verdict.summary([nothing]) == "nothing to compare" and not verdict.is_accepted([nothing], 1.0)
    near = verdict.compared("x", {"v": 2.0}, {"v": 1.0})
    assert verdict.summary([near], 0.5) == "equal within 0.5" and verdict.is_accepted([near], 0.5)
    assert verdict.summary([near]) == verdict.summary([near], 0.4) == "differs by up to 0.5"
    assert not verdict.is_accepted([near], 0.0) and not verdict.is_accepted([near], 0.4)


def test_where_two_series_part():
    def parted(one, other, *made):
        return verdict.parted([verdict.compared("checkpoint", {"x": 1}, {"x": 2}), verdict.compared("metrics", one, other)], made)
    stop, kill = Interruption("stop", 4, resumed_from=5), Interruption("kill", 9, resumed_from=8)
    one = {f"training at {step}: loss": 1.0 for step in range(1, 13)}
    for first, behind in ((1, None), (5, None), (6, stop), (8, stop), (9, kill), (10, kill), (12, kill)):
        other = {place: 2.0 if step >= first else 1.0 for step, place in enumerate(one, 1)}
        found = parted(one, other, stop, kill)
        assert (found.step, found.behind) == (first, behind), first
    assert str(parted(one, {}, stop)) == "they part at step 1, before the first interruption"
    assert parted(one, one, stop, kill) is None, "the metrics do not tell behind which of the two"
    assert str(parted(one, one, kill)) == "they part behind the kill at 9"
    assert verdict.parted([verdict.compared("metrics", one, one)], [kill]) is None, "nothing differs"


def test_differences_come_in_the_order_of_steps():
    one = {f"training at {step}: loss": 1.0 for step in (9, 10, 100)}
    places = [each.place for each in contents.differences(one, {place: 2.0 for place in one})]
    assert places == ["training at 9: loss", "training at 10: loss", "training at 100: loss"]
