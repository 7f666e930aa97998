#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs the steps of a composite GitHub Action on this machine.

action_run.py ACTION.yml STATE [INPUT=VALUE...]

STATE is a directory: its files env, path and summary are GITHUB_ENV, GITHUB_PATH and GITHUB_STEP_SUMMARY, and last from
one run to the next. A step is what the file says: bash with -e and pipefail, the variables of `env:`, what the steps
before have written to the files, and `if:`. Of expressions it knows inputs.NAME, steps.ID.outputs.NAME, and the
comparison of one with a text, also behind failure(). An action of others is told with its inputs, and not run. Prints the names of the steps and of what is skipped. Exits with the status of the first
step that fails, or with 1 if the file has something that it does not know. Without the module yaml it reads the lines itself.
"""
import os
import re
import subprocess
import sys

LIMIT = 1800    # seconds for a step
KEYS = {"name", "id", "shell", "env", "run", "if"}
USES = {"name", "if", "uses", "with"}
CONTEXT = {"github.job": "job", "strategy.job-index": "0"}


class Unknown(Exception):
    pass


def scalar(text):
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def block(lines, indent):
    """The mapping, list or text of the lines that are indented so deep, which are taken away."""
    result = None
    while lines:
        line = lines[0]
        depth = len(line) - len(line.lstrip())
        if depth < indent:
            break
        if depth > indent:
            raise Unknown(f"indentation: {line!r}")
        body = line.strip()
        if body.startswith("- "):
            lines[0] = " " * (indent + 2) + body[2:]
            result = [] if result is None else result
            result.append(block(lines, indent + 2))
            continue
        match = re.fullmatch(r"([\w-]+):(?: (.*))?", body)
        if not match:
            raise Unknown(f"line: {line!r}")
        lines.pop(0)
        result = {} if result is None else result
        key, value = match[1], (match[2] or "").strip()
        if value == "|":
            result[key] = literal(lines, indent)
        elif value:
            result[key] = scalar(value)
        else:
            result[key] = block(lines, deeper(lines, indent))
    return result


def deeper(lines, indent):
    return max(indent + 1, len(lines[0]) - len(lines[0].lstrip())) if lines else indent + 1


def literal(lines, indent):
    inner = deeper(lines, indent)
    taken = []
    while lines and (not lines[0].strip() or len(lines[0]) - len(lines[0].lstrip()) >= inner):
        taken.append(lines.pop(0)[inner:])
    return "\n".join(taken) + "\n"


def read(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    mine = block(lines, 0)
    try:
        import yaml
    except ImportError:
        return mine
    theirs = yaml.safe_load(text)
    if theirs != mine:
        raise Unknown(f"the reader of lines differs from yaml:\n{mine}\n{theirs}")
    return theirs


def value(expression, inputs, outputs):
    match = re.fullmatch(r"inputs\.([\w-]+)", expression)
    if match:
        if match[1] not in inputs:
            raise Unknown(f"no input {match[1]}")
        return inputs[match[1]]
    if expression in CONTEXT:
        return CONTEXT[expression]
    match = re.fullmatch(r"steps\.([\w-]+)\.outputs\.([\w-]+)", expression)
    if match:
        if match[1] not in outputs:
            raise Unknown(f"no step {match[1]} before")
        return outputs[match[1]].get(match[2], "")
    raise Unknown(f"expression: {expression}")


def expand(text, inputs, outputs):
    return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", lambda m: value(m[1], inputs, outputs), text)


def holds(text, inputs, outputs, failed):
    """Without failure() a step is left out when one has failed."""
    late = re.sub(r"^\$\{\{\s*failure\(\)\s*&&", "${{", text)
    if failed == (late == text):
        return False
    match = re.fullmatch(r"\$\{\{\s*(\S+)\s*(==|!=)\s*'([^']*)'\s*\}\}", late)
    if not match:
        raise Unknown(f"if: {text}")
    return (value(match[1], inputs, outputs) == match[3]) == (match[2] == "==")


def pairs(path):
    """name=value lines"""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        rows = f.read().splitlines()
    if any("=" not in row for row in rows):
        raise Unknown(f"{path}: {rows}")
    return dict(row.split("=", 1) for row in rows)


def step_env(step, state, action, inputs, outputs):
    env = dict(os.environ, GITHUB_ACTION_PATH=os.path.dirname(os.path.abspath(action)), GITHUB_ACTIONS="true",
               GITHUB_WORKSPACE=os.getcwd())
    env.update(pairs(os.path.join(state, "env")))
    try:
        with open(os.path.join(state, "path"), encoding="utf-8") as f:
            for place in f.read().splitlines():
                env["PATH"] = f"{place}:{env['PATH']}"
    except FileNotFoundError:
        pass
    for name, file in (("ENV", "env"), ("PATH", "path"), ("STEP_SUMMARY", "summary"), ("OUTPUT", "output")):
        env[f"GITHUB_{name}"] = os.path.join(state, file)
    env.update({k: expand(v, inputs, outputs) for k, v in step.get("env", {}).items()})
    return env


def main():
    action, state = sys.argv[1:3]
    doc = read(action)
    inputs = {name: entry["default"] for name, entry in doc["inputs"].items()}
    for given in sys.argv[3:]:
        name, text = given.split("=", 1)
        if name not in inputs:
            raise Unknown(f"no input {name}")
        inputs[name] = text
    outputs, failed = {}, 0
    for step in doc["runs"]["steps"]:
        if set(step) - (USES if "uses" in step else KEYS) or step.get("shell", "bash") != "bash":
            raise Unknown(f"step: {step}")
        if (failed and "if" not in step) or ("if" in step and not holds(step["if"], inputs, outputs, failed != 0)):
            print(f"skipped: {step['name']}", flush=True)
            continue
        print(f"step: {step['name']}", flush=True)
        if "uses" in step:
            given = (f"{k}={expand(v, inputs, outputs)}" for k, v in step["with"].items())
            print("uses:", step["uses"], *given, flush=True)
            continue
        env = step_env(step, state, action, inputs, outputs)
        if os.path.exists(env["GITHUB_OUTPUT"]):
            os.unlink(env["GITHUB_OUTPUT"])
        script = os.path.join(state, "step.sh")
        with open(script, "w", encoding="utf-8") as f:
            f.write(step["run"])
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", script], env=env, timeout=LIMIT,
                              stdin=subprocess.DEVNULL, check=False)
        failed = failed or done.returncode
        if "id" in step:
            outputs[step["id"]] = pairs(env["GITHUB_OUTPUT"])
    if failed:
        return failed
    for name, entry in doc["outputs"].items():
        print(f"output: {name}={expand(entry['value'], inputs, outputs)}")
    return 0


try:
    sys.exit(main())
except Unknown as e:
    sys.exit(f"action_run: {e}")
