"""Records out of a dump of Determined's database: a Reader. Which tables and columns are read, and what was assumed of them, is in
dump_tables.md; a column that is not there is not known, and a table that must be there is named when it is not."""
from __future__ import annotations

import json
import tempfile
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from muster.moving.dump import Dump, Row, array_of
from muster.moving.records import (CHECKPOINT_STATES, ENDED, FORMAT, MovingError, Record, Section, metrics_of, object_of, run_in,
                                   sizes_of, state_of, storage_location, time_of, trial_state, whole)

METRIC_TABLES = {"raw_steps": "training", "raw_validations": "validation", "generic_metrics": None, "system_metrics": None, "metrics": None}
"""Partitions of `metrics`, and the group that a row without one belongs to; None: such a row has one."""


class DumpReader:
    """Memory: some hundred bytes for each experiment, trial, run and checkpoint; metrics a row at a time."""

    def __init__(self, dump: Dump, experiments: Optional[Set[int]] = None, has_metrics: bool = True) -> None:
        """`experiments`: only these; None: all."""
        self.left_out: Dict[str, int] = {}
        self._dump = dump
        self._wanted = experiments
        self._has_metrics = has_metrics
        self._tables = set(dump.tables())
        self._storages: Dict[int, Any] = {}   # by experiment; equal ones are one object
        self._experiments: Set[int] = set()   # those that are moved
        self._trials: Dict[int, int] = {}     # their experiments

    def source(self) -> Record:
        for row in self._dump.rows("cluster_id"):
            return {"kind": "source", "format": FORMAT, "id": row["cluster_id"], "name": None, "version": None}
        raise MovingError("the dump has no table cluster_id; is it a dump, with data, of Determined's database?")

    def sections(self, begin: Optional[str]) -> Iterator[Section]:
        for table in ("users", "workspaces", "projects", "experiments"):
            self._require(table)
        self._learn_experiments()
        self._learn_trials()
        steps = [Section("users", self._read_users), Section("workspaces", self._read_workspaces), Section("projects", self._read_projects),
                 Section("experiments", self._read_experiments), Section("trials", self._read_trials),
                 Section("checkpoints", self._read_checkpoints)]
        if self._has_metrics:
            steps += [Section(f"metrics of {table}", lambda name=table: self._read_metrics(name)) for table in METRIC_TABLES if table in self._tables]
        steps += [Section("models", self._read_models), Section("model versions", self._read_versions)]
        names = [section.name for section in steps]
        if begin is not None and begin not in names:
            raise MovingError(f"{begin!r}, where the last import stopped, is not in this dump; begin anew without the file of its state")
        yield from steps[names.index(begin) if begin else 0:]

    def _require(self, table: str) -> None:
        if table not in self._tables:
            raise MovingError(f"the dump has no data of table {table}; is it a whole dump of Determined's database (0.29 or newer)?")

    def _leave_out(self, what: str) -> None:
        self.left_out[what] = self.left_out.get(what, 0) + 1

    # ---- who and where ----

    def _read_users(self) -> Iterator[Record]:
        for row in self._by_id("users"):
            yield {"kind": "user", "id": _id(row, "id"), "username": row["username"], "display_name": row.get("display_name"),
                   "is_admin": _flag(row, "admin"), "is_active": _flag(row, "active")}

    def _read_workspaces(self) -> Iterator[Record]:
        for row in self._by_id("workspaces"):
            yield {"kind": "workspace", "id": _id(row, "id"), "name": row["name"], "owner": whole(row.get("user_id")),
                   "is_archived": _flag(row, "archived"), "is_immutable": _flag(row, "immutable")}

    def _read_projects(self) -> Iterator[Record]:
        for row in self._by_id("projects"):
            notes = _json(row, "notes") or []
            yield {"kind": "project", "id": _id(row, "id"), "workspace": whole(row["workspace_id"]), "name": row["name"],
                   "description": row.get("description") or "", "owner": whole(row.get("user_id")), "is_archived": _flag(row, "archived"),
                   "is_immutable": _flag(row, "immutable"), "key": row.get("key"),
                   "notes": [{"name": note.get("name") or "", "contents": note.get("contents") or ""} for note in notes]}

    # ---- experiments ----

    def _learn_experiments(self) -> None:
        known: Dict[str, Any] = {}
        for row in self._dump.rows("experiments"):
            number = _id(row, "id")
            if self._wanted is not None and number not in self._wanted:
                continue
            if row["state"] not in ENDED:
                self._leave_out(f"experiments in state {row['state']}")
                continue
            self._experiments.add(number)
            storage = storage_location(object_of(_json(row, "config")).get("checkpoint_storage"))
            self._storages[number] = known.setdefault(json.dumps(storage, sort_keys=True), storage)

    def _read_experiments(self) -> Iterator[Record]:
        """By number, as a parent's is below those of its forks; one that is not is left out where it is named."""
        done: Set[int] = set()
        for row in self._by_id("experiments"):
            number, parent = _id(row, "id"), whole(row.get("parent_id"))
            if number not in self._experiments or number in done:
                continue
            if parent in self._experiments and parent not in done and parent != number:
                self._leave_out("parents that are newer than their forks")
            done.add(number)
            yield self._experiment(row, parent if parent in done and parent != number else None)

    def _by_id(self, table: str) -> Iterator[Row]:
        """A table's rows by their numbers. They lie in the order of their last changes, and whoever receives them gives each the number
        that it had as long as those rise. Memory: a number and an offset for each row; they wait in a file without a name."""
        with tempfile.TemporaryFile() as file:
            offsets: List[Tuple[int, int]] = []
            for row in self._dump.rows(table):
                offsets.append((_id(row, "id"), file.tell()))
                file.write(json.dumps(row).encode() + b"\n")
            for _, offset in sorted(offsets):
                file.seek(offset)
                row = json.loads(file.readline())
                yield row

    def _experiment(self, row: Row, parent: Optional[int]) -> Record:
        config = object_of(_json(row, "config"))
        return {"kind": "experiment", "id": _id(row, "id"), "project": whole(row.get("project_id")), "owner": whole(row.get("owner_id")),
                "name": str(config.get("name") or ""), "description": str(config.get("description") or ""), "notes": row.get("notes") or "",
                "labels": sorted(config.get("labels") or []), "state": row["state"], "is_archived": _flag(row, "archived"),
                "is_unmanaged": _flag(row, "unmanaged"), "start_time": time_of(row.get("start_time")), "end_time": time_of(row.get("end_time")),
                "parent": parent, "config": config, "original_config": row.get("original_config")}

    # ---- trials: table runs, with trials_v2 beside it; before 0.29 table trials ----

    def _trial_table(self) -> str:
        table = "runs" if "runs" in self._tables else "trials"
        self._require(table)
        return table

    def _learn_trials(self) -> None:
        for row in self._dump.rows(self._trial_table()):
            experiment = whole(row["experiment_id"])
            if experiment in self._experiments:
                self._trials[_id(row, "id")] = experiment

    def _read_trials(self) -> Iterator[Record]:
        more = {_id(row, "run_id"): (row.get("request_id"), row.get("seed")) for row in self._dump.rows("trials_v2")}
        metadata = {_id(row, "run_id"): _json(row, "metadata") for row in self._dump.rows("runs_metadata")}
        runs = self._runs()
        sources = self._source_checkpoints()
        for row in self._by_id(self._trial_table()):
            number = _id(row, "id")
            if number not in self._trials:
                continue
            request, seed = more.get(number, (row.get("request_id"), row.get("seed")))
            metric = row.get("searcher_metric_value")
            yield {"kind": "trial", "id": number, "experiment": self._trials[number], "state": trial_state(row.get("state")),
                   "start_time": time_of(row.get("start_time")), "end_time": time_of(row.get("end_time")),
                   "hparams": object_of(_json(row, "hparams")), "seed": whole(seed), "steps_completed": whole(row.get("total_batches")) or 0,
                   "restarts": whole(row.get("restarts")) or 0, "runs": [runs[number][run] for run in sorted(runs.get(number, {}))],
                   "request_id": request, "source_checkpoint": sources.get(whole(row.get("warm_start_checkpoint_id"))),
                   "searcher_metric": None if metric is None else float(metric), "metadata": object_of(metadata.get(number))}

    def _tasks(self) -> Dict[str, int]:
        """Trials by the names of their tasks."""
        out = {}
        for table, column in (("run_id_task_id", "run_id"), ("trial_id_task_id", "trial_id")):
            for row in self._dump.rows(table):
                trial = whole(row[column])
                if trial in self._trials:
                    out[str(row["task_id"])] = trial
        return out

    def _runs(self) -> Dict[int, Dict[int, Record]]:
        tasks = self._tasks()
        out: Dict[int, Dict[int, Record]] = {}
        for row in self._dump.rows("allocations"):
            trial, run = tasks.get(str(row.get("task_id"))), run_in(row.get("allocation_id"))
            if trial is not None and run is not None:
                out.setdefault(trial, {})[run] = {"run": run, "start_time": time_of(row.get("start_time")), "end_time": time_of(row.get("end_time"))}
        return out

    def _source_checkpoints(self) -> Dict[Optional[int], str]:
        wanted = {whole(row.get("warm_start_checkpoint_id")) for row in self._dump.rows(self._trial_table())} - {None}
        return {_id(row, "id"): str(row["uuid"]) for row in (self._dump.rows("checkpoints_v2") if wanted else ()) if _id(row, "id") in wanted}

    # ---- checkpoints ----

    def _read_checkpoints(self) -> Iterator[Record]:
        trials = {str(row["checkpoint_id"]): whole(row["run_id"]) for row in self._dump.rows("run_checkpoints")}
        tasks = self._tasks()
        places = self._places()
        for row in self._dump.rows("checkpoints_v2"):
            uuid = str(row["uuid"]).lower()
            trial = trials.get(uuid) or tasks.get(str(row.get("task_id")))
            if trial not in self._trials:
                continue
            if state_of(row["state"]) not in CHECKPOINT_STATES:
                self._leave_out(f"checkpoints in state {row['state']}")
                continue
            metadata = object_of(_json(row, "metadata"))
            own = places.get(whole(row.get("storage_id")))
            yield {"kind": "checkpoint", "uuid": uuid, "trial": trial, "run": run_in(row.get("allocation_id")), "state": state_of(row["state"]),
                   "steps_completed": whole(metadata.get("steps_completed")) or 0, "time": time_of(row.get("report_time")), "metadata": metadata,
                   "resources": sizes_of(_json(row, "resources")), "storage": own or self._storages.get(self._trials[trial])}

    def _places(self) -> Dict[Optional[int], Any]:
        """Storages that checkpoints name, by their number."""
        by_kind: Dict[Tuple[str, Optional[int]], Any] = {}
        for kind in ("shared_fs", "s3", "gcs", "azure", "directory"):
            for row in self._dump.rows(f"storage_backend_{kind}"):
                facts = {name: value for name, value in row.items() if name != "id" and not (kind == "shared_fs" and name == "container_path")}
                by_kind[kind, _id(row, "id")] = storage_location({"type": kind, **facts})
        out: Dict[Optional[int], Any] = {}
        for row in self._dump.rows("storage_backend"):
            for (kind, number), place in by_kind.items():
                if whole(row.get(f"{kind}_id")) == number:
                    out[_id(row, "id")] = place
        return out

    # ---- metrics ----

    def _read_metrics(self, table: str) -> Iterator[Record]:
        otherwise = METRIC_TABLES[table]
        for row in self._dump.rows(table):
            trial = whole(row["trial_id"])
            if trial not in self._trials or _flag(row, "archived"):
                continue
            group = row.get("metric_group") or otherwise
            if group is None:
                self._leave_out("reports without a group")
                continue
            yield {"kind": "metrics", "trial": trial, "run": whole(row.get("trial_run_id")) or 1, "group": group,
                   "steps": whole(row.get("total_batches")) or 0, "time": time_of(row.get("end_time")), **metrics_of(_json(row, "metrics"))}

    # ---- models ----

    def _read_models(self) -> Iterator[Record]:
        for row in self._by_id("models"):
            yield {"kind": "model", "id": _id(row, "id"), "name": row["name"], "description": row.get("description") or "", **_described(row),
                   "workspace": whole(row.get("workspace_id")), "is_archived": _flag(row, "archived")}

    def _read_versions(self) -> Iterator[Record]:
        for row in self._dump.rows("model_versions"):
            yield {"kind": "model_version", "model": whole(row["model_id"]), "version": _id(row, "version"), "name": row.get("name") or "",
                   "comment": row.get("comment") or "", **_described(row), "checkpoint": row.get("checkpoint_uuid")}


def _described(row: Row) -> Record:
    return {"notes": row.get("notes") or "", "labels": array_of(row.get("labels")), "metadata": object_of(_json(row, "metadata")),
            "owner": whole(row.get("user_id")), "create_time": time_of(row.get("creation_time")),
            "change_time": time_of(row.get("last_updated_time"))}


def _id(row: Row, name: str) -> int:
    """Errors: MovingError."""
    try:
        return int(str(row[name]))
    except (KeyError, ValueError) as error:
        raise MovingError(f"a row has {row.get(name)!r} as its {name}; is it a dump of another version?") from error


def _flag(row: Row, name: str) -> bool:
    return row.get(name) == "t"


def _json(row: Row, name: str) -> Any:
    """Errors: MovingError."""
    text = row.get(name)
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise MovingError(f"column {name} holds no JSON: {text[:80] if text else text!r}") from error
