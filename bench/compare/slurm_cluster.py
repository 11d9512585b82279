"""Debian's Slurm as it is measured: munged with a key and a socket of its own, slurmctld, and four slurmd that pretend
to be four hosts. Nothing of it leaves the run's folder, and nothing that the host's own Slurm may have is touched.
"""
import os
import pwd
import shutil
import socket
import subprocess
import time

from compare.cluster import ARRAY_MAX, CPUS_PER_NODE, JOBS_MAX, MEMORY_MIB_PER_CPU, MEMORY_MIB_PER_NODE, NODES, Cluster
from compare.timing import wait_until

SEARCHED = "/usr/sbin:/usr/bin:/sbin:/bin"
NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue")

# Quiet logs, no accounting and no accounting gathered: the least that Slurm can be asked to do, as its own advice for
# high throughput has it. Processes are followed without cgroups, which is the cheaper of its ways. Scheduling is asked to
# look at once and at everything: with the defaults bursts of short jobs wait for its timers.
SCHEDULING = "batch_sched_delay=0,default_queue_depth=1000,partition_job_depth=0,bf_interval=5,sched_min_interval=10000"
CONF = """\
ClusterName=bench
SlurmctldHost={host}({address})
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
SlurmctldDebug=error
SlurmdDebug=error
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters={scheduling}
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
KillWait=5
MinJobAge=300
MaxJobCount={jobs_max}
MaxArraySize={array_max}
DefMemPerCPU={memory_per_cpu}
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=1-00:00:00 State=UP
"""
NODE = "NodeName=node{n} NodeHostname={host} NodeAddr={address} Port={port} CPUs={cpus} RealMemory={memory} State=UNKNOWN"


def missing_programs():
    return [name for name in NEEDED if shutil.which(name, path=SEARCHED) is None]


def free_ports(count):
    """Ports that nobody listens on now; all are held until the last is found, so that they differ."""
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class SlurmCluster(Cluster):
    name = "Slurm"

    def __init__(self, folder):
        super().__init__(folder)
        self.daemons = {}  # name -> Popen, in the order of their start

    def program(self, command):
        path = shutil.which(command, path=SEARCHED)
        assert path, f"{command} is not installed"
        return path

    def _configure(self):
        host = socket.gethostname().split(".")[0]
        ports = free_ports(NODES + 1)
        nodes = [NODE.format(n=i + 1, host=host, address="127.0.0.1", port=ports[i + 1], cpus=CPUS_PER_NODE, memory=MEMORY_MIB_PER_NODE)
                 for i in range(NODES)]
        self.conf.write_text(CONF.format(host=host, address="127.0.0.1", ports=ports, user=pwd.getpwuid(os.geteuid()).pw_name,
                                         folder=self.folder, scheduling=SCHEDULING, jobs_max=JOBS_MAX, array_max=ARRAY_MAX,
                                         memory_per_cpu=MEMORY_MIB_PER_CPU, nodes="\n".join(nodes)), encoding="ascii")

    def _spawn(self, name, *words):
        with open(self.folder / "log" / f"{name}.out", "wb") as log:
            self.daemons[name] = subprocess.Popen(self.words(*words), env=self.env(), stdin=subprocess.DEVNULL, stdout=log,
                                                  stderr=log, start_new_session=True)

    def _start_munge(self):
        folder = self.folder / "munge"
        folder.mkdir(mode=0o755)
        key = folder / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self._spawn("munged", "munged", "--foreground", f"--key-file={key}", f"--socket={folder}/socket",
                    f"--pid-file={folder}/pid", f"--seed-file={folder}/seed")
        wait_until((folder / "socket").exists, 10, "munged listens")

    def start(self):
        for name in ("state", "log", *(f"spool/node{i + 1}" for i in range(NODES))):
            (self.folder / name).mkdir(parents=True)
        self._configure()
        self._start_munge()
        self._spawn("slurmctld", "slurmctld", "-D", "-f", self.conf)
        for i in range(NODES):
            self._spawn(f"slurmd-node{i + 1}", "slurmd", "-D", "-N", f"node{i + 1}", "-f", self.conf)
        self._wait_until_up()

    def _wait_until_up(self):
        """As wait_idle, but slurmctld does not answer at once."""
        end = time.monotonic() + 60
        while True:
            fallen = [name for name, daemon in self.daemons.items() if daemon.poll() is not None]
            assert not fallen, f"{fallen[0]}: {(self.folder / 'log' / (fallen[0] + '.out')).read_text(errors='replace')[-500:]}"
            try:
                self.wait_idle()
                return
            except AssertionError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def stop(self):
        """Daemons in the reverse order of their start; munged last, because the others need it to say goodbye."""
        try:
            self.cancel_all()
        except (AssertionError, TimeoutError, subprocess.TimeoutExpired):
            pass  # what then still runs is found by its mark (cluster.py)
        for daemon in reversed(self.daemons.values()):
            daemon.terminate()
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait(timeout=10)
        self.daemons.clear()

    def controller_pid(self):
        return self.daemons["slurmctld"].pid
