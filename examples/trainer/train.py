"""Trains a small network on handwritten digits with muster.pytorch's Trainer: the same code for one process and for many.

    python3 train.py
    python3 -m muster.launch.torch_distributed --nproc-per-node 2 train.py
    sbatch train.sbatch
    python3 -m muster.certify train.py     # is it exact when it is interrupted? it says

Hyperparameters: MUSTER_HPARAMS='{"lr": 0.1, "epochs": 12, "hidden": 96}'. Killed or stopped, and started again with the same
MUSTER_RUN_DIR, it goes on where it was and arrives at the very weights it would have had.
"""
import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

from muster import pytorch


class Digits(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        hidden = context.hparams.get("hidden", 96)
        self.model = context.wrap_model(
            nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, 10)))
        self.optimizer = context.wrap_optimizer(
            torch.optim.SGD(self.model.parameters(), lr=context.hparams.get("lr", 0.1), momentum=0.9))
        context.wrap_lr_scheduler(torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=4, gamma=0.5))
        data = load_digits()
        order = torch.randperm(len(data.target), generator=torch.Generator().manual_seed(7))
        pixels, labels = torch.tensor(data.data / 16.0, dtype=torch.float32)[order], torch.tensor(data.target)[order]
        cut = int(0.8 * len(labels))
        self.training = torch.utils.data.TensorDataset(pixels[:cut], labels[:cut])
        self.validation = torch.utils.data.TensorDataset(pixels[cut:], labels[cut:])

    def build_training_data_loader(self):
        return pytorch.DataLoader(self.training, batch_size=16, shuffle=True)

    def build_validation_data_loader(self):
        return pytorch.DataLoader(self.validation, batch_size=60)

    def train_batch(self, batch, epoch_idx, batch_idx):
        pixels, labels = batch
        loss = nn.functional.cross_entropy(self.model(pixels), labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer,
                                    clip_grads=lambda parameters: nn.utils.clip_grad_norm_(parameters, 5.0))
        return {"loss": loss}

    def evaluate_batch(self, batch, batch_idx):
        pixels, labels = batch
        scores = self.model(pixels)
        return {"loss": nn.functional.cross_entropy(scores, labels),
                "accuracy": (scores.argmax(1) == labels).float().mean()}


def main():
    torch.set_num_threads(1)
    with pytorch.init() as context:
        result = pytorch.Trainer(Digits(context), context).fit(
            max_length=pytorch.Epoch(context.hparams.get("epochs", 12)), validation_period=pytorch.Epoch(1),
            reporting_period=pytorch.Batch(20), searcher_metric="accuracy", smaller_is_better=False)
        if context.distributed.rank == 0:
            print(f"accuracy {result.metrics.get('accuracy', 0.0):.4f} after {result.position.epochs} epochs"
                  if result.is_completed else f"stopped ({result.stop_reason}); start again to go on", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
