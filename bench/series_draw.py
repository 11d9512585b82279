"""For series_draw.sh: stores a series of one trial, takes files out of the page cache, draws the series and checks it.

    series_draw.py store POINTS | forget FOLDER | draw POINTS
"""
import http.client
import json
import os
import sys
import time
from pathlib import Path

BODY_RECORDS = 20_000
SHOWN = 1_000
SPIKES = (0.123457, 0.5, 0.987654)  # where in the series one point stands out
TIME = "2025-01-01T00:00:00.000000Z"


def connection():
    return http.client.HTTPConnection(os.environ["DET_MASTER"].removeprefix("http://"), timeout=300)


def ask(to, method, path, body=None):
    to.request(method, path, body, {"Authorization": f"Bearer {os.environ['DET_USER_TOKEN']}"})
    reply = to.getresponse()
    text = reply.read()
    assert reply.status == 200, (reply.status, text[:500])
    return text


def value(step, points):
    """Noise without chance, and spikes."""
    if step in {int(points * point) for point in SPIKES}:
        return 1e6
    return (step * 2654435761 % 4294967296) / 4294967296


def store(points):
    head = [{"kind": "source", "format": 1, "id": "bench"}]
    records = [{"kind": "experiment", "id": 1, "name": "long", "state": "COMPLETED", "start_time": TIME, "end_time": TIME, "config": {"name": "long"}},
               {"kind": "trial", "id": 1, "experiment": 1, "state": "COMPLETED", "start_time": TIME, "end_time": TIME, "hparams": {}}]
    to = connection()
    begin = time.monotonic()
    for first in range(1, points + 1, BODY_RECORDS):
        records += [{"kind": "metrics", "trial": 1, "run": 1, "group": "training", "steps": step, "time": TIME, "metrics": {"loss": value(step, points)}}
                    for step in range(first, min(first + BODY_RECORDS, points + 1))]
        answer = json.loads(ask(to, "POST", "/api/v1/muster/import", "\n".join(map(json.dumps, head + records))))
        assert not answer["refused"] and sum(answer["imported"].values()) == len(records), answer
        records = []
    seconds = time.monotonic() - begin
    print(f"{points} reports imported in {seconds:.1f} s, {points / seconds:.0f}/s", flush=True)


def forget(folder):
    """Only those files: others use this machine too."""
    os.sync()
    for path in Path(folder).rglob("*"):
        if path.is_file() and not path.is_symlink():
            file = os.open(path, os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def draw(points):
    to = connection()
    ask(to, "GET", "/api/v1/me")  # the connection and the token are not what is measured
    path = f"/api/v1/trials/time-series?trialIds=1&group=training&metricNames=loss&maxDatapoints={SHOWN}"
    milliseconds = []
    for _ in range(2):
        begin = time.monotonic()
        text = ask(to, "GET", path)
        milliseconds.append(1000 * (time.monotonic() - begin))
        (trial,) = json.loads(text)["trials"]
        (series,) = trial["metrics"]
        drawn = {int(point["batches"]): point["values"]["loss"] for point in series["data"]}
        assert len(drawn) <= SHOWN and min(drawn) == 1 and max(drawn) == points, (len(drawn), min(drawn), max(drawn))
        for point in SPIKES:
            assert drawn.get(int(points * point)) == 1e6, f"the spike at {int(points * point)} is missing"
    print(f"{len(drawn)} of {points} points drawn in {milliseconds[0]:.1f} ms cold, {milliseconds[1]:.1f} ms warm; every spike is there", flush=True)


if __name__ == "__main__":
    {"store": lambda what: store(int(what)), "forget": forget, "draw": lambda what: draw(int(what))}[sys.argv[1]](sys.argv[2])
