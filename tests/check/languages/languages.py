#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`ruse run --check` finds the misuse of programs in Java and Go, and none in the right ones.

languages.py LIBRARY RUSE

LIBRARY has check_lang() of lang.c. A language that is not installed is left out (scripts/deps --languages).
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FOUND = 98
TIMEOUT = 300


def programs(library, where):
    """(language, command)"""
    if shutil.which("javac"):
        subprocess.run(["javac", "-d", where, os.path.join(HERE, "Check.java")], check=True, timeout=TIMEOUT)
        yield "java", ["java", "-Xmx64m", f"-Dcheck.library={library}", "-cp", where, "Check"]
    if shutil.which("go"):
        path, name = os.path.split(library)
        env = dict(os.environ, CGO_ENABLED="1", CGO_LDFLAGS=f"-L{path} -l:{name} -Wl,-rpath,{path}", CGO_LDFLAGS_ALLOW=".*",
                   GOCACHE=os.path.join(where, "cache"), GOFLAGS="-mod=mod")
        program = os.path.join(where, "check-go")
        subprocess.run(["go", "build", "-o", program, os.path.join(HERE, "check.go")], env=env, check=True, timeout=TIMEOUT)
        yield "go", [program]


def main():
    library, ruse = map(os.path.abspath, sys.argv[1:3])
    bad, tried = [], []
    with tempfile.TemporaryDirectory() as where:
        env = dict(os.environ, RUSE_DIR=os.path.join(where, "run"))
        os.mkdir(env["RUSE_DIR"], 0o700)
        log = os.path.join(where, "findings")
        for language, command in programs(library, where):
            tried.append(language)
            for how, words in (("wrong", "hints,poison"), ("right", "hints,poison"), ("wrong", "locate"), ("right", "locate")):
                run = subprocess.run([ruse, "run", f"--check={words},log={log}", *command, how], env=env, text=True, timeout=TIMEOUT,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
                with open(log, encoding="utf-8") as f:
                    found = [r for r in map(json.loads, f) if r["name"] != "CHECK_STORE"]
                names = sorted({r["name"] for r in found})
                want = ["CHECK_WRITTEN"] if how == "wrong" else []
                if names != want or run.returncode != (FOUND if want else 0):
                    bad.append(f"{language} {how} {words}: {run.returncode}, {names} instead of {want}: {run.stderr[-3000:]}")
                elif want and found[0].get("stack", [{}])[0].get("function") != "check_lang":
                    bad.append(f"{language} {how} {words}: not posted in check_lang(): {found[0].get('stack')}")
        subprocess.run([ruse, "stop", "--now"], env=env, timeout=TIMEOUT, check=False, stdout=subprocess.DEVNULL)
    print("\n".join(bad) if bad else f"ok: {' '.join(tried)}")
    if not tried:
        print("SKIP: neither Java nor Go is installed")
        return 77
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
