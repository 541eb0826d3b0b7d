# Front door. `make help` lists what there is; meson and ninja do the work in build/.
BUILD ?= build
PREFIX ?=
MESON_FLAGS ?=
TESTFLAGS ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
SHELL = /bin/sh

.PHONY: all demo deps deps-ci configure build test bench install clean help

all: build

help:
	@echo "make            build $(BUILD)/fraglab"
	@echo "make demo       build, then the A/B of the mobility patches on 16 GiB: table, both pageblock maps"
	@echo "make test       build and run all tests; ends with: N passed, N failed, N skipped"
	@echo "make bench      speed of the model's parts"
	@echo "make install    program, scenarios, manual, completion (PREFIX=/usr/local, DESTDIR)"
	@echo "make deps       install what Debian 12 packages are missing (deps-ci: clang and its sanitizers too)"
	@echo "make clean      remove $(BUILD)/"

deps:
	@.ci/deps build

deps-ci:
	@.ci/deps ci

# A build directory that was cut short, copied from elsewhere or made by another meson is made anew.
configure: deps
	@.ci/configure $(BUILD) $(MESON_FLAGS)

build: configure
	@ninja -C $(BUILD) -j $(JOBS) --quiet

# The main job: kernels side by side on one scenario, with statistics.
demo: build
	@start=$$(date +%s); \
	$(BUILD)/fraglab compare type-pressure --memory 16G --kernel 7.3 --kernel 7.3+mobility --runs 2 --map && \
	echo "wall time of the comparison: $$(($$(date +%s) - start)) s" && \
	printf '%s\n' '' 'Next:' \
	  '  $(BUILD)/fraglab compare type-pressure --memory 4G --kernel 7.3 --kernel 7.3+mobility-claim --runs 4 --counters' \
	  '  $(BUILD)/fraglab compare steal-census --kernel 7.3 --kernel 7.3+mobility-steal --runs 3' \
	  '  $(BUILD)/fraglab inspect          # fragmentation of this machine, now'

test: build
	@tests/run --jobs $(JOBS) $(TESTFLAGS) $(BUILD)

bench: build
	@$(BUILD)/fraglab bench

install: build
	@.ci/install $(BUILD) "$(PREFIX)"

clean:
	rm -rf $(BUILD) build-clang build-asan build-gcc-O0 build-clang-O0
