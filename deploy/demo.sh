#!/usr/bin/env bash
# Snug in one command: installs what is missing (Debian 12), builds, starts the extender on a sample
# cluster without any Kubernetes, sends sample pods through its real HTTP verbs, and shows where they
# were placed and the use of every GPU. Exit code 1 if a call fails, or if the result for a pod is not
# that of deploy/demo/expected.yaml.
#
#   bash deploy/demo.sh [--serve | --kubernetes | --help]
#
# --serve keeps the extender running and prints example calls. --kubernetes places the pods of one node
# once more with a real API server and kube-scheduler, which it builds first, and shows that node with
# kubectl. SNUG_EXTENDER=PROGRAM: use this program and do not build it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source deploy/scripts/say.sh

usage='usage: bash deploy/demo.sh [--serve | --kubernetes]'
kubernetes=()
case $#${1:-} in
  0 | 1--serve) ;;
  1--kubernetes)
    kubernetes=(kubernetes)
    shift
    ;;
  1--help)
    printf '%s\n' "$usage" "Places sample pods on a sample cluster and draws every GPU." \
      "--serve keeps the extender running; --kubernetes also shows a node with kubectl."
    exit 0
    ;;
  *)
    printf '%s\n' "$usage" >&2
    exit 2
    ;;
esac

say "Looking for the packages that are needed."
if [[ -n ${SNUG_EXTENDER:-} ]]; then
  bash deploy/scripts/setup.sh demo "${kubernetes[@]}"
else
  bash deploy/scripts/setup.sh build "${kubernetes[@]}"
  mkdir -p build
  say "Building snug-extender (some minutes the first time; log: build/demo-build.log)."
  quietly build/demo-build.log cmake --preset release
  quietly build/demo-build.log cmake --build --preset release -j "$(nproc)"
  SNUG_EXTENDER=build/release/snug-extender
fi
say "Starting $SNUG_EXTENDER on deploy/demo/cluster.yaml and sending it the pods of deploy/demo/pods.yaml."
((${#kubernetes[@]} > 0)) || exec /usr/bin/python3 deploy/demo/demo.py --extender "$SNUG_EXTENDER" "$@"
/usr/bin/python3 deploy/demo/demo.py --extender "$SNUG_EXTENDER"
say "Building the control plane, unless that was done before."
programs=$(bash tests/e2e/controlplane/build.sh)
SNUG_EXTENDER=$SNUG_EXTENDER exec /usr/bin/python3 tests/e2e/show_node.py "$programs"
