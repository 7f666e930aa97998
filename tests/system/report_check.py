#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Checks files that `ruse run --summary=FILE` and `--junit FILE` have written, and tells what is wrong.

report_check.py SUMMARY.json|JUNIT.xml...

JSON is compared with doc/run-summary.schema.json (by python3-jsonschema too, where it is installed) and with the
members in doc/json.md, XML with tests/data/junit.xsd by xmllint, where that is installed, and with its own counts.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

try:
    import jsonschema
except ImportError:
    jsonschema = None

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int}
NAMES = {str: "text", int: "number", bool: "boolean"}


def differs(value, rule, root, at="$"):
    """What a value lacks of a rule of a JSON schema, as lines. The keywords are those that the schema has."""
    known = {"$schema", "title", "definitions", "type", "required", "properties", "items", "enum", "pattern",
             "minimum", "maximum", "minItems", "allOf", "anyOf", "$ref"}
    if set(rule) - known:
        sys.exit(f"report_check: keywords of the schema that are not checked: {set(rule) - known}")
    if "$ref" in rule:
        return differs(value, root["definitions"][rule["$ref"].split("/")[-1]], root, at)
    bad = [line for part in rule.get("allOf", []) for line in differs(value, part, root, at)]
    if "anyOf" in rule and all(differs(value, part, root, at) for part in rule["anyOf"]):
        bad.append(f"{at}: none of anyOf")
    kind = rule.get("type")
    if kind and (not isinstance(value, KINDS[kind]) or (kind == "integer" and isinstance(value, bool))):
        return bad + [f"{at}: not {kind}"]
    if "enum" in rule and value not in rule["enum"]:
        bad.append(f"{at}: {value!r} is not one of {rule['enum']}")
    if "pattern" in rule and not re.search(rule["pattern"], value):
        bad.append(f"{at}: {value!r} does not match {rule['pattern']}")
    if isinstance(value, int) and not rule.get("minimum", value) <= value <= rule.get("maximum", value):
        bad.append(f"{at}: {value} is out of range")
    if isinstance(value, list):
        if len(value) < rule.get("minItems", 0):
            bad.append(f"{at}: too short")
        for i, inner in enumerate(value):
            bad += differs(inner, rule.get("items", {}), root, f"{at}[{i}]")
    if isinstance(value, dict):
        bad += [f"{at}: no {key}" for key in rule.get("required", []) if key not in value]
        for key, inner in value.items():
            bad += differs(inner, rule.get("properties", {}).get(key, {}), root, f"{at}.{key}")
    return bad


def documented():
    """{member: type} of the section of doc/json.md"""
    with open(os.path.join(TOP, "doc/json.md"), encoding="utf-8") as f:
        part = re.search(r"^## ruse run --summary=FILE$(.*?)(?=^## |\Z)", f.read(), re.M | re.S)
    return dict(re.findall(r"^\| `([^`]+)` \| (\w+) \|", part[1], re.M))


def members(value, path=""):
    """(path, type) of each member that is no object or array"""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from members(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            yield from members(inner, path + "[]")
    elif value is not None:
        yield path, NAMES[type(value)]


def undocumented(value):
    want = documented()
    bad = []
    for path, kind in members(value):
        # The members of a failure are those of `ruse explain`; a sum has the members of a process.
        path = re.sub(r"^total\.(?!processes$)", "processes[].", path)
        if path == "version" or re.match(r"first\.", path):
            continue
        if want.get(path) != kind:
            bad.append(f"doc/json.md: {path} is {kind}, documented as {want.get(path)}")
    return bad


def unlike_schema(value):
    """What a summary has or lacks against the schema, as lines."""
    with open(os.path.join(TOP, "doc/run-summary.schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    bad = differs(value, schema, schema)
    bad += [f"$.{name} is not in the schema" for name in value if name not in schema["properties"]]
    if jsonschema:
        bad += [f"jsonschema: {e.message}" for e in jsonschema.Draft7Validator(schema).iter_errors(value)]
    return bad


def check_json(path):
    with open(path, encoding="utf-8") as f:
        value = json.load(f)
    bad = unlike_schema(value) + undocumented(value)
    if value["complete"] == ("incomplete" in value) or (value["complete"] and "total" not in value):
        bad.append("complete and incomplete, or no total")
    return bad


def check_xml(path):
    bad = []
    if shutil.which("xmllint"):
        p = subprocess.run(["xmllint", "--noout", "--nonet", "--schema", os.path.join(TOP, "tests/data/junit.xsd"), path],
                           capture_output=True, text=True, timeout=60, check=False)
        bad += p.stderr.splitlines() if p.returncode else []
    root = xml.etree.ElementTree.parse(path).getroot()
    cases = root.findall("./testsuite/testcase")
    failed = [c for c in cases if c.find("failure") is not None]
    for e in (root, root.find("testsuite")):
        if (int(e.get("tests")), int(e.get("failures"))) != (len(cases), len(failed)):
            bad.append(f"{e.tag}: tests or failures are not those of the cases")
    return bad


def check(path):
    return check_xml(path) if path.endswith(".xml") else check_json(path)


def main():
    bad = [f"{path}: {line}" for path in sys.argv[1:] for line in check(path)]
    for line in bad:
        print(line, file=sys.stderr)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
