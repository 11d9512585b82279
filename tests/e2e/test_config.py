"""slurm.conf as operators write it and as programs read it back."""
import os
import re
import subprocess

import pytest

from conftest import BIN, until


def check(tmp_path, *words, **files):
    """`muster config check` without any cluster: its exit status and its lines."""
    for name, text in files.items():
        (tmp_path / name.replace("_conf", ".conf")).write_text(text)
    done = subprocess.run([BIN / "muster", "config", "check", *words], capture_output=True, text=True, timeout=30, cwd=tmp_path)
    return done.returncode, done.stdout.splitlines()


SOUND = "ClusterName=c\nSlurmctldHost=h\nNodeName=n1\nPartitionName=p Nodes=n1\n"


def test_a_file_is_checked_without_a_daemon(tmp_path):
    assert check(tmp_path, "slurm.conf", slurm_conf=SOUND) == (0, ["slurm.conf: nothing to say: the daemons start with it"])
    code, lines = check(tmp_path, "slurm.conf", slurm_conf=SOUND + "TreeWidth=3\n", cgroup_conf="ConstrainCores=yes\n")
    assert code == 0 and lines[-1] == "slurm.conf: 2 without effect: the daemons start with it", lines
    code, lines = check(tmp_path, "slurm.conf", slurm_conf="Prolog=/a\nEpilog=/b\nInclude more.conf\n" + SOUND, more_conf="Wrong=1\nFastSchedule=2\n")
    assert code == 1, lines
    assert [line.split(": ")[:2] for line in lines[:4]] == [["slurm.conf:1", "refused"], ["slurm.conf:2", "refused"],
                                                            ["more.conf:1", "wrong"], ["more.conf:2", "old"]], lines
    assert lines[3].endswith("write SlurmdParameters=config_overrides"), lines
    assert lines[-1] == "slurm.conf: 1 wrong, 2 refused, 1 without effect, 1 old: the daemons do not start with it"
    assert check(tmp_path, "none.conf")[0] == 1


def test_the_controller_refuses_what_the_check_calls_wrong(own_cluster):
    cluster = own_cluster(nodes=1)
    conf = cluster.dir / "slurm.conf"
    assert cluster.run("muster", "config", "check").code == 0, "the cluster's own file"
    conf.write_text(conf.read_text() + "Prolog=/x\n")
    assert cluster.run("muster", "config", "check", check=False).code == 1
    done = subprocess.run([BIN / "musterd", "--check", "-f", conf], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "muster config check" in done.stdout + done.stderr, done


@pytest.mark.parametrize("words", [["muster", "config", "check", "{}"], ["muster-agent", "-N", "node1", "-f", "{}"], ["musterd", "-f", "{}"], ["squeue"]],
                         ids=lambda words: words[0])
def test_what_is_no_file_keeps_nobody_waiting(tmp_path, words):
    os.mkfifo(tmp_path / "pipe.conf")
    (tmp_path / "zeros.conf").symlink_to("/dev/zero")
    for name in ("pipe.conf", "zeros.conf"):
        path = str(tmp_path / name)
        done = subprocess.run([BIN / words[0], *(word.format(path) for word in words[1:])], capture_output=True, text=True, timeout=20,
                              env={**os.environ, "SLURM_CONF": path})
        assert done.returncode == 1, done
        assert words == ["squeue"] or "it is no regular file" in done.stdout + done.stderr, done


def test_clients_and_daemons_follow_includes(own_cluster):
    cluster = own_cluster(nodes=1)
    cluster.down()
    conf = cluster.dir / "slurm.conf"
    lines = conf.read_text().splitlines()
    moved = [line for line in lines if line.startswith(("MusterController=", "NodeName=", "PartitionName="))]
    (cluster.dir / "parts").mkdir()
    (cluster.dir / "parts" / "muster.conf").write_text("Include parts/last.conf\n" + moved[0] + "\n")
    (cluster.dir / "parts" / "last.conf").write_text("\n".join(moved[1:]) + "\n")
    conf.write_text("\n".join(line for line in lines if line not in moved) + "\nInclude parts/%c.conf\n")
    cluster.run("muster", "up", "--dir", cluster.dir, "--detach")
    assert cluster.run("srun", "-n1", "echo", "there").out == "there\n"
    cluster.down()
    (cluster.dir / "parts" / "last.conf").chmod(0o666)
    done = subprocess.run([BIN / "musterd", "-f", conf], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "last.conf can be written by others" in done.stdout + done.stderr, done


def shown(cluster):
    text = cluster.run("scontrol", "show", "config").out
    pairs = re.findall(r"^(\S+) += ?(.*)$", text, re.M)
    return text, dict(pairs), [key for key, _ in pairs]


def test_show_config_is_what_programs_expect(cluster):
    text, values, keys = shown(cluster)
    assert text.startswith("Configuration data as of 2")
    assert len(keys) == len(set(keys)) and len(keys) > 200, len(keys)
    # The first letters rise, as Slurm's do; exceptions stand where Slurm has them (tested key by key elsewhere).
    assert keys[0] == "AccountingStorageBackupHost" and keys.index("KillWait") < keys.index("MinJobAge") < keys.index("TreeWidth")
    me = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
    uid = subprocess.run(["id", "-u"], capture_output=True, text=True).stdout.strip()
    assert values["SlurmUser"] == "root(0)" and values["SlurmdUser"] == f"{me}({uid})"
    assert values["SelectTypeParameters"] == "CR_CORE_MEMORY"
    assert values["SLURM_CONF"] == str(cluster.dir / "slurm.conf")
    assert re.fullmatch(r"\d+\.\d+\.\d+", values["SLURM_VERSION"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", values["BOOT_TIME"])
    assert values["MinJobAge"] == "300 sec" and values["MaxArraySize"] == "1001"
    assert re.search(r"^Slurmctld\(primary\) at \S+ is UP$", text, re.M)
    assert "\n\nCgroup Support Configuration:\n" in text and values["ConstrainCores"] == "no"


def test_show_config_knows_the_next_job_and_whether_the_file_has_changed(own_cluster):
    cluster = own_cluster(nodes=1)
    assert shown(cluster)[1]["HASH_VAL"] == "Match"
    job = cluster.sbatch("true")
    until(lambda: shown(cluster)[1]["NEXT_JOB_ID"] == str(job + 1))
    conf = cluster.dir / "slurm.conf"
    conf.write_text(conf.read_text() + "MinJobAge=77\n")
    assert shown(cluster)[1]["HASH_VAL"] == "Different"
    cluster.run("scontrol", "reconfigure")
    until(lambda: shown(cluster)[1].get("MinJobAge") == "77 sec")
    assert shown(cluster)[1]["HASH_VAL"] == "Match"


@pytest.mark.parametrize("options, nodes, tasks", [("-N2-4 --ntasks-per-node=2", 4, 8), ("-N2-4", 4, None), ("-N2-4 --use-min-nodes", 2, None), ("-N2-3 -n5", 3, 5)])
def test_tasks_follow_the_nodes_of_a_range(own_cluster, options, nodes, tasks):
    cluster = own_cluster(nodes=4, cpus=4)
    job = cluster.sbatch("echo $SLURM_NNODES ${SLURM_NTASKS:-none} $SLURM_TASKS_PER_NODE; srun hostname | sort | uniq -c", *options.split(), "-o", "out")
    assert cluster.wait_ended(job)["State"] == "COMPLETED"
    first, *hosts = (cluster.work / "out").read_text().splitlines()
    told = first.split()
    assert told[0] == str(nodes) and told[1] == (str(tasks) if tasks else "none"), told
    counts = [int(line.split()[0]) for line in hosts]
    assert len(counts) == nodes and sum(counts) == (tasks or nodes), hosts
    direct = cluster.run("srun", *options.split(), "hostname").out.split()
    assert len(set(direct)) == nodes and len(direct) == (tasks or nodes), direct


# Of 22.05.8 on nodes like these: tasks on each node, SLURM_JOB_CPUS_PER_NODE, and the CPUs and MiB that the job is charged.
LAYOUTS = [("-N3 -n8", [4, 2, 2], "4,2(x2)", 8, 800), ("-N3 -n7", [3, 2, 2], "4,2(x2)", 8, 800), ("-m plane=2 -n4 -N2", [2, 2], "2(x2)", 4, 400),
           ("-N2 -n4 --threads-per-core=1", [3, 1], "3,1", 8, 400), ("-B 2:2:1", [4], "4", 8, 400)]


def test_layouts_on_nodes_of_two_threads_per_core(own_cluster):
    cluster = own_cluster(nodes=3, cpus=8)
    cluster.down()
    conf = cluster.dir / "slurm.conf"
    text = re.sub(r"CPUs=8", "Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", conf.read_text())
    conf.write_text(re.sub(r"DefMemPerCPU=\d+", "DefMemPerCPU=100", text))
    cluster.run("muster", "up", "--dir", cluster.dir, "--detach")
    for options, tasks, cpus_per_node, cpus, memory in LAYOUTS:
        job = cluster.sbatch("echo $SLURM_JOB_CPUS_PER_NODE; srun hostname", *options.split(), "-o", "out")
        assert cluster.wait_ended(job)["State"] == "COMPLETED", options
        first, *hosts = (cluster.work / "out").read_text().splitlines()
        assert (first, [hosts.count(host) for host in sorted(set(hosts))]) == (cpus_per_node, tasks), (options, hosts)
        assert cluster.job(job, "AllocTRES")["AllocTRES"] == f"cpu={cpus},mem={memory}M,node={len(tasks)},billing={cpus}", options
        told = cluster.run("salloc", *options.split(), "sh", "-c", "echo $SLURM_JOB_CPUS_PER_NODE").out
        assert told == cpus_per_node + "\n", options


def test_the_defaults_of_the_partition_that_is_chosen_count(own_cluster):
    cluster = own_cluster(nodes=2, conf={"DefMemPerCPU": "10"})
    cluster.down()
    conf = cluster.dir / "slurm.conf"
    conf.write_text(conf.read_text() + "PartitionName=cheap Nodes=node1 DefMemPerCPU=50\nPartitionName=dear Nodes=node2 DefMemPerCPU=500\n"
                    "PartitionName=alone Nodes=node2 OverSubscribe=EXCLUSIVE\n")
    cluster.run("muster", "up", "--dir", cluster.dir, "--detach")
    full = cluster.sbatch("sleep 60", "-w", "node1", "--exclusive")
    cluster.wait_state(full, "RUNNING")
    for partitions, chosen, memory, cpus in [("cheap,dear", "dear", "500M", 1), ("cheap,alone", "alone", "40M", 4), ("alone,cheap", "alone", "40M", 4)]:
        job = cluster.sbatch("true", "-p", partitions)
        cluster.wait_ended(job)
        row = cluster.job(job, "Partition", "AllocTRES")
        assert row["Partition"] == chosen and f"cpu={cpus},mem={memory}" in row["AllocTRES"], (partitions, row)
    cluster.run("scancel", full)
    until(lambda: cluster.run("sinfo", "-h", "-N", "-p", "cheap", "-o", "%t").out == "idle\n")
    job = cluster.sbatch("true", "-p", "cheap,dear")
    cluster.wait_ended(job)
    assert "mem=50M" in cluster.job(job, "AllocTRES")["AllocTRES"]


def test_a_list_of_more_nodes_than_tasks_is_cut_down(cluster):
    done = cluster.run("srun", "-w", "node[1-2]", "-n1", "hostname")
    assert done.out == "node1\n" and "can't run 1 processes on 2 nodes, setting nnodes to 1" in done.err, done
    refused = cluster.run("sbatch", "--gpus=1", "-N2", "--wrap", "true", check=False)
    assert refused.code != 0 and "Invalid generic resource (gres) specification" in refused.err
