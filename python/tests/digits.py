"""A classifier of handwritten digits, and a smaller trial: what the tests of the Trainer train, on one rank and on more."""
import gzip

import torch
from torch import nn

from conftest import PACKAGE
from muster import pytorch

DIGITS = PACKAGE.parent.parent / "shared" / "data" / "train" / "digits.csv.gz"


def digits():
    """(training, test), by a fixed shuffle: 1,437 and 360 images of 64 pixels in 0..1, and their digits."""
    with gzip.open(DIGITS, "rt", encoding="ascii") as file:
        rows = torch.tensor([[float(field) for field in line.split(",")] for line in file if line.strip()])
    rows = rows[torch.randperm(len(rows), generator=torch.Generator().manual_seed(7))]
    pixels, labels = rows[:, :64] / 16, rows[:, 64].long()
    cut = int(0.8 * len(rows))
    return [torch.utils.data.TensorDataset(pixels[part], labels[part]) for part in (slice(0, cut), slice(cut, None))]


class Digits(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.training, self.test = digits()
        self.model = context.wrap_model(nn.Sequential(nn.Linear(64, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Dropout(0.1),
                                                      nn.Linear(96, 10)))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9))
        context.wrap_lr_scheduler(torch.optim.lr_scheduler.StepLR(self.optimizer, 4, 0.5))
        if context.hparams.get("amp"):
            context.use_amp(torch.bfloat16)

    def build_training_data_loader(self):
        return pytorch.DataLoader(self.training, batch_size=16, shuffle=True, seed_samples=False)

    def build_validation_data_loader(self):
        return pytorch.DataLoader(self.test, batch_size=50, seed_samples=False)

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = nn.functional.cross_entropy(self.model(batch[0]), batch[1])
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return loss

    def evaluate_batch(self, batch, batch_idx):
        return {"accuracy": (self.model(batch[0]).argmax(1) == batch[1]).float().mean()}


def train_digits(epochs):
    torch.set_num_threads(1)
    with pytorch.init() as context:
        trial = Digits(context)
        result = pytorch.Trainer(trial, context).fit(max_length=pytorch.Epoch(epochs), validation_period=pytorch.Epoch(1),
                                                     searcher_metric="accuracy", smaller_is_better=False)
        trial.model.eval()
        right = [(trial.model(pixels).argmax() == label).item() for pixels, label in
                 ((pixels[None], label) for pixels, label in trial.test)]
        return result, sum(right) / len(right), [tensor.tolist() for tensor in trial.model.state_dict().values()]


class Line(pytorch.PyTorchTrial):
    """A line through points on a line, without any chance. `settings`: batch_size, parts (how many losses a batch has)."""

    def __init__(self, context, callbacks=None, **settings):
        self.context = context
        self.settings = {"batch_size": 4, "length": 32, **settings}
        self.callbacks = callbacks or {}
        self.model = context.wrap_model(nn.Linear(1, 1))
        self.spare = context.wrap_model(nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)]))
        self.optimizer = context.wrap_optimizer(
            torch.optim.Adam([*self.model.parameters(), *self.spare.parameters()], lr=0.05))

    def build_callbacks(self):
        return self.callbacks

    def points(self):
        x = torch.linspace(-1, 1, self.settings["length"])[:, None]
        return torch.utils.data.TensorDataset(x, 3 * x + 0.5)

    def build_training_data_loader(self):
        return pytorch.DataLoader(self.points(), batch_size=self.settings["batch_size"], shuffle=True)

    def build_validation_data_loader(self):
        return pytorch.DataLoader(self.points(), batch_size=5)

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = nn.functional.mse_loss(self.model(batch[0]), batch[1])
        if self.context.distributed.rank == 1 and batch_idx % 2 == 0:  # a part of the model that one rank alone uses
            loss = loss + 0.1 * self.spare[0](batch[0]).square().mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch, batch_idx):
        return {"error": nn.functional.mse_loss(self.model(batch[0]), batch[1]), "count": len(batch[0])}

    def evaluation_reducer(self):
        return {"error": pytorch.Reducer.AVG, "count": pytorch.Reducer.SUM}


def train_line(batches, frequency=1, **settings):
    """(result, weights by name)."""
    torch.set_num_threads(1)
    with pytorch.init(aggregation_frequency=frequency) as context:
        trial = Line(context, **settings)
        result = pytorch.Trainer(trial, context).fit(max_length=pytorch.Batch(batches), reporting_period=pytorch.Batch(2))
        state = {**trial.model.state_dict(), **trial.spare.state_dict()}
        weights = {name: value.tolist() for name, value in state.items()}
        return result, weights, [parameter.grad is None for parameter in trial.spare.parameters()]
