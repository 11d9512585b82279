#!/usr/bin/env python3
"""Plants each kind of violation in a small tree and checks that tools/tidy.py names it, and nothing else."""

import contextlib
import io
import pathlib
import shutil
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import tidy  # noqa: E402

MARK = "TO" + "DO"
HEADER = "// What it is for.\n#pragma once\n"


class Tree:
    """A repository in a temporary folder, with the real rules but none of their exceptions."""

    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        rules = (HERE / "layers.toml").read_text(encoding="utf-8").split("# --- exceptions")[0]
        self.write("tools/layers.toml", rules)
        self.built = []

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def add(self, path, text, is_built=True):
        self.write(path, text)
        if is_built:
            self.built.append(path)

    def append_rules(self, text):
        path = self.root / "tools/layers.toml"
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")

    def run(self, build_file="build.ninja"):
        self.write("build/" + build_file, "\n".join(f"/root/{path}" for path in self.built))
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = tidy.main(["--root", str(self.root), "--build", str(self.root / "build")])
        return status, out.getvalue()

    def remove(self):
        shutil.rmtree(self.root)


class TidyTest(unittest.TestCase):
    def setUp(self):
        self.tree = Tree()
        self.addCleanup(self.tree.remove)

    def expect(self, path, text, rule, line, remedy=""):
        """`text` at `path` breaks `rule` once, at `line`, with a message that holds `remedy`."""
        self.tree.add(path, text)
        status, out = self.tree.run()
        self.assertEqual(status, 1, out)
        self.assertEqual(len(out.splitlines()), 1, out)
        self.assertTrue(out.startswith(f"{path}:{line}: {rule}: "), out)
        self.assertIn(remedy, out)

    def expect_clean(self, path, text):
        self.tree.add(path, text)
        self.assertEqual(self.tree.run(), (0, ""))

    def test_lower_layers_and_the_own_folder_may_be_included(self):
        self.expect_clean("src/sched/deep/plan.cc",
                          '#include "sched/planner.h"\n#include "model/job.h"\n#include <vector>\n')

    def test_include_upwards(self):
        self.expect("src/model/job.cc", '#include "base/id.h"\n#include "text/words.h"\n', "layer", 2, "upwards")

    def test_include_sideways(self):
        self.expect("src/slurm/x.cc", '#include "sched/planner.h"\n', "layer", 1, "sideways")

    def test_relative_include(self):
        self.expect("src/slurm/x.cc", '#include "words.h"\n', "layer", 1, "slurm/words.h")

    def test_relative_include_in_a_subfolder(self):
        self.expect("src/slurm/conf/x.cc", '#include "words.h"\n', "layer", 1, "slurm/conf/words.h")

    def test_subfolders_that_include_each_other(self):
        self.tree.add("src/store/logs/a.h", HEADER + '#include "store/sql.h"\n')
        self.tree.add("src/store/metrics/b.h", HEADER + '#include "store/logs/a.h"\n')
        self.tree.add("src/store/sql.h", HEADER + '#include "store/metrics/b.h"\n')
        status, out = self.tree.run()
        self.assertEqual(status, 1)
        self.assertEqual([line.split(": ")[:2] for line in out.splitlines()],
                         [["src/store/sql.h:3", "cycle"], ["src/store/logs/a.h:3", "cycle"], ["src/store/metrics/b.h:3", "cycle"]])
        self.assertIn("src/store -> src/store/metrics", out)

    def test_tests_may_include_what_includes_their_folder(self):
        self.tree.add("src/store/logs/a.h", HEADER + '#include "store/sql.h"\n')
        self.expect_clean("src/store/sql_test.cc", '#include "store/logs/a.h"\n')

    def test_width(self):
        self.tree.add("src/env/a.cc", "// " + "→" * 97 + "\n" + 'auto text = R"(' + "x" * 100 + ')";\nauto more = R"(\n' + "x" * 120 + '\n)";\n')
        self.expect("src/base/b.cc", "int a();\n// " + "→" * 98 + "\n", "width", 2, "101 columns")

    def test_folder_without_a_layer(self):
        self.expect("src/stuff/x.cc", "int f();\n", "layer", 1, "[layers]")

    def test_simulator_is_a_layer_and_tests_include_everything(self):
        self.tree.add("tests/e2e/x.cc", '#include "apps/a.h"\n#include "sim/b.h"\n#include "records/a.capnp.h"\n')
        self.expect("sim/x.cc", '#include "apps/main.h"\n#include "bench/b.h"\n', "layer", 2, "sideways")

    PURE = {
        "clock": ["#include <chrono>", "  auto t = std::chrono::seconds(1);", "  auto t = time(nullptr);",
                  "  gettimeofday(&t, 0);", "  localtime_r(&a, &b);"],
        "environment": ["  f(getenv(\"X\"));", "  f(environ);"],
        "chance": ["#include <random>", "  return rand();"],
        "stdio": ["#include <fstream>", "  std::cerr << 1;", "  printf(\"x\");", "  fmt::print(\"x\");", "  syslog(1, \"x\");"],
        "files": ["#include <filesystem>", "#include <unistd.h>", "  int f = open(\"x\", 0);", "  ::socket(1, 2, 3);"],
        "locale": ["#include <locale>", "  setlocale(0, \"\");"],
        "kj": ["#include <kj/async.h>"],
        "global": ["static int count = 0;", "  static std::vector<int> seen;", "thread_local int depth{0};", "int total;",
                   "std::string g_name = \"x\";"],
    }

    def test_pure_layers(self):
        for rule, lines in self.PURE.items():
            for line in lines:
                with self.subTest(rule=rule, line=line):
                    self.expect("src/model/x.cc", line + "\n", rule, 1, "; ")
                    self.tree.built.pop()

    def test_pure_rules_end_at_layer_3_and_spare_tests(self):
        self.tree.add("src/env/clock.cc", "#include <chrono>\nstatic int count = 0;\n")
        self.expect_clean("src/model/x_test.cc", "#include <cstdio>\n")

    EVERYWHERE = {
        "regex": ["#include <regex>"],
        "views": ["  for (int x : std::views::all(y)) {}"],
        "coroutine": ["  co_await x;"],
        "kj_threads": ["  kj::MutexGuarded<int> x;"],
        "named_continuation": ["  p.then(answer);", "  p.then(answer, other);", "  p.catch_(fail)"],
        "throw": ["  throw 1;"],
        "try_in_braces": ["  return Pair{key, TRY(value())};", "  return Pair{TRY(value())};", "  f(a, TRY(b()));"],
        "unbounded_copy": ["  sprintf(a, b);", "  strcpy(a, b);"],
        "threads": ["#include <thread>", "  std::mutex m;"],
        "schema": ['#include "schema/job.capnp.h"', "#include <capnp/rpc.capnp.h>"],
        "process": ["  const int pid = fork();", "  ::execve(a, b, c);", "  posix_spawn(a);"],
    }

    def test_everywhere(self):
        for rule, lines in self.EVERYWHERE.items():
            for line in lines:
                with self.subTest(rule=rule, line=line):
                    self.expect("src/controller/x.cc", line + "\n", rule, 1, "; ")
                    self.tree.built.pop()

    def test_iostream_in_a_header(self):
        self.expect("src/cli/x.h", HEADER + "#include <iostream>\n", "iostream_header", 3)

    def test_files_where_a_thing_belongs(self):
        self.tree.add("src/apps/main.cc", "#include <thread>\n")
        self.tree.add("src/records/x.cc", '#include "schema/job.capnp.h"\n')
        self.tree.add("src/env/posix/process_runner.cc", "int f() { return fork(); }\n")
        self.expect_clean("src/env/channel.h", HEADER + "#include <mutex>\n")

    def test_comments_and_literals_are_not_code(self):
        self.expect_clean("src/model/x.cc", '// throw, fork() and time(nullptr)\n/* static int a = 1;\nstatic int b = 1; */\n'
                          'const char* f() { return "throw \\" getenv(x) // no"; }\n'
                          "constexpr int kBig = 1'000'000;  // int big;\n"
                          'const char* g() { return R"(throw "this")"; }\nchar h() { return \'"\'; }\n')

    def test_names_that_only_contain_a_banned_word(self):
        self.expect_clean("src/model/x.cc", "int a() { return submit_time(0) + x.open(1) + reopen(2) + is_throwing; }\n"
                          "static int f(int x);\nint b() { TRY(f(1)); g([] { TRY(f(1)); }); }\nstatic constexpr int kX = 1;\nconst int kY = 2;\nusing A = int;\n")

    def test_unbuilt_test(self):
        self.tree.add("src/slurm/y_test.cc", "int f();\n", is_built=False)
        status, out = self.tree.run()
        self.assertEqual(status, 1)
        self.assertIn("src/slurm/y_test.cc:1: unbuilt_test: ", out)

    def test_what_is_compiled_at_once_is_built(self):
        self.tree.add("src/slurm/y_test.cc", "int f();\n", is_built=False)
        together = "src/CMakeFiles/slurm_test.dir/Unity/unity_0_cxx.cxx"
        self.tree.write("build/" + together, '#include "/root/src/slurm/y_test.cc"\n')
        self.assertEqual(self.tree.run()[0], 1, "a file of an earlier build that nothing names")
        self.tree.built.append("../" + str(self.tree.root / "build" / together))
        self.tree.write("build/" + together, '#include "/root/src/slurm/y_test.cc"\n')
        self.assertEqual(self.tree.run(), (0, ""))

    def test_compile_commands_serve_where_ninja_does_not(self):
        self.tree.add("src/slurm/y_test.cc", "int f();\n")
        self.assertEqual(self.tree.run("compile_commands.json"), (0, ""))

    def test_form_of_remarks(self):
        self.tree.add("src/slurm/a.cc", f"// {MARK}(docs/design/0007): split this\n")
        self.expect("src/slurm/b.cc", f"int a;  // {MARK}: later\n".replace("int a;", "int a();"), "todo", 1)

    def test_length(self):
        self.tree.add("src/slurm/a.cc", "\n" * 900)
        self.expect("src/slurm/b.cc", "\n" * 901, "length", 900, "split it by noun")

    def test_blanks(self):
        self.expect("src/slurm/a.cc", "int a();\n\tint b();\n", "blank", 2, "tab")
        self.tree.write("src/slurm/a.cc", "int a();\n")
        self.expect("cmake/x.cmake", "set(a 1) \n", "blank", 1, "trailing")

    def test_header_form(self):
        self.expect("src/slurm/a.h", "#pragma once\n", "header", 1, "begins with a comment")
        self.expect("src/slurm/a.h", "// What it is for; #pragma once\n", "header", 1, "add `#pragma once`")

    def test_exceptions_cover_and_must_be_needed(self):
        self.tree.append_rules('\n[[exception]]\nrule = "throw"\nfile = "src/cli/a.cc"\nreason = "a library wants it"\n')
        self.expect_clean("src/cli/a.cc", "void f() { throw 1; }\n")
        self.tree.write("src/cli/a.cc", "void f();\n")
        status, out = self.tree.run()
        self.assertEqual(status, 1)
        self.assertIn("throw in src/cli/a.cc is not needed", out)

    def test_an_exception_needs_a_reason(self):
        self.tree.append_rules('\n[[exception]]\nrule = "throw"\nfile = "src/cli/a.cc"\nreason = " "\n')
        status, out = self.tree.run()
        self.assertEqual(status, 2)
        self.assertIn("has no reason", out)

    def test_skipped_folders(self):
        self.expect_clean("build/generated.cc", "throw 1;\n")

    def test_documents_name_what_is_there(self):
        self.tree.add("src/text/words.h", HEADER)
        self.tree.write("README.md", "See `src/text/words.h`, `text/words.h`, `words.h` and [more](docs/more.md).\n")
        self.tree.write("docs/more.md", "[back](../README.md), `*.cc`, [elsewhere](https://example.org/x.md)\n")
        self.assertEqual(self.tree.run(), (0, ""))
        self.expect("docs/old.md", "Words.\nIt is in `src/slurm/gone.cc`.\n", "document", 2, "there is no src/slurm/gone.cc")


if __name__ == "__main__":
    unittest.main()
