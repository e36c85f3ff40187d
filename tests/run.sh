#!/usr/bin/env bash
# Installs what is missing, builds, runs every test, and ends with the one line
#   N passed, N failed, N skipped
# Exit code 1 if anything failed. A step that crashes, or that runs no test, counts as failed.
#
#   bash tests/run.sh [--quick] [--only STEP]...
#
# --quick skips the sanitizers, clang-tidy and the end-to-end tests.
# --only runs only these steps, with the existing build.
# CI=true: end-to-end tests that cannot run count as failed, and for root the scenarios on a node too.
# SNUG_JOBS: parallel jobs (2). SNUG_BUILD: the build folder (build/). Kept between runs: this
# folder, ccache's, and ${SNUG_CACHE:-~/.cache/snug}.
# The end-to-end tests and the scenarios on a real node mostly wait, so they run beside the
# sanitizers' builds and tests, which yield the processors to them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source deploy/scripts/say.sh

JOBS=${SNUG_JOBS:-2}
FOLDER=${SNUG_BUILD:-$PWD/build}
LOGS=$FOLDER/logs
RESULTS=$LOGS/results.tsv # step, passed, failed, skipped
BUILD=$FOLDER/check # preset dev with unity builds and less debug information, which compile faster
# Debian's Python, which has the packages that setup.sh installs, whatever else comes first in PATH.
PYTHON=/usr/bin/python3
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=true
export SNUG_PATIENCE=3 # of the scenarios with real programs: builds and other tests run beside them
# The limits of time in the steps are for a busy machine and empty caches: only what hangs reaches them.
quick=false
only=()
naming=false # step and skip only add to `names`
names=()
control_plane= # process groups that run in the background
node_programs=
e2e=
node=

# count STEP PASSED FAILED SKIPPED
count() {
  printf '%s\t%s\t%s\t%s\n' "$@" >>"$RESULTS"
}

# Adds the results of a program that ends with `N passed, N failed, N skipped`; the failures it names
# and its exit code must agree.
count_summary() {
  local step=$1 log=$2 code=$3 summary
  summary=$(grep -oE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1 || true)
  if [[ ! $summary =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
    say "  $step gave no summary (exit code $code): counted as failed."
    count "$step" 0 1 0
    return
  fi
  local passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]} skipped=${BASH_REMATCH[3]}
  if ((passed + failed + skipped == 0)) || ((code != 0 && failed == 0)); then
    say "  $step says '$summary' with exit code $code: counted as one failure more."
    failed=$((failed + 1))
  fi
  count "$step" "$passed" "$failed" "$skipped"
}

# Adds the results of JUnit files; CODE is the exit code of what wrote them.
count_junit() {
  local step=$1 code=$2 counted names passed failed skipped
  shift 2
  counted=$("$PYTHON" tests/junit.py "$@") || counted='0 1 0'
  names=$(tail -n +2 <<<"$counted")
  read -r passed failed skipped <<<"$(head -n 1 <<<"$counted")"
  [[ -z $names ]] || sed 's/^/  failed: /' <<<"$names"
  if ((passed + failed + skipped == 0)) || ((code != 0 && failed == 0)); then
    say "  $step ran $((passed + failed + skipped)) tests with exit code $code: counted as one failure more."
    failed=$((failed + 1))
  fi
  count "$step" "$passed" "$failed" "$skipped"
}

wanted() {
  ((${#only[@]} == 0)) || [[ " ${only[*]} " == *" $1 "* ]]
}

# step NAME SENTENCE FUNCTION…: runs it; whatever happens, the step adds to the results.
step() {
  local name=$1 sentence=$2 code=0 before added
  shift 2
  if $naming; then
    names+=("$name")
    return
  fi
  wanted "$name" || return 0
  before=$(wc -l <"$RESULTS")
  say "$name: $sentence"
  "$@" || code=$?
  added=$(tail -n +$((before + 1)) "$RESULTS")
  if [[ -z $added ]]; then
    say "  $name ended with exit code $code and without a result: counted as failed."
    count "$name" 0 1 0
  elif ((code != 0)) && ! awk -F'\t' '$3 > 0 {bad = 1} END {exit !bad}' <<<"$added"; then
    say "  $name ended with exit code $code: counted as failed."
    count "$name" 0 1 0
  fi
}

# A program with a summary line; the end of its log is shown if it fails.
run_summarized() {
  local name=$1 limit=$2 code=0
  shift 2
  quietly "$LOGS/$name.log" timeout -k 10 "$limit" "$@" || code=$?
  count_summary "$name" "$LOGS/$name.log" "$code"
}

# A program whose exit code is its result.
run_single() {
  local name=$1 limit=$2
  shift 2
  if quietly "$LOGS/$name.log" timeout -k 10 "$limit" "$@"; then
    count "$name" 1 0 0
  else
    count "$name" 0 1 0
  fi
}

skip() {
  if $naming; then
    names+=("$1")
    return
  fi
  wanted "$1" || return 0
  say "$1: skipped: $2"
  count "$1" 0 0 1
}

check_format() {
  local files
  mapfile -t files < <(git ls-files -co --exclude-standard '*.cpp' '*.hpp')
  if ((${#files[@]} == 0)); then
    say "  there is no C++ file to check."
    return 1
  fi
  run_single format 120 clang-format-19 --dry-run -Werror "${files[@]}"
}

# Continues after a compile error, so that the other tests run; the error counts as a failed test.
build_dev() {
  quietly "$LOGS/configure.log" cmake --preset dev -B "$BUILD" -D CMAKE_UNITY_BUILD=ON \
    -D CMAKE_CXX_FLAGS_RELWITHDEBINFO="-O2 -g1 -DNDEBUG" &&
    run_single build 5400 cmake --build "$BUILD" -j "$JOBS" -- -k 0
}

# built FILE: whether it exists; prints a message if not.
built() {
  [[ ! -e $BUILD/$1 ]] || return 0
  say "  $BUILD/$1 is not built: run bash tests/run.sh --only build first."
  return 1
}

run_ctest() {
  local code=0
  built CTestTestfile.cmake || return
  rm -f "$LOGS/ctest.xml"
  QUIETLY_TAIL=200 quietly "$LOGS/ctest.log" timeout -k 10 3600 ctest --test-dir "$BUILD" -j "$JOBS" \
    --timeout 600 --output-on-failure --output-junit "$LOGS/ctest.xml" || code=$?
  count_junit ctest "$code" "$LOGS/ctest.xml"
}

# build_sanitized PRESET FLAGS TARGET…: builds these targets with sanitizers.
build_sanitized() {
  local preset=$1 flags=$2
  shift 2
  # CMake forgets its settings if a folder was configured for another compiler.
  grep -qs 'CMAKE_CXX_COMPILER:.*clang++-19' "$FOLDER/$preset/CMakeCache.txt" || rm -rf "${FOLDER:?}/$preset"
  quietly "$LOGS/$preset-configure.log" cmake --preset "$preset" -B "$FOLDER/$preset" -D "SNUG_SANITIZE=$flags" &&
    quietly "$LOGS/$preset-build.log" timeout -k 10 5400 \
      nice cmake --build "$FOLDER/$preset" -j "$JOBS" --target "$@"
}

# sanitized PRESET FLAGS PROGRAM…: builds these test programs with sanitizers and runs their tests.
sanitized() {
  local preset=$1 code=0 programs
  build_sanitized "$@" || return 1
  shift 2
  say "  running $*"
  programs=$(IFS='|'; echo "$*")
  rm -f "$LOGS/$preset.xml"
  QUIETLY_TAIL=200 quietly "$LOGS/$preset.log" timeout -k 10 5400 nice ctest --test-dir "$FOLDER/$preset" \
    -j "$JOBS" -L "^($programs)\$" --output-on-failure --output-junit "$LOGS/$preset.xml" || code=$?
  count_junit "$preset" "$code" "$LOGS/$preset.xml"
}

run_tsan() {
  export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 suppressions=$PWD/tests/tsan.supp"
  sanitized tsan thread ledger_test sim_test service_test http_test memory_test integration_test agent_test
}

ASAN_FLAGS=address,undefined,fuzzer-no-link # the fuzz targets link the same libraries

run_asan() {
  export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1" ASAN_OPTIONS="detect_stack_use_after_return=1"
  sanitized asan "$ASAN_FLAGS" base_test codec_test sim_codec_test contract_test kube_test integration_test
}

run_fuzz() {
  build_sanitized asan "$ASAN_FLAGS" fuzz &&
    QUIETLY_TAIL=200 run_summarized fuzz 3600 nice "$PYTHON" tests/fuzz/run.py --build "$FOLDER/asan" --jobs "$JOBS"
}

# clang-tidy looks at single sources, so it needs the flags of a build without unity builds.
run_clang_tidy() {
  quietly "$LOGS/tidy-configure.log" cmake --preset dev -B "$FOLDER/dev" &&
    run_summarized clang-tidy 5400 nice "$PYTHON" tests/tidy/clang_tidy.py "$FOLDER/dev"
}

# background NAME PROGRAM…: starts it as a process group, and sets $started to the group. Its output
# goes to NAME.log; its exit code is written to NAME.code, atomically. The group's leader outlives a
# SIGTERM, so that it can be waited for while PROGRAM cleans up.
background() {
  local name=$1
  shift
  rm -f "$LOGS/$name.code"
  setsid bash -c 'trap : TERM; name=$1; shift; "$@" >"$name.log" 2>&1 </dev/null
    echo $? >"$name.new" && mv "$name.new" "$name.code"' - "$LOGS/$name" "$@" &
  started=$!
}

# wait_for NAME GROUP: returns the exit code of a program in the background when it has ended.
wait_for() {
  local waited=0
  while [[ ! -f $LOGS/$1.code ]] && kill -0 "$2" 2>/dev/null; do
    sleep 1
    waited=$((waited + 1))
    ((waited % 15 != 0)) || say "  … $(tail -n 1 "$LOGS/$1.log" | cut -c -100)"
  done
  return "$(cat "$LOGS/$1.code" 2>/dev/null || echo 1)"
}

start_control_plane() {
  say "control plane: building etcd, Kubernetes, helm, kubelet and containerd in the background, unless they are cached."
  background control-plane nice bash -c 'bash tests/e2e/controlplane/build.sh && bash tests/helm/build.sh'
  control_plane=$started
  # One after the other: the end-to-end tests wait for the control plane alone.
  background node-programs nice bash -c 'until [[ -e $0 ]]; do sleep 1; done; bash tests/node/build.sh && bash tests/node/build.sh plugins' "$LOGS/control-plane.code"
  node_programs=$started
}

run_demo() {
  built snug-extender || return
  SNUG_PROGRAMS=$BUILD run_summarized demo 300 "$PYTHON" tests/program/run.py demo_test
}

run_programs() {
  built snug-extender && built snugctl && built snug-agent && built snug-mps && built snug-gate && built snug-observe || return
  SNUG_PROGRAMS=$BUILD QUIETLY_TAIL=200 run_summarized programs 3600 "$PYTHON" tests/program/run.py --but demo_test --jobs "$JOBS"
}

# Starts the end-to-end tests, which begin when the control plane is built, and after them the
# scenarios on a node: one control plane at a time. With GOGC=400 programs written in Go used a fifth less
# processor time in 25 scenarios than with the default of 100.
start_e2e() {
  local options=()
  [[ -e $BUILD/snug-extender ]] || return 0
  [[ ${CI:-} != true ]] || options=(--require)
  say "e2e: the end-to-end tests start in the background when the control plane is built."
  background e2e env GOGC=400 SNUG_EXTENDER="$BUILD/snug-extender" bash -c '
    until [[ -e $0 ]]; do sleep 1; done
    [[ $(cat "$0") == [03] ]] && exec timeout --foreground -k 300 5400 "$@"' \
    "$LOGS/control-plane.code" "$PYTHON" tests/e2e/run.py "${options[@]}"
  e2e=$started
  start_node "$LOGS/e2e.code"
}

# start_node FILE: starts the scenarios on a node when FILE is there and kubelet and containerd are
# built. On a machine that cannot be a node they count as skipped, or as failed for root in CI.
start_node() {
  local options=()
  wanted node && [[ -e $BUILD/snug-agent ]] || return 0
  [[ ${CI:-} != true ]] || ((EUID != 0)) || options=(--require)
  background node env GOGC=400 SNUG_EXTENDER="$BUILD/snug-extender" bash -c '
    until [[ -e $0 && -e $1 ]]; do sleep 1; done
    [[ $(cat "$1") == [03] ]] && shift && exec timeout --foreground -k 300 5400 "$@"' \
    "$1" "$LOGS/node-programs.code" "$PYTHON" tests/node/run.py "${options[@]}"
  node=$started
}

run_node() {
  local code=0
  wait_for node-programs "$node_programs" || code=$?
  node_programs=
  if ((code != 0 && code != 3)); then
    say "  kubelet and containerd could not be built (exit code $code):"
    tail -n 30 "$LOGS/node-programs.log" | sed 's/^/    /'
    return 1
  fi
  built snug-agent || return
  [[ -n $node ]] || start_node "$LOGS/node-programs.code"
  code=0
  wait_for node "$node" || code=$?
  node=
  ((code == 0)) || sed 's/^/    /' "$LOGS/node.log" | tail -n 300
  count_summary node "$LOGS/node.log" "$code"
}

run_e2e() {
  local code=0
  wait_for control-plane "$control_plane" || code=$?
  control_plane=
  if ((code == 3)); then
    say "  Go 1.26 is missing and could not be installed, so there is no real control plane."
  elif ((code != 0)); then
    say "  the control plane could not be built (exit code $code):"
    tail -n 30 "$LOGS/control-plane.log" | sed 's/^/    /'
    return 1
  fi
  built snug-extender || return
  code=0
  wait_for e2e "$e2e" || code=$?
  e2e=
  ((code == 0)) || sed 's/^/    /' "$LOGS/e2e.log" | tail -n 300
  count_summary e2e "$LOGS/e2e.log" "$code"
}

finish() {
  local code=$? group
  trap - EXIT INT TERM
  for group in $control_plane $node_programs $e2e $node; do # at most one word each
    kill -- "-$group" 2>/dev/null || true
    wait "$group" 2>/dev/null || true
  done
  if [[ ! -f $RESULTS ]]; then
    mkdir -p "$LOGS"
    : >"$RESULTS"
  fi
  if [[ $finished != true ]]; then
    say "tests/run.sh was cut short (exit code $code): counted as failed."
    count run.sh 0 1 0
  fi
  say "Results (logs in $LOGS):"
  awk -F'\t' '{printf "    %-28s %5d passed %4d failed %4d skipped\n", $1, $2, $3, $4}' "$RESULTS"
  awk -F'\t' '{p += $2; f += $3; s += $4} END {
    printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0}' "$RESULTS" || exit 1
}

thorough_steps() {
  if $quick; then
    for name in tsan asan fuzz clang-tidy e2e node; do
      skip "$name" "--quick was given."
    done
    return
  fi
  if ! $naming && wanted e2e; then start_e2e; fi
  step tsan "the concurrent tests under ThreadSanitizer" run_tsan
  step asan "the tests of parsers and connections under AddressSanitizer and UBSan" run_asan
  step fuzz "each fuzz target for 30 s, after its corpus" run_fuzz
  step clang-tidy "every source that changed since the last recorded pass" run_clang_tidy
  step e2e "snug-extender with a real API server and a real kube-scheduler" run_e2e
  step node "snug-agent and shares on a real node: kubelet, containerd, stand-in for NVIDIA's library" run_node
}

read_arguments() {
  while (($# > 0)); do
    if [[ $1 == --quick ]]; then
      quick=true
    elif [[ $1 == --only && -n ${2:-} ]]; then
      only+=("$2")
      shift
    else
      printf 'usage: bash tests/run.sh [--quick] [--only STEP]...\n' >&2
      trap - EXIT
      exit 2
    fi
    shift
  done
}

# Ends the run if --only names an unknown step.
check_names() {
  local name
  naming=true
  all_steps
  naming=false
  for name in "${only[@]}"; do
    [[ " ${names[*]} " != *" $name "* ]] || continue
    printf 'tests/run.sh: there is no step "%s"; the steps are %s\n' "$name" "${names[*]}" >&2
    trap - EXIT
    exit 2
  done
}

all_steps() {
  step format "clang-format of every C++ file" check_format
  step tidy "the house rules" run_summarized tidy 1800 "$PYTHON" tests/tidy/tidy.py
  step tidy-test "each house rule can fail" run_summarized tidy-test 300 "$PYTHON" tests/tidy/tidy_test.py
  step schemas "the golden samples against the schemas" \
    run_single schemas 120 "$PYTHON" tests/contract/schema_check.py
  step build "preset dev, $JOBS jobs, warnings are errors" build_dev
  step ctest "every C++ test" run_ctest
  step demo "deploy/demo.sh places each pod as expected" run_demo
  step programs "whole programs: signals, deploy/, benchmarks, a machine without Go" run_programs
  thorough_steps
}

main() {
  read_arguments "$@"
  check_names
  say "Looking for the packages that the tests need."
  bash deploy/scripts/setup.sh test lint
  if ! $quick && { wanted e2e || wanted node; }; then start_control_plane; fi
  all_steps
}

finished=false
trap finish EXIT
trap 'exit 130' INT TERM
rm -rf "$LOGS"
mkdir -p "$LOGS"
: >"$RESULTS"
main "$@"
finished=true
