"""Rules that keep the end-to-end tests what they are: nothing in them imitates Kubernetes."""

import ast
import re

from tree import Finding

FOLDER = "tests/e2e"
BENCH = "bench/e2e"
FILES = re.compile(r"(?:.*\.py|.*\.md|controlplane/build\.sh|controlplane/[\w.-]+/(?:go\.mod|go\.sum|tools\.go))")
SERVER_MODULES = {"http.server", "socketserver", "wsgiref", "xmlrpc", "asyncio", "flask", "aiohttp", "tornado",
                  "twisted", "bottle", "werkzeug", "uvicorn", "fastapi", "grpc", "unittest.mock", "multiprocessing"}
LISTENING = {"listen", "create_server", "serve_forever", "start_server"}
STARTING = {"os.system", "os.popen", "os.fork", "os.execv", "os.execve", "os.execvp", "os.spawnv", "os.posix_spawn"}
PROGRAMS = {"etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "snug-extender"}
STARTERS = {"Process", "output_of", "all_output_of"}  # of harness/processes.py
# Where programs are started that are not named in a call of run(…), and why.
MAY_START = {
    "tests/e2e/harness/processes.py": "the one place that starts programs, for the others to name",
    "tests/e2e/harness/pki.py": "openssl signs certificates and serves nothing",
    "tests/e2e/harness/controlplane.py": "build.sh builds the control plane and ends",
    "tests/e2e/harness/kubectl.py": "kubectl acts as a client and ends",
    "tests/e2e/harness/helm.py": "helm is built, acts as a client and ends",
    "tests/e2e/versions.py": "run.py runs the scenarios with one version and ends",
}
# Where a socket may listen, and why. Such a file imports nothing that could form or read a message.
MAY_LISTEN = {
    "tests/e2e/harness/relay.py": "a network that fails: it passes bytes on or swallows them",
}
BYTES_ONLY = {"socket", "threading"}


def _modules(node):
    """Every module that an import statement names, with the names taken from it."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        return [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _is_server(module):
    return any(module == name or module.startswith(name + ".") for name in SERVER_MODULES)


def _started_program(call):
    """What `x.run("name", …)` starts; None: it is no such call."""
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "run" and call.args):
        return None
    first = call.args[0]
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


def _problems(path, text):
    may_start = path in MAY_START
    for node in ast.walk(ast.parse(text)):
        for module in _modules(node):
            if _is_server(module):
                yield node.lineno, f"{module} can play a part of Kubernetes; only the real one may answer"
            if path in MAY_LISTEN and module not in BYTES_ONLY:
                yield node.lineno, f"what may listen imports only {', '.join(sorted(BYTES_ONLY))}"
            if module == "subprocess" and not may_start:
                yield node.lineno, "programs are started by harness/processes.py alone"
        if not isinstance(node, ast.Call):
            continue
        listens = isinstance(node.func, ast.Attribute) and node.func.attr in LISTENING
        if listens and path not in MAY_LISTEN:
            yield node.lineno, f"{node.func.attr}() would answer in the place of Kubernetes"
        if ast.unparse(node.func) in STARTING:
            yield node.lineno, "programs are started by harness/processes.py alone"
        if not may_start and getattr(node.func, "id", getattr(node.func, "attr", "")) in STARTERS:
            yield node.lineno, "programs are started by the control plane's run(), which names them"
        program = _started_program(node)
        if program is not None and program not in PROGRAMS:
            yield node.lineno, f"{program} is none of {', '.join(sorted(PROGRAMS))}"


def nothing_imitates_kubernetes(tree):
    """The end-to-end tests and bench serve nothing themselves and start only the real programs."""
    for path in tree.under([FOLDER]):
        if not FILES.fullmatch(path[len(FOLDER) + 1:]):
            yield Finding(path, 1, "only tests, their harness and what builds the control plane belong here")
        if path.endswith("tools.go") and re.search(r"^\s*func\b", tree.text(path), re.M):
            yield Finding(path, 1, "tools.go names the programs to build and has no code")
    for path in tree.under([FOLDER, BENCH], (".py",)):
        for line, text in _problems(path, tree.text(path)):
            yield Finding(path, line, text)
