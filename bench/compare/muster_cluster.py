"""Muster as it is measured: `muster up`, which starts a controller and the nodes' agents on loopback."""
import subprocess

from compare.cluster import ARRAY_MAX, CPUS_PER_NODE, JOBS_MAX, MEMORY_MIB_PER_NODE, NODES, Cluster


class MusterCluster(Cluster):
    name = "Muster"

    def __init__(self, folder, programs):
        super().__init__(folder)
        self.programs = programs

    def program(self, command):
        return str(self.programs / command)

    def _muster(self, *words):
        return subprocess.run([self.program("muster"), *words, "--dir", str(self.folder)], env=self.env(), timeout=60,
                              capture_output=True, text=True, check=False)

    def _up(self):
        done = self._muster("up", "--nodes", str(NODES), "--cpus", str(CPUS_PER_NODE), "--memory", str(MEMORY_MIB_PER_NODE), "--detach")
        assert done.returncode == 0, f"muster up: {done.stdout}{done.stderr}"

    def start(self):
        self._up()  # writes slurm.conf; what it lacks is added, and then it starts for good
        self._muster("down")
        with open(self.conf, "a", encoding="ascii") as conf:
            conf.write(f"MaxArraySize={ARRAY_MAX}\nMaxJobCount={JOBS_MAX}\n")
        self._up()

    def stop(self):
        if self.conf.exists():
            self._muster("down")

    def controller_pid(self):
        return int((self.folder / "controller.pid").read_text(encoding="ascii"))

    @property
    def address(self):
        return f"unix:{self.folder}/controller.sock"
