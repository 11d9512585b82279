"""A character model on tiny-shakespeare that draws on every source of chance a checkpoint must keep: what the tests of exact
resuming train, in processes of their own."""
import gzip
import random

import numpy
import torch
from torch import nn

from conftest import PACKAGE
from muster import pytorch

TEXT = PACKAGE.parent.parent / "shared" / "data" / "train" / "tinyshakespeare.txt.gz"
WINDOW = 8
_text = None


def characters(count):
    """The first characters as numbers, and how many kinds there are."""
    global _text
    if _text is None:
        with gzip.open(TEXT, "rt", encoding="utf-8") as file:
            _text = file.read()
    kinds = {kind: number for number, kind in enumerate(sorted(set(_text)))}
    return torch.tensor([kinds[each] for each in _text[:count]]), len(kinds)


class Windows(torch.utils.data.Dataset):
    """A stretch of text and the character after it; now and then a character is a random one."""

    def __init__(self, count, noise):
        self.characters, self.kinds = characters(count)
        self.noise = noise

    def __len__(self):
        return len(self.characters) - WINDOW

    def __getitem__(self, index):
        window = self.characters[index:index + WINDOW].clone()
        if self.noise and random.random() < 0.3:
            window[numpy.random.randint(WINDOW)] = torch.randint(self.kinds, (1,)).item()
        if self.noise:
            window[0] = torch.randint(self.kinds, (1,), generator=pytorch.sample_generator()).item()
        return window, self.characters[index + WINDOW]


class Surprise(pytorch.MetricReducer):
    """The greatest loss of any batch of any rank, and how many batches there were."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.losses = []

    def per_slot_reduce(self):
        return self.losses

    def cross_slot_reduce(self, per_slot_metrics):
        losses = [loss for losses in per_slot_metrics for loss in losses]
        return {"greatest": max(losses), "batches": len(losses)}


class Counter(pytorch.PyTorchCallback):
    """A callback with a state."""

    def __init__(self):
        self.seen = {"epochs": 0, "validations": 0}

    def on_training_epoch_start(self, epoch_idx):
        self.seen["epochs"] += 1

    def on_validation_end(self, metrics):
        self.seen["validations"] += 1

    def state_dict(self):
        return dict(self.seen)

    def load_state_dict(self, state):
        self.seen = dict(state)


class CharModel(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        kinds = characters(1)[1]
        self.model = context.wrap_model(nn.Sequential(
            nn.Embedding(kinds, 8), nn.Flatten(), nn.Linear(8 * WINDOW, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2),
            nn.Linear(32, kinds)))
        self.optimizer = context.wrap_optimizer(torch.optim.AdamW(self.model.parameters(), lr=3e-3))
        rate = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: 1 / (1 + step / 40))
        self.schedule = context.wrap_lr_scheduler(rate, pytorch.StepMode.STEP_EVERY_OPTIMIZER_STEP)
        slump = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=1, gamma=0.9)
        context.wrap_lr_scheduler(slump, pytorch.StepMode.STEP_EVERY_EPOCH)
        self.surprise = context.wrap_reducer(Surprise())
        self.counter = Counter()

    def build_callbacks(self):
        return {"counter": self.counter}

    def build_training_data_loader(self):
        return pytorch.DataLoader(Windows(308, noise=True), batch_size=4, shuffle=True,
                                  num_workers=self.context.hparams.get("workers", 0))

    def build_validation_data_loader(self):
        return pytorch.DataLoader(Windows(109, noise=False), batch_size=16)

    def train_batch(self, batch, epoch_idx, batch_idx):
        windows, targets = batch
        smoothing = 0.1 * random.random() * numpy.random.random()
        loss = nn.functional.cross_entropy(self.model(windows), targets, label_smoothing=smoothing)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer,
                                    clip_grads=lambda parameters: nn.utils.clip_grad_norm_(parameters, 1.0))
        self.surprise.losses.append(loss.item())
        return {"loss": loss, "rate": self.schedule.get_last_lr()[0]}

    def evaluate_batch(self, batch, batch_idx):
        windows, targets = batch
        guesses = self.model(windows)
        losses = nn.functional.cross_entropy(guesses, targets, reduction="none")
        self.surprise.losses += losses.tolist()
        return {"loss": losses.mean(), "correct": (guesses.argmax(1) == targets).sum()}

    def evaluation_reducer(self):
        return {"loss": pytorch.Reducer.AVG, "correct": pytorch.Reducer.SUM}


def train(batches):
    """Returns fit()'s result. What else there is to say is in the environment."""
    torch.set_num_threads(1)
    with pytorch.init(aggregation_frequency=2) as context:
        trainer = pytorch.Trainer(CharModel(context), context)
        return trainer.fit(max_length=pytorch.Batch(batches), reporting_period=pytorch.Batch(7),
                           validation_period=pytorch.Batch(30), checkpoint_period=pytorch.Batch(5), checkpoint_policy="none")
