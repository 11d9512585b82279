#!/usr/bin/env python3
"""Planted bugs that the tests must find.

tests/mutants/*.mutants hold small edits that are found by their content, so that moving a file breaks none:

    [name of the bug]
    tests: controller_test sim_smoke     programs of bin/, or tests of ctest by name; the cheapest level that should fail
    - a line as it stands in src/        one or more in a row; blanks and line breaks do not count
    + what stands there instead

mutants.py --check                    every edit is found, once
mutants.py --build BUILD [NAME...]    applies each to a copy of the tree, builds its tests and expects one of them to fail;
                                      NAME: words of the names wanted. Exit 1 when a mutant lives, or cannot be tried.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPIED = ["CMakeLists.txt", "CMakePresets.json", "cmake", "src", "schema", "sim", "fuzz", "bench", "tests", "cpp", "python", "tools", "examples", "docs", "README.md", "ARCHITECTURE.md",
          "CONTRIBUTING.md", "LICENSE"]


class Mutant:
    def __init__(self, name, file):
        self.name, self.file, self.tests, self.old, self.new = name, file, [], [], []


def read_mutants():
    mutants = []
    for file in sorted((ROOT / "tests" / "mutants").glob("*.mutants")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            place = f"{file.name}:{number}"
            if line.startswith("["):
                mutants.append(Mutant(line.strip("[] "), file.name))
            elif line.startswith("tests:"):
                mutants[-1].tests = line.removeprefix("tests:").split()
            elif line.startswith(("- ", "+ ")) or line in ("-", "+"):
                (mutants[-1].old if line[0] == "-" else mutants[-1].new).append(line[2:].strip())
            elif line.strip() and not line.startswith("#"):
                sys.exit(f"{place}: neither [name], tests:, - nor +")
    names = [mutant.name for mutant in mutants]
    for mutant in mutants:
        if not mutant.tests or not mutant.old:
            sys.exit(f"{mutant.file}: [{mutant.name}] needs tests: and at least one - line")
        if names.count(mutant.name) > 1:
            sys.exit(f"{mutant.file}: [{mutant.name}] is there twice")
    return mutants


def sources(root):
    return [path for path in sorted((root / "src").rglob("*")) if path.suffix in (".cc", ".h") and not path.name.endswith("_test.cc")]


def without_blanks(text):
    return re.sub(r"\s+", "", text)


class Text:
    """A source without its blanks, so that formatting it anew hides no mutant; `at` is where each character stood."""

    def __init__(self, path):
        self.whole = path.read_text()
        self.at = [i for i, c in enumerate(self.whole) if not c.isspace()]
        self.dense = "".join(self.whole[i] for i in self.at)

    def span(self, first, end):
        """The lines that hold [first, end) of the dense text and nothing else; None where there is something else."""
        begin, last = self.at[first], self.at[end - 1]
        line_begin = self.whole.rfind("\n", 0, begin) + 1
        line_end = self.whole.find("\n", last)
        line_end = len(self.whole) if line_end < 0 else line_end
        is_whole = not self.whole[line_begin:begin].strip() and not self.whole[last + 1:line_end].strip()
        return (line_begin, line_end) if is_whole else None


def places(mutant, texts):
    """Where its lines stand: (file, begin, end) in characters of the text."""
    old = without_blanks("".join(mutant.old))
    found = []
    for path, text in texts.items():
        first = text.dense.find(old)
        while first >= 0:
            span = text.span(first, first + len(old))
            if span:
                found.append((path, *span))
            first = text.dense.find(old, first + 1)
    return found


def check(mutants, root):
    texts = {path: Text(path) for path in sources(root)}
    wrong = []
    for mutant in mutants:
        found = places(mutant, texts)
        if len(found) != 1:
            where = ", ".join(f"{path.relative_to(root)}:{texts[path].whole.count(chr(10), 0, begin) + 1}" for path, begin, _ in found) or "nowhere"
            wrong.append(f"{mutant.file}: [{mutant.name}] stands {where}; it must stand in one place")
    return wrong


def apply(mutant, root):
    """Returns what puts the file back."""
    texts = {path: Text(path) for path in sources(root)}
    (path, begin, end), = places(mutant, texts)
    before = texts[path].whole
    indent = re.match(r"[ ]*", before[begin:]).group(0)
    path.write_text(before[:begin] + "\n".join(indent + line for line in mutant.new) + before[end:])
    return lambda: path.write_text(before)


def copy_tree(target):
    """The tree as it is, with the times of its files, so that only what changed is built anew."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            subprocess.run(["cp", "-ru", "--preserve=timestamps", "-T", str(source), str(target / name)], check=True)
            kept = {path.relative_to(source) for path in source.rglob("*")}
            for path in sorted((target / name).rglob("*"), reverse=True):
                if path.relative_to(target / name) not in kept:
                    path.rmdir() if path.is_dir() else path.unlink()
        elif source.exists():
            shutil.copy2(source, target / name)


def targets_of(mutant):
    """What must be built for its tests: sim_smoke_search is a way to call sim."""
    runners = {"scenarios": "scenario_runner", "controller_scenarios": "controller_scenario_runner"}
    return sorted({"sim" if test.startswith("sim_smoke") else runners.get(test, test) for test in mutant.tests})


def try_one(mutant, tree, build):
    begin = time.monotonic()
    put_back = apply(mutant, tree)
    try:
        built = subprocess.run(["ninja", "-C", str(build), *targets_of(mutant)], capture_output=True, text=True)
        if built.returncode != 0:
            errors = [line for line in built.stdout.splitlines() if "error:" in line]
            return "DOES NOT BUILD", " ".join(errors[:1]), begin
        for test in mutant.tests:
            pattern = "^" + re.escape(test) + "$"
            ran = subprocess.run(["ctest", "-R", pattern, "--timeout", "300"], cwd=build, capture_output=True, text=True)
            if "No tests were found" in ran.stdout + ran.stderr:
                return "NO SUCH TEST", test, begin
            if ran.returncode != 0:
                return "killed", test, begin
        return "LIVES", " ".join(mutant.tests), begin
    finally:
        put_back()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--build", default="build/mutants", help="where the copy is kept and built")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    mutants = read_mutants()
    wrong = check(mutants, ROOT)
    if wrong:
        sys.exit("\n".join(wrong))
    if options.check:
        print(f"{len(mutants)} mutants, each found in one place")
        return
    wanted = [mutant for mutant in mutants if not options.names or any(name in mutant.name for name in options.names)]
    tree = (ROOT / options.build).resolve() / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    copy_tree(tree)
    build = tree / "build" / "release"
    subprocess.run(["cmake", "--preset", "release"], cwd=tree, check=True, stdout=subprocess.DEVNULL)
    print("building what the mutants are tried against ...", flush=True)
    subprocess.run(["ninja", "-C", str(build), *sorted({target for mutant in wanted for target in targets_of(mutant)})], check=True, stdout=subprocess.DEVNULL)
    lived = 0
    for number, mutant in enumerate(wanted, 1):
        verdict, detail, begin = try_one(mutant, tree, build)
        lived += verdict != "killed"
        print(f"{number:3}/{len(wanted)}  {verdict:14} {mutant.name}  ({detail}, {time.monotonic() - begin:.0f} s)", flush=True)
    print(f"{len(wanted) - lived} of {len(wanted)} mutants were killed")
    sys.exit(1 if lived else 0)


if __name__ == "__main__":
    main()
