#!/usr/bin/env python3
"""The house rules as tests: each check reads the whole tree and names every line that breaks it.

  python3 tests/tidy/tidy.py [--root FOLDER] [--list] [CHECK…]

Ends with `N passed, N failed, N skipped`; exit code 1 when a check failed.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import compiled  # noqa: E402
import documents  # noqa: E402
import e2e  # noqa: E402
import form  # noqa: E402
import layers  # noqa: E402
import locks  # noqa: E402
import threats  # noqa: E402
from tree import Tree  # noqa: E402

CHECKS = {check.__name__: check for check in (
    layers.include_direction,
    layers.pure_layers,
    layers.fit_and_score_at_home,
    layers.naive_model_is_independent,
    layers.library_doors,
    layers.cmake_order,
    layers.extender_without_tools,
    layers.one_definition,
    locks.mutexes_are_checked,
    form.function_length,
    form.file_length,
    form.top_level,
    form.header_form,
    form.no_machine_paths,
    form.no_registry_hosts,
    form.no_trailing_space,
    form.nothing_unfinished,
    form.no_sleeps_in_tests,
    e2e.nothing_imitates_kubernetes,
    documents.links_resolve,
    documents.policies_in_guide,
    documents.deployed_policy_is_the_default,
    documents.annotations_in_api,
    documents.alerts_tested,
    documents.alerts_in_runbook,
    documents.files_in_architecture,
    documents.names_exist,
    threats.threats_have_tests,
    compiled.headers_stand_alone,
)}
SHOWN = 40


def run_check(name, tree):
    """True when the tree keeps the rule; a check that breaks counts as failed."""
    try:
        findings = list(CHECKS[name](tree))
    except Exception as error:  # noqa: BLE001: the reason is shown, and the check has failed
        print(f"FAIL {name}: the check itself broke: {type(error).__name__}: {error}")
        return False
    if not findings:
        print(f"ok   {name}")
        return True
    print(f"FAIL {name}: {CHECKS[name].__doc__.splitlines()[0]}")
    for finding in findings[:SHOWN]:
        print(f"       {finding}")
    if len(findings) > SHOWN:
        print(f"       and {len(findings) - SHOWN} more")
    return False


def main():
    parser = argparse.ArgumentParser(description="Checks the rules of the house.")
    parser.add_argument("--root", default=Path(__file__).resolve().parents[2], help="the tree to check")
    parser.add_argument("--list", action="store_true", help="print the checks and what each demands")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help="only these")
    options = parser.parse_args()
    if options.list:
        for name, check in CHECKS.items():
            print(f"{name}: {check.__doc__.splitlines()[0]}")
        return 0
    unknown = set(options.checks) - set(CHECKS)
    if unknown:
        parser.error(f"no such check: {', '.join(sorted(unknown))}; --list prints them")
    tree = Tree(options.root)
    results = [run_check(name, tree) for name in options.checks or CHECKS]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed, 0 skipped")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
