"""Trains a small network on handwritten digits with DistributedDataParallel over gloo.

Started by torchrun; one process per rank. Prints the test accuracy from rank 0.
"""
import os
import sys

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel

EPOCHS = int(os.environ.get("EPOCHS", "30"))
BATCH = 32  # per rank


def load():
    """The digits, pixels scaled to 0..1: 1,437 for training, 360 for the test, by a fixed shuffle."""
    digits = load_digits()
    order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(7))
    pixels = torch.tensor(digits.data / 16.0, dtype=torch.float32)[order]
    labels = torch.tensor(digits.target)[order]
    cut = int(0.8 * len(labels))
    return (pixels[:cut], labels[:cut]), (pixels[cut:], labels[cut:])


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(7)
    torch.set_num_threads(1)
    (pixels, labels), (test_pixels, test_labels) = load()
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    for epoch in range(EPOCHS):
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(epoch))[rank::world]
        for batch in order.split(BATCH):
            optimizer.zero_grad()
            loss = loss_of(model(pixels[batch]), labels[batch])
            loss.backward()
            optimizer.step()
        if rank == 0 and epoch % 5 == 4:
            print(f"epoch {epoch + 1:2d} of {EPOCHS}  loss {loss.item():.4f}", flush=True)
    with torch.no_grad():
        accuracy = (model(test_pixels).argmax(1) == test_labels).float().mean().item()
    if rank == 0:
        print(f"world size {world}, test accuracy {accuracy:.4f}", flush=True)
    dist.destroy_process_group()
    return 0 if accuracy > 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
