"""A PyTorchTrial of the determined package on handwritten digits, as its users write one."""
import logging

import determined
import torch
from determined import pytorch
from sklearn.datasets import load_digits
from torch import nn


class DigitsTrial(pytorch.PyTorchTrial):
    def __init__(self, context: pytorch.PyTorchTrialContext, hparams: dict) -> None:
        self.context = context
        self.hparams = hparams
        self.model = context.wrap_model(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)))
        self.optimizer = context.wrap_optimizer(
            torch.optim.SGD(self.model.parameters(), lr=hparams["learning_rate"], momentum=0.9))
        digits = load_digits()
        pixels = torch.tensor(digits.data / 16, dtype=torch.float32)
        labels = torch.tensor(digits.target)
        order = torch.randperm(len(pixels), generator=torch.Generator().manual_seed(7))
        pixels, labels = pixels[order], labels[order]
        self.training = torch.utils.data.TensorDataset(pixels[:1437], labels[:1437])
        self.test = torch.utils.data.TensorDataset(pixels[1437:], labels[1437:])

    def build_training_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(self.training, batch_size=self.hparams["global_batch_size"] // self.context.distributed.size, shuffle=True)

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(self.test, batch_size=60)

    def train_batch(self, batch, epoch_idx: int, batch_idx: int) -> dict:
        loss = nn.functional.cross_entropy(self.model(batch[0]), batch[1])
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch) -> dict:
        scores = self.model(batch[0])
        return {"validation_loss": nn.functional.cross_entropy(scores, batch[1]),
                "accuracy": (scores.argmax(1) == batch[1]).float().mean()}


def main() -> None:
    torch.set_num_threads(1)
    info = determined.get_cluster_info()
    with pytorch.init(hparams=info.trial.hparams) as context:
        trial = DigitsTrial(context, info.trial.hparams)
        trainer = pytorch.Trainer(trial, context)
        trainer.fit(max_length=pytorch.Epoch(info.trial.hparams["epochs"]), validation_period=pytorch.Epoch(1),
                    checkpoint_period=pytorch.Epoch(1), reporting_period=pytorch.Batch(20),
                    latest_checkpoint=info.latest_checkpoint)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=determined.LOG_FORMAT)
    main()
