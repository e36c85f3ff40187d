#!/usr/bin/env python3
"""Writes the pages of docs/reference that come from the code: api.md of api/openapi.yaml, annotations.md of the
JSON Schemas, and command-line.md of the manual page that snugctl prints. tests/program/site_test.py compares them.

  python3 deploy/site/generate.py [--snugctl PROGRAM] [--to FOLDER]
"""

import argparse
import json
import re
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
API = ROOT / "api"
SCHEMAS = (("annotations", "pod"), ("inventory", "node"), ("usage", "node"), ("reservation", "pod"))


def escaped(text):
    """Without HTML, except in code."""
    return re.sub(r"`[^`]*`|<", lambda match: "&lt;" if match[0] == "<" else match[0], text)


def cell(text):
    """In one line, as a cell of a table has it."""
    return escaped(" ".join(str(text).split())).replace("|", "\\|")


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines) + "\n" if rows else ""


def words(values):
    return ", ".join(f"`{json.dumps(value) if not isinstance(value, str) else value or '(empty)'}`" for value in values)


def link(reference):
    """A definition of the same page, or of a schema, which annotations.md has."""
    file, _, name = reference.partition("#")
    name = name.rpartition("/")[2]
    if not file:
        return f"[{name}](#{name.lower()})"
    title = json.loads((API / file).read_text(encoding="utf-8"))["title"]
    anchor = re.sub(r"[^\w -]", "", name or title).lower().replace(" ", "-")
    return f"[{name or title}](annotations.md#{anchor})"


def kind(schema):
    """What a value may be, in a few words; names of other schemas are links."""
    if "$ref" in schema:
        return link(schema["$ref"])
    if "const" in schema or "enum" in schema:
        return words(schema.get("enum", [schema.get("const")]))
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(kind(each) for each in schema[several])
    if "array" in schema.get("type", ""):
        return f"list of {kind(schema.get('items', {}))}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"map to {kind(schema['additionalProperties'])}"
    types = schema.get("type", "any value")
    return " or ".join(types) if isinstance(types, list) else types


def bounds(schema):
    """What else the schema says of a value: default, range, examples."""
    said = [f"{word} {schema[key]:,}" for key, word in (("minimum", "at least"), ("maximum", "at most")) if key in schema]
    if "default" in schema:
        value = schema["default"]
        said.append(f"default {words(value if isinstance(value, list) else [value])}")
    if "examples" in schema:
        said.append(f"examples {words(schema['examples'])}")
    return "; ".join(said)


def described(schema):
    parts = [part for part in (schema.get("description"), bounds(schema)) if part]
    return cell(". ".join(part.strip()[0].upper() + part.strip()[1:].rstrip(".") for part in parts))


def properties(schema):
    """The table of an object's keys, of a list's items, or of each of several alternatives."""
    text = "".join(properties(each) for key in ("anyOf", "oneOf", "allOf") for each in schema.get(key, []))
    if isinstance(schema.get("items"), dict):
        text += properties(schema["items"])
    required = schema.get("required", [])
    rows = [[f"`{name}`" + (" (required)" if name in required else ""), cell(kind(value)), described(value)]
            for name, value in schema.get("properties", {}).items() if isinstance(value, dict)]
    for name, value in schema.get("properties", {}).items():
        if isinstance(value, dict) and "$ref" not in value and (inner := properties(value)):
            text += f"In `{name}`:\n\n{inner}"
    return table(["key", "value", "meaning"], rows) + text


def definition(name, schema, level):
    text = f"{'#' * level} {name}\n\n"
    if said := described(schema):
        text += said.rstrip(".") + ".\n\n"
    keys = properties(schema)
    return text + (keys or f"Value: {kind(schema)}.\n\n")


def inlined(schema, definitions):
    """With what a reference to a plain value means in its place."""
    if isinstance(schema, list):
        return [inlined(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    target = definitions.get(schema.get("$ref", "").rpartition("/")[2], {})
    if target and not {"properties", "oneOf"} & set(target):
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return {key: inlined(value, definitions) for key, value in schema.items()}


def annotations():
    text = ("# Annotations\n\nThe schemas of what pods and nodes state. [All keys](../../api/README.md#keys), with those that Snug "
            "writes and the labels, are in one table; [ask for GPUs](../how-to/request-gpus.md) has examples.\n\n")
    for name, owner in SCHEMAS:
        schema = json.loads((API / f"{name}.schema.json").read_text(encoding="utf-8"))
        text += f"## {schema['title']}\n\nOn a {owner}; [`{name}.schema.json`](../../api/{name}.schema.json).\n\n"
        schema = inlined(schema, schema.get("$defs", {}))
        text += escaped(schema["description"].strip()) + "\n\n" + properties({"properties": schema["properties"]})
        text += "".join(definition(each, value, 3) for each, value in schema.get("$defs", {}).items()
                        if f'"#/$defs/{each}"' in json.dumps(schema))
    return text


def responses(api, operation):
    rows = []
    for status, value in operation["responses"].items():
        if "$ref" in value:
            value = api["components"]["responses"][value["$ref"].rpartition("/")[2]]
        kinds = [kind(each["schema"]) if "schema" in each else form for form, each in value.get("content", {}).items()]
        row = [status, cell(value["description"]), cell(", ".join(kinds))]
        if rows and rows[-1][1:] == row[1:]:
            rows[-1][0] += f", {status}"
        else:
            rows.append(row)
    return table(["status", "when", "body"], rows)


def body(api, operation):
    value = operation.get("requestBody", {})
    if "$ref" in value:
        value = api["components"]["requestBodies"][value["$ref"].rpartition("/")[2]]
    kinds = [kind(each["schema"]) for each in value.get("content", {}).values()]
    return f"Body: {', '.join(kinds)}.\n\n" if kinds else ""


def endpoint(api, path, shared, method, operation):
    port = shared.get("servers", api["servers"])[0]["description"]
    text = f"### {method.upper()} {path}\n\n{operation['summary']}. On {port}.\n\n"
    if said := operation.get("description"):
        text += said.strip() + "\n\n"
    given = [*shared.get("parameters", []), *operation.get("parameters", [])]
    rows = [[f"`{each['name']}`", each["in"], cell(kind(each["schema"])),
             described({**each["schema"], "description": each.get("description", "")})] for each in given]
    return text + table(["parameter", "in", "value", "meaning"], rows) + body(api, operation) + responses(api, operation)


def http_api():
    api = yaml.safe_load((API / "openapi.yaml").read_text(encoding="utf-8"))
    text = ("# HTTP API\n\n[`openapi.yaml`](../../api/openapi.yaml) is for tools, and [reach the admin "
            f"port](../how-to/debug.md#reach-the-admin-port) for people.\n\n{api['info']['description'].strip()}\n\n## Paths\n\n")
    for path, shared in api["paths"].items():
        for method in ("get", "post", "delete"):
            if method in shared:
                text += endpoint(api, path, shared, method, shared[method])
    text += "## Schemas\n\n"
    return text + "".join(definition(name, schema, 3) for name, schema in api["components"]["schemas"].items())


def of_roff(text):
    """Markdown of one line of a manual page."""
    text = text.replace("\\-", "-").replace("\\&", "")
    text = re.sub(r"\\fB(.*?)\\fR", r"`\1`", text)
    text = re.sub(r"\\fI(.*?)\\fR", r"*\1*", text)
    return escaped(text)


def command_line(snugctl):
    """The manual page, whose macros are .SH, .SS, .PP and .TP (a term, and what it means)."""
    page = subprocess.run([snugctl, "man"], check=True, capture_output=True, text=True).stdout
    text = ("# The command line of snugctl\n\n`snugctl man | man -l -` shows this page in a terminal. [snugctl](snugctl.md) explains "
            "the output.\n\n")
    rows = []

    def end_table():
        nonlocal text, rows
        text += table(["", "meaning"], rows)
        rows = []
    lines = iter(page.splitlines()[1:])
    for line in lines:
        if line == ".TP":
            rows.append([cell(of_roff(next(lines))), cell(of_roff(next(lines)))])
            continue
        end_table()
        if heading := re.fullmatch(r"\.S([HS]) (.*)", line):
            words_of_it = of_roff(heading[2])
            text += f"## {words_of_it.capitalize().replace('snug', 'Snug')}\n\n" if heading[1] == "H" else f"### {words_of_it}\n\n"
        elif line != ".PP":
            text += of_roff(line) + "\n\n"
    end_table()
    return text


def main():
    parser = argparse.ArgumentParser(description="Writes the pages of docs/reference that come from the code.")
    parser.add_argument("--snugctl", default=ROOT / "build/dev/snugctl")
    parser.add_argument("--to", type=Path, default=ROOT / "docs/reference")
    options = parser.parse_args()
    pages = {"api": http_api(), "annotations": annotations(), "command-line": command_line(options.snugctl)}
    for name, text in pages.items():
        first, _, rest = text.partition("\n\n")
        text = f"{first}\n\n<!-- Written by deploy/site/generate.py. -->\n\n{rest.rstrip()}\n"
        (options.to / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
