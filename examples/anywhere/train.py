"""Trains a small network on handwritten digits, anywhere: alone, under torchrun, as a batch job that is requeued.

    python3 train.py
    python3 -m torch.distributed.run --redirects 1 --tee 1 --nproc_per_node 2 train.py

Asked to stop (SIGTERM, a stop file, the deadline), it writes a checkpoint and ends; started again with the same
MUSTER_RUN_DIR, it goes on from there and arrives at the very weights it would have had. Hyperparameters:
MUSTER_HPARAMS='{"lr": 0.1, "epochs": 50}'.
"""
import os
import sys

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from muster import core

BATCH = 32  # per rank


def load():
    """The digits, pixels scaled to 0..1: 1,437 for training, 360 for the test, by a fixed shuffle."""
    digits = load_digits()
    order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(7))
    pixels = torch.tensor(digits.data / 16.0, dtype=torch.float32)[order]
    labels = torch.tensor(digits.target)[order]
    cut = int(0.8 * len(labels))
    return (pixels[:cut], labels[:cut]), (pixels[cut:], labels[cut:])


def train_epoch(model, optimizer, data, epoch, ranks):
    """One pass over this rank's share of the data, in the order of the epoch's number. The answer is its mean loss."""
    pixels, labels = data
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(epoch))
    share = len(order) // ranks.size  # the same on every rank
    batches = order[ranks.rank * share:(ranks.rank + 1) * share].split(BATCH)
    total = 0.0
    for batch in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(pixels[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(batches)


def accuracy_of(model, data):
    with torch.no_grad():
        return (model(data[0]).argmax(1) == data[1]).float().mean().item()


def save(context, network, optimizer, epoch):
    with context.checkpoint.store_path({"steps_completed": epoch}) as (path, uuid):
        torch.save({"network": network.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path / "state.pt")
    print(f"checkpoint {uuid} of epoch {epoch}", flush=True)


def restore(context, network, optimizer):
    """The number of epochs that are behind us."""
    if context.info.latest_checkpoint is None:
        return 0
    with context.checkpoint.restore_path(context.info.latest_checkpoint) as path:
        state = torch.load(path / "state.pt")
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


def run(context):
    """Trains until the end or until asked to stop. The answer is the test's accuracy, None when it is not over."""
    hparams, is_chief = context.info.hparams, context.distributed.rank == 0
    epochs = hparams.get("epochs", 40)
    torch.manual_seed(context.info.seed)
    training_data, test_data = load()
    network = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.SGD(network.parameters(), lr=hparams.get("lr", 0.2), momentum=0.9)
    done = restore(context, network, optimizer)
    model = DistributedDataParallel(network) if context.distributed.size > 1 else network
    if is_chief:
        print(f"run {context.info.run_id} of {context.info.run_dir} begins after epoch {done}", flush=True)
    for epoch in range(done + 1, epochs + 1):
        loss = train_epoch(model, optimizer, training_data, epoch, context.distributed)
        if is_chief:
            context.train.report_training_metrics(epoch, {"loss": loss})
            context.train.report_validation_metrics(epoch, {"accuracy": accuracy_of(network, test_data)})
            context.train.report_progress(epoch / epochs)
        is_stopped = context.preempt.should_preempt()
        if is_chief and (is_stopped or epoch == epochs):
            save(context, network, optimizer, epoch)
        if is_stopped and epoch < epochs:
            return None
    return accuracy_of(network, test_data)


def main():
    torch.set_num_threads(1)
    distributed = None
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        dist.init_process_group("gloo")
        distributed = core.DistributedContext.from_torch_distributed()
    with core.init(distributed=distributed) as context:
        accuracy = run(context)
        if context.distributed.rank == 0:
            print("stopped; start again to go on" if accuracy is None else f"test accuracy {accuracy:.4f}", flush=True)
    return 0 if accuracy is None or accuracy > 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
