#!/usr/bin/env python3
"""Checks the worked examples of docs/internals/changes.md: each patch applies to the sources as they are, and touches no
more files outside tests than it may.

usage: worked_changes.py [--root FOLDER]
"""
import argparse
import os
import re
import subprocess
import sys

MOST_FILES = {"job_field": 4, "event": 4, "option": 6, "endpoint": 3}


def problems(root: str) -> list:
    found = []
    folder = os.path.join(root, "docs", "internals", "changes")
    named = sorted(name[:-len(".patch")] for name in os.listdir(folder) if name.endswith(".patch"))
    if named != sorted(MOST_FILES):
        found.append(f"{folder} has {named}, and {sorted(MOST_FILES)} are expected")
    for name in named:
        path = os.path.join(folder, name + ".patch")
        with open(path, encoding="utf-8") as file:
            touched = re.findall(r"^diff --git a/(\S+)", file.read(), re.MULTILINE)
        counted = [one for one in touched if not re.search(r"_test\.cc$|^tests/", one)]
        if not 1 <= len(counted) <= MOST_FILES.get(name, 0):
            found.append(f"{path}: touches {len(counted)} files, at most {MOST_FILES.get(name, 0)} may be")
        checked = subprocess.run(["git", "apply", "--check", os.path.abspath(path)], cwd=root, capture_output=True, text=True)
        if checked.returncode != 0:
            found.append(f"{path}: does not apply to the sources any more: bring it up to date\n{checked.stderr.strip()}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=".")
    found = problems(parser.parse_args().root)
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
