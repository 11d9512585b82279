"""What only Muster is measured in: programs of this folder against a controller of `muster up`, the planner and the
simulator. Each asserts its result before its time.
"""
import re
import subprocess
from pathlib import Path

from compare.report import Budget, Row
from compare.timing import Series

BESIDE = Path(__file__).resolve().parents[1] / "beside.sh"
SUBMISSION = re.compile(r"(\d+) submissions, \d+ in flight, 0 refused: (\d+)/s")
PLAN = re.compile(r"^(.+?) +median +([\d.]+) ms +worst +([\d.]+) ms", re.MULTILINE)
SIMULATION = re.compile(r": (\d+) jobs ended.* (\d+) jobs a minute")


def program(build, name, *words, timeout=300):
    """The program's standard output; fails when it does."""
    done = subprocess.run([str(build / "bin" / name), *(str(w) for w in words)], capture_output=True, text=True, timeout=timeout,
                          check=False)
    assert done.returncode == 0, f"{name}: exit {done.returncode}: {done.stdout[-300:]}{done.stderr[-500:]}"
    return done.stdout


# ---- durable submissions -----------------------------------------------------------------------------------------------
def submissions(cluster, report, size, build):
    report.section("durable submissions over one connection: 3 KB environments, distinct 2 KB scripts")
    for in_flight, budget in ((1, None), (64, Budget(30_000, "≥ 30,000/s", is_most=False))):
        count = size.submissions if in_flight > 1 else size.submissions // 5
        rates = Series("/s")
        for _ in range(size.rounds):
            size.quiet.wait()
            found = SUBMISSION.search(program(build, "submit_bench", cluster.address, count, in_flight, "hold"))
            assert found and int(found.group(1)) == count, "every submission was accepted"
            assert cluster.count_jobs("-t", "PENDING") == count, "every submission is in the queue"
            cluster.cancel_all()
            rates.values.append(float(found.group(2)))
        report.add(Row(f"durable submissions, {in_flight} in flight", "a workflow engine", rates, budget=budget))


# ---- latency of a submission ---------------------------------------------------------------------------------------------
def latency(cluster, report, size, build):
    report.section("latency of a durable submission")
    cluster.fill()
    for pollers in size.pollers:
        queue = size.queue if pollers else 0
        size.quiet.wait()
        line = program(build, "latency_bench", cluster.address, "--queue", queue, "--pollers", pollers, "--seconds", size.seconds)
        found = dict(pair.split("=") for pair in line.split())
        assert int(found["submissions"]) > 0
        assert cluster.count_jobs("-t", "PENDING") == queue + int(found["submissions"]), "every submission is in the queue"
        cluster.cancel_all("-t", "PENDING")
        name = f"beside {queue:,} pending jobs of 200 lanes and {pollers:,} pollers" if pollers else "in an empty queue"
        report.add(Row(f"submission, p99, {name}", "a script in the afternoon", Series("ms", [float(found["p99_ms"])]),
                       budget=Budget(20, "≤ 20 ms")))
        report.note(f"{name}: p50 {float(found['p50_ms']):.2f} ms, worst {float(found['worst_ms']):.1f} ms of {found['submissions']}; "
                    f"{found['polls']} polls answered, the slowest in {found['worst_poll_ms']} ms")
    cluster.cancel_all()


def beside(_cluster, report, size, build):
    report.section("latency of a durable submission beside what is hard on the controller (beside.sh)")
    for what, words, name in size.beside:
        size.quiet.wait()
        done = subprocess.run([BESIDE, build, what, *(str(w) for w in words)], capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, f"beside.sh {what}: exit {done.returncode}: {done.stdout[-300:]}{done.stderr[-500:]}"
        found = dict(pair.split("=", 1) for pair in done.stdout.split() if "=" in pair)
        assert int(found["submissions"]) > 0
        report.add(Row(f"submission, p99, beside {name}", f"a script that went wrong; worst {float(found['worst_ms']):.1f} ms",
                       Series("ms", [float(found["p99_ms"])]), budget=Budget(20, "≤ 20 ms")))


# ---- the planner ---------------------------------------------------------------------------------------------------------
def planning(_cluster, report, size, build):
    report.section("planning: 10,000 nodes, 30,000 running jobs, 100,000 pending jobs of 200 lanes, 20 partitions")
    size.quiet.wait()
    out = program(build, "plan_bench", *size.plan, timeout=600)
    budgets = {"full plan": Budget(250, "≤ 250 ms"), "plan after": Budget(5, "≤ 5 ms")}
    for name, median, worst in PLAN.findall(out):
        budget = next((b for prefix, b in budgets.items() if name.startswith(prefix)), None)
        report.add(Row(name, f"a mixed site; worst {float(worst):.1f} ms", Series("ms", [float(median)]), budget=budget))
    size.quiet.wait()
    for name, median, worst in PLAN.findall(program(build, "plan_bench", *size.plan, "--needs", 1050, timeout=600)):
        if name.startswith("plan after"):
            report.add(Row(f"{name}, 1,000 lanes", f"the report counted in; worst {float(worst):.1f} ms",
                           Series("ms", [float(median)]), budget=budgets["plan after"]))


# ---- simulated time --------------------------------------------------------------------------------------------------------
def simulation(_cluster, report, size, build):
    report.section("simulated jobs in a minute")
    rates = Series("/min")
    for seed in range(1, size.rounds + 1):
        size.quiet.wait()
        words = ["--seed", seed, "--recipe", "throughput", "-v"] + (["--requests", size.simulated] if size.simulated else [])
        found = SIMULATION.search(program(build, "sim", *words, timeout=600))
        assert found and int(found.group(1)) > 0, "the simulation ended jobs"
        rates.values.append(float(found.group(2)))
    report.add(Row("simulated jobs", "32 nodes, 4,000 submissions a second", rates, budget=Budget(1e6, "≥ 1 million/min", is_most=False)))


# ---- searches ----------------------------------------------------------------------------------------------------------------
def searches(_cluster, report, size, build):
    report.section("searches of 1,000 trials in virtual time")
    size.quiet.wait()
    for name, median, worst in PLAN.findall(program(build, "search_bench", *size.search)):
        report.add(Row(f"search, {name}", f"a large search; worst {float(worst):.1f} ms", Series("ms", [float(median)]),
                       budget=Budget(1000, "≤ 1 s")))


# ---- metrics and logs ------------------------------------------------------------------------------------------------------------
STORE_RATE = re.compile(r"^(durable .+?) {2,}([\d.]+)(/s| MB/min)", re.MULTILINE)


def stores(_cluster, report, size, build):
    report.section("stores: metrics of 1,000 trials, output of 64 tasks")
    budgets = {"durable reports": Budget(10_000, "≥ 10,000/s", is_most=False), "durable task": Budget(100, "≥ 100 MB/min", is_most=False),
               "sampling a long series": Budget(100, "≤ 0.1 s"), "rare": Budget(2000, "≤ 2 s"), "absent": Budget(2000, "≤ 2 s")}
    for name, words in (("metric_bench", size.metrics), ("log_bench", size.logs)):
        size.quiet.wait()
        out = program(build, name, *words, "--dir", build, timeout=600)
        for what, rate, unit in STORE_RATE.findall(out):
            budget = next((b for prefix, b in budgets.items() if what.startswith(prefix)), None)
            report.add(Row(what, "a large search and its output", Series(unit.strip(), [float(rate)]), budget=budget))
        for what, median, worst in PLAN.findall(out):
            budget = next((b for prefix, b in budgets.items() if what.startswith(prefix)), None)
            report.add(Row(what, f"worst {float(worst):.1f} ms", Series("ms", [float(median)]), budget=budget))


PARTS = {"submissions": submissions, "latency": latency, "beside": beside, "planning": planning, "simulation": simulation, "searches": searches,
         "stores": stores}
NEED_CLUSTER = {"submissions", "latency"}
