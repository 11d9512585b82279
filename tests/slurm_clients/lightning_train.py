"""Trains one weight with DistributedDataParallel under Lightning; rank 0 writes each step, with the number of its run, into a file.

    srun python3 lightning_train.py FOLDER STEPS HOLD

In the first run every rank waits behind step HOLD for SIGUSR1, all at the same step: Lightning's handler writes a checkpoint, which
all ranks take part in, and has the job requeued.
"""
import os
import sys
import time
import types
from pathlib import Path

import torch

if str(torch.__version__).startswith("1.13.0a0"):  # what Debian calls its 1.13, which Lightning takes for an older one
    torch.__version__ = torch.torch_version.TorchVersion("1.13.0")
    sharded = types.ModuleType("torch.distributed._shard.sharded_tensor")  # and which cannot import this under Python 3.11
    sharded.pre_load_state_dict_hook = sharded.state_dict_hook = lambda *arguments: None
    sys.modules.setdefault(sharded.__name__, sharded)

import pytorch_lightning as lightning  # noqa: E402
from pytorch_lightning.plugins.environments import SLURMEnvironment  # noqa: E402

FOLDER, STEPS, HOLD = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
RUN = int(os.environ.get("SLURM_RESTART_COUNT", "0"))
WAIT_S = 120


class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def training_step(self, batch, _):
        return ((self.weight * batch - 3 * batch) ** 2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Recorder(lightning.Callback):
    def on_train_batch_end(self, trainer, module, *_):
        if trainer.global_rank == 0:
            with (FOLDER / "steps").open("a", encoding="utf-8") as file:
                file.write(f"run {RUN} of {trainer.world_size} ranks: step {trainer.global_step}, weight {module.weight.item():.6f}\n")
        if RUN == 0 and trainer.global_step == HOLD:
            (FOLDER / f"held-{trainer.global_rank}").touch()
            deadline = time.monotonic() + WAIT_S
            while time.monotonic() < deadline:
                time.sleep(0.05)
            raise TimeoutError("the job was not requeued")


def main():
    torch.manual_seed(1)
    trainer = lightning.Trainer(
        accelerator="cpu", devices=int(os.environ["SLURM_NTASKS_PER_NODE"]), num_nodes=int(os.environ["SLURM_JOB_NUM_NODES"]),
        strategy="ddp", max_steps=STEPS, max_epochs=-1, default_root_dir=str(FOLDER), logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, callbacks=[Recorder()], plugins=[SLURMEnvironment()])
    trainer.fit(Line(), torch.utils.data.DataLoader(torch.linspace(-1, 1, 64).unsqueeze(1), batch_size=8))


main()
