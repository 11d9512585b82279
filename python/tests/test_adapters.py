"""The adapters with the real libraries, where they are installed: $(tools/adapters_env.sh)/bin/python -m pytest, or make test-clients."""
import os
import signal
import sys
import types

import pytest

from muster import core

torch = pytest.importorskip("torch")
if str(torch.__version__).startswith("1.13.0a0"):  # what Debian calls its 1.13, which Lightning takes for an older one
    torch.__version__ = torch.torch_version.TorchVersion("1.13.0")
    sharded = types.ModuleType("torch.distributed._shard.sharded_tensor")  # and which cannot import this under Python 3.11
    sharded.pre_load_state_dict_hook = sharded.state_dict_hook = lambda *arguments: None
    sys.modules.setdefault(sharded.__name__, sharded)


class Lines(torch.utils.data.Dataset):
    """Points on a line, in an order of their own."""

    def __len__(self):
        return 64

    def __getitem__(self, index):
        x = torch.tensor([index / 32 - 1])
        return {"x": x, "labels": 3 * x + 0.5}


@pytest.mark.parametrize("name", ["lightning", "transformers"])
def test_without_the_library_the_import_names_it(name, monkeypatch):
    for module in ("lightning", "lightning.pytorch", "pytorch_lightning", "transformers"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"muster.adapters.{name}", raising=False)
    with pytest.raises(ImportError, match=f"muster.adapters.{name} needs .*{name}"):
        __import__(f"muster.adapters.{name}")
    monkeypatch.delitem(sys.modules, f"muster.adapters.{name}", raising=False)


def test_logs_of_transformers_are_split_by_group():
    pytest.importorskip("transformers", reason="transformers is not installed")
    from muster.adapters.transformers import split_logs
    assert split_logs({"loss": 1.0, "epoch": 0.5, "learning_rate": 0.1}) == ({"loss": 1.0, "learning_rate": 0.1}, {})
    assert split_logs({"eval_loss": 2.0, "eval_runtime": 1, "eval_samples_per_second": 3, "train_runtime": 4}) == \
        ({}, {"eval_loss": 2.0})


# ---- transformers ----

def train_transformers(run_dir, out, stop_at=None, steps=20, begun=None, inputs=1):
    import transformers
    from muster.adapters.transformers import MusterCallback

    class Line(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(1, inputs)

        def forward(self, x, labels=None):
            guess = self.linear(torch.nn.functional.dropout(x, 0.1, self.training))
            return {"loss": torch.nn.functional.mse_loss(guess, labels), "logits": guess}

    class Watcher(transformers.TrainerCallback):
        def on_train_begin(self, args, state, control, model=None, **kwargs):
            if begun is not None:
                begun.update(weights_of(model), step=state.global_step)

    class Stopper(transformers.TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            if state.global_step == stop_at:
                os.kill(os.getpid(), signal.SIGTERM)

    transformers.set_seed(3)
    with core.init(run_dir=run_dir) as context:
        muster = MusterCallback(context)
        arguments = transformers.TrainingArguments(
            str(out), max_steps=steps, per_device_train_batch_size=8, logging_steps=5, evaluation_strategy="steps",
            eval_steps=10, save_steps=10, report_to=[], disable_tqdm=True, use_cpu=True, learning_rate=0.1)
        trainer = transformers.Trainer(Line(), arguments, train_dataset=Lines(), eval_dataset=Lines(),
                                       callbacks=[Stopper(), muster, Watcher()])
        trainer.train(resume_from_checkpoint=muster.checkpoint_path)
        return muster, {name: value.clone() for name, value in trainer.model.state_dict().items()}


def test_transformers_reports_stops_and_goes_on_exactly(tmp_path):
    pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    _, whole = train_transformers(tmp_path / "whole", tmp_path / "out1")
    muster, _ = train_transformers(tmp_path / "parts", tmp_path / "out2", stop_at=13)
    assert muster.is_stopped
    muster, parts = train_transformers(tmp_path / "parts", tmp_path / "out3")  # the old output folder is not needed
    assert not muster.is_stopped
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    series = [core.read_metrics(tmp_path / folder) for folder in ("whole", "parts")]
    assert [row.steps for row in series[0]["training"]] == [row.steps for row in series[1]["training"]] == [5, 10, 15, 20]
    for place in (0, 1, 3):  # the Trainer forgets the losses since its last log when it is resumed
        assert series[0]["training"][place].metrics == series[1]["training"][place].metrics
    assert [(row.steps, row.metrics) for row in series[0]["validation"]] == \
        [(row.steps, row.metrics) for row in series[1]["validation"]]
    assert [row.steps for row in series[0]["validation"]] == [10, 20]


def test_transformers_begins_with_another_trials_weights(tmp_path, monkeypatch):
    pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    _, source = train_transformers(tmp_path / "source", tmp_path / "out1")
    monkeypatch.setenv("MUSTER_SOURCE_CHECKPOINT", latest_of(tmp_path / "source"))
    begun = {}
    muster, _ = train_transformers(tmp_path / "own", tmp_path / "out2", begun=begun, stop_at=13)
    assert begun.pop("step") == 0 and all(torch.equal(begun[name], source[name]) for name in source) and set(begun) == set(source)
    assert muster.is_stopped and [row.steps for row in core.read_metrics(tmp_path / "own")["training"]] == [5, 10], "steps count anew"
    again = {}
    muster, own = train_transformers(tmp_path / "own", tmp_path / "out3", begun=again)
    assert again["step"] == 13 and not torch.equal(again["linear.weight"], source["linear.weight"]), "it goes on from its own"
    assert not muster.is_stopped
    with pytest.raises(core.CheckpointError, match="do not fit the model: of another shape are linear.weight, linear.bias"):
        train_transformers(tmp_path / "other", tmp_path / "out4", inputs=2)
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("MUSTER_SOURCE_CHECKPOINT", str(empty))
    with pytest.raises(core.CheckpointError, match="holds neither model.safetensors nor pytorch_model.bin"):
        train_transformers(tmp_path / "none", tmp_path / "out5")


def weights_of(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def latest_of(run_dir):
    with core.init(run_dir=run_dir) as context, context.checkpoint.restore_path(context.info.latest_checkpoint) as path:
        return str(path)


def test_weights_that_do_not_fit_are_named():
    from muster.adapters.weights import load_weights
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    before = weights_of(model)
    fitting = {name: value + 1 for name, value in before.items()}
    wrong = {**fitting, "2.weight": torch.zeros(1)}
    del wrong["0.bias"]
    with pytest.raises(core.CheckpointError, match="it lacks 0.bias; the model has no 2.weight"):
        load_weights(model, wrong, "c")
    assert all(torch.equal(before[name], value) for name, value in weights_of(model).items()), "it is as it was"
    del fitting["1.bias"]
    load_weights(model, fitting, "c", tied=["1.bias"])
    assert torch.equal(model.state_dict()["0.weight"], before["0.weight"] + 1) and torch.equal(model.state_dict()["1.bias"], before["1.bias"])


# ---- Lightning ----

def train_lightning(run_dir, out, stop_at=None, steps=24, begun=None, is_late=False, inputs=1):
    try:
        import lightning.pytorch as lightning
    except ImportError:
        import pytorch_lightning as lightning
    from muster.adapters.lightning import MusterCallback

    class Line(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.linear = None if is_late else torch.nn.Linear(1, inputs)

        def configure_model(self):
            self.linear = self.linear or torch.nn.Linear(1, inputs)

        def on_train_start(self):
            if begun is not None:
                begun.update(weights_of(self), step=self.global_step)

        def loss_of(self, batch):
            guess = self.linear(torch.nn.functional.dropout(batch["x"], 0.1, self.training))
            return torch.nn.functional.mse_loss(guess, batch["labels"])

        def training_step(self, batch, batch_idx):
            if self.global_step + 1 == stop_at:
                os.kill(os.getpid(), signal.SIGTERM)
            loss = self.loss_of(batch)
            self.log("loss", loss)
            return loss

        def validation_step(self, batch, batch_idx):
            self.log("val_loss", self.loss_of(batch))

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.1)

    lightning.seed_everything(3)
    with core.init(run_dir=run_dir) as context:
        muster = MusterCallback(context, report_every=4)
        trainer = lightning.Trainer(
            max_steps=steps, callbacks=[muster], enable_checkpointing=False, logger=False, enable_progress_bar=False,
            enable_model_summary=False, accelerator="cpu", default_root_dir=str(out), num_sanity_val_steps=0)
        model = Line()
        loaders = [torch.utils.data.DataLoader(Lines(), batch_size=size, generator=torch.Generator()) for size in (8, 32)]
        trainer.fit(model, *loaders, ckpt_path=muster.checkpoint_path)
        return muster, {name: value.clone() for name, value in model.state_dict().items()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("stop_at", [8, 16])
def test_lightning_reports_stops_and_goes_on_exactly_between_epochs(tmp_path, stop_at):
    if not any(__import__("importlib").util.find_spec(name) for name in ("lightning", "pytorch_lightning")):
        pytest.skip("neither lightning nor pytorch_lightning is installed")
    _, whole = train_lightning(tmp_path / "whole", tmp_path)
    muster, _ = train_lightning(tmp_path / "parts", tmp_path, stop_at=stop_at)
    assert muster.is_stopped
    muster, parts = train_lightning(tmp_path / "parts", tmp_path)
    assert not muster.is_stopped
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    series = [core.read_metrics(tmp_path / folder) for folder in ("whole", "parts")]
    for group, expected in (("training", [4, 8, 12, 16, 20, 24]), ("validation", [8, 16, 24])):
        assert [row.steps for row in series[0][group]] == expected
        assert [row.metrics for row in series[0][group]] == [row.metrics for row in series[1][group]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("is_late", [False, True])
def test_lightning_begins_with_another_trials_weights(tmp_path, monkeypatch, is_late):
    if not any(__import__("importlib").util.find_spec(name) for name in ("lightning", "pytorch_lightning")):
        pytest.skip("neither lightning nor pytorch_lightning is installed")
    _, source = train_lightning(tmp_path / "source", tmp_path)
    monkeypatch.setenv("MUSTER_SOURCE_CHECKPOINT", latest_of(tmp_path / "source"))
    begun = {}
    muster, _ = train_lightning(tmp_path / "own", tmp_path, begun=begun, stop_at=16, is_late=is_late)
    assert begun.pop("step") == 0 and set(begun) == set(source) and all(torch.equal(begun[name], source[name]) for name in source)
    assert muster.is_stopped and [row.steps for row in core.read_metrics(tmp_path / "own")["training"]] == [4, 8, 12, 16], "steps count anew"
    again = {}
    train_lightning(tmp_path / "own", tmp_path, begun=again)
    assert again["step"] == 16 and not torch.equal(again["linear.weight"], source["linear.weight"]), "it goes on from its own"
    with pytest.raises(core.CheckpointError, match="do not fit the model: of another shape are linear.weight"):
        train_lightning(tmp_path / "other", tmp_path, inputs=2)
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("MUSTER_SOURCE_CHECKPOINT", str(empty))
    with pytest.raises(core.CheckpointError, match="holds no lightning.ckpt"):
        train_lightning(tmp_path / "none", tmp_path)
