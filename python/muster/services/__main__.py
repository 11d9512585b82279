"""Runs the service that $MUSTER_SERVICE describes. Exit status 1: it could not serve; the controller has been told why."""
from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from types import FrameType
from typing import Optional

from muster.services import checkpoint, checkpoint_files, tensorboard
from muster.services.announcer import Announcer, ServiceError, announcer_of

_KINDS = {
    "tensorboard": tensorboard.serve,
    "checkpoint": checkpoint.serve,
    "checkpoint_files": lambda wish, announcer: checkpoint_files.serve(wish, announcer.session),
}


def _end(number: int, _frame: Optional[FrameType]) -> None:
    sys.exit(128 + number)


def main() -> int:
    signal.signal(signal.SIGTERM, _end)  # its temporary files go with it
    wish = json.loads(os.environ["MUSTER_SERVICE"])
    announcer: Announcer = announcer_of(os.environ)
    try:
        _KINDS[wish["kind"]](wish, announcer)
    except ServiceError as error:
        announcer.fail(str(error))
        print(f"muster: {error}", file=sys.stderr)
        return 1
    except Exception as error:  # pylint: disable=broad-except
        announcer.fail(f"{type(error).__name__}: {error}")
        traceback.print_exc()
        return 1
    finally:
        announcer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
