"""Predictions of a checkpoint that another trial saved, by the package's own batch processing.

Hyperparameters: `checkpoint`, its uuid; or `model` and `version`, by which it is registered.
"""
import json
import logging

import determined
import torch
from determined.experimental import client
from determined.pytorch.experimental import TorchBatchProcessor, torch_batch_process


class Counter(TorchBatchProcessor):
    def __init__(self, context):
        self.context = context
        hparams = determined.get_cluster_info().trial.hparams
        if "model" in hparams:
            version = client.get_model(hparams["model"]).get_version(hparams["version"])
            context.report_task_using_model_version(version)
            checkpoint = version.checkpoint
        else:
            checkpoint = client.get_checkpoint(hparams["checkpoint"])
            context.report_task_using_checkpoint(checkpoint)
        with open(f"{checkpoint.download()}/state.json") as file:
            self.scale = json.load(file)["done"]

    def process_batch(self, batch, batch_idx):
        total = float(batch.sum()) * self.scale
        self.context.report_metrics("inference", batch_idx + 1, {"sum": total})
        self.context.report_metrics("validation", batch_idx + 1, {"validation_loss": -total})


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=determined.LOG_FORMAT)
    torch_batch_process(Counter, torch.arange(12.0), batch_size=4)
