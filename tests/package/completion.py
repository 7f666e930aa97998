#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The completions of bash and zsh know every word of the program's help, and no others.

completion.py BUILD

Reads `ruse --help` and `ruse CMD --help`. The completion of bash runs in bash. That of zsh needs a
terminal; it is only read, and parsed by zsh if zsh is installed.
"""
import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
BASH = os.path.join(TOP, "packaging/completion/ruse.bash")
ZSH = os.path.join(TOP, "packaging/completion/_ruse")
# bash completes file names of the working directory; this one has none.
EMPTY = tempfile.mkdtemp()
atexit.register(os.rmdir, EMPTY)
bad = 0


def say(text):
    global bad
    bad += 1
    print(text)


def help_of(ruse, *words):
    out = subprocess.run([ruse, *words, "--help"], capture_output=True, text=True)
    if out.returncode != 0 or not out.stdout.startswith("usage: "):
        sys.exit(f"completion: `ruse {' '.join(words)} --help` fails")
    return out.stdout


def rows(text):
    """The left columns of a help: lines with an indent of two."""
    return [re.split(r"\s{2,}", line.strip())[0] for line in text.splitlines()
            if re.match(r"  [a-z-]", line) and not line.startswith("  ruse ")]


def lower(text):
    """Words that are typed as they stand: not NAME, 4x4x2 or 5%."""
    for token in re.split(r"[\s|\[\]]+", text):
        if re.fullmatch(r"(--)?[a-z][a-z-]*", token):
            yield token


def table(ruse):
    """{words typed before: words that must be offered}"""
    top = help_of(ruse)
    commands = [r for r in (row.split()[0] for row in rows(top)) if not r.startswith("-")]
    want = {(): set(commands) | {"help", "--help", "--version"}}
    for cmd in commands:
        text = help_of(ruse, cmd)
        if not re.search(r"usage: ruse \w+ COMMAND", text):
            options = set(re.findall(r"^  (?:-\w, )?(--[a-z][a-z-]*)", text, re.M))
            words = {r for r in rows(text) if re.fullmatch("[a-z]+", r)}
            want[(cmd,)] = options | words | {"--help"}
            continue
        want[(cmd,)] = {"--help"}
        for row in rows(text):
            for part in re.split(r", | \| ", row):
                name, _, rest = part.partition(" ")
                if name.startswith("-"):
                    continue
                want[(cmd,)].add(name)
                if set(lower(rest)):
                    want.setdefault((cmd, name), set()).update(lower(rest))
        m = re.search(r"^events  +(.*(?:\n   +.*)*)", text, re.M)
        if m:
            want[(cmd, "event")] = set(re.findall(r"[A-Z]+_[A-Z_]+", m.group(1)))
        # Lines as `actions  drop, corrupt, ...`, which go on with a deeper indent.
        for title, typed in (("actions", ("add",)), ("which|clauses", ("add", "drop")),
                             ("selectors", ("event", "GID_CHANGE"))):
            for m in re.finditer(rf"^(?:{title})  +(.*(?:\n   +.*)*)", text, re.M):
                for item in re.split(r",\s+|\s+\|\s+|; for cm: ", m.group(1)):
                    words = list(lower(item.split()[0]))
                    want.setdefault((cmd, *typed), set()).update(words)
    return want


def bash(typed, start):
    words = ["ruse", *typed, start]
    script = """. "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_ruse
printf '%s\\n' "${COMPREPLY[@]}"
"""
    out = subprocess.run(["bash", "--norc", "-c", script, "bash", BASH, *words], text=True,
                         capture_output=True, stdin=subprocess.DEVNULL, cwd=EMPTY)
    if out.stderr:
        say(f"bash: {' '.join(words)}: {out.stderr}")
    return set(out.stdout.split())


def words_of(path):
    with open(path, encoding="utf-8") as f:
        return set(re.findall(r"(?<![\w-])(?:--)?[a-z][a-z-]*|[A-Z]+_[A-Z_]+", f.read()))


def zsh_options(cmd):
    """The long options in the branch of a command, if it calls _arguments. None: it does not."""
    with open(ZSH, encoding="utf-8") as f:
        m = re.search(rf"^\t\({cmd}\)\s+(_arguments .*?);;", f.read(), re.S | re.M)
    return set(re.findall(r"--[a-z][a-z-]*(?=[\[}]|=-\[)", m[1])) if m else None


def main():
    ruse = os.path.join(sys.argv[1], "ruse")
    want = table(ruse)
    static = words_of(ZSH)
    for typed, words in sorted(want.items()):
        line = " ".join(["ruse", *typed])
        offered = bash(typed, "") | bash(typed, "-")
        if typed in (("run",), ("shake",), ("doctor",)):
            offered = bash(typed, "-")     # without a dash it completes programs
        for word in sorted(words - offered):
            say(f"packaging/completion/ruse.bash: `{line}` does not offer {word}")
        for word in sorted(offered - words):
            if not re.fullmatch("-[a-z]", word) and word != "jitter":
                say(f"packaging/completion/ruse.bash: `{line}` offers {word}, which is not in the help")
        branch = zsh_options(typed[0]) if len(typed) == 1 else None
        if branch is not None and branch != {w for w in words if w.startswith("--")}:
            say(f"packaging/completion/_ruse: `{line}` has {sorted(branch)}, the help {sorted(words)}")
        for word in sorted(words - static):
            say(f"packaging/completion/_ruse: `{line}`: does not have {word}")
    every = set().union(*want.values())
    for option in sorted(w for w in static - every if w.startswith("--") and w != "--"):
        say(f"packaging/completion/_ruse has {option}, which is not in the help")
    if shutil.which("zsh") and subprocess.run(["zsh", "-n", ZSH], check=False).returncode != 0:
        say("packaging/completion/_ruse: zsh cannot parse it")
    if len(want) < 8 or min(map(len, want.values())) < 1:
        say(f"the helps were not understood: {want}")
    return 1 if bad else 0


sys.exit(main())
