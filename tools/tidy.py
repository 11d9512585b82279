#!/usr/bin/env python3
"""Checks what the compiler cannot: layers, purity, banned calls, forgotten tests, form of files.

Usage: tools/tidy.py --root ROOT --build BUILD
The rules and their exceptions stand in tools/layers.toml. Prints `file:line: rule: what; remedy` for each violation.
Exit status: 0 clean, 1 violations, 2 the rules themselves are wrong.
"""

import argparse
import fnmatch
import pathlib
import re
import sys
import tomllib
from dataclasses import dataclass

CODE = {".cc", ".h"}
DOCUMENT = ".md"
TEXT = CODE | {".py", ".toml", ".cmake", ".capnp", ".ts", ".tsx", ".sh", ".txt"}
SKIPPED = {".git", "build", "node_modules", "__pycache__", "dist", "shared", ".cache"}
TOP_FOLDERS = ("sim", "bench", "fuzz")

LITERAL = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)\""""
    r"""|"(?:\\.|[^"\\\n])*\""""
    r"""|(?<!\w)'(?:\\.|[^'\\\n])+'""",
    re.DOTALL)
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
# `src/cli/slurm/srun.cc` and [text](docs/file.md): paths that a document names.
NAMED_PATH = re.compile(r"`([\w./-]+\.(?:cc|h|py|sh|md|toml|capnp|sbatch))`|\]\(([^)#:\s]+)\)")
MARK = "TO" + "DO"
MARKED = re.compile(rf"\b(?:{MARK}|FIX" + r"ME)\b")
MARK_FORM = re.compile(rf"\b{MARK}" + r"\(docs/design/\d{4}[^)\s]*\): \S")


@dataclass(frozen=True)
class Violation:
    file: str
    line: int
    rule: str
    text: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.rule}: {self.text}"


@dataclass
class Source:
    """A file of the tree. `code` is its text without comments and without the insides of literals."""
    path: str
    text: str
    code: str
    layers: dict

    @property
    def folder(self):
        parts = self.path.split("/")
        if parts[0] == "src" and len(parts) > 2:
            return parts[1]
        return parts[0] if parts[0] in TOP_FOLDERS else None

    @property
    def layer(self):
        return self.layers.get(self.folder)

    @property
    def is_test(self):
        return self.path.endswith("_test.cc")

    @property
    def is_code(self):
        return pathlib.PurePosixPath(self.path).suffix in CODE


def blank_out(match):
    """A literal or comment with everything but its line feeds and quotes made blank, so that lines keep their numbers."""
    text = match.group(0)
    blank = re.sub(r"[^\n]", " ", text)
    return blank if match.group("comment") else text[0] + blank[1:-1] + text[-1]


def code_of(text):
    lines = LITERAL.sub(blank_out, text).split("\n")
    for number, line in enumerate(text.split("\n")):
        if INCLUDE.match(line) and "#" in lines[number]:
            lines[number] = line.split("//")[0]
    return "\n".join(lines)


def numbered(text):
    return enumerate(text.split("\n"), start=1)


def check_includes(source):
    if source.folder is None or not source.is_code:
        return
    if source.layer is None:
        yield 1, f"folder {source.folder} has no layer; add it to [layers] in tools/layers.toml"
        return
    for number, line in numbered(source.code):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, path = match.groups()
        target = path.split("/")[0]
        if quote == '"' and "/" not in path:
            folder = source.path.rsplit("/", 1)[0].removeprefix("src/")
            yield number, f'"{path}" is relative; include it as "{folder}/{path}"'
        elif target in source.layers and target != source.folder:
            other = source.layers[target]
            if other >= source.layer:
                way = "sideways" if other == source.layer else "upwards"
                yield number, (f'"{path}" is {way} ({source.folder} {source.layer} -> {target} {other}); '
                               "move what both need to a lower layer, or pass it as an argument")


def applies(rule, source):
    if not source.is_code or ("layers" in rule and source.layer not in rule["layers"]):
        return False
    if rule.get("headers") and not source.path.endswith(".h"):
        return False
    if source.is_test and not rule.get("tests", True):
        return False
    allowed = rule.get("only_in", [])
    if allowed and source.path.startswith("tests/"):
        return False
    return not any(fnmatch.fnmatch(source.path, glob) for glob in allowed)


def check_rule(rule, source):
    if not applies(rule, source):
        return
    pattern = re.compile(rule["pattern"])
    for number, line in numbered(source.code):
        match = pattern.search(line)
        if match:
            yield number, f"`{match.group(0).strip()}` is banned here; {rule['remedy']}"


def check_todo(source):
    for number, line in numbered(source.text):
        if MARKED.search(line) and not MARK_FORM.search(line):
            yield number, f"write `{MARK}" + "(docs/design/NNNN): text`, or do it now"


def check_blanks(source):
    for number, line in numbered(source.text):
        if "\t" in line and source.path.rsplit("/", 1)[-1] != "Makefile":
            yield number, "tab; use spaces (write \\t inside literals)"
        if line != line.rstrip():
            yield number, "trailing whitespace; remove it"


def check_header(source):
    if not source.path.endswith(".h"):
        return
    if not source.text.startswith(("//", "/*")):
        yield 1, "a header begins with a comment: what it is for and what does not belong in it"
    if not re.search(r"^#pragma once$", source.code, re.MULTILINE):
        yield 1, "add `#pragma once`"


def check_length(source, limit):
    count = source.text.count("\n")
    if count > limit:
        yield limit, f"{count} lines, above {limit}; split it by noun"


def raw_lines(text):
    """The lines that a raw string has a part of: they are what they are."""
    lines = set()
    for match in LITERAL.finditer(text):
        if match.group("mark") is not None:
            first = text.count("\n", 0, match.start()) + 1
            lines.update(range(first, first + match.group(0).count("\n") + 1))
    return lines


def check_width(source, limit):
    if not source.is_code:
        return
    long_lines = [(number, len(line)) for number, line in numbered(source.text) if len(line) > limit]
    raw = raw_lines(source.text) if long_lines else set()
    for number, width in long_lines:
        if number not in raw:
            yield number, f"{width} columns, above {limit}; break the line"


def check_built(source, build_text):
    if source.is_test and source.path not in build_text:
        yield 1, "no target builds this test; put it into a folder that CMake globs, or configure again"


def folder_edges(sources):
    """{folder: {included folder: (file, line, path)}} of all code but tests, each with the first include that makes it."""
    paths = {source.path for source in sources}
    edges = {}
    for source in sources:
        if source.folder is None or not source.is_code or source.is_test or "/precompiled/" in source.path:
            continue
        folder = source.path.rsplit("/", 1)[0]
        for number, line in numbered(source.code):
            match = INCLUDE.match(line)
            if match and match.group(1) == '"':
                path = match.group(2)
                target = "src/" + path if "src/" + path in paths else path
                included = target.rsplit("/", 1)[0]
                if target in paths and included != folder:
                    edges.setdefault(folder, {}).setdefault(included, (source.path, number, path))
    return edges


def reachable(edges, start):
    found, todo = set(), [start]
    while todo:
        for folder in edges.get(todo.pop(), {}):
            if folder not in found:
                found.add(folder)
                todo.append(folder)
    return found


def check_cycles(sources):
    """Folders that include each other, at any depth: one violation for each include that is a part of a circle."""
    edges = folder_edges(sources)
    reach = {folder: reachable(edges, folder) for folder in edges}
    for folder in sorted(edges):
        for included, (file, number, path) in sorted(edges[folder].items()):
            if folder in reach.get(included, ()):
                yield Violation(file, number, "cycle", f'"{path}" is a part of a circle: {folder} -> {included} -> … -> {folder}; '
                                "move what both need to a folder below")


def check_named_paths(root, paths):
    """What documents name must be there: from the root, from their own folder, from src, or as the end of some path."""
    ends = {"/".join(path.split("/")[-n:]) for path in paths for n in range(1, path.count("/") + 2)}
    for document in (path for path in paths if path.endswith(DOCUMENT)):
        for number, line in numbered((root / document).read_text(encoding="utf-8")):
            for code, link in NAMED_PATH.findall(line):
                named = code or link
                if named in ends or (root / document).parent.joinpath(named).exists():
                    continue
                yield Violation(document, number, "document", f"there is no {named}; name what there is")


def paths_of(root):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if not SKIPPED.intersection(relative.parts) and path.is_file():
            yield relative.as_posix()


def sources_of(root, layers):
    for path in paths_of(root):
        suffix = pathlib.PurePosixPath(path).suffix
        if suffix not in TEXT:
            continue
        text = (root / path).read_text(encoding="utf-8")
        yield Source(path, text, code_of(text) if suffix in CODE else "", layers)


def build_text_of(build):
    for name in ("build.ninja", "compile_commands.json"):
        path = build / name
        if path.exists():
            text = path.read_text(encoding="utf-8")
            # Of what is compiled at once the build names the file that includes it.
            together = sorted(set(re.findall(r"\S+/Unity/unity_\d+_cxx\.cxx(?=\s|$|\")", text)))
            files = [build / name.removeprefix(str(build) + "/") for name in together]
            return text + "".join(each.read_text(encoding="utf-8") for each in files if each.exists())
    return ""


def violations_of(root, build, config):
    build_text = build_text_of(build)
    limit = config.get("limits", {}).get("lines", 900)
    width = config.get("limits", {}).get("columns", 100)
    sources = list(sources_of(root, config["layers"]))
    yield from check_cycles(sources)
    for source in sources:
        checks = [("layer", check_includes(source)), ("todo", check_todo(source)),
                  ("blank", check_blanks(source)), ("header", check_header(source)),
                  ("length", check_length(source, limit)), ("width", check_width(source, width)), ("unbuilt_test", check_built(source, build_text))]
        checks += [(rule["name"], check_rule(rule, source)) for rule in config.get("rule", [])]
        for name, found in checks:
            for number, text in found:
                yield Violation(source.path, number, name, text)
    yield from check_named_paths(root, list(paths_of(root)))


def split_by_exceptions(violations, exceptions):
    """The violations that no exception covers, and the exceptions that cover nothing."""
    used, rest = set(), []
    for violation in violations:
        covering = [i for i, e in enumerate(exceptions) if (e["rule"], e["file"]) == (violation.rule, violation.file)]
        used.update(covering)
        if not covering:
            rest.append(violation)
    return rest, [e for i, e in enumerate(exceptions) if i not in used]


def load_config(path):
    with open(path, "rb") as file:
        config = tomllib.load(file)
    for exception in config.get("exception", []):
        if not exception.get("reason", "").strip():
            raise ValueError(f"{path}: the exception for {exception.get('file')} has no reason")
    return config


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options = parser.parse_args(arguments)
    try:
        config = load_config(options.root / "tools" / "layers.toml")
    except (OSError, ValueError) as error:
        print(f"tidy: {error}", file=sys.stderr)
        return 2
    found = violations_of(options.root, options.build, config)
    rest, unused = split_by_exceptions(found, config.get("exception", []))
    for violation in rest:
        print(violation)
    for exception in unused:
        print(f"tools/layers.toml:1: exception: {exception['rule']} in {exception['file']} is not needed; remove it")
    return 1 if rest or unused else 0


if __name__ == "__main__":
    raise SystemExit(main())
