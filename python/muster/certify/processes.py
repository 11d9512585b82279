"""A command with all its descendants: every process carries a mark in its environment, by which none escapes being ended."""
from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence
from uuid import uuid4

MARK = "MUSTER_CERTIFY_MARK"


class MarkedCommand:
    """Started at once; its output goes to a file. Call `kill` at the end, whatever happened."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], output: Path) -> None:
        """Errors: OSError when it cannot be started."""
        self._mark = f"{MARK}={uuid4()}".encode()
        environment: Dict[str, str] = {**variables, MARK: self._mark.decode().split("=", 1)[1]}
        with open(output, "ab") as file:
            self.process = subprocess.Popen(list(command), env=environment, stdin=subprocess.DEVNULL, stdout=file,
                                            stderr=file)

    def poll(self) -> Optional[int]:
        return self.process.poll()

    def wait(self, seconds: float) -> Optional[int]:
        """Its exit code; None when it has not ended by then."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """SIGKILL to it and to everything that came of it, until nothing is left."""
        if self.process.poll() is None:
            self.process.kill()
        while True:
            left = self._marked()
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if not left:
                break
            time.sleep(0.005)
        self.process.wait()

    def _marked(self) -> List[int]:
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    if self._mark in Path("/proc", entry, "environ").read_bytes().split(b"\0"):
                        found.append(int(entry))
                except OSError:
                    pass  # ended, or another user's
        return found
