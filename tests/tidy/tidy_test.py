#!/usr/bin/env python3
"""Shows that every check can fail: each row is a small tree that breaks one rule, and, where the rule
has an edge, one that keeps it. Ends with `N passed, N failed, N skipped`."""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from tidy import CHECKS  # noqa: E402
from tree import Tree  # noqa: E402

HPP = "// A header of the tests.\n#pragma once\n"
LONG_CPP = "void f() {\n" + "  g();\n" * 60 + "}\n"
BOUND = "constexpr std::int32_t kTermBound = 1'000;\n"
TERMS = 'constexpr auto k = {\n    {"best-fit", best_fit, "tight"},\n};\n'
CONFIG_MAP = "kind: ConfigMap\ndata:\n  policy.yaml: |\n    default: a  # the same\n"
ALERT = "groups: [{name: g, rules: [{alert: A, expr: x > 0}]}]\n"
FIRES = "- {alert: A, fires: [{}]}\n"
SILENT = "- {alert: A, fires: []}\n"
ATTEMPTS = "| attempt | what stops it | test |\n|---|---|---|\n| a | a policy | `ATest.C` |\n"
UNFINISHED = "TO" + "DO"
HOME = "/ho" + "me/"

# (check, sentence about the tree, {path: text}, words of the finding; None: the tree keeps the rule).
ROWS = [
    ("include_direction", "fit may not include score",
     {"src/fit/fit.cpp": '#include "snug/score/terms.hpp"\n', "include/snug/score/terms.hpp": HPP},
     "layer fit may not include layer score"),
    ("include_direction", "score may include fit",
     {"src/score/terms.cpp": '#include "snug/fit/fit.hpp"\n', "include/snug/fit/fit.hpp": HPP}, None),
    ("include_direction", "an adapter may not include another",
     {"src/adapters/kube/a.cpp": '#include "adapters/http/b.hpp"\n', "src/adapters/http/b.hpp": HPP},
     "adapter kube may not include adapter http"),
    ("include_direction", "a private header stays private",
     {"src/service/a.cpp": '#include "ledger/fold.hpp"\n', "src/ledger/fold.hpp": HPP}, "is private"),
    ("include_direction", "app sees the adapters",
     {"src/app/a.cpp": '#include "adapters/http/b.hpp"\n', "src/adapters/http/b.hpp": HPP}, None),
    ("include_direction", "snugctl shares the settings",
     {"src/ctl/a.cpp": '#include "snug/config/b.hpp"\n', "include/snug/config/b.hpp": HPP}, None),
    ("include_direction", "snugctl does not see the wiring",
     {"src/ctl/a.cpp": '#include "app/b.hpp"\n', "src/app/b.hpp": HPP}, "is private"),
    ("include_direction", "the codec knows nothing of simulations",
     {"src/codec/a.cpp": '#include "snug/sim/b.hpp"\n', "include/snug/sim/b.hpp": HPP},
     "layer codec may not include layer sim"),
    ("include_direction", "the extender knows nothing of the tools",
     {"src/snug_extender.cpp": '#include "snug/sim/b.hpp"\n', "include/snug/sim/b.hpp": HPP},
     "layer app may not include layer sim"),
    ("include_direction", "snugctl's main file sees its layer",
     {"src/snugctl.cpp": '#include "ctl/b.hpp"\n', "src/ctl/b.hpp": HPP}, None),
    ("include_direction", "snugctl does not see the adapters",
     {"src/ctl/a.cpp": '#include "adapters/http/b.hpp"\n', "src/adapters/http/b.hpp": HPP}, "is private"),
    ("include_direction", "app knows nothing of snugctl",
     {"src/app/a.cpp": '#include "ctl/b.hpp"\n', "src/ctl/b.hpp": HPP}, "layer app may not include layer ctl"),
    ("include_direction", "a layer nobody knows", {"src/misc/a.cpp": "int a;\n"}, "belongs to no layer"),
    ("include_direction", "a header that is not there",
     {"src/fit/a.cpp": '#include "snug/fit/lost.hpp"\n'}, "is no file of this tree"),
    ("include_direction", "ours in angle brackets",
     {"src/fit/a.cpp": "#include <snug/score/terms.hpp>\n"}, "include it in quotes"),
    ("naive_model_is_independent", "the model asks fit",
     {"tests/oracle/a.cpp": '#include "snug/fit/fit.hpp"\n', "include/snug/fit/fit.hpp": HPP}, "may include only base"),
    ("naive_model_is_independent", "the model reads a request",
     {"tests/oracle/a.cpp": '#include "snug/model/request.hpp"\n', "include/snug/model/request.hpp": HPP}, None),
    ("pure_layers", "fit reads JSON", {"src/fit/a.cpp": "#include <nlohmann/json.hpp>\n"}, "no place"),
    ("pure_layers", "score opens a socket", {"src/score/a.cpp": "#include <sys/socket.h>\n"}, "no place"),
    ("pure_layers", "plan reads the clock",
     {"src/plan/a.cpp": "auto t = std::chrono::steady_clock::now();\n"}, "::now("),
    ("pure_layers", "a comment may speak of the clock", {"src/plan/a.cpp": "// never ::now()\n"}, None),
    ("pure_layers", "the clock port reads the clock",
     {"include/snug/base/clock.hpp": HPP + "auto t = steady_clock::now();\n"}, None),
    ("pure_layers", "the ledger starts a thread", {"src/ledger/a.cpp": "std::thread t;\n"}, "std::thread"),
    ("pure_layers", "the ledger may lock", {"src/ledger/a.cpp": '#include "snug/base/mutex.hpp"\n'}, None),
    ("pure_layers", "fit may not lock", {"src/fit/a.cpp": '#include "snug/base/mutex.hpp"\n'}, "mutex.hpp"),
    ("pure_layers", "base may not lock elsewhere", {"include/snug/base/a.hpp": HPP + "#include <mutex>\n"}, "<mutex>"),
    ("pure_layers", "the model prints", {"src/model/a.cpp": 'void f() { printf("x"); }\n'}, "printf("),
    ("pure_layers", "who draws arrivals has a generator", {"src/sim/draw_arrivals.cpp": "#include <random>\n"}, None),
    ("pure_layers", "a replay has none", {"src/sim/replay.cpp": "#include <random>\n"}, "<random>"),
    ("pure_layers", "the ledger counts in doubles", {"src/ledger/a.cpp": "double used;\n"}, "double"),
    ("fit_and_score_at_home", "the service compares free memory",
     {"src/service/a.cpp": "bool b = gpu.free_memory() > x;\n"}, "free_memory("),
    ("fit_and_score_at_home", "an adapter subtracts used compute",
     {"src/adapters/http/a.cpp": "auto x = 1000 - gpu.used_compute;\n"}, "used_compute"),
    ("fit_and_score_at_home", "the codec makes a term",
     {"src/codec/a.cpp": "TermFunction f = nullptr;\n"}, "TermFunction"),
    ("fit_and_score_at_home", "the ledger says NoRoom",
     {"src/ledger/a.cpp": "return ReasonCode::kNoRoom;\n"}, "kNoRoom"),
    ("fit_and_score_at_home", "the service says WrongMode",
     {"src/service/a.cpp": "return ReasonCode::kWrongMode;\n"}, "kWrongMode"),
    ("fit_and_score_at_home", "an error may say that a body is too large",
     {"src/codec/a.cpp": "return ErrorCode::kTooLarge;\n"}, None),
    ("fit_and_score_at_home", "fit says NoRoom", {"src/fit/a.cpp": "return ReasonCode::kNoRoom;\n"}, None),
    ("library_doors", "httplib in the service", {"src/service/a.cpp": "#include <httplib.h>\n"}, "only in tests"),
    ("library_doors", "libcurl beside its door", {"src/adapters/kube/a.cpp": "#include <curl/curl.h>\n"}, "only in"),
    ("library_doors", "Boost in plan", {"src/plan/a.cpp": "#include <boost/graph/adjacency_list.hpp>\n"}, "only in advice"),
    ("library_doors", "Boost in advice", {"src/advice/a.cpp": "#include <boost/graph/adjacency_list.hpp>\n"}, None),
    ("cmake_order", "plan links the ledger by another call",
     {"CMakeLists.txt": "target_link_libraries(snug_plan PRIVATE Threads::Threads\n                      snug_ledger)\n"},
     "plan may not link ledger"),
    ("cmake_order", "the ledger links plan", {"CMakeLists.txt": "snug_layer(ledger LINKS snug_plan)\n"}, None),
    ("extender_without_tools", "snug-extender links the simulator",
     {"CMakeLists.txt": "snug_program(snug-extender snug_app main.cpp)\ntarget_link_libraries(snug-extender PRIVATE snug_sim)\n"},
     "snug-extender may not link sim"),
    ("extender_without_tools", "snugctl links the simulator",
     {"CMakeLists.txt": "snug_program(snugctl snug_ctl main.cpp)\ntarget_link_libraries(snugctl PRIVATE snug_sim)\n"}, None),
    ("cmake_order", "fit links score", {"CMakeLists.txt": "snug_layer(fit LINKS snug_score)\n"}, "may not link"),
    ("one_definition", "two adapters have a pool",
     {"src/adapters/http/a.hpp": HPP + "class Pool {\n};\n", "src/adapters/kube/b.hpp": HPP + "class Pool {\n};\n"},
     "Pool is defined in"),
    ("one_definition", "one has a pool, the other speaks of it",
     {"src/adapters/http/a.hpp": HPP + "class Pool {\n};\n", "src/adapters/http/b.hpp": HPP + "class Pool;\nclass Pool::Part {\n};\n"}, None),
    ("mutexes_are_checked", "a mutex of the standard library",
     {"include/snug/ledger/a.hpp": HPP + "class A {\n  std::mutex mutex_;\n};\n"}, "a.hpp:4: std::mutex is not checked"),
    ("mutexes_are_checked", "a condition variable",
     {"src/app/a.cpp": "std::condition_variable woken;\n"}, "std::condition_variable"),
    ("mutexes_are_checked", "a lock of the standard library",
     {"src/app/a.cpp": "const std::lock_guard lock(mutex_);\n"}, "std::lock_guard"),
    ("mutexes_are_checked", "a mutex that guards nothing",
     {"src/app/a.hpp": HPP + "class A {\n  mutable Mutex mutex_;\n  int a_;\n};\n"}, "a.hpp:4: no member is"),
    ("mutexes_are_checked", "a mutex that guards a member",
     {"src/app/a.hpp": HPP + "class A {\n  Mutex mutex_;\n  int a_ SNUG_GUARDED_BY(mutex_);\n};\n"}, None),
    ("mutexes_are_checked", "the mutex itself",
     {"include/snug/base/mutex.hpp": HPP + "class Mutex {\n  std::mutex mutex_;\n};\n"}, None),
    ("function_length", "62 lines of C++", {"src/fit/a.cpp": LONG_CPP}, "f has 62 lines"),
    ("function_length", "60 lines of C++", {"src/fit/a.cpp": LONG_CPP.replace("  g();\n", "", 2)}, None),
    ("function_length", "a long constructor behind braced members",
     {"src/fit/a.cpp": LONG_CPP.replace("f() {", "S::S() : a_{1}, b_(2) {")}, "S::S has 62"),
    ("function_length", "a long member behind a raw string and an access word",
     {"src/fit/a.cpp": 'class A {\n public:\n  R"(})" \n;' + LONG_CPP + "};\n"}, "f has 62"),
    ("function_length", "62 lines of Python", {"a.py": "def f():\n" + "    g()\n" * 61}, "f has 62"),
    ("function_length", "62 lines of shell", {"a.sh": "f() {\n" + "  g\n" * 60 + "}\n"}, "f has 62"),
    ("function_length", "a class of many short functions",
     {"src/fit/a.cpp": "class A {\n" + "  void f() { g(); }\n" * 70 + "};\n"}, None),
    ("file_length", "501 lines", {"src/fit/a.cpp": "int a;\n" * 501}, "501 lines"),
    ("file_length", "500 lines", {"src/fit/a.cpp": "int a;\n" * 500}, None),
    ("top_level", "a folder of its own", {"scripts/a.sh": "true\n"}, "scripts has no place"),
    ("top_level", "a stray file", {"notes.md": "a\n"}, "notes.md has no place"),
    ("top_level", "what belongs there", {"src/a.cpp": "int a;\n", ".ci/run": "true\n", "README.md": "a\n"}, None),
    ("header_form", "no comment", {"include/snug/fit/a.hpp": "#pragma once\n"}, "opens with a comment"),
    ("header_form", "no pragma", {"include/snug/fit/a.hpp": "// What for.\nint a;\n"}, "#pragma once"),
    ("no_machine_paths", "somebody's folder", {"docs/a.md": f"See {HOME}me/x.\n"}, "path of one machine"),
    ("no_machine_paths", "a folder of the tree", {"docs/a.md": "See tests" + HOME + "x.\n"}, None),
    ("no_registry_hosts", "a registry", {"a.sh": "curl https://pyp" + "i.org/x\n"}, "registry's host"),
    ("no_trailing_space", "a blank at the end", {"docs/a.md": "a \n"}, "blanks"),
    ("no_trailing_space", "a patch", {"tests/a.patch": " a\n \n b\n"}, None),
    ("no_trailing_space", "an input of a fuzz target", {"tests/fuzz/corpus/a/b": "a \nb"}, None),
    ("no_trailing_space", "no last newline", {"docs/a.md": "a"}, "one newline"),
    ("nothing_unfinished", "a mark", {"src/fit/a.cpp": f"// {UNFINISHED}: more\n"}, UNFINISHED),
    ("no_sleeps_in_tests", "C++ sleeps",
     {"tests/unit/a_test.cpp": "void f() { std::this_thread::sleep_for(x); }\n"}, "may not sleep"),
    ("no_sleeps_in_tests", "a C++ helper polls",
     {"tests/unit/a.hpp": "bool wait_until(F f) { sleep_for(x); }\n"}, None),
    ("no_sleeps_in_tests", "Python sleeps", {"tests/e2e/a.py": "import time\ntime.sleep(1)\n"}, "may not sleep"),
    ("no_sleeps_in_tests", "a Python helper polls",
     {"tests/e2e/a.py": "import time\ndef wait_until(f):\n    time.sleep(0.1)\n"}, None),
    ("nothing_imitates_kubernetes", "a server of one's own",
     {"tests/e2e/harness/a.py": "import http.server\n"}, "only the real one may answer"),
    ("nothing_imitates_kubernetes", "a server by another import",
     {"tests/e2e/a.py": "from http import server\n"}, "only the real one may answer"),
    ("nothing_imitates_kubernetes", "a web framework in the bench",
     {"bench/e2e/a.py": "from aiohttp import web\n"}, "only the real one may answer"),
    ("nothing_imitates_kubernetes", "a listening socket",
     {"tests/e2e/a.py": "import socket\ns = socket.socket()\ns.listen()\n"}, "listen()"),
    ("nothing_imitates_kubernetes", "a network of bytes",
     {"tests/e2e/harness/relay.py": "import socket\ns = socket.create_server(x)\n"}, None),
    ("nothing_imitates_kubernetes", "a network that understands",
     {"tests/e2e/harness/relay.py": "import json\nimport socket\n"}, "imports only socket, threading"),
    ("nothing_imitates_kubernetes", "a client",
     {"tests/e2e/a.py": "import http.client\nimport socket\nc = socket.create_connection(x)\n"}, None),
    ("nothing_imitates_kubernetes", "another program",
     {"tests/e2e/a.py": 'plane.run("kwok", [kwok])\n'}, "kwok is none of"),
    ("nothing_imitates_kubernetes", "the real program",
     {"tests/e2e/a.py": 'plane.run("kube-scheduler", [path])\n'}, None),
    ("nothing_imitates_kubernetes", "a program behind the harness's back",
     {"tests/e2e/a.py": "import subprocess\n"}, "harness/processes.py alone"),
    ("nothing_imitates_kubernetes", "a program by the shell",
     {"tests/e2e/a.py": 'import os\nos.system("kwok")\n'}, "harness/processes.py alone"),
    ("nothing_imitates_kubernetes", "a process without a name that is checked",
     {"tests/e2e/a.py": "p = processes.Process(n, c, f)\n"}, "run()"),
    ("nothing_imitates_kubernetes", "where processes are made",
     {"tests/e2e/harness/processes.py": "import subprocess\nsubprocess.Popen(x)\n"}, None),
    ("nothing_imitates_kubernetes", "a server in Go",
     {"tests/e2e/controlplane/etcd/server.go": "package main\n"}, "belong here"),
    ("nothing_imitates_kubernetes", "code in tools.go",
     {"tests/e2e/controlplane/etcd/tools.go": "package tools\nfunc main() {}\n"}, "no code"),
    ("threats_have_tests", "a test that does not exist",
     {"docs/threat-model.md": "`e2e/test_a.py::test_b`\n", "tests/e2e/test_a.py": "    def test_c(self):\n"}, "there is no test"),
    ("threats_have_tests", "a C++ test that does not exist",
     {"docs/threat-model.md": "`ATest.B`\n", "tests/unit/a_test.cpp": "TEST(ATest, C) {}\n"}, "there is no test"),
    ("threats_have_tests", "no test at all", {"docs/threat-model.md": "Nothing.\n"}, "names no test"),
    ("threats_have_tests", "a vulnerability's test that does not exist",
     {"docs/vulnerabilities.md": "`ATest.B`\n", "tests/unit/a_test.cpp": "TEST(ATest, C) {}\n"},
     "docs/vulnerabilities.md:1: there is no test"),
    ("threats_have_tests", "tests that exist",
     {"docs/threat-model.md": "`e2e/test_a.py::test_b`, `ATest.C`\n", "docs/vulnerabilities.md": "`ATest.C`\n",
      "tests/e2e/test_a.py": "    def test_b(self):\n", "tests/unit/a_test.cpp": "TEST_F(ATest, C) {}\n"}, None),
    ("threats_have_tests", "an attempt without a test",
     {"docs/threat-model.md": ATTEMPTS + "| c | a policy | `Admission` has no port |\n", "docs/vulnerabilities.md": "`ATest.C`\n",
      "tests/unit/a_test.cpp": "TEST(ATest, C) {}\n"}, "docs/threat-model.md:4: the row names no test"),
    ("threats_have_tests", "a test in another column",
     {"docs/threat-model.md": ATTEMPTS + "| c | `ATest.C` | |\n"}, "docs/threat-model.md:4: the row names no test"),
    ("threats_have_tests", "an attempt that nothing stops, and another table",
     {"docs/threat-model.md": ATTEMPTS + "| c | nothing: it is the node | |\n\n| from | to |\n|---|---|\n| a | b |\n",
      "docs/vulnerabilities.md": "`ATest.C`\n", "tests/unit/a_test.cpp": "TEST(ATest, C) {}\n"}, None),
    ("links_resolve", "a dead link", {"docs/a.md": "[b](b.md)\n"}, "leads nowhere"),
    ("links_resolve", "living links",
     {"docs/a.md": "[b](../b.md#x) [c](https://example.com) [d](../docs)\n", "b.md": "b\n"}, None),
    ("policies_in_guide", "a policy nobody explains",
     {"docs/how-to/write-policies.md": "`best-fit`\n", "src/score/terms.cpp": TERMS, "policies/a.yaml": "a\n"},
     "does not name this policy"),
    ("policies_in_guide", "a term nobody explains",
     {"docs/how-to/write-policies.md": "nothing\n", "src/score/terms.cpp": TERMS}, "does not explain the term"),
    ("policies_in_guide", "all explained",
     {"docs/how-to/write-policies.md": "`best-fit` between -1,000 and 1,000;\n", "src/score/terms.cpp": TERMS,
      "include/snug/score/terms.hpp": BOUND}, None),
    ("policies_in_guide", "another bound",
     {"docs/how-to/write-policies.md": "`best-fit` between -100 and 100;\n", "src/score/terms.cpp": TERMS,
      "include/snug/score/terms.hpp": BOUND}, "between -1,000 and 1,000"),
    ("deployed_policy_is_the_default", "another policy in a manifest",
     {"policies/tight.yaml": "default: b\n", "deploy/dedicated.yaml": CONFIG_MAP,
      "deploy/shared-extender.yaml": CONFIG_MAP}, "deploy/shared-extender.yaml:3: this policy is not that of"),
    ("deployed_policy_is_the_default", "a manifest without a policy",
     {"policies/tight.yaml": "default: a\n", "deploy/dedicated.yaml": CONFIG_MAP,
      "deploy/shared-extender.yaml": "kind: Pod\n"}, "no ConfigMap with policy.yaml"),
    ("deployed_policy_is_the_default", "the same policy",
     {"policies/tight.yaml": "default: a\n", "deploy/dedicated.yaml": CONFIG_MAP,
      "deploy/shared-extender.yaml": "kind: Pod\n---\n" + CONFIG_MAP}, None),
    ("annotations_in_api", "a key nobody describes",
     {"src/request/a.cpp": 'auto k = "gpu-secret";\n', "api/annotations.md": "`gpu-count`\n"}, "gpu-secret"),
    ("annotations_in_api", "a described key",
     {"src/request/a.cpp": 'auto k = "snug.dev/pool";\n', "api/annotations.md": "`snug.dev/pool`\n"}, None),
    ("alerts_in_runbook", "an alert without heading",
     {"deploy/alerts/rules.yaml": ALERT, "docs/operations.md": "# Runbook\n"}, "the headings must be the alerts: A"),
    ("alerts_in_runbook", "a heading that is no alert",
     {"deploy/alerts/rules.yaml": ALERT, "docs/operations.md": "# Runbook\n## A\n### Readiness\n"}, "must be the alerts: A"),
    ("alerts_in_runbook", "a long page",
     {"deploy/alerts/rules.yaml": ALERT, "docs/operations.md": "## A\n" + "a\n" * 170}, "171 lines; at most 170"),
    ("alerts_in_runbook", "each alert in 170 lines",
     {"deploy/alerts/rules.yaml": ALERT, "docs/operations.md": "## A\n" + "a\n" * 169}, None),
    ("alerts_tested", "an alert that is never silent",
     {"deploy/alerts/rules.yaml": ALERT, "tests/alerts/cases.yaml": FIRES}, "no case in which A stays silent"),
    ("alerts_tested", "an alert that never fires",
     {"deploy/alerts/rules.yaml": ALERT, "tests/alerts/cases.yaml": SILENT}, "no case in which A fires"),
    ("alerts_tested", "an alert that is gone",
     {"deploy/alerts/rules.yaml": ALERT, "tests/alerts/cases.yaml": FIRES + SILENT + "- {alert: B, fires: []}\n"},
     "there is no alert B"),
    ("alerts_tested", "an alert with both cases",
     {"deploy/alerts/rules.yaml": ALERT, "tests/alerts/cases.yaml": FIRES + SILENT}, None),
    ("names_exist", "a function that is gone",
     {"docs/explanation/life-of-a-pod.md": "| 1 | it fits | `fit`, `refit` | `src/fit/fit.cpp` |\n", "src/fit/fit.cpp": "int fit();\n"},
     "`refit` does not stand in"),
    ("names_exist", "a file that is gone", {"docs/a.md": "See `src/fit/fit.cpp`.\n"}, "is no file of this tree"),
    ("names_exist", "a file by the end of its path",
     {"docs/explanation/life-of-a-pod.md": "| 1 | it fits | `Fitter::fit` | `src/fit/a.cpp`, `fit.cpp` |\n",
      "src/fit/a.cpp": "a\n", "src/fit/fit.cpp": "int Fitter::fit();\n"}, None),
    ("names_exist", "an option and a built program", {"docs/a.md": "`--listen` and `build/dev/x.sh`\n"}, None),
    ("files_in_architecture", "a file without a row",
     {"docs/architecture.md": "### fit\n| `a` | x |\n", "src/fit/a.cpp": "", "src/fit/b.cpp": ""}, "has no row `b` under fit"),
    ("files_in_architecture", "a row without a file",
     {"docs/architecture.md": "### fit\n| `a` | x |\n| `b` | x |\n", "src/fit/a.cpp": ""}, "there is no file b in fit"),
    ("files_in_architecture", "a name that is elsewhere",
     {"docs/architecture.md": "### fit\n| `a` | `Charge` |\n", "src/fit/a.cpp": "Charger c;\n"}, "`Charge` does not stand in"),
    ("files_in_architecture", "a row for each file",
     {"docs/architecture.md": "### fit\n| `a` | `fit::Charge` |\n## Ports\n| `b` | x |\n",
      "src/fit/a.cpp": "Charge c;\n", "include/snug/fit/a.hpp": "", "src/main.cpp": ""}, None),
    ("headers_stand_alone", "a header that needs another",
     {"include/snug/fit/a.hpp": HPP + "std::string text;\n"}, "does not compile alone"),
    ("headers_stand_alone", "a header that needs another, and that a source includes second",
     {"include/snug/fit/a.hpp": HPP + "std::string text;\n",
      "src/fit/a.cpp": "#include <string>\n#include \"snug/fit/a.hpp\"\n"}, "does not compile alone"),
    ("headers_stand_alone", "a header that a source includes first, so that the build compiles it alone",
     {"include/snug/fit/a.hpp": HPP + "std::string text;\n", "src/fit/a.cpp": "#include \"snug/fit/a.hpp\"\n"}, None),
    ("headers_stand_alone", "a header with what it needs",
     {"include/snug/fit/a.hpp": HPP + "#include <string>\ninline std::string text;\n"}, None),
]


def run_row(check, files, expected):
    """Nothing when the check says what the row expects, else what it said."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SNUG_CACHE"] = folder + "/build"
        for path, text in files.items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        found = [str(finding) for finding in CHECKS[check](Tree(folder))]
    if expected is None:
        return "" if not found else f"found {found}"
    return "" if any(expected in text for text in found) else f"found {found or 'nothing'}"


def main():
    failed = 0
    for check, sentence, files, expected in ROWS:
        problem = run_row(check, files, expected)
        failed += bool(problem)
        print(f"{'FAIL' if problem else 'ok  '} {check}: {sentence}{': ' + problem if problem else ''}")
    shown = {row[0] for row in ROWS if row[3] is not None}
    for check in CHECKS:
        if check not in shown:
            failed += 1
            print(f"FAIL {check}: no row shows that this check can fail")
    unshown = len(set(CHECKS) - shown)
    print(f"{len(ROWS) + unshown - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
