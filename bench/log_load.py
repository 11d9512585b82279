"""Logs through the product: stored, searched over HTTP, and followed live. Called by log_load.sh with the cluster's environment.

    log_load.py search TRIAL     every match of several patterns; asserts how many there are, then tells the times of three rounds
    log_load.py follow TRIAL     follows to the end; tells how old lines were when they came ("at=SECONDS" is in each)
"""
import http.client
import json
import os
import re
import sys
import time
from urllib.parse import urlencode

AT = re.compile(rb" at=([0-9.]+)")
SEARCHES = (  # what it is, text, is it a regular expression, how many lines (None: some), how many are asked for
    ("rare literal, all matches", "quetzalcoatlus", False, 2, None),
    ("absent literal of 4 bytes", "qxzj", False, 0, None),
    ("absent literal", "no such words in here", False, 0, None),
    ("rare regex, all matches", r"Runtime\w+: quetz[a-z]+ not", True, 2, None),
    ("absent regex with a literal", r"segfault at 0x[0-9a-f]+", True, 0, None),
    ("regex with a literal of 4 bytes, absent", r"loss\s+is\s+nan", True, 0, None),
    ("common literal, first 1,000", "gradient norm", False, 1000, 1000),
    ("common regex, first 1,000", r"loss=[0-3]\.\d+ lr=", True, 1000, 1000),
)


def connect():
    host, port = os.environ["DET_MASTER"].removeprefix("http://").rsplit(":", 1)
    return http.client.HTTPConnection(host, int(port), timeout=600)


def ask(trial, **parameters):
    connection = connect()
    connection.request("GET", f"/api/v1/trials/{trial}/logs?{urlencode(parameters)}", headers={"Authorization": f"Bearer {os.environ['DET_USER_TOKEN']}"})
    reply = connection.getresponse()
    assert reply.status == 200, reply.read()
    return reply


def search(trial):
    worst = 0
    for name, text, is_regex, wanted, limit in SEARCHES:
        took = []
        for _ in range(3):
            begin = time.monotonic()
            parameters = {"searchText": text, "enableRegex": str(is_regex).lower(), **({"limit": limit} if limit else {})}
            lines = [json.loads(line)["result"] for line in ask(trial, **parameters)]
            took.append(time.monotonic() - begin)
            assert len(lines) == wanted, (name, len(lines))
        worst = max(worst, *took)
        print(f"{name:<42} median {sorted(took)[1] * 1000:8.1f} ms  worst {max(took) * 1000:8.1f} ms  ({wanted} lines)")
    print(f"searches under 2 s: {'met' if worst < 2 else 'MISSED'}")


def follow(trial):
    ages, size, begin = [], 0, time.monotonic()
    reply = ask(trial, follow="true")
    while True:
        chunk = reply.readline()
        if not chunk:
            break
        at = AT.search(chunk)
        if at:
            ages.append(time.time() - float(at.group(1)))
            size += len(chunk)
    ages.sort()
    assert ages, "no line came"
    print(f"followed live: {len(ages)} lines ({size / 1e6:.0f} MB of JSON) in {time.monotonic() - begin:.0f} s; "
          f"a line was {ages[len(ages) // 2] * 1000:.0f} ms old (median), {ages[int(len(ages) * 0.99)] * 1000:.0f} ms (p99), {ages[-1] * 1000:.0f} ms at worst")
    print(f"lag under 1 s: {'met' if ages[-1] < 1 else 'MISSED'}")


if __name__ == "__main__":
    {"search": search, "follow": follow}[sys.argv[1]](sys.argv[2])
