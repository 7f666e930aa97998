# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# For people; CMake does the work (see CMakePresets.json for other builds).

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
MAKEFLAGS += --no-print-directory

all: build/CMakeCache.txt
	@cmake --build build -j $(JOBS)

# Configured once; a build directory that `make test` has set up stays as it is.
build/CMakeCache.txt:
	@scripts/deps --build
	@cmake --preset default

run:
	@scripts/deps --build --run
	@$(MAKE) all
	@scripts/demo build

# Without scripts/deps: it is run at each save, and a tool that is missing only skips its check.
quick:
	@scripts/test quick

test:
	@scripts/deps --build --test
	@scripts/test plain

check-full:
	@scripts/deps --build --test
	@scripts/test full

test-long:
	@scripts/deps --build --test --languages --harmless
	@scripts/test long

lint:
	@scripts/deps --build --test
	@scripts/test lint

bench:
	@scripts/deps --build --test --bench
	@cmake --preset dev -DRUSE_WERROR=OFF >/dev/null
	@cmake --build build -j $(JOBS)
	@tests/bench/run --build build
	@RUSE_BUILD=$(CURDIR)/build tests/bench/fabric || [ $$? = 77 ]

install: all
	@scripts/deps --install
	@cmake -DCMAKE_INSTALL_PREFIX=$(PREFIX) build >/dev/null
	@cmake --build build -j $(JOBS)
	@DESTDIR="$(DESTDIR)" cmake --install build

# The same PREFIX and DESTDIR as at `make install`.
uninstall: build/CMakeCache.txt
	@$(MAKE) all >/dev/null
	@cmake -DCMAKE_INSTALL_PREFIX=$(PREFIX) build >/dev/null
	@scripts/uninstall build "$(DESTDIR)"

dist:
	@scripts/dist build/dist

deb:
	@scripts/deps --build --package
	@JOBS=$(JOBS) scripts/deb build/deb

clean:
	rm -rf build build-asan build-tsan build-fuzz build-coverage build-release

help:
	@echo "make            build/ruse, build/rused and build/libruse.so"
	@echo "make run        the device, and ibv_rc_pingpong between two processes on it"
	@echo "make quick      for each save: unit, proto and abi tests, format, words, layers of what is changed"
	@echo "make test       unit, proto, abi and system tests: some 14 minutes on two cores"
	@echo "make check-full lint, the kernel's rxe in QEMU, sanitizers, fuzzing: some 12 minutes"
	@echo "make test-long  all, with every loss mask and long fuzzing: hours"
	@echo "make lint       layers, sizes, format, static analysis"
	@echo "make bench      figures beside the machine's limits: a table, build/bench.json and build/bench.svg"
	@echo "make install    into PREFIX ($(PREFIX)), below DESTDIR if set"
	@echo "make uninstall  removes what make install with the same PREFIX and DESTDIR installs"
	@echo "make dist       build/dist/ruse-VERSION.tar.gz of the last commit, the same on every machine"
	@echo "make deb        Debian packages of the last commit, in build/deb"
	@echo "make clean      removes the build directories"

.PHONY: all run quick test check-full test-long lint bench install uninstall dist deb clean help
