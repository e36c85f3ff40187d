"""Rules that keep the documents true: tables, links, names."""

import json
import posixpath
import re

import yaml
from cpp import strings
from tree import Finding

KEYS = "src/request/annotation_keys.cpp"
KEYS_SCHEMA = "api/annotations.schema.json"
KEYS_GUIDE = "docs/how-to/request-gpus.md"
TERMS = "src/score/terms.cpp"
TERM_BOUND = "include/snug/score/terms.hpp"
DEFAULT_POLICY = "policies/tight.yaml"
DEPLOYED = ("deploy/dedicated.yaml", "deploy/shared-extender.yaml")
# Names that are no keys: under which events are reported, and the namespaces of the GPU Operator.
NO_KEYS = {"snug.dev/extender", "gpu-operator", "gpu-operator-resources"}


def _missing(tree, *paths):
    for path in paths:
        if not tree.has(path):
            yield Finding(path, 1, "this file is missing")


def _grouped(number):
    return f"{int(number.replace(chr(39), '')):,}"


def links_resolve(tree):
    """Relative links of the documents lead to files of the tree."""
    folders = {posixpath.dirname(path) for path in tree.files}
    folders |= {parent for folder in folders for parent in _parents(folder)}
    for path in tree.under([""], (".md",)):
        text = re.sub(r"^```.*?^```", lambda m: re.sub(r"[^\n]", " ", m.group(0)), tree.text(path),
                      flags=re.M | re.S)
        for match in re.finditer(r"\]\(([^)\s]+)\)", text):
            target = match.group(1).split("#", 1)[0]
            if not target or re.match(r"[a-z]+:", target):
                continue
            full = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            if full not in tree.files and full not in folders:
                line = text.count("\n", 0, match.start()) + 1
                yield Finding(path, line, f"the link leads nowhere: {match.group(1)}")


def _parents(folder):
    while folder:
        yield folder
        folder = posixpath.dirname(folder)


_FILE = re.compile(r"[\w.][\w./-]*\.(?:cpp|hpp|py|sh|yaml|json|md)")


def _named_file(tree, folder, name):
    """The file that a document's `name` means: from the root, or from the document's folder."""
    for candidate in (name, posixpath.normpath(posixpath.join(folder, name))):
        if tree.has(candidate):
            return candidate
    ends = [path for path in tree.files if path.endswith("/" + name)]
    return ends[0] if ends else None


def _functions_exist(tree, doc, line, cells):
    """A row `… | functions | files |`: each function is in one of the files, or below a folder."""
    names, places = (re.findall(r"`([^`]+)`", cell) for cell in cells[-2:])
    folders = [place for place in places if place.endswith("/")]
    files = [_named_file(tree, posixpath.dirname(doc), place) for place in places]
    texts = [tree.text(path) for path in [*filter(None, files), *tree.under(folders)]]
    for name in names:
        word = re.compile(r"\b" + re.escape(name.rpartition("::")[2]) + r"\b")
        if not any(word.search(text) for text in texts):
            yield Finding(doc, line, f"`{name}` does not stand in {', '.join(places)}")


def names_exist(tree):
    """Every file that a document names exists, and every function is in the file that the document names."""
    for doc in tree.under([""], (".md",)):
        for line, text in tree.lines(doc):
            for name in re.findall(r"`([^`]+)`", text):
                built = name.startswith(("build/", "bench/results/")) or "*" in name
                if "/" in name and _FILE.fullmatch(name) and not built and not _named_file(
                        tree, posixpath.dirname(doc), name):
                    yield Finding(doc, line, f"`{name}` is no file of this tree")
            cells = [cell.strip() for cell in text.strip().strip("|").split("|")]
            if doc == "docs/explanation/life-of-a-pod.md" and len(cells) == 4 and cells[2].startswith("`"):
                yield from _functions_exist(tree, doc, line, cells)


def policies_in_guide(tree):
    """docs/how-to/write-policies.md names every shipped policy, every score term and the terms' bound."""
    doc = "docs/how-to/write-policies.md"
    yield from _missing(tree, doc, TERMS, TERM_BOUND)
    guide = tree.text(doc) if tree.has(doc) else ""
    for path in tree.under(["policies"], (".yaml",)):
        if path not in guide:
            yield Finding(path, 1, f"{doc} does not name this policy")
    if tree.has(TERM_BOUND):
        bound = re.search(r"\bkTermBound = ([\d']+);", tree.text(TERM_BOUND))
        if not bound:
            yield Finding(TERM_BOUND, 1, "kTermBound cannot be read here")
        elif f"between -{_grouped(bound[1])} and {_grouped(bound[1])};" not in guide:
            yield Finding(doc, 1, f"it must say that each term lies between -{_grouped(bound[1])} and {_grouped(bound[1])};")
    if not tree.has(TERMS):
        return
    terms = re.findall(r'\{\s*"([a-z][a-z0-9-]*)"\s*,', tree.text(TERMS))
    if not terms:
        yield Finding(TERMS, 1, "no term row can be read here")
    for term in terms:
        if f"`{term}`" not in guide:
            yield Finding(TERMS, 1, f"{doc} does not explain the term `{term}`")


def _deployed_policies(tree, path):
    """The texts of policy.yaml in the manifest's ConfigMaps."""
    for document in yaml.safe_load_all(tree.text(path)):
        if isinstance(document, dict) and document.get("kind") == "ConfigMap" and "policy.yaml" in document["data"]:
            yield document["data"]["policy.yaml"]


def deployed_policy_is_the_default(tree):
    """The policy in the manifests' ConfigMaps equals policies/tight.yaml."""
    yield from _missing(tree, DEFAULT_POLICY, *DEPLOYED)
    if not tree.has(DEFAULT_POLICY):
        return
    default = yaml.safe_load(tree.text(DEFAULT_POLICY))
    for path in filter(tree.has, DEPLOYED):
        texts = list(_deployed_policies(tree, path))
        if not texts:
            yield Finding(path, 1, "no ConfigMap with policy.yaml can be read here")
        line = tree.text(path).partition("policy.yaml:")[0].count("\n") + 1
        for text in texts:
            if yaml.safe_load(text) != default:
                yield Finding(path, line, f"this policy is not that of {DEFAULT_POLICY}")


def _table_of_keys(tree):
    """The names in the table of annotation keys, and whether `.<container>` may follow each."""
    rows = re.findall(r'\{\.name = "([^"]+)"(?:, \.scope = KeyScope::(\w+))?[^}]*?(?:\.alias_of = "([^"]+)")?\}',
                      tree.text(KEYS))
    scopes = {name: scope or "kContainer" for name, scope, _ in rows}
    return {name: scopes.get(alias or name) == "kContainer" for name, _, alias in rows}


def _keys_described(tree):
    """Findings if the table of annotation keys, the schema and the user guide differ."""
    keys = _table_of_keys(tree)
    if not keys:
        yield Finding(KEYS, 1, "no annotation key can be read here")
        return
    schema = json.loads(tree.text(KEYS_SCHEMA))
    guide = tree.text(KEYS_GUIDE) if tree.has(KEYS_GUIDE) else ""
    for name, of_container in keys.items():
        if name not in schema["properties"]:
            yield Finding(KEYS_SCHEMA, 1, f"`{name}` has no property here")
        patterns = [value for pattern, value in schema["patternProperties"].items() if re.search(pattern, name + ".main")]
        if len(patterns) != 1 or (patterns[0]["$ref"] == "#/$defs/ofThePod") == of_container:
            yield Finding(KEYS_SCHEMA, 1, f"one patternProperty must match `{name}.<container>`, "
                          + ("with the schema of its values" if of_container else "with ofThePod"))
        if not re.search(rf"\b{name}(?![-\w])", guide):
            yield Finding(KEYS_GUIDE, 1, f"`{name}` is not described here")
    for name in schema["properties"]:
        if name not in keys:
            yield Finding(KEYS_SCHEMA, 1, f"`{name}` is not in the table of {KEYS}")


def annotations_in_api(tree):
    """api/ describes every annotation and label key of the code; the request keys are the same in table, schema and guide."""
    if tree.has(KEYS) and tree.has(KEYS_SCHEMA):
        yield from _keys_described(tree)
    described = "\n".join(tree.text(path) for path in tree.under(["api"]))
    for path in tree.cpp("include", "src"):
        for line, value in strings(tree.text(path)):
            match = re.fullmatch(r"(?:gpu-[a-z]|snug\.dev/[a-z])[a-z-]*[a-z]", value)
            if match and value not in described and value not in NO_KEYS:
                yield Finding(path, line, f"`{value}` is not described under api/")


RULES, RUNBOOK, RUNBOOK_LINES = "deploy/alerts/rules.yaml", "docs/operations.md", 170


def alerts_in_runbook(tree):
    """docs/operations.md has at most 170 lines and one heading for each alert of deploy/alerts/rules.yaml, in that order."""
    yield from _missing(tree, RULES, RUNBOOK)
    if not (tree.has(RULES) and tree.has(RUNBOOK)):
        return
    text = tree.text(RUNBOOK)
    if (count := len(text.splitlines())) > RUNBOOK_LINES:
        yield Finding(RUNBOOK, count, f"{count} lines; at most {RUNBOOK_LINES}")
    alerts = [rule["alert"] for group in yaml.safe_load(tree.text(RULES))["groups"] for rule in group["rules"]]
    headings = re.findall(r"^##+ (.*)$", text, re.M)
    if headings != alerts:
        yield Finding(RUNBOOK, 1, f"the headings must be the alerts: {', '.join(alerts)}")


def alerts_tested(tree):
    """Each alert of deploy/alerts/rules.yaml has a case in tests/alerts/cases.yaml in which it fires, and one in which not."""
    rules, cases = "deploy/alerts/rules.yaml", "tests/alerts/cases.yaml"
    yield from _missing(tree, rules, cases)
    if not (tree.has(rules) and tree.has(cases)):
        return
    alerts = [rule["alert"] for group in yaml.safe_load(tree.text(rules))["groups"] for rule in group["rules"]]
    tested = {(case["alert"], bool(case["fires"])) for case in yaml.safe_load(tree.text(cases))}
    for alert in alerts:
        for fires, words in ((True, "fires"), (False, "stays silent")):
            if (alert, fires) not in tested:
                yield Finding(cases, 1, f"there is no case in which {alert} {words}")
    for alert in sorted({alert for alert, _ in tested} - set(alerts)):
        yield Finding(cases, 1, f"there is no alert {alert}")


def files_in_architecture(tree):
    """docs/architecture.md has one row for each source file; the names in it are files of the layer or occur in that file."""
    page = "docs/architecture.md"
    if not tree.has(page):
        return
    files = {}
    for path in tree.under(["src", "include"], (".cpp", ".hpp", ".hpp.in")):
        if match := re.match(r"(?:src|include/snug)/((?:adapters/)?\w+)/(\w+)\.", path):
            files.setdefault(match.groups(), []).append(path)
    rows, layer = set(), None
    for number, line in tree.lines(page):
        if heading := re.match(r"#+ (.*)", line):
            layer = heading.group(1).strip("`") if line.startswith("### ") else None
        row = layer and re.match(r"\| `(\w+)` \|(.*)", line)
        if not row:
            continue
        key = (layer, row.group(1))
        if key in rows:
            yield Finding(page, number, f"`{row.group(1)}` has two rows")
        rows.add(key)
        if key not in files:
            yield Finding(page, number, f"there is no file {row.group(1)} in {layer}")
            continue
        text = "\n".join(map(tree.text, files[key]))
        for name in re.findall(r"`(?:\w+::)*(\w+)[^`\w]*`", row.group(2)):
            if (layer, name) not in files and not re.search(rf"\b{name}\b", text):
                yield Finding(page, number, f"`{name}` does not stand in {', '.join(files[key])}")
    for (layer, stem), paths in files.items():
        if (layer, stem) not in rows:
            yield Finding(paths[0], 1, f"{page} has no row `{stem}` under {layer}")
