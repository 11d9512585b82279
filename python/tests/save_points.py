"""Where a process may die while it writes a checkpoint."""
import os
import signal

SAVE_POINTS = ("before", "torn file", "written", "before rename", "after rename")
TOLD = "told"  # with a controller, on rank 0: it knows of the checkpoint and the run folder does not yet


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def arrange(wanted, rank):
    """Lets this process of that rank die at the first point that it comes to and for which wanted(point) is true."""
    import torch
    from muster.core.checkpoints import _Write
    from muster.core.local import LocalCheckpoints
    from muster.core.remote import CheckpointAnnouncer
    from muster.core.storage import FolderStorage

    def dying(target, name, point, is_after=False):
        original = getattr(target, name)

        def wrapped(*args, **kwargs):
            if not is_after and wanted(point):
                die()
            answer = original(*args, **kwargs)
            if is_after and wanted(point):
                die()
            return answer
        setattr(target, name, wrapped)

    def torn(*args, **kwargs):
        save(*args, **kwargs)
        if wanted("torn file"):
            os.truncate(args[1], os.path.getsize(args[1]) // 2)
            die()

    def telling(self, event, *args):
        tell(self, event, *args)
        if event == "completed" and wanted(TOLD):
            die()

    save, tell = torch.save, CheckpointAnnouncer.__call__
    torch.save = torn
    dying(_Write, "stage", "before")
    dying(_Write, "share", "written")
    dying(FolderStorage if rank == 0 else _Write, "finish", "before rename")
    if rank == 0:
        dying(LocalCheckpoints, "complete", "after rename")
        CheckpointAnnouncer.__call__ = telling
    else:
        dying(_Write, "finish", "after rename", is_after=True)
