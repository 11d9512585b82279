"""Trainer.fit: what it reports, validates, checkpoints and when it ends; on one rank and on several."""
import json
import math
import os
import signal

import pytest

torch = pytest.importorskip("torch")

import digits  # noqa: E402
import interruptions  # noqa: E402
from muster import core, pytorch  # noqa: E402

Batch, Epoch = pytorch.Batch, pytorch.Epoch


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Story(pytorch.PyTorchCallback):
    """Every event, by name."""

    def __init__(self, acts=None):
        self.events = []
        self._acts = acts or {}

    def __getattribute__(self, name):
        if name.startswith("on_"):
            return lambda *arguments: self._note(name, arguments)
        return super().__getattribute__(name)

    def _note(self, name, arguments):
        self.events.append(name)
        if name in self._acts:
            self._acts[name](*arguments)


def fit(folder, story=None, frequency=1, trial=digits.Line, trial_settings=None, **arguments):
    with pytorch.init(run_dir=folder, aggregation_frequency=frequency) as context:
        made = trial(context, {"story": story} if story else None, **(trial_settings or {}))
        return pytorch.Trainer(made, context).fit(**arguments)


def steps_of(folder, group):
    return [row.steps for row in core.read_metrics(folder).get(group, [])]


def checkpoints(folder):
    """Their steps, in the order of completion, without those that are gone."""
    lines = [json.loads(line) for line in (folder / "checkpoints.jsonl").read_text().splitlines()]
    gone = {line["uuid"] for line in lines if line["event"] == "deleted"}
    return [line["steps_completed"] for line in lines if line["event"] == "completed" and line["uuid"] not in gone]


def test_what_is_due_when(tmp_path):
    result = fit(tmp_path, max_length=Batch(20), reporting_period=Batch(6), validation_period=Epoch(1),
                 checkpoint_period=Batch(5), checkpoint_policy="none", step_zero_validation=True)
    assert result.is_completed and result.position.batches == 20 and result.resumed_from is None and result.inexact is None
    assert steps_of(tmp_path, "training") == [6, 12, 18, 20]
    assert steps_of(tmp_path, "validation") == [0, 8, 16, 20]
    assert checkpoints(tmp_path) == [5, 10, 15, 20]
    assert core.read_metrics(tmp_path)["validation"][0].metrics["count"] == 32
    assert json.loads((tmp_path / "status.json").read_text())["progress"] == 1.0


def test_a_mean_is_over_the_samples_of_its_period(tmp_path):
    class Known(digits.Line):
        def train_batch(self, batch, epoch_idx, batch_idx):
            super().train_batch(batch, epoch_idx, batch_idx)
            return {"batch": batch_idx, "records": len(batch[0])}
    fit(tmp_path, trial=Known, trial_settings={"length": 10}, max_length=Batch(3), reporting_period=Batch(3))
    assert core.read_metrics(tmp_path)["training"][0].metrics == {"batch": (0 * 4 + 1 * 4 + 2 * 2) / 10,
                                                                   "records": (16 + 16 + 4) / 10}


def test_the_order_of_events(tmp_path):
    story = Story()
    fit(tmp_path, story, max_length=Epoch(1), validation_period=Epoch(1), reporting_period=Epoch(1))
    assert story.events == [
        "on_trial_startup", "on_training_start", "on_training_epoch_start", "on_training_workload_end",
        "on_training_epoch_end", "on_validation_start", "on_validation_end", "on_checkpoint_save_start",
        "on_checkpoint_write_end", "on_checkpoint_upload_end", "on_training_end", "on_trial_shutdown"]


@pytest.mark.parametrize("policy, expected", [("all", [2, 4, 6, 8]), ("none", [8]), ("best", [2, 6, 8])])
def test_checkpoint_policies(tmp_path, policy, expected):
    class Judged(digits.Line):
        def evaluate_batch(self, batch, batch_idx):
            return {"error": {2: 5.0, 4: 6.0, 6: 1.0, 8: math.nan}[self.context.position.batches]}

        def evaluation_reducer(self):
            return pytorch.Reducer.AVG
    fit(tmp_path, trial=Judged, max_length=Batch(8), validation_period=Batch(2), checkpoint_policy=policy,
        searcher_metric="error")
    assert checkpoints(tmp_path) == expected


def test_the_search_says_how_far_and_hears_what_came_of_it(tmp_path, monkeypatch):
    monkeypatch.setenv("MUSTER_MAX_LENGTH", '{"epochs": 2}')
    monkeypatch.setenv("MUSTER_SEARCHER_METRIC", "error")
    result = fit(tmp_path, max_length=Batch(3))
    assert result.position.epochs == 2
    said = json.loads((tmp_path / "status.json").read_text())["searcher"]
    assert said == {"length": 2, "metric": result.metrics["error"]}
    monkeypatch.setenv("MUSTER_MAX_LENGTH", '{"epochs": 3}')  # the next rung
    result = fit(tmp_path)
    assert result.position.epochs == 3 and result.resumed_from is not None
    monkeypatch.setenv("MUSTER_SEARCHER_METRIC", "accuracy")
    with pytest.raises(ValueError, match="judges by 'accuracy', but validation has \\['count', 'error'\\]"):
        fit(tmp_path / "other")


def test_stopped_it_checkpoints_and_goes_on(tmp_path):
    def stop(*_):
        os.kill(os.getpid(), signal.SIGTERM)
    result = fit(tmp_path, Story({"on_training_workload_end": stop}), max_length=Batch(10), reporting_period=Batch(3))
    assert (result.is_completed, result.stop_reason, result.position.batches) == (False, "SIGTERM", 3)
    assert checkpoints(tmp_path) == [3]
    story = Story()
    result = fit(tmp_path, story, max_length=Batch(10), reporting_period=Batch(3))
    assert result.is_completed and result.inexact == () and steps_of(tmp_path, "training") == [3, 6, 9, 10]
    assert "on_training_epoch_start" in story.events[5:] and story.events[2] != "on_training_epoch_start"  # not again
    assert fit(tmp_path, max_length=Batch(10)).position.batches == 10  # nothing is left to do
    assert checkpoints(tmp_path) == [3, 10]


def test_a_trial_may_ask_for_the_end_and_stays_ended(tmp_path):
    class Early(pytorch.PyTorchCallback):
        def __init__(self, context):
            self.context = context

        def on_validation_end(self, metrics):
            if self.context.position.batches >= 4:
                self.context.set_stop_requested()

    for _ in range(2):
        with pytorch.init(run_dir=tmp_path) as context:
            trial = digits.Line(context, {"early": Early(context)})
            result = pytorch.Trainer(trial, context).fit(max_length=Batch(10), validation_period=Batch(2))
            assert result.is_completed and result.position.batches == 4
    assert checkpoints(tmp_path) == [2, 4] and steps_of(tmp_path, "training") == [4]


def test_test_mode_leaves_nothing_behind(tmp_path):
    story = Story()
    result = fit(tmp_path, story, frequency=3, max_length=Epoch(100), validation_period=Epoch(1), test_mode=True)
    assert result.position.batches == 3 and result.checkpoint is None
    assert core.read_metrics(tmp_path) == {} and checkpoints(tmp_path) == []
    assert {"on_validation_end", "on_checkpoint_upload_end"} <= set(story.events)


def test_another_condition_is_said_and_resumed_all_the_same(tmp_path, caplog):
    fit(tmp_path, max_length=Batch(4))
    torch.set_num_threads(2)
    with caplog.at_level("INFO", logger="muster"):
        result = fit(tmp_path, max_length=Batch(6), frequency=2)
    assert result.inexact == ("threads was 1, is 2", "batches per optimizer step was 1, is 2")
    assert result.position.batches == 6 and "not exact: threads was 1, is 2" in caplog.text


def test_what_fit_refuses(tmp_path):
    for arguments, text in (({}, "how far to train"), ({"max_length": Batch(1), "checkpoint_policy": "some"}, "'some'"),
                            ({"max_length": Batch(1), "checkpoint_policy": "best"}, "by which metric")):
        with pytest.raises(ValueError, match=text):
            fit(tmp_path, **arguments)
    with pytest.raises(TypeError, match="validation_period is 5"):
        fit(tmp_path, max_length=Batch(1), validation_period=5)
    with pytest.raises(TypeError, match="trial is a int"):
        pytorch.Trainer(3, None)

    class Torchs(digits.Line):
        def build_training_data_loader(self):
            return torch.utils.data.DataLoader(self.points())
    with pytest.raises(TypeError, match="made a torch.utils.data.dataloader.DataLoader; make a muster.pytorch.DataLoader"):
        fit(tmp_path, trial=Torchs, max_length=Batch(1))


def test_what_the_context_refuses(tmp_path):
    with pytest.raises(ValueError, match="aggregation_frequency is 0"):
        pytorch.init(run_dir=tmp_path, aggregation_frequency=0)
    with pytorch.init(run_dir=tmp_path) as context:
        stranger = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1)
        with pytest.raises(ValueError, match="1 parameters of no wrapped model"):
            context.wrap_optimizer(stranger)
        with pytest.raises(ValueError, match="is not wrapped"):
            context.step_optimizer(stranger)
        with pytest.raises(ValueError, match="the optimizer of StepLR is not wrapped"):
            context.wrap_lr_scheduler(torch.optim.lr_scheduler.StepLR(stranger, 1))
        with pytest.raises(ValueError, match="no hyperparameter 'lr'"):
            context.get_hparam("lr")
        with pytest.raises(ValueError, match="name=..."):
            context.wrap_reducer(max)
        if not torch.cuda.is_available():
            with pytest.raises(ValueError, match="float16 needs a GPU"):
                context.use_amp(torch.float16)


def test_a_checkpoint_of_another_trial_is_refused(tmp_path):
    fit(tmp_path, max_length=Batch(2))

    class Larger(digits.Line):
        def __init__(self, context, *arguments, **settings):
            super().__init__(context, *arguments, **settings)
            context.wrap_model(torch.nn.Linear(1, 1))
    with pytest.raises(core.CheckpointError, match="holds 2 models, and the trial wraps 3"):
        fit(tmp_path, trial=Larger, max_length=Batch(4))
    with core.init(run_dir=tmp_path / "other") as context:
        with context.checkpoint.store_path({"steps_completed": 1}):
            pass
    with pytest.raises(core.CheckpointError, match="the Trainer did not write it"):
        fit(tmp_path / "other", max_length=Batch(4))


# ---- what gradients add up to ----

def test_accumulated_gradients_are_those_of_a_larger_batch(tmp_path):
    (_, one, _), = interruptions.answers(digits.train_line, tmp_path / "one", 1, 6)
    (_, two, _), = interruptions.answers(_line_with_smaller_batches, tmp_path / "two", 1, 12, 2, 2)
    assert all(_close(one[name], two[name]) for name in one)
    (_, apart, _), = interruptions.answers(_line_with_smaller_batches, tmp_path / "apart", 1, 12, 1, 2)
    assert not _close(one["weight"], apart["weight"])


def _line_with_smaller_batches(batches, frequency, batch_size):
    return digits.train_line(batches, frequency, batch_size=batch_size)


def _close(one, other):
    return torch.allclose(torch.tensor(one), torch.tensor(other), atol=1e-5)


def test_ranks_agree_and_train_what_one_rank_would(tmp_path):
    (alone, one, _), = interruptions.answers(_line_with_smaller_batches, tmp_path / "one", 1, 8, 1, 4)
    both = interruptions.answers(_line_with_smaller_batches, tmp_path / "two", 2, 8, 1, 2)
    assert both[0][1] == both[1][1]  # bit for bit, the part that rank 1 alone uses too
    assert _close(one["weight"], both[0][1]["weight"]) and _close(one["bias"], both[0][1]["bias"])
    assert both[0][1]["0.weight"] != one["0.weight"] and both[0][1]["1.weight"] == one["1.weight"]
    assert both[0][0].metrics == both[1][0].metrics and both[0][0].metrics["count"] == alone.metrics["count"] == 32
    assert math.isclose(both[0][0].metrics["error"], alone.metrics["error"], rel_tol=1e-4)
    assert core.read_metrics(tmp_path / "two")["training"][0].metrics.keys() == {"loss"}


def test_fewer_ranks_go_on_where_more_of_them_stopped(tmp_path):
    interruptions.answers(_line_with_smaller_batches, tmp_path / "run", 2, 5, 1, 2)
    (result, _, _), = interruptions.answers(_line_with_smaller_batches, tmp_path / "run", 1, 20, 1, 2)
    assert result.is_completed and result.position.batches == 20
    assert "world size was 2, is 1" in result.inexact and "ranks per node was [1, 1], is [1]" in result.inexact
    assert result.position.records == 5 * 4 + 15 * 2 and result.position.epochs == 1


@pytest.mark.skipif(not digits.DIGITS.exists(), reason=f"{digits.DIGITS} is not there")
@pytest.mark.parametrize("hparams", ["{}", '{"amp": true}'], ids=["float32", "bfloat16"])
def test_digits_on_two_nodes_of_two_ranks(memory_path, hparams):
    answers = interruptions.answers(digits.train_digits, memory_path / "run", 4, 9, MUSTER_HPARAMS=hparams)
    accuracies = [answer[0].metrics["accuracy"] for answer in answers]
    assert accuracies[0] > 0.96 and len(set(accuracies)) == 1
    if hparams == "{}":
        assert math.isclose(answers[0][1], accuracies[0], rel_tol=1e-6)  # every test image once, whoever saw it
    assert all(answer[2] == answers[0][2] for answer in answers)  # running statistics too
    series = core.read_metrics(memory_path / "run")["validation"]
    assert [row.steps for row in series] == [23 * epoch for epoch in range(1, 10)]


class PowerScaler:
    """A gradient scaler whose scale is a power of two, so that nothing is lost; it notes in which order it is used."""

    def __init__(self):
        self.calls = []

    def scale(self, loss):
        self.calls.append("scale")
        return loss * 1024

    def unscale_(self, optimizer):
        self.calls.append("unscale")
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad /= 1024

    def step(self, optimizer):
        self.calls.append("step")
        optimizer.step()

    def update(self):
        self.calls.append("update")

    def state_dict(self):
        return {"scale": 1024}

    def load_state_dict(self, state):
        assert state == {"scale": 1024}
        self.calls.append("load")


def test_a_gradient_scaler_is_used_in_order_and_kept(tmp_path):
    def trained(folder, scaler, batches=4):
        with pytorch.init(run_dir=folder, aggregation_frequency=2) as context:
            trial = digits.Line(context)
            if scaler is not None:
                context.wrap_scaler(scaler)
            pytorch.Trainer(trial, context).fit(max_length=Batch(batches))
            return [tensor.tolist() for tensor in trial.model.state_dict().values()]
    scaler = PowerScaler()
    assert trained(tmp_path / "scaled", scaler) == trained(tmp_path / "plain", None)
    assert scaler.calls == ["scale", "scale", "unscale", "step", "update"] * 2
    again = PowerScaler()
    trained(tmp_path / "scaled", again, batches=6)
    assert again.calls[0] == "load"
    with pytest.raises(core.CheckpointError, match="was made with a gradient scaler, and the trial is not"):
        trained(tmp_path / "scaled", None, batches=8)


# ---- a loop of one's own ----

def loop(folder, stop_at=None):
    with core.init(run_dir=folder) as context:
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.3), torch.nn.Linear(4, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        state = pytorch.LoopState(context, model=model, optimizer=optimizer, schedule=schedule)
        for step in range(state.restore(), 12):
            optimizer.zero_grad()
            loss = (model(torch.randn(8, 4)) - 1).square().mean()
            loss.backward()
            optimizer.step()
            schedule.step()
            context.train.report_training_metrics(step + 1, {"loss": loss})
            if step + 1 in (stop_at, 12):
                state.save(step + 1)
                break
        return state, [tensor.tolist() for tensor in model.state_dict().values()]


def test_a_loop_of_ones_own_goes_on_exactly(tmp_path):
    fresh, whole = loop(tmp_path / "whole")
    loop(tmp_path / "parts", stop_at=5)
    resumed, parts = loop(tmp_path / "parts")
    assert fresh.inexact is None and resumed.inexact == () and whole == parts
    assert [row.metrics for row in core.read_metrics(tmp_path / "whole")["training"]] == \
        [row.metrics for row in core.read_metrics(tmp_path / "parts")["training"]]
    torch.set_num_threads(2)
    assert loop(tmp_path / "parts")[0].inexact == ("threads was 1, is 2",)
    with core.init(run_dir=tmp_path / "parts") as context:
        with pytest.raises(core.CheckpointError, match="this loop has \\['model'\\]"):
            pytorch.LoopState(context, model=torch.nn.Linear(4, 4)).restore()
        with pytest.raises(TypeError, match="speed is a int"):
            pytorch.LoopState(context, speed=3)


# ---- optimizer states ----

def test_an_optimizer_state_keeps_its_type(tmp_path):
    from muster.pytorch.saved_state import load_optimizer
    parameter = torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
    optimizer = torch.optim.SGD([parameter], lr=0.1, momentum=0.9)
    parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    optimizer.state[parameter]["momentum_buffer"] = torch.tensor([1.0, 1.0000001, 3.3], dtype=torch.float32)
    torch.save(optimizer.state_dict(), tmp_path / "state.pt")
    other = torch.optim.SGD([parameter], lr=0.1, momentum=0.9)
    load_optimizer(other, torch.load(tmp_path / "state.pt"))
    assert torch.equal(other.state[parameter]["momentum_buffer"], optimizer.state[parameter]["momentum_buffer"])


def test_another_trials_checkpoint_gives_its_weights_and_nothing_else(tmp_path, monkeypatch):
    storage, first, second = tmp_path / "storage", tmp_path / "first", tmp_path / "second"
    monkeypatch.setenv("MUSTER_CHECKPOINT_STORAGE", str(storage))
    fit(first, max_length=Batch(4), checkpoint_period=Batch(4), checkpoint_policy="none")
    (source,) = os.listdir(storage)
    monkeypatch.setenv("MUSTER_SOURCE_CHECKPOINT", source)
    seen = {}

    class Watched(digits.Line):
        def __init__(self, *arguments, **settings):
            super().__init__(*arguments, **settings)
            self.optimizer.param_groups[0]["lr"] = 0.123

        def train_batch(self, batch, epoch_idx, batch_idx):
            if not seen:
                seen.update(weights={name: value.clone() for name, value in self.model.state_dict().items()},
                            rate=self.optimizer.param_groups[0]["lr"], batch=batch_idx)
            return super().train_batch(batch, epoch_idx, batch_idx)

    result = fit(second, trial=Watched, max_length=Batch(3), checkpoint_period=Batch(3), checkpoint_policy="none")
    saved = torch.load(storage / source / "state.pt")["models"][0]
    assert all(torch.equal(seen["weights"][name], saved[name]) for name in saved)
    assert (seen["batch"], result.position.batches) == (0, 3), "its own steps are counted from none"
    assert seen["rate"] == 0.123, "its settings are its own"
    seen.clear()
    again = fit(second, trial=Watched, max_length=Batch(5), checkpoint_policy="none")
    assert seen["batch"] == 3 and again.resumed_from != source, "once it has one of its own, that is where it goes on"
