"""Rules about the layers: allowed includes, what pure code may use, and in which files some code may be."""

import re

from cpp import code_only, includes
from tree import Finding

# The layers of the tools come last: snug-extender links none of them.
TOOLS = ["sim", "sim_codec", "ctl"]
ORDER = ["base", "model", "mig", "request", "fit", "demand", "score", "usage", "plan", "advice", "explain", "ledger",
         "leader", "admission", "mps", "agent", "verify", "codec", "agent_codec", "verify_codec", "service", "agent_service",
         "mps_service", "adapters", "config", "app", "agent_app", "mps_app", "observe_app"] + TOOLS
PURE = ["base", "model", "mig", "request", "fit", "demand", "score", "usage", "plan", "advice", "explain", "ledger",
        "leader", "admission", "mps", "agent", "verify", "sim"]
# A program's main file belongs to the last layer that the program links.
PROGRAMS = {"snug_extender.cpp": "app", "snug_agent.cpp": "agent_app", "snug_mps.cpp": "mps_app", "snug_observe.cpp": "observe_app",
            "snug_gate.cpp": "agent_app", "snugctl.cpp": "ctl"}

# Headers of libraries and of the system that decisions have no business with.
IMPURE_HEADER = re.compile(
    r"^(nlohmann/|simdjson|yaml-cpp/|httplib|spdlog/|fmt/|prometheus/|CLI/|openssl/|sys/|netinet/"
    r"|arpa/|netdb\.h|unistd\.h|fcntl\.h|poll\.h|iostream|fstream|filesystem|cstdio|stdio\.h"
    r"|thread|future|condition_variable|semaphore|random|ctime|time\.h)")
IMPURE_CODE = re.compile(
    r"::now\s*\(|\bf?printf\s*\(|\bputs\s*\(|\bstd::j?thread\b|\bstd::async\b|\bgetenv\s*\(|\bs?rand\s*\("
    r"|\bstd::c(?:out|err|in)\b|\bsleep_(?:for|until)\b")
FLOAT = re.compile(r"\b(?:float|double)\b")
INTEGER_ONLY = ["base", "model", "mig", "request", "fit", "score", "usage", "plan", "advice", "explain", "ledger", "leader",
                "admission", "mps", "agent", "verify"]
LOCKS = re.compile(r"^(mutex|shared_mutex|atomic|snug/base/mutex\.hpp)$")
# What one file of a pure layer may do that the others may not.
ALLOWED = {
    "include/snug/base/mutex.hpp": re.compile(r"^(mutex|condition_variable)$"),
    "include/snug/base/clock.hpp": re.compile(r"^(::now\(|atomic)$"),
    "src/base/check.cpp": re.compile(r"^(cstdio|fprintf\()$"),
    "src/sim/draw_arrivals.cpp": re.compile(r"^random$"),
}


def layer_of(path):
    """(layer, adapter or "") of a file of include/snug or src; None: it has none."""
    if path.startswith("include/snug/"):
        parts = path.split("/")[2:]
    elif path.startswith("src/"):
        parts = path.split("/")[1:]
    else:
        return None
    if path.startswith("src/") and len(parts) == 1 and parts[0] in PROGRAMS:
        return PROGRAMS[parts[0]], ""
    if len(parts) < 2 or parts[0] not in ORDER:
        return None
    return parts[0], parts[1] if parts[0] == "adapters" and len(parts) > 2 else ""


def _resolve(tree, path, name):
    """The file of the tree that a quoted include means; None: there is no such file."""
    beside = path.rsplit("/", 1)[0] + "/" + name
    for candidate in ("include/" + name, beside, "src/" + name, beside + ".in"):
        if tree.has(candidate):
            return candidate
    return None


def _include_problem(source, target, target_path):
    """Why a file of layer `source` may not include one of layer `target`; None: it may."""
    if ORDER.index(target[0]) > ORDER.index(source[0]):
        return f"layer {source[0]} may not include layer {target[0]}, which stands below it"
    if target[0] == "adapters" and source[0] == "adapters" and target[1] != source[1]:
        return f"adapter {source[1]} may not include adapter {target[1]}"
    # Wiring is what makes the adapters, so it alone sees their own headers.
    wiring = source[0] in ("app", "agent_app", "mps_app") and target[0] == "adapters"
    if target_path.startswith("src/") and target != source and not wiring:
        return f"{target_path} is private to its own folder"
    return None


def include_direction(tree):
    """A layer includes only layers above it; adapters do not include each other."""
    for path in tree.cpp("include", "src"):
        source = layer_of(path)
        if source is None:
            yield Finding(path, 1, "this file belongs to no layer; the layers are " + ", ".join(ORDER))
            continue
        for line, name, quoted in includes(tree.text(path)):
            if not quoted:
                if name.startswith("snug/"):
                    yield Finding(path, line, f'"{name}" is ours: include it in quotes')
                continue
            target_path = _resolve(tree, path, name)
            if target_path is None:
                yield Finding(path, line, f'"{name}" is no file of this tree')
                continue
            problem = _include_problem(source, layer_of(target_path), target_path)
            if problem:
                yield Finding(path, line, problem)


def pure_layers(tree):
    """Decisions know no JSON, sockets, clocks, threads or logs, and what is counted is integers."""
    for path in tree.cpp("include", "src"):
        layer = (layer_of(path) or ("", ""))[0]
        if layer not in PURE:
            continue
        allowed = ALLOWED.get(path, re.compile(r"(?!)"))
        for line, name, _ in includes(tree.text(path)):
            lock = LOCKS.match(name) and layer != "ledger"
            if (lock or IMPURE_HEADER.match(name)) and not allowed.match(name):
                yield Finding(path, line, f"<{name}> has no place in the pure layer {layer}")
        for line, code in enumerate(code_only(tree.text(path)).split("\n"), 1):
            match = IMPURE_CODE.search(code) or (layer in INTEGER_ONLY and FLOAT.search(code))
            if match and not allowed.match(match.group(0)):
                yield Finding(path, line, f"'{match.group(0)}' has no place in the pure layer {layer}")


# (what, tokens, files in which they may be). Tests and benches are exempt.
CONFINED = [
    # Besides fit and score: who adds it up, and who shows it to people and to Kubernetes.
    ("how much of a GPU is taken or free", r"\b(?:free_memory|free_compute)\s*\(|\bused_(?:memory|compute)\b",
     r"(?:src|include/snug)/(?:fit|score)/|(?:src|include/snug)/model/snapshot\.|src/codec/admin_state_codec"
     r"|src/usage/|src/ledger/totals\.cpp|src/admission/mirrored_resources\.cpp|src/explain/node_sentences\.cpp|src/sim/gpu_counts\.cpp"),
    # Once for each state of a pod (decision 25); the simulator reads each pod of a trace once. The
    # webhook sees pods that do not exist yet.
    ("what a pod asks for", r"\bparse_request\s*\(",
     r"(?:src|include/snug)/request/|src/service/pod_info\.cpp|src/admission/pod_review\.cpp"
     r"|src/sim/trace_conversion\.cpp"),
    ("a score term", r"\b(?:kTermBound|TermFunction)\b", r"(?:src|include/snug)/score/"),
    ("a verdict about room", r"(?<!ErrorCode::)\bk(?:NoRoom|TooLarge)\b",
     r"(?:src|include/snug)/fit/|(?:src|include/snug)/model/reasons\.|include/snug/base/result\.hpp"
     r"|src/explain/node_sentences\.cpp"),
    # An inventory may say that the node's GPUs are in a mode that serves no annotated pod.
    ("a verdict about modes", r"\bkWrongMode\b",
     r"(?:src|include/snug)/fit/|(?:src|include/snug)/model/reasons\.|src/codec/gfd_labels\.cpp"
     r"|src/codec/gpu_replicas\.cpp|src/explain/node_sentences\.cpp"),
]


def fit_and_score_at_home(tree):
    """No line that decides fit or score is outside the layers fit and score."""
    for path in tree.cpp("include", "src"):
        for line, code in enumerate(code_only(tree.text(path)).split("\n"), 1):
            for what, tokens, places in CONFINED:
                match = re.search(tokens, code)
                if match and not re.match(places, path):
                    yield Finding(path, line, f"'{match.group(0)}' ({what}) may stand only in {places}")


def naive_model_is_independent(tree):
    """The naive model of the tests includes plain data and MIG's tables, none of the code that it checks."""
    for path in tree.cpp("tests/oracle"):
        for line, name, _ in includes(tree.text(path)):
            if name.startswith("snug/") and not re.match(r"snug/(?:base|model|mig)/", name):
                yield Finding(path, line, f"the naive model may include only base, model and mig, not {name}")


def library_doors(tree):
    """Each library with sharp edges is behind the door that the decisions name."""
    any_of = r"(?:src|include/snug)/"
    doors = [
        (r"^simdjson", r"src/codec/", "src/codec"),
        (r"^protozero/", r"src/codec/(?:kube_proto|proto_wire|api_writes)\.cpp|src/agent_codec/nri_\w+\.cpp",
         "src/codec/kube_proto.cpp, src/codec/proto_wire.cpp, src/codec/api_writes.cpp and src/agent_codec/nri_*.cpp"),
        (r"^nlohmann/", any_of + r"(?:codec|agent_codec|verify_codec|adapters|sim_codec)/",
         "codec, agent_codec, verify_codec, adapters and sim_codec"),
        (r"^yaml-cpp/", r"src/codec/yaml\.cpp", "src/codec/yaml.cpp"),
        (r"^httplib", r"(?!)", "tests"),
        (r"^curl/", r"src/adapters/(?:http/admin_client|kube/connection)\.cpp",
         "src/adapters/http/admin_client.cpp and src/adapters/kube/connection.cpp"),
        (r"^openssl/", any_of + r"adapters/(?:http|kube)/", "adapters/http and adapters/kube"),
        (r"^spdlog/", any_of + r"adapters/obs/", "adapters/obs"),
        (r"^prometheus/", any_of + r"adapters/obs/", "adapters/obs"),
        (r"^CLI/", any_of + r"(?:config/|ctl/|snugctl\.cpp)", "config, ctl and src/snugctl.cpp"),
        (r"^dlfcn\.h", r"src/(?:adapters/nvml|observe_app)/", "src/adapters/nvml and src/observe_app"),
        (r"^boost/", any_of + r"advice/", "advice"),
    ]
    for path in tree.cpp("include", "src"):
        for line, name, _ in includes(tree.text(path)):
            for header, places, where in doors:
                if re.match(header, name) and not re.match(places, path):
                    yield Finding(path, line, f"<{name}> may be included only in {where}")


def _links(text):
    """(line, what links, all that it names) of each call in a CMakeLists.txt that links something."""
    for match in re.finditer(r"\b(?:snug_layer|snug_program|target_link_libraries)\((\S+)([^()]*)\)", text):
        line = text.count("\n", 0, match.start()) + 1
        yield line, match.group(1).removeprefix("snug_"), re.findall(r"\bsnug_(\w+)", match.group(2))


def cmake_order(tree):
    """The libraries of CMakeLists.txt link only layers above themselves."""
    rank = {name: index for index, name in enumerate(ORDER)}
    rank.update({name: rank["adapters"] for name in ("http", "kube", "memory", "nvml", "nri", "host", "process", "obs")})
    for line, name, linked in _links(tree.text("CMakeLists.txt") if tree.has("CMakeLists.txt") else ""):
        for other in linked:
            if name in rank and rank.get(other, len(ORDER)) >= rank[name]:
                yield Finding("CMakeLists.txt", line, f"{name} may not link {other}")


def extender_without_tools(tree):
    """snug-extender links no layer of the tools."""
    for line, name, linked in _links(tree.text("CMakeLists.txt") if tree.has("CMakeLists.txt") else ""):
        for other in linked:
            if name == "snug-extender" and other in TOOLS:
                yield Finding("CMakeLists.txt", line, f"snug-extender may not link {other}, a layer of the tools")


def one_definition(tree):
    """No two headers define a type of the same name: all share one namespace."""
    seen = {}
    for path in tree.under(["include", "src"], (".hpp",)):
        code = code_only(tree.text(path))
        for match in re.finditer(r"^(?:class|struct|enum class|enum)\s+(\w+)(?:\s+final)?\s*(?::(?!:)[^{;]*)?\{", code, re.M):
            line = code.count("\n", 0, match.start()) + 1
            first = seen.setdefault(match.group(1), path)
            if first != path:
                yield Finding(path, line, f"{match.group(1)} is defined in {first} too")
