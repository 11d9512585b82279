# Everything a newcomer needs. `make help` lists it.
SHELL := /bin/bash
BUILD := build/release
SEEDS ?= 20
MINUTES ?= 10
JOBS ?= $(shell nproc)

.DEFAULT_GOAL := help
# `make -j` is for the compiler (JOBS): two steps that install packages at once would lock each other out.
.NOTPARALLEL:
.PHONY: help setup setup-test configure build build-all demo test fresh test-asan test-tsan test-clients crash pauses fuzz mutants bench format lint sim install uninstall clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what is missing of Debian's packages, and say what
	@tools/setup.sh

build: configure ## build the programs into build/release/bin
	@cmake --build --preset release -j $(JOBS) --target programs

setup-test:
	@tools/setup.sh test

configure: setup
	@mkdir -p $(BUILD)
	@cmake --preset release > $(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }

build-all: setup-test configure ## build the tests, the simulator and the benchmarks, too
	@cmake --build --preset release -j $(JOBS)

demo: build ## start a small cluster, train on it, break it, show that nothing was lost
	@PATH="$(CURDIR)/$(BUILD)/bin:$$PATH" examples/demo.sh

test: build-all ## the release build and every test, with SEEDS=20 crash seeds
	@tools/run_tests.sh $(BUILD) $(SEEDS)

fresh: ## both commands of the README on a bare Debian 12 made by debootstrap (as root; about an hour)
	@tools/fresh.sh

test-asan: build-all ## unit, scenario and simulation tests under AddressSanitizer and UBSan, and a controller at work
	@cmake --preset asan > /dev/null && cmake --build --preset asan -j $(JOBS) --target checked_programs musterd
	@cd build/asan && ctest --output-on-failure -L 'unit|scenario|sim_smoke' -j $(JOBS)
	@tools/sanitized_cluster.sh $(BUILD) build/asan

test-tsan: build-all ## the threads under ThreadSanitizer: channels, and a controller with its followers at work
	@cmake --preset tsan > /dev/null && cmake --build --preset tsan -j $(JOBS) --target env_test musterd
	@cd build/tsan && GTEST_FILTER='-StartProcess*:MarkedProcess*' ctest --output-on-failure -R '^env_test$$'
	@tools/sanitized_cluster.sh $(BUILD) build/tsan

test-clients: build-all ## with other people's packages as they are: determined, TensorBoard, Lightning, submitit, Dask, snakemake, mpirun and more
	@tools/test_clients.sh $(BUILD)

crash: build ## kill real processes at random: make crash SEEDS=200
	@tools/setup.sh test
	@/usr/bin/python3 -m pytest tests/e2e/test_crash.py -q --seeds $(SEEDS)

pauses: setup-test build ## every daemon stands still for a long while: make pauses MINUTES=10
	@PATH="$(CURDIR)/$(BUILD)/bin:$$PATH" /usr/bin/python3 -m pytest tests/e2e/test_promises.py -q -k stands_still --pause $$(( $(MINUTES) * 60 ))

fuzz: build-all ## every door that others reach, with libFuzzer and sanitizers: make fuzz MINUTES=30
	@tools/fuzz.sh $(BUILD) $(MINUTES)

mutants: setup-test ## plant known bugs one by one and expect the tests to find each (tests/mutants/)
	@/usr/bin/python3 tools/mutants.py

bench: build-all ## measure, beside Debian's Slurm where it can be compared
	@bench/run.sh $(BUILD)

sim: build-all ## simulate whole clusters: make sim SEEDS=2000
	@$(BUILD)/bin/sim --seeds 1-$(SEEDS)

format: ## bring all C++ into its form (.clang-format)
	@tools/format.sh

lint: build-all ## layers, style rules, form, clang-tidy over all sources (the first time most of an hour)
	@tools/format.sh --check
	@/usr/bin/python3 tools/tidy.py --root . --build $(BUILD)
	@tools/clang_tidy.sh $(BUILD) $(JOBS)

install: build ## install under DESTDIR/PREFIX (default /usr/local)
	@cmake --build --preset release -j $(JOBS) --target muster_core # the library for C++ trainers
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$${PREFIX:-/usr/local}"

uninstall: ## remove what the last `make install` wrote, of the same DESTDIR
	@tools/uninstall.sh $(BUILD) "$(DESTDIR)"

clean: ## remove what was built
	@rm -rf build
