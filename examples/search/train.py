"""One trial of a search: a small network on handwritten digits, with nothing of Muster's imported.

What it is to try comes in variables (MUSTER_HP_LR, MUSTER_HP_HIDDEN, MUSTER_SEED), what it reaches is said with `muster report`, and
after each epoch it saves all that it needs to go on, so that a run which is stopped loses no more than an epoch.
"""
import os
import subprocess
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import nn

LR = float(os.environ.get("MUSTER_HP_LR", "0.1"))
HIDDEN = int(os.environ.get("MUSTER_HP_HIDDEN", "64"))
EPOCHS = int(os.environ.get("EPOCHS", "32"))
SAVED = Path(os.environ.get("MUSTER_RUN_DIR", ".")) / "last.pt"
BATCH = 64


def data():
    """The digits, pixels scaled to 0..1: four fifths to train on, one to validate, by a fixed shuffle."""
    digits = load_digits()
    order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(7))
    pixels = torch.tensor(digits.data / 16.0, dtype=torch.float32)[order]
    labels = torch.tensor(digits.target)[order]
    cut = int(0.8 * len(labels))
    return (pixels[:cut], labels[:cut]), (pixels[cut:], labels[cut:])


def save(state):
    """Whole or not at all: a kill in the middle leaves the last one."""
    torch.save(state, SAVED.with_suffix(".part"))
    os.replace(SAVED.with_suffix(".part"), SAVED)


def report(accuracy, epochs):
    print(f"accuracy={accuracy:.4f} epochs={epochs}", flush=True)
    if "MUSTER_TRIAL_ID" in os.environ:
        subprocess.run(["muster", "report", f"accuracy={accuracy}", f"epochs={epochs}"], check=True)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(int(os.environ.get("MUSTER_SEED", "0")))
    (pixels, labels), (held_pixels, held_labels) = data()
    model = nn.Sequential(nn.Linear(64, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9)
    first = 0
    if SAVED.exists():
        state = torch.load(SAVED)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["epochs"]
        print(f"goes on after epoch {first}", flush=True)
    for epoch in range(first, EPOCHS):
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(epoch))
        for batch in order.split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(pixels[batch]), labels[batch]).backward()
            optimizer.step()
        with torch.no_grad():
            accuracy = (model(held_pixels).argmax(1) == held_labels).float().mean().item()
        save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epochs": epoch + 1})
        report(accuracy, epoch + 1)


if __name__ == "__main__":
    main()
