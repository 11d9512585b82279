"""Imports: what is read of a Determined cluster by REST and by dump, and how it is sent."""
import json
import math
import os
import stat

import pytest

from fake_determined import BATCHES, CLUSTER, CONFIG, TASK, UUIDS, FakeDetermined, dump_text, write_dump
from local_http import LocalServer, QuietHandler
from muster.moving import sender
from muster.moving.__main__ import main
from muster.moving.determined_dump import DumpReader
from muster.moving.dump import array_of, open_dump, unescaped
from muster.moving.records import MovingError, line_of, metrics_of, storage_location, time_of

KEYS = {"metrics": ("trial", "run", "group", "steps"), "checkpoint": ("uuid",), "model_version": ("model", "version")}


def key_of(record):
    return (record["kind"], *(record[name] for name in KEYS.get(record["kind"], ("id",))))


@pytest.fixture
def old():
    made = FakeDetermined()
    yield made
    made.stop()


@pytest.fixture
def new():
    made = FakeImporter()
    yield made
    made.server.stop()


class FakeImporter:
    """The controller's side: takes what is as agreed, once. `faults`: a status, or "drop" after it has taken a body."""

    def __init__(self):
        self.records = {}
        self.order = []
        self.bodies = []
        self.faults = []
        self.refuse = lambda record: None
        fake = self

        class Handler(QuietHandler):
            def do_POST(self):
                body = self.body()
                fault = fake.faults.pop(0) if fake.faults else None
                if isinstance(fault, int):
                    status, answer = fault, {"error": {"error": "told to"}}
                elif (self.path, self.headers["Authorization"]) != ("/api/v1/muster/import", "Bearer op"):
                    status, answer = 403, {"error": {"error": "operators alone"}}
                else:
                    status, answer = 200, fake.take(body)
                if fault == "drop":
                    self.connection.shutdown(2)
                    return
                self.answer(status, json.dumps(answer).encode())

        self.server = LocalServer(Handler)
        self.url = self.server.url

    def take(self, body):
        assert len(body) <= 4 << 20 and body.endswith(b"\n")
        self.bodies.append(body)
        lines = [json.loads(line, parse_constant=pytest.fail) for line in body.splitlines()]
        assert lines[0]["kind"] == "source" and lines[0]["format"] == 1 and lines[0]["id"] == CLUSTER
        answer = {"imported": {}, "skipped": {}, "refused": []}
        told = {(record["kind"], record["id"]) for record in lines[1:] if record["kind"] in ("user", "workspace", "project")}
        for number, record in enumerate(lines[1:], start=2):
            for name, kind in (("owner", "user"), ("project", "project"), ("workspace", "workspace")):
                assert record.get(name) is None or (kind, record[name]) in told, f"{record} names what its body does not tell"
            if record.get("again"):
                continue
            reason = self.refuse(record)
            if reason:
                answer["refused"].append({"line": number, "reason": reason})
                continue
            name = "skipped" if key_of(record) in self.records else "imported"
            answer[name][record["kind"]] = answer[name].get(record["kind"], 0) + 1
            if name == "imported":
                self.order.append(record)
            self.records[key_of(record)] = record
        return answer

    def kinds(self):
        counts = {}
        for key in self.records:
            counts[key[0]] = counts.get(key[0], 0) + 1
        return counts


def run(tmp_path, monkeypatch, *words):
    monkeypatch.chdir(tmp_path)
    for name in ("DET_MASTER", "DET_USER_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "token").write_text("op\n")
    (tmp_path / "password").write_text("secret\n")
    (tmp_path / "old-token").write_text("t\n")
    return main([str(word) for word in words])


def by_rest(old, *more):
    return ["determined", "--url", old.url, "--user", "admin", "--password-file", "password", *more]


def to(new):
    return ["--to", new.url, "--to-token-file", "token"]


def check_references(records):
    """Each refers to what came before it."""
    seen = set()
    refers = {"workspace": [("user", "owner")], "project": [("workspace", "workspace"), ("user", "owner")], "model_version": [("model", "model"), ("checkpoint", "checkpoint")],
              "experiment": [("project", "project"), ("user", "owner"), ("experiment", "parent")], "trial": [("experiment", "experiment")],
              "checkpoint": [("trial", "trial")], "metrics": [("trial", "trial")], "model": [("workspace", "workspace"), ("user", "owner")]}
    for record in records:
        for kind, member in refers.get(record["kind"], []):
            if record.get(member) is not None:
                assert (kind, record[member]) in seen, (record, member)
        seen.add(key_of(record)[:2])


EXPECTED = {"user": 3, "workspace": 2, "project": 2, "experiment": 3, "trial": 3, "metrics": BATCHES + 3, "checkpoint": 2, "model": 1, "model_version": 1}


def test_a_cluster_is_read_by_rest(old, new, tmp_path, monkeypatch, capsys):
    assert run(tmp_path, monkeypatch, *by_rest(old), *to(new)) == 0
    told = capsys.readouterr().out
    assert new.kinds() == EXPECTED
    assert "not moved: 1 experiments in state ACTIVE" in told and "not moved: 1 checkpoints in state ACTIVE" in told
    check_references(new.order)
    got = new.records
    assert got["experiment", 1] == {
        "kind": "experiment", "id": 1, "project": 5, "owner": 2, "name": "mnist", "description": "first", "notes": "kept\ttabs\nand \\ lines",
        "labels": ["a", "b"], "state": "COMPLETED", "is_archived": True, "is_unmanaged": False, "start_time": "2024-05-01T10:00:00.500000Z",
        "end_time": "2024-05-01T12:00:00.000000Z", "config": CONFIG, "original_config": "name: mnist  # mine\n"}
    assert got["experiment", 2]["parent"] == 1 and "parent" not in got["experiment", 4], "what it was forked from is not moved"
    trial = got["trial", 11]
    assert trial["runs"] == [{"run": 1, "start_time": "2024-05-01T10:00:00.000000Z", "end_time": "2024-05-01T10:10:00.000000Z"},
                             {"run": 2, "start_time": "2024-05-01T10:20:00.000000Z", "end_time": "2024-05-01T11:00:00.000000Z"}]
    assert (trial["metadata"], trial["searcher_metric"], trial["request_id"]) == ({"note": "x"}, 0.25, TASK[2:])
    assert got["trial", 12]["restarts"] == 1 and got["trial", 12]["state"] == "ERROR"
    assert got["trial", 21]["state"] == "CANCELED" and got["trial", 21]["source_checkpoint"] == UUIDS[0]
    assert got["metrics", 11, 2, "validation", 3000] == {"kind": "metrics", "trial": 11, "run": 2, "group": "validation", "steps": 3000,
                                                        "time": "2024-05-01T10:30:00.123456Z", "metrics": {"loss": 0.25, "bad": "NaN"}}
    assert got["metrics", 11, 2, "training", 100]["batch_metrics"] == [{"loss": 0.5}]
    assert got["metrics", 11, 2, "gpu", 0]["metrics"] == {"agent1": {"GPU-1": {"gpu_util": 50}}}
    assert got["checkpoint", UUIDS[0]] == {
        "kind": "checkpoint", "uuid": UUIDS[0], "trial": 11, "run": 2, "state": "COMPLETED", "steps_completed": 3000, "time": "2024-05-01T08:59:00.000000Z",
        "metadata": {"steps_completed": 3000}, "resources": {"model.pt": 1234, "sub/": 0}, "storage": {"type": "shared_fs", "host_path": "/data/ckpt"}}
    assert got["model_version", 9, 1]["checkpoint"] == UUIDS[0] and got["user", 7]["username"] == "left"
    assert list(tmp_path.glob("muster-import-*")) == [], "nothing is left of an import that is done"


@pytest.mark.parametrize("name", ["dump.sql", "dump.sql.gz"])
def test_a_dump_gives_the_same_records(old, new, tmp_path, monkeypatch, name):
    assert run(tmp_path, monkeypatch, *by_rest(old), *to(new)) == 0
    dump = write_dump(tmp_path / name)
    assert run(tmp_path, monkeypatch, "determined", "--dump", dump, "--out", "records") == 0
    records = [json.loads(line) for line in (tmp_path / "records").read_text().splitlines()]
    assert records[0] == {"kind": "source", "format": 1, "id": CLUSTER}
    check_references(records[1:])
    for kind in ("experiment", "trial"):
        numbers = [record["id"] for record in records if record["kind"] == kind]
        assert numbers == sorted(numbers), "a new cluster gives each its number only while those rise"
    by_key = {key_of(record): record for record in records[1:]}
    assert set(by_key) == set(new.records)
    only = {("trial", 11): {"seed"}, ("user", 7): {"is_active", "is_admin"}}  # what REST does not tell
    for key, record in by_key.items():
        differing = {member for member in {**record, **new.records[key]} if record.get(member) != new.records[key].get(member)}
        assert differing <= only.get(key, set()), (record, new.records[key])
    assert by_key["trial", 11]["seed"] == 42


def test_records_from_a_file_are_sent_and_taken_once(old, new, tmp_path, monkeypatch, capsys):
    assert run(tmp_path, monkeypatch, *by_rest(old, "--out", "records")) == 0
    for name in ("imported", "there already"):
        capsys.readouterr()
        assert run(tmp_path, monkeypatch, "send", "records", *to(new)) == 0
        columns = capsys.readouterr().out
        row = next(line.split() for line in columns.splitlines() if line.startswith("metrics"))
        assert row == ["metrics", str(BATCHES + 3), str(BATCHES + 3 if name == "imported" else 0), str(0 if name == "imported" else BATCHES + 3)]
    assert new.kinds() == EXPECTED


def test_masters_and_streams_that_break_off_are_asked_again(old, new, tmp_path, monkeypatch):
    monkeypatch.setattr("muster.moving.determined_web.time.sleep", lambda seconds: None)
    old.faults = [503, "break", None, 502, "break"] + ["break"] * 60
    new.faults = [503, "drop", None]
    assert run(tmp_path, monkeypatch, *by_rest(old), *to(new)) == 0
    assert new.kinds() == EXPECTED and len(new.order) == sum(EXPECTED.values())


@pytest.mark.parametrize("way", ["rest", "dump"])
@pytest.mark.parametrize("stop_after", [1, 7, 20, 40])
def test_an_import_that_broke_off_goes_on_where_it_was(old, new, tmp_path, monkeypatch, capsys, way, stop_after):
    monkeypatch.setattr(sender, "RECORDS_MAX", 3)
    words = by_rest(old) if way == "rest" else ["determined", "--dump", write_dump(tmp_path / "dump.sql")]
    new.faults = [None] * (stop_after // 3) + [400]
    assert run(tmp_path, monkeypatch, *words, *to(new)) == 1
    assert "refuses with 400: told to" in capsys.readouterr().err
    taken, old.paths[:] = len(new.order), []
    bodies = len(new.bodies)
    assert taken < sum(EXPECTED.values())
    assert run(tmp_path, monkeypatch, *words, *to(new)) == 0
    assert new.kinds() == EXPECTED
    again = sum(b'"again"' not in line for body in new.bodies[bodies:] for line in body.splitlines()[1:])
    assert again <= sum(EXPECTED.values()) - taken + 1, "what was taken is not sent again"
    check_references(new.order)
    if way == "rest" and stop_after == 40:
        assert not any(path.endswith("/projects") for path in old.paths), "nor read again, but for its own part"


def test_a_state_of_another_import_is_refused(old, new, tmp_path, monkeypatch, capsys):
    (tmp_path / "state").write_text('{"section": "users", "records": 1, "context": [], "source": "other", "target": "http://x"}')
    assert run(tmp_path, monkeypatch, *by_rest(old), *to(new), "--state", "state") == 1
    assert "state of an import from other to http://x" in capsys.readouterr().err
    (tmp_path / "state").write_text("{")
    assert run(tmp_path, monkeypatch, *by_rest(old), *to(new), "--state", "state") == 1
    assert "is no state of an import" in capsys.readouterr().err


def test_what_is_refused_is_named_and_the_rest_is_taken(old, new, tmp_path, monkeypatch, capsys):
    new.refuse = lambda record: "no room" if record["kind"] == "checkpoint" else None
    assert run(tmp_path, monkeypatch, *by_rest(old), *to(new)) == 1
    told = capsys.readouterr()
    assert f"refused: checkpoint {UUIDS[0]}: no room" in told.err and "refused: 2" in told.out
    assert new.kinds() == {kind: count for kind, count in EXPECTED.items() if kind != "checkpoint"}


def test_a_record_that_is_too_long_is_left_out_by_name(old, new, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sender, "BODY_MAX", 2200)
    assert run(tmp_path, monkeypatch, *by_rest(old, "--experiments", "1-2"), *to(new)) == 0
    assert max(map(len, new.bodies)) <= 2200 and len(new.bodies) > 3
    monkeypatch.setattr(sender, "BODY_MAX", 1230)  # what is repeated, and a trial, have more
    assert run(tmp_path, monkeypatch, *by_rest(old, "--experiments", "1"), *to(new)) == 1
    told = capsys.readouterr()
    assert "left out, as it has" in told.err and "trial 11" in told.err and "too long" in told.out


def test_a_dry_run_says_what_there_is_and_sends_nothing(old, new, tmp_path, monkeypatch, capsys):
    assert run(tmp_path, monkeypatch, *by_rest(old, "--dry-run", "--without-metrics")) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"cluster {CLUSTER} (old)\n") and "metrics" not in told
    assert ["experiment", "3"] in [line.split() for line in told.splitlines()]
    assert new.bodies == [] and list(tmp_path.glob("muster-import*")) == []
    assert not any("trial_metrics" in path for path in old.paths)


def test_errors_name_the_cause(old, new, tmp_path, monkeypatch, capsys):
    def error(*words):
        assert run(tmp_path, monkeypatch, *words) == 1
        return capsys.readouterr().err

    (tmp_path / "wrong").write_text("no")
    assert "operator's token" in error(*by_rest(old), "--to", new.url, "--to-token-file", "wrong")
    new.faults = [501]
    assert "takes no imports" in error(*by_rest(old), *to(new))
    assert "--to-token-file" in error(*by_rest(old), "--to", new.url)
    assert "where to?" in error(*by_rest(old))
    assert "needs --user or --token-file" in error("determined", "--url", old.url, "--dry-run")
    assert "401" in error("determined", "--url", old.url, "--token-file", "wrong", "--dry-run")
    assert "invalid credentials" in error("determined", "--url", old.url, "--user", "bob", "--password-file", "password", "--dry-run")
    assert "no master's URL" in error("determined", "--url", "old:8080", "--token-file", "old-token", "--dry-run")
    assert "No such file" in error("determined", "--dump", "none", "--dry-run")
    (tmp_path / "records").write_text('{"kind": "user", "id": 1}\n')
    assert "does not begin with a source line" in error("send", "records", "--dry-run")
    assert "token:1: " in error("send", "token", "--dry-run")
    with pytest.raises(SystemExit) as wrong:
        main(["determined", "--url", old.url, "--dump", "x"])
    assert wrong.value.code == 2


def test_dumps_that_are_none_are_refused_by_name(tmp_path, monkeypatch, capsys):
    def error(text):
        (tmp_path / "dump").write_bytes(text if isinstance(text, bytes) else text.encode())
        assert run(tmp_path, monkeypatch, "determined", "--dump", "dump", "--dry-run") == 1
        return capsys.readouterr().err

    whole = dump_text()
    assert "no table cluster_id" in error("nothing")
    assert "holds INSERTs" in error("INSERT INTO public.users VALUES (1);\n")
    assert "breaks off within the data of" in error(whole[:whole.index("Cifar")])
    assert "no data of table projects" in error(whole.replace("COPY public.projects", "COPY public.others"))
    assert "no data of table trials" in error(whole.replace("COPY public.runs (", "COPY public.others ("))
    assert "columns" in error(whole.replace("\tann\t", "\tann\t\t"))
    assert "holds no JSON" in error(whole.replace('{"lr": 1.1', '{"lr": x'))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "pg_restore is not installed" in error(b"PGDMP\x01\x0e")


def test_a_dump_in_the_custom_format_is_read_by_pg_restore(new, tmp_path, monkeypatch):
    """A stand-in for pg_restore, which takes a plain dump apart as the real one does."""
    plain = write_dump(tmp_path / "plain.sql")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "pg_restore"
    program.write_text(f"""#!/usr/bin/python3
import re, sys
text = open({str(plain)!r}).read()
assert sys.argv[-1].endswith("dump.custom")
if sys.argv[1] == "--list":
    for name in re.findall(r"COPY public.(\\w+) ", text):
        print(f"1; 0 2 TABLE DATA public {{name}} determined")
else:
    table = sys.argv[sys.argv.index("--table") + 1]
    match = re.search(rf"COPY public.{{table}} \\(.*?\\n\\\\\\.\\n", text, re.S)
    print("SET x = 1;\\n\\n" + (match.group() if match else ""), end="")
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "dump.custom").write_bytes(b"PGDMP rest")
    assert run(tmp_path, monkeypatch, "determined", "--dump", "dump.custom", *to(new)) == 0
    assert new.kinds() == EXPECTED


def test_metrics_are_read_a_row_at_a_time(tmp_path):
    import tracemalloc
    row = "1\t11\t2024-05-01 10:00:00+00\t" + json.dumps({"avg_metrics": {"loss": 0.5}}) + "\t{}\t1\tf\ttraining\n"
    with open(tmp_path / "dump.sql", "w", encoding="ascii") as file:
        file.write("COPY public.raw_steps (id, trial_id, end_time, metrics, total_batches, trial_run_id, archived, metric_group) FROM stdin;\n")
        for step in range(20_000):
            file.write(row.replace("{}", str(step)))
        file.write("\\.\n")
    tracemalloc.start()
    count = sum(1 for _ in open_dump(tmp_path / "dump.sql").rows("raw_steps"))
    assert count == 20_000 and tracemalloc.get_traced_memory()[1] < 1 << 18
    tracemalloc.stop()


@pytest.mark.parametrize("text, expected", [
    ("2024-05-01 10:00:00", "2024-05-01T10:00:00.000000Z"), ("2024-05-01 10:00:00.5+00", "2024-05-01T10:00:00.500000Z"),
    ("2024-05-01T01:00:00.123456789+02:00", "2024-04-30T23:00:00.123456Z"), ("2024-05-01 10:00:00-05:30", "2024-05-01T15:30:00.000000Z"), (None, None)])
def test_times_are_utc(text, expected):
    assert time_of(text) == expected


def test_texts_of_postgresql():
    assert unescaped(r"a\tb\\n\nc\101\x41\q") == "a\tb\\n\ncAAq" and unescaped("\\N") is None and unescaped("") == ""
    assert array_of('{a,"b, \\"c\\"",NULL,""}') == ["a", 'b, "c"', ""] and array_of(None) == array_of("{}") == []
    with pytest.raises(MovingError, match="is no time"):
        time_of("yesterday")


def test_values_as_records_have_them():
    assert json.loads(line_of({"kind": "x", "a": None, "b": [math.nan, {"c": -math.inf}], "d": "ü"})) == {"kind": "x", "b": ["NaN", {"c": "-Infinity"}], "d": "ü"}
    assert storage_location({"type": "s3", "bucket": "b", "access_key": "k", "secret_key": "s", "prefix": None, "save_trial_best": 1}) == {"type": "s3", "bucket": "b"}
    assert storage_location(None) is None and storage_location({"bucket": "b"}) is None
    assert metrics_of({"loss": 1, "num_inputs": 3}) == {"metrics": {"loss": 1}, "batch_metrics": None}


def test_rows_of_any_order_are_moved_by_number(tmp_path):
    """A table lies in the order of its rows' last changes."""
    class Shuffled:
        def tables(self):
            return ["experiments", "users", "workspaces", "projects", "runs"]

        def rows(self, table):
            if table == "experiments":
                for number, parent in ((30, 4), (2, None), (11, 30), (4, 2), (5, 5)):
                    yield {"id": str(number), "state": "COMPLETED", "config": json.dumps({"name": "x\u2028\n"}), "parent_id": parent and str(parent)}
            if table == "runs":
                for number, experiment in ((9, 30), (1, 2), (100, 11), (20, 4)):
                    yield {"id": str(number), "experiment_id": str(experiment), "state": "COMPLETED"}

    reader = DumpReader(Shuffled())
    records = {section.name: list(section.records()) for section in reader.sections(None) if section.name in ("experiments", "trials")}
    assert [(one["id"], one["parent"]) for one in records["experiments"]] == [(2, None), (4, 2), (5, None), (11, None), (30, 4)]
    assert [one["id"] for one in records["trials"]] == [1, 9, 20, 100]
    assert reader.left_out["parents that are newer than their forks"] == 1  # 11's
