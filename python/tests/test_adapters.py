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

def train_transformers(run_dir, out, stop_at=None, steps=20):
    import transformers
    from muster.adapters.transformers import MusterCallback

    class Line(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(1, 1)

        def forward(self, x, labels=None):
            guess = self.linear(torch.nn.functional.dropout(x, 0.1, self.training))
            return {"loss": torch.nn.functional.mse_loss(guess, labels), "logits": guess}

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
                                       callbacks=[Stopper(), muster])
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


# ---- Lightning ----

def train_lightning(run_dir, out, stop_at=None, steps=24):
    try:
        import lightning.pytorch as lightning
    except ImportError:
        import pytorch_lightning as lightning
    from muster.adapters.lightning import MusterCallback

    class Line(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(1, 1)

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
