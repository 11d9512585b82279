"""Records out of a Determined cluster's REST API: a Reader. What is asked for is what `det` and its Python package ask for."""
from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, Optional, Set

from muster.moving.determined_web import MasterWeb, NotThere, named
from muster.moving.records import (CHECKPOINT_STATES, ENDED, FORMAT, GROUP_NAMES, PROFILING_GROUPS, MovingError, Record, Section,
                                   metrics_of, object_of, run_in, sizes_of, state_of, storage_location, time_of, trial_state,
                                   whole)


class RestReader:
    """Memory: the numbers of experiments, and of one experiment the trials' numbers; metrics a few hundred reports at a time."""

    def __init__(self, web: MasterWeb, experiments: Optional[Set[int]] = None, has_metrics: bool = True) -> None:
        """`experiments`: only these; None: all."""
        self.left_out: Dict[str, int] = {}
        self._web = web
        self._wanted = experiments
        self._has_metrics = has_metrics
        self._users: Set[int] = set()
        self._ended: List[int] = []

    def source(self) -> Record:
        master = self._web.get("/master")
        cluster = master.get("clusterId") or master.get("cluster_id")
        if not cluster:
            raise MovingError(f"{self._web.url} does not say which cluster it is; is it a Determined master?")
        return {"kind": "source", "format": FORMAT, "id": cluster, "name": master.get("clusterName"), "version": master.get("version")}

    def sections(self, begin: Optional[str]) -> Iterator[Section]:
        self._users = {user["id"] for user in self._web.pages("/users", "users")}
        self._ended = self._list_experiments()
        is_begun = begin is None
        for section in self._all_sections(_experiment_in(begin)):
            is_begun = is_begun or section.name == begin
            if is_begun:
                yield section
        if not is_begun:
            raise MovingError(f"{begin!r}, where the last import stopped, is there no more; begin anew without the file of its state")

    def _all_sections(self, first: int) -> Iterator[Section]:
        yield Section("users", self._read_users)
        yield Section("workspaces", self._read_workspaces)
        for experiment in self._ended:
            if experiment < first:
                continue
            yield Section(f"experiment {experiment}", lambda number=experiment: self._read_experiment(number))
            for trial in self._trials_of(experiment):
                yield Section(f"experiment {experiment} trial {trial}", lambda number=trial: self._read_trial(number))
        yield Section("models", self._read_models)

    def _leave_out(self, what: str) -> None:
        self.left_out[what] = self.left_out.get(what, 0) + 1

    # ---- who and where ----

    def _user(self, shown: Record) -> Record:
        return {"kind": "user", "id": shown["id"], "username": shown.get("username"), "display_name": shown.get("displayName") or None,
                "is_admin": bool(shown.get("admin")), "is_active": bool(shown.get("active"))}

    def _read_users(self) -> Iterator[Record]:
        for user in self._web.pages("/users", "users"):
            yield self._user(user)

    def _owner(self, shown: Record) -> Iterator[Record]:
        """A user of whom only the name is known, before what names it."""
        number = whole(shown.get("userId"))
        if number is not None and number not in self._users:
            self._users.add(number)
            yield self._user({"id": number, "username": shown.get("username")})

    def _read_workspaces(self) -> Iterator[Record]:
        workspaces = list(self._web.pages("/workspaces", "workspaces"))
        for shown in workspaces:
            yield from self._owner(shown)
            yield {"kind": "workspace", "id": shown["id"], "name": shown["name"], "owner": whole(shown.get("userId")),
                   "is_archived": bool(shown.get("archived")), "is_immutable": bool(shown.get("immutable"))}
        for workspace in workspaces:
            for shown in self._web.pages(f"/workspaces/{workspace['id']}/projects", "projects"):
                yield from self._owner(shown)
                yield {"kind": "project", "id": shown["id"], "workspace": workspace["id"], "name": shown["name"],
                       "description": shown.get("description") or "", "owner": whole(shown.get("userId")),
                       "is_archived": bool(shown.get("archived")), "is_immutable": bool(shown.get("immutable")),
                       "key": shown.get("key") or None, "notes": _notes(shown.get("notes"))}

    # ---- experiments ----

    def _list_experiments(self) -> List[int]:
        ended = []
        for shown in self._web.pages("/experiments", "experiments", sortBy="SORT_BY_ID", orderBy="ORDER_BY_ASC"):
            if self._wanted is not None and shown["id"] not in self._wanted:
                continue
            if state_of(shown.get("state")) in ENDED:
                ended.append(shown["id"])
            else:
                self._leave_out(f"experiments in state {state_of(shown.get('state'))}")
        return sorted(ended)

    def _read_experiment(self, number: int) -> Iterator[Record]:
        answer = self._web.get(f"/experiments/{number}")
        shown = answer["experiment"]
        parent = whole(shown.get("forkedFrom"))
        yield from self._owner(shown)
        yield {"kind": "experiment", "id": number, "project": whole(shown.get("projectId")), "owner": whole(shown.get("userId")),
               "name": shown.get("name") or "", "description": shown.get("description") or "", "notes": shown.get("notes") or "",
               "labels": shown.get("labels") or [], "state": state_of(shown["state"]), "is_archived": bool(shown.get("archived")),
               "is_unmanaged": bool(shown.get("unmanaged")), "start_time": time_of(shown.get("startTime")),
               "end_time": time_of(shown.get("endTime")), "parent": parent if parent in self._ended and parent < number else None,
               "config": object_of(shown.get("config") or answer.get("config")), "original_config": shown.get("originalConfig") or None}

    def _trials_of(self, experiment: int) -> List[int]:
        return sorted(trial["id"] for trial in self._web.pages(f"/experiments/{experiment}/trials", "trials"))

    def _read_trial(self, number: int) -> Iterator[Record]:
        shown = self._web.get(f"/trials/{number}")["trial"]
        runs = self._runs_of(shown)
        yield {"kind": "trial", "id": number, "experiment": shown["experimentId"], "state": trial_state(shown.get("state")),
               "start_time": time_of(shown.get("startTime")), "end_time": time_of(shown.get("endTime")),
               "hparams": object_of(shown.get("hparams")), "steps_completed": whole(shown.get("totalBatchesProcessed")) or 0,
               "restarts": whole(shown.get("restarts")) or 0, "runs": runs, "request_id": _request_id(shown),
               "source_checkpoint": shown.get("warmStartCheckpointUuid") or None,
               "searcher_metric": shown.get("searcherMetricValue"), "metadata": self._metadata_of(number)}
        yield from self._read_checkpoints(number)
        if self._has_metrics:
            for group in self._groups_of(shown):
                yield from self._read_metrics(number, group)

    def _metadata_of(self, trial: int) -> Dict[str, Any]:
        try:
            return object_of(self._web.get(f"/runs/{trial}/metadata").get("metadata"))
        except NotThere:
            return {}

    def _runs_of(self, trial: Record) -> List[Record]:
        """From its tasks' allocations, whose names end in the run's number."""
        runs = {}
        for task in trial.get("taskIds") or []:
            try:
                allocations = object_of(self._web.get(f"/tasks/{named(task)}").get("task")).get("allocations") or []
            except NotThere:
                continue
            for each in allocations:
                run = run_in(each.get("allocationId"))
                if run is not None:
                    runs[run] = {"run": run, "start_time": time_of(each.get("startTime")), "end_time": time_of(each.get("endTime"))}
        return [runs[run] for run in sorted(runs)]

    def _groups_of(self, trial: Record) -> List[str]:
        """Those that have a summary; those of profiling, which have none, are asked for too."""
        told = {GROUP_NAMES.get(name, name) for name in object_of(trial.get("summaryMetrics"))}
        return sorted(told | {"training", "validation"} | set(PROFILING_GROUPS))

    def _read_metrics(self, trial: int, group: str) -> Iterator[Record]:
        for result in self._web.stream("/trials/metrics/trial_metrics", trialIds=trial, group=group):
            for report in result.get("metrics") or []:
                if not report.get("archived"):
                    yield {"kind": "metrics", "trial": trial, "run": whole(report.get("trialRunId")) or 1, "group": group,
                           "steps": whole(report.get("totalBatches")) or 0, "time": time_of(report.get("endTime")),
                           **metrics_of(report.get("metrics"))}

    def _read_checkpoints(self, trial: int) -> Iterator[Record]:
        for shown in self._web.pages(f"/trials/{trial}/checkpoints", "checkpoints"):
            state = state_of(shown.get("state"))
            if state not in CHECKPOINT_STATES:
                self._leave_out(f"checkpoints in state {state}")
                continue
            metadata = object_of(shown.get("metadata"))
            config = object_of(object_of(shown.get("training")).get("experimentConfig"))
            yield {"kind": "checkpoint", "uuid": str(shown["uuid"]).lower(), "trial": trial, "run": run_in(shown.get("allocationId")),
                   "state": state, "steps_completed": whole(metadata.get("steps_completed")) or 0, "time": time_of(shown.get("reportTime")),
                   "metadata": metadata, "resources": sizes_of(shown.get("resources")),
                   "storage": storage_location(config.get("checkpoint_storage"))}

    # ---- models ----

    def _read_models(self) -> Iterator[Record]:
        for shown in self._web.pages("/models", "models"):
            yield from self._owner(shown)
            yield {"kind": "model", "id": shown["id"], "name": shown["name"], **_described(shown), "workspace": whole(shown.get("workspaceId")),
                   "is_archived": bool(shown.get("archived"))}
            for version in self._web.pages(f"/models/{named(shown['name'])}/versions", "modelVersions", orderBy="ORDER_BY_ASC"):
                yield from self._owner(version)
                described = _described(version)
                del described["description"]
                yield {"kind": "model_version", "model": shown["id"], "version": version["version"], "name": version.get("name") or "",
                       "comment": version.get("comment") or "", **described,
                       "checkpoint": str(object_of(version.get("checkpoint")).get("uuid") or "").lower() or None}


def _described(shown: Record) -> Record:
    return {"description": shown.get("description") or "", "notes": shown.get("notes") or "", "labels": shown.get("labels") or [],
            "metadata": object_of(shown.get("metadata")), "owner": whole(shown.get("userId")),
            "create_time": time_of(shown.get("creationTime")), "change_time": time_of(shown.get("lastUpdatedTime"))}


def _notes(notes: Any) -> List[Record]:
    return [{"name": note.get("name") or "", "contents": note.get("contents") or ""} for note in notes or []]


def _request_id(trial: Record) -> Optional[str]:
    """Of a task's name "<experiment>.<uuid>"."""
    match = re.search(r"\.([0-9a-f]{8}-[0-9a-f-]{27})", str((trial.get("taskIds") or [""])[0]))
    return match.group(1) if match else None


def _experiment_in(section: Optional[str]) -> int:
    """The experiment that a section's name tells of; beyond all for what comes after them."""
    match = re.match(r"experiment (\d+)", section or "")
    return int(match.group(1)) if match else 1 << 62 if section == "models" else 0
