#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The help and the manual page of each command have the options of the program's table, and no others.

options.py BUILD

Per command of ruse, and for rused: the tables of getopt_long() in the source, `--help` of the
program in BUILD, the SYNOPSIS and the section of the manual page. For `ruse fault` and `ruse fabric`
the tables are those of words. The commands with --json are those with a section in doc/json.md.
lint/completion compares the completions with the help.
"""
import os
import re
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
# Words of tables that are not typed by users of the command: commands of their own.
HIDDEN = {"down", "freeze"}
bad = 0


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        return f.read()


def same(what, table, other):
    """Prints what table and other do not have in common."""
    global bad
    for word in sorted(table - other):
        bad += 1
        print(f"{what}: lacks {word}")
    for word in sorted(other - table):
        bad += 1
        print(f"{what}: has {word}, which the program does not know")


def table(path):
    """{"-w --write ARG"} of the getopt_long() of a source file"""
    text = read(path)
    rows = re.findall(r'\{ "([a-z-]+)", (no|required|optional)_argument, NULL, (?:\'(.)\'|\w+) \}', text)
    shorts = re.search(r'getopt_long\(argc, argv, "\+?([^"]*)"', text)[1]
    if not rows:
        sys.exit(f"options: no table in {path}")
    options = set()
    for name, needs, letter in rows:
        taken = re.search(re.escape(letter) + "(:?)", shorts) if letter else None
        if taken and (taken[1] == ":") != (needs == "required"):
            sys.exit(f"options: {path}: -{letter} and --{name} differ")
        options.add(("-" + letter + " " if taken else "") + "--" + name +
                    (" ARG" if needs == "required" else ""))
        # Such an option is listed twice, without and with an argument.
        if needs == "optional":
            options.add(f"--{name}=ARG")
    return options


def listed(text, indent):
    """The same of the lines of a help or of a section of a manual page."""
    found = set()
    for m in re.finditer(rf"^{indent}(?:-(\w), )?(--[a-z-]+)( [A-Z][A-Za-z]*| udp|=[A-Z]+)?(?=  | *$|\n)", text, re.M):
        found.add((f"-{m[1]} " if m[1] else "") + m[2] + (f"{m[3][0]}ARG" if m[3] else ""))
    return found


def program_help(build, *words):
    out = subprocess.run([os.path.join(build, words[0]), *words[1:], "--help"], capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"options: {' '.join(words)} --help fails")
    return out.stdout


def section(page, title, line):
    """The text below a title that is underlined with line."""
    m = re.search(rf"^{title}\n{line}+\n(.*?)(?=^\S[^\n]*\n[=-]{{3,}}\n|\Z)", page, re.S | re.M)
    return m[1] if m else ""


def command(build, name, page):
    """A command with options: its table, help, section and synopsis."""
    known = table(f"src/cli/{name}.c")
    same(f"ruse {name} --help", known, listed(program_help(build, "ruse", name), "  "))
    told = listed(section(page, name, "-"), "")
    synopsis = "".join(line for line in section(page, "SYNOPSIS", "=").splitlines(True)
                       if f"**ruse {name}**" in line)
    # --help needs no words. A page may have an option in the synopsis alone, or [options] there.
    known.discard("-h --help")
    told.discard("-h --help")
    same(f"ruse(1), section {name}", known, told)
    if "[*options*]" not in synopsis:
        same(f"ruse(1), SYNOPSIS of {name}", {re.sub(r"^-\w | ARG$", "", o) for o in known},
             set(re.findall(r"\*\*(--[a-z-]+)\*\*", synopsis)))
    return {re.sub(r"^-\w | ARG$", "", o) for o in known}


def words(path, name):
    """The words of an array of rows { "word", ... }."""
    body = re.search(rf"{name}\[\] = \{{(.*?)\n\}};", read(path), re.S)[1]
    return set(re.findall(r'\{ "([a-z-]+)",', body))


def array(path, name):
    """The words of an array of words that ends with NULL."""
    return set(re.findall(r'"([a-z]+)"', re.search(rf"{name}\[\] = \{{(.*?)NULL", read(path), re.S)[1]))


def heads(text):
    """The words at the beginning of the lines of a help with commands: "down [DEV], up [DEV]" has two."""
    rows = [re.split(r"  +", line.strip())[0] for line in text.splitlines() if re.match(r"  [a-z]", line)]
    return {part.split()[0] for row in rows if not row.startswith("ruse ")
            for part in re.split(r", (?=[a-z])| \| ", row)}


def fault(build):
    text, page = program_help(build, "ruse", "fault"), read("doc/man/ruse-fault.1.rst")
    commands = words("src/daemon/faults/faults.c", "fault_cmds") | {"run", "calls"}
    same("src/cli/fault.c, words[]", commands, array("src/cli/fault.c", "words"))
    same("ruse fault --help", commands, heads(text))
    lines = [re.findall(r"\*\*([^*]+)\*\*", line) for line in section(page, "SYNOPSIS", "=").splitlines() if line]
    same("ruse-fault(1), SYNOPSIS", commands, {w for line in lines for w in
                                               (line[0].split()[-1], *line[1:])} - {"all", "--json"})
    for what, where, known in (("actions", "ACTIONS", words("src/daemon/faults/fault_parse.c", "actions") - HIDDEN),
                               ("clauses", "CLAUSES", words("src/daemon/faults/fault_parse.c", "clauses"))):
        # The page has jitter with the action delay.
        same(f"ruse-fault(1), {where}", known - {"jitter"},
             set(re.findall(r"^\*\*([a-z][a-z-]*)[^*]*\*\*$", section(page, where, "="), re.M)))
        told = set(re.findall(r"[a-z][a-z-]*", text[text.index("\nactions"):]))
        same(f"ruse fault --help, {what}", known, known & told)


def fabric(build):
    text, page = program_help(build, "ruse", "fabric"), section(read("doc/man/ruse.1.rst"), "fabric", "-")
    commands, kinds = words("src/fabrics/fabrics.c", "fabric_cmds") | {"draw"}, set(re.findall(
        r'\{ "(--[a-z-]+)", fabric_make', read("src/fabrics/topo.c")))
    same("src/cli/fabric.c, names[]", commands, array("src/cli/fabric.c", "names"))
    same("ruse fabric --help", commands, heads(text))
    same("ruse(1), section fabric", commands, set(re.findall(r"^([a-z]+)", page, re.M)))
    same("ruse fabric --help", kinds, set(re.findall(r"^  up (--[a-z-]+)", text, re.M)))
    same("ruse(1), section fabric", kinds, set(re.findall(r"^up (--[a-z-]+)", page, re.M)))


def main():
    build = sys.argv[1]
    page = read("doc/man/ruse.1.rst")
    names = words("src/cli/main.c", "subcommands")
    same("ruse --help", names, heads(program_help(build, "ruse")))
    same("ruse(1), DESCRIPTION", names, set(re.findall(r"^\*\*ruse (\w+)\*\*", section(page, "DESCRIPTION", "="), re.M)))
    json = set()
    for name in sorted(names - {"fault", "fabric"}):
        if "--json" in command(build, name, page):
            json.add(f"ruse {name}")
    fault(build)
    fabric(build)
    for name in "fault", "fabric":
        json |= {f"ruse {name} {m}" for m in re.findall(r"^  (\w+) \[--json", program_help(build, "ruse", name), re.M)}
    # An option or argument of explain, and an argument of doctor, changes what it prints; that of run names a file.
    json |= {"ruse explain --stuck", "ruse explain RX-nnn", "ruse run --summary=FILE", "ruse doctor PROGRAM"}
    same("doc/json.md", json, set(re.findall(r"^## (ruse .*)", read("doc/json.md"), re.M)))
    rused = {re.sub(r" ARG$", "", o) for o in table("src/daemon/main.c")}
    same("rused --help", rused, set(re.findall(r"--[a-z]+", program_help(build, "rused"))))
    same("rused(8), OPTIONS", rused, {re.sub(r" ARG$", "", o) for o in listed(
        section(read("doc/man/rused.8.rst"), "OPTIONS", "="), "")})
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
