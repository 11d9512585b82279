"""Elements of arrays by their names: what is shown of those that wait, and what is done to them."""
from conftest import until


def shown(cluster, ids):
    return cluster.run("squeue", "-h", "-j", ids, "-o", "%i").out.split()


def test_named_elements_alone_are_shown(cluster):
    array = cluster.sbatch("true", "-H", "--array=1-5")
    assert shown(cluster, f"{array}_1") == [f"{array}_1"]
    assert shown(cluster, f"{array}_[2-3]") == [f"{array}_[2-3]"]
    assert shown(cluster, f"{array}_2,{array}_4") == [f"{array}_[2,4]"]
    assert shown(cluster, f"{array}_[4-9]") == [f"{array}_[4-5]"]
    assert shown(cluster, f"{array}_1,{array}") == [f"{array}_[1-5]"]
    assert shown(cluster, f"{array}_9") == []
    one = cluster.run("scontrol", "show", "job", f"{array}_1").out
    assert f"ArrayJobId={array} ArrayTaskId=1 " in one
    some = cluster.run("scontrol", "show", "job", f"{array}_[2-3]").out
    assert f"ArrayJobId={array} ArrayTaskId=2-3 " in some
    none = cluster.run("scontrol", "show", "job", f"{array}_9", check=False)
    assert none.code == 1 and f"Job {array}_9 not found" in none.out + none.err
    cluster.run("scancel", array)


def test_what_is_there_is_done_and_what_is_not_is_named(cluster):
    array = cluster.sbatch("true", "--begin=now+1hour", "--array=1-5")
    held = cluster.run("scontrol", "hold", f"{array}_[4-9]", check=False)
    assert (held.code, held.err) == (1, f"{array}_6-9: Invalid job id specified\n")
    reasons = cluster.run("squeue", "-h", "-j", array, "-r", "-o", "%K %r").out.split("\n")
    assert sorted(reasons)[1:] == ["1 BeginTime", "2 BeginTime", "3 BeginTime", "4 JobHeldAdmin",
                                   "5 JobHeldAdmin"]
    named = cluster.run("scontrol", "update", f"jobid={array}_[3-6]", "comment=x", check=False)
    assert (named.code, named.err) == (1, f"{array}_6: Invalid job id specified\n")
    waits = cluster.run("scontrol", "requeue", f"{array}_[1,7]", check=False)
    assert waits.code == 1 and waits.err.splitlines() == [
        f"{array}_1: Job is pending execution", f"{array}_7: Invalid job id specified"]
    cluster.run("scancel", f"{array}_[5-9]")
    strict = cluster.run("scancel", "--me", f"{array}_[4,6-9]", check=False)
    text = f"Kill job error on job id {array}_[6-9]: Invalid job id specified"
    assert strict.code == 1 and text in strict.err
    left = cluster.run("squeue", "-h", "-r", "-j", array, "-o", "%K").out.split()
    assert sorted(left) == ["1", "2", "3"]
    cluster.run("scancel", array)


def test_conditions_hold_for_named_elements(cluster):
    array = cluster.sbatch("sleep 60", "--array=1-3%1", "-o", "/dev/null")
    until(lambda: "R" in cluster.run("squeue", "-h", "-j", f"{array}_1", "-o", "%t").out, "a run")
    cluster.run("scancel", "-t", "PENDING", f"{array}_1")
    cluster.run("scancel", "-t", "RUNNING", f"{array}_[2-3]")
    cluster.run("scancel", "-n", "another", f"{array}_[1-3]")
    states = cluster.run("squeue", "-h", "-r", "-j", array, "-o", "%K %t").out.splitlines()
    assert sorted(states) == ["1 R", "2 PD", "3 PD"]
    cluster.run("scancel", "-t", "PENDING", f"{array}_[1-3]")
    assert cluster.run("squeue", "-h", "-r", "-j", array, "-o", "%K %t").out == "1 R\n"
    cluster.run("scancel", array)


def test_several_jobs_are_updated_by_one_command(cluster):
    first, second = (cluster.sbatch("true", "-H") for _ in range(2))
    result = cluster.run("scontrol", "update", f"jobid={first},{second},999999", "comment=both",
                         check=False)
    assert (result.code, result.err) == (1, "Invalid job id specified for job 999999\n")
    comments = cluster.run("squeue", "-h", "-j", f"{first},{second}", "-o", "%k").out
    assert comments == "both\nboth\n"
    cluster.run("scontrol", "update", "job", f"{first},{second}", "comment=bare")
    assert cluster.run("squeue", "-h", "-j", f"{first},{second}", "-o", "%k").out == "bare\nbare\n"
    cluster.run("scancel", first, second)


def test_elements_beyond_the_other_array_wait_for_all_of_it(cluster):
    first = cluster.sbatch("while [ ! -e go ]; do sleep 0.1; done", "--array=1-2", "-o", "/dev/null")
    after = cluster.sbatch("sleep 60", "--array=1-3", "-d", f"aftercorr:{first}", "-o", "/dev/null")
    third = cluster.run("squeue", "-h", "-j", f"{after}_3", "-o", "%t %r").out
    assert third == "PD Dependency\n"
    (cluster.work / "go").touch()
    until(lambda: cluster.run("squeue", "-h", "-j", f"{after}_3", "-o", "%t").out == "R\n", "its turn")
    assert cluster.run("squeue", "-h", "-j", first).out == ""
    cluster.run("scancel", after)
