"""Two ranks write one checkpoint together, each its part, and read all of it again."""
import os
import tempfile
from pathlib import Path

import determined


def main() -> None:
    with determined.core.init(distributed=determined.core.DistributedContext.from_torch_distributed()) as context:
        rank = context.distributed.rank
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / f"part-{rank}").write_text(f"of rank {rank}")
            uuid = context.checkpoint.upload(folder, {"steps_completed": 1} if rank == 0 else None, shard=True)
        with context.checkpoint.restore_path(uuid) as path:
            parts = [(path / name).read_text() for name in sorted(os.listdir(path)) if name.startswith("part-")]
        if rank == 0:
            print(f"metadata {context.checkpoint.get_metadata(uuid)}", flush=True)
            context.train.report_validation_metrics(1, {"validation_loss": 0.5})
        print(f"rank {rank} of {context.distributed.size} reads {parts}", flush=True)


if __name__ == "__main__":
    main()
