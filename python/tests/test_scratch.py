"""Folders on a node's own disk that nobody leaves behind, and that processes share."""
import os
import stat
import tempfile
import threading
from pathlib import Path

import pytest

from muster import core
from muster.core import scratch
from muster.core.scratch import private_folder, shared_folder


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"muster-{os.getuid()}"


def filled(folder):
    (folder / "file").write_text("x")


def test_a_private_folder_is_there_until_it_is_released(place):
    one, other = private_folder(), private_folder()
    assert one.path.is_dir() and other.path.is_dir() and one.path != other.path
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    one.release()
    one.release()
    assert not one.path.exists() and other.path.exists()
    other.release()
    assert list(place.iterdir()) == []


def test_a_shared_one_is_filled_once_and_goes_with_its_last_holder(place):
    fills = []
    holders = [shared_folder("a", lambda folder: fills.append(1) or filled(folder)) for _ in range(3)]
    assert len(fills) == 1 and {holder.path for holder in holders} == {place / "a"}
    for holder in holders:
        assert (place / "a" / "file").exists()
        holder.release()
    assert list(place.iterdir()) == []


def test_many_threads_and_processes_agree(place):
    """Each holds it for a moment; whoever comes while it is there does not fill it, and none finds it half filled."""
    wrong = []

    def take():
        for _ in range(20):
            def fill(folder):
                (folder / "one").write_text("1")
                (folder / "two").write_text("2")
            held = shared_folder("a", fill)
            if {path.name for path in held.path.iterdir()} != {"one", "two"}:
                wrong.append(held.path)
            held.release()

    children = []
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            take()
            os._exit(1 if wrong else 0)
        children.append(pid)
    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0] and not wrong
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_is_swept(place, scripts):
    script = scripts("""
        import tempfile
        from muster.core import scratch
        held = scratch.private_folder()
        (held.path / "file").write_text("x")
        shared = scratch.shared_folder("b", lambda folder: (folder / "file").write_text("x"))
        print(held.path, flush=True)
        input()
    """, TMPDIR=place.parent)
    path = Path(script.line())
    mine = private_folder()
    assert path.is_dir() and (place / "b").is_dir(), "another's folder was swept while it was held"
    script.kill()
    mine.release()
    private_folder().release()
    assert list(place.iterdir()) == []


def test_a_fill_that_fails_leaves_nothing(place):
    def fail(folder):
        filled(folder)
        raise core.CheckpointError("no")
    with pytest.raises(core.CheckpointError):
        shared_folder("a", fail)
    held = shared_folder("a", filled)
    assert [path.name for path in held.path.iterdir()] == ["file"]
    held.release()
    assert list(place.iterdir()) == []


def test_a_fill_that_takes_too_long_is_an_error_of_those_who_wait(place, monkeypatch):
    monkeypatch.setattr(scratch, "FILL_TIMEOUT_S", 0.2)

    def slow(_folder):
        with pytest.raises(core.StorageError, match="has been filling .*/a for 0.2 s"):
            shared_folder("a", filled)
    shared_folder("a", slow).release()


def test_anothers_folder_is_refused(place):
    place.mkdir(mode=0o755)
    with pytest.raises(core.StorageError, match="is not this user's alone.*set TMPDIR"):
        private_folder()
    place.chmod(0o700)
    private_folder().release()
    place.rmdir()
    place.symlink_to(place.parent)
    with pytest.raises(core.StorageError, match="is not this user's alone"):
        private_folder()
