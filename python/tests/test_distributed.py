"""Ranks that exchange values, lose each other, come late or disagree: real processes over loopback."""
import json
import pickle
import random
import socket
import subprocess
import sys
import threading
import time

import pytest

from muster import core
from muster.core import star as star_module
from muster.core.distributed import _grouped, _host_of
from muster.core.star import StarChief, StarWorker, listen

KEY = b"secret"


def test_one_rank_alone():
    with core.DistributedContext.single() as alone:
        assert (alone.gather(1), alone.allgather(2), alone.broadcast(3)) == ([1], [2], 3)
        assert (alone.gather_local(1), alone.allgather_local(2), alone.broadcast_local(3)) == ([1], [2], 3)
    assert core.DistributedContext.from_environment({}).size == 1


ALL_VERBS = """
import json
from muster import core
with core.DistributedContext.from_environment() as d:
    said = [d.gather(d.rank), d.allgather({"rank": d.rank}), d.broadcast("from %d" % d.rank), d.gather_local(d.rank),
            d.allgather_local(d.rank), d.broadcast_local("local %d" % d.rank),
            d.allgather("x" * 3_000_000 + str(d.rank))[-1][-1]]
    print(json.dumps([d.rank, d.size, d.local_rank, d.local_size, d.cross_rank, d.cross_size]), json.dumps(said), sep="\\n")
"""


def test_all_verbs_on_two_nodes_of_two(ranks):
    for rank, script in enumerate(ranks(ALL_VERBS, 4, local_size=2)):
        place, said = map(json.loads, script.end()[0].splitlines())
        node, first = rank // 2, rank - rank % 2
        assert place == [rank, 4, rank % 2, 2, node, 2]
        assert said == [[0, 1, 2, 3] if rank == 0 else None, [{"rank": each} for each in range(4)], "from 0",
                        [first, first + 1] if rank == first else None, [first, first + 1], f"local {first}", "3"]


LOSE_ONE = """
import os, sys, time
from muster import core
with core.DistributedContext.from_environment() as d:
    d.allgather(None)
    print("together", flush=True)
    if d.rank == int(os.environ["LOST"]):
        time.sleep(60)
    try:
        while True:
            d.allgather(None)
    except core.DistributedError as error:
        print(error, flush=True)
"""


@pytest.mark.parametrize("lost", [0, 2])
def test_a_killed_rank_makes_the_others_fail(ranks, lost):
    scripts = ranks(LOSE_ONE, 3, LOST=lost)
    for script in scripts:
        script.wait_for("together")
    scripts[lost].kill()
    begin = time.monotonic()
    for rank, script in enumerate(scripts):
        if rank != lost:
            assert f"rank {lost} went away during allgather: its process ended" in script.end()[0]
    assert time.monotonic() - begin < 5


def star(size, work, timeouts=(10, 10), keys=None, sizes=None, numbers=None):
    """Runs work(star, rank) for every rank in a thread of its own; the answers, errors among them, in order."""
    listener = listen([0], True, size)
    port = listener.getsockname()[1]
    answers = [None] * size

    def run(rank):
        key, told = (keys or {}).get(rank, KEY), (sizes or {}).get(rank, size)
        try:
            one = (StarChief(listener, size, key, *timeouts) if rank == 0
                   else StarWorker("127.0.0.1", [port], (numbers or {}).get(rank, rank), told, key, *timeouts))
            answers[rank] = work(one, rank)
        except core.DistributedError as error:
            answers[rank] = error
            return
        one.close()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return answers


def test_ranks_that_do_not_come_are_named():
    listener = listen([0], True, 4)
    port = listener.getsockname()[1]
    arrived = threading.Thread(target=lambda: StarWorker("127.0.0.1", [port], 2, 4, KEY, 5, 5))
    arrived.start()
    with pytest.raises(core.DistributedError, match=r"ranks 1, 3 of 4 did not connect within 0.5 s$"):
        StarChief(listener, 4, KEY, 0.5, 5)
    arrived.join(5)


def test_a_rank_that_finds_no_chief_names_the_address():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        text = rf"rank 1 found no chief \(rank 0\) at 127.0.0.1 port {port} within 0.3 s"
        with pytest.raises(core.DistributedError, match=text):
            StarWorker("127.0.0.1", [port], 1, 2, KEY, 0.3, 5)


def test_a_rank_that_does_not_call_is_named_to_all():
    def work(one, rank):
        return time.sleep(0.8) if rank == 2 else one.allgather(rank)

    answers = star(4, work, timeouts=(5, 0.3))
    assert [str(answers[rank]) for rank in (0, 1, 3)] == ["rank 2 did not call allgather within 0.3 s"] * 3


def test_a_worker_does_not_wait_for_ever_either():
    def work(one, rank):
        if rank == 1:
            one._timeout_s = 0.2
            return one.broadcast(None)
        return time.sleep(0.6)

    assert "rank 1 waited 0.2 s in broadcast" in str(star(2, work)[1])


def test_ranks_that_disagree_are_told_so():
    def gather_or_allgather(one, rank):
        one.allgather(None)
        return one.gather(1) if rank == 0 else one.allgather(1)

    answers = star(3, gather_or_allgather)
    assert all("ranks disagree: call 2 of rank" in str(each) for each in answers)
    assert all("call 2 of rank 0 is gather" in str(each) for each in answers)

    def broadcast_or_gather(one, rank):
        if rank == 0:
            one.broadcast(1)
            return one.allgather(2)
        return one.allgather(2)

    answers = star(2, broadcast_or_gather)
    assert "call 1 of rank 1 is allgather, call 1 of rank 0 is broadcast" in str(answers[1])
    assert isinstance(answers[0], core.DistributedError)


def test_without_the_key_nobody_is_let_in_and_nothing_is_unpickled():
    answers = star(2, lambda one, _: one.allgather(1), timeouts=(0.6, 5), keys={1: b"other"})
    assert "rank 1 of 2 did not connect" in str(answers[0]) and "did not have the key" in str(answers[0])
    assert "is the key the same?" in str(answers[1])


def test_strangers_do_not_disturb(monkeypatch):
    monkeypatch.setattr(star_module, "_HANDSHAKE_S", 0.4)
    listener = listen([0], True, 2)
    address = listener.getsockname()
    strangers = [socket.create_connection(address) for _ in range(3)]
    strangers[0].sendall(b"GET / HTTP/1.1\r\n\r\n" * 10)
    strangers[1].close()
    worker = threading.Thread(target=lambda: StarWorker(*address[:1], [address[1]], 1, 2, KEY, 15, 5).allgather("w"))
    worker.start()
    chief = StarChief(listener, 2, KEY, 15, 5)
    assert chief.allgather("c") == ["c", "w"]
    worker.join(5)
    for stranger in strangers:
        stranger.close()


def test_wrong_ranks_are_refused():
    def work(one, _rank):
        return one.allgather(1)

    assert "two processes came as rank 1" in str(star(3, work, timeouts=(2, 5), numbers={2: 1})[0])
    assert "came as rank 1 of 3, but there are 2" in str(star(2, work, timeouts=(2, 5), sizes={1: 3})[0])


def test_a_taken_port_is_passed_over(monkeypatch):
    monkeypatch.setattr(star_module, "_WORKER_TIMEOUT_S", 0.4)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        with pytest.raises(core.DistributedError, match=f"no port of {port} is free .* MUSTER_STAR_PORT"):
            listen([port], True, 1)
        listener = listen([port, 0], True, 1)
        other = listener.getsockname()[1]
        worker = threading.Thread(target=lambda: StarWorker("127.0.0.1", [port, other], 1, 2, KEY, 15, 5).gather("w"))
        worker.start()
        assert StarChief(listener, 2, KEY, 15, 5).gather("c") == ["c", "w"]
        worker.join(5)


class Unreadable:
    def __reduce__(self):
        return (int, ("not a number",))


def test_values_that_cannot_travel():
    def unreadable(one, rank):
        return one.allgather(Unreadable() if rank == 1 else rank)

    answers = star(3, unreadable)
    assert all("rank 1 sent a value for allgather that rank 0 cannot read: ValueError" in str(each) for each in answers)

    def not_pickled(one, rank):
        if rank == 1:
            with pytest.raises((AttributeError, pickle.PicklingError)):
                one.allgather(lambda: 1)  # nothing was sent, so the next call is still in step
        return one.allgather(rank)

    assert star(2, not_pickled) == [[0, 1], [0, 1]]
    answers = star(2, lambda one, rank: one.allgather((lambda: 1) if rank == 0 else 1))
    assert all("rank 0 cannot send its value for allgather" in str(each) for each in answers)


def test_after_an_error_a_context_stays_broken():
    def work(one, rank):
        if rank == 1:
            return None
        for _ in range(2):
            with pytest.raises(core.DistributedError, match="rank 1 went away"):
                one.allgather(None)
        return "seen"

    assert star(2, work)[0] == "seen"


def test_arguments():
    place = {"rank": 0, "size": 2, "local_rank": 0, "local_size": 2, "cross_rank": 0, "cross_size": 1}
    with pytest.raises(ValueError, match="2 ranks need chief_ip, port and authkey"):
        core.DistributedContext(**place)
    with pytest.raises(ValueError, match="local_rank 2 does not lie in 0..1"):
        core.DistributedContext(**{**place, "local_rank": 2})
    with pytest.raises(ValueError, match="set MUSTER_AUTHKEY"):
        core.DistributedContext.from_environment({"RANK": "0", "WORLD_SIZE": "2"})
    mpi = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "1",
           "MUSTER_AUTHKEY": "k"}
    with pytest.raises(ValueError, match="do not tell where rank 0 is"):
        core.DistributedContext.from_environment(mpi)
    with pytest.raises(ValueError, match="MUSTER_STAR_PORT is 'x'"):
        core.DistributedContext.from_environment({**mpi, "MUSTER_CHIEF_ADDR": "127.0.0.1", "MUSTER_STAR_PORT": "x"})


SRUN = """
from muster import core
with core.DistributedContext.from_environment() as d:
    print(d.rank, d.cross_rank, d.allgather(d.rank), flush=True)
"""


def test_as_srun_would_start_them(scripts):
    common = {"SLURM_NTASKS": 2, "SLURM_STEP_NODELIST": "localhost", "SLURM_STEP_NUM_NODES": 1,
              "SLURM_STEP_TASKS_PER_NODE": 2, "SLURM_JOB_ID": random.randrange(10**6, 10**7),
              "SLURM_STEP_ID": 0, "SLURM_NODEID": 0, "MUSTER_AUTHKEY": "k"}
    begun = [scripts(SRUN, SLURM_PROCID=rank, SLURM_LOCALID=rank, **common) for rank in range(2)]
    assert [script.end()[0] for script in begun] == ["0 0 [0, 1]\n", "1 0 [0, 1]\n"]


def test_ranks_of_torch_by_node():
    """The rest of from_torch_distributed() is tested by examples/anywhere under torchrun."""
    hosts = ["b", "a", "b", "b"]
    assert [_grouped(hosts, rank) for rank in range(4)] == [(0, 3, 0, 2), (0, 1, 1, 2), (1, 3, 0, 2), (2, 3, 0, 2)]
    torchrun = {"RANK": "1", "WORLD_SIZE": "4", "GROUP_RANK": "0"}
    assert _host_of(torchrun, 1, 4) == "group 0"
    assert _host_of(torchrun, 1, 2) == _host_of({}, 1, 2) == socket.gethostname()  # a process group of its own


def test_torch_must_be_initialised_and_deepspeed_too(monkeypatch):
    pytest.importorskip("torch.distributed")
    with pytest.raises(ValueError, match="init_process_group"):
        core.DistributedContext.from_torch_distributed()
    fake = type(sys)("deepspeed")
    fake.comm = type(sys)("comm")
    fake.comm.is_initialized = lambda: False
    monkeypatch.setitem(sys.modules, "deepspeed", fake)
    with pytest.raises(ValueError, match="init_distributed"):
        core.DistributedContext.from_deepspeed()


def test_forked_children_do_not_hide_a_death(ranks):
    scripts = ranks("""
        import os, time
        from muster import core
        d = core.DistributedContext.from_environment()
        child = os.fork() if d.rank == 1 else 0
        if d.rank == 1 and child == 0:
            time.sleep(60)
        d.allgather(None)
        print("child", child, flush=True)
        try:
            time.sleep(60) if d.rank == 1 else d.allgather(None)
        except core.DistributedError as error:
            print(error, flush=True)
        """, 2)
    child = scripts[1].wait_for("child").split()[1]
    scripts[1].kill()
    try:
        assert "rank 1 went away" in scripts[0].end()[0]
    finally:
        subprocess.run(["kill", "-9", child], check=True)
