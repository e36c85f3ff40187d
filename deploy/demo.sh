#!/usr/bin/env bash
# Snug in one command: installs what is missing (Debian 12), builds, starts the extender on a sample
# cluster without any Kubernetes, sends sample pods through its real HTTP verbs, and shows where they
# went and how full every GPU is. Exit code 1 when a call fails or a pod does not end as
# deploy/demo/expected.yaml says.
#
#   bash deploy/demo.sh [--serve]
#
# --serve keeps it running and prints lines to try. SNUG_EXTENDER=PROGRAM: use it, build nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source deploy/scripts/say.sh

if (($# > 1)) || [[ ${1:-} != '' && ${1:-} != --serve ]]; then
  printf 'usage: bash deploy/demo.sh [--serve]\n' >&2
  exit 2
fi

say "Looking for the packages that building needs."
bash deploy/scripts/setup.sh build
if [[ -z ${SNUG_EXTENDER:-} ]]; then
  mkdir -p build
  say "Building snug-extender (some minutes the first time; log: build/demo-build.log)."
  quietly build/demo-build.log cmake --preset release
  quietly build/demo-build.log cmake --build --preset release -j "$(nproc)"
  SNUG_EXTENDER=build/release/snug-extender
fi
say "Starting $SNUG_EXTENDER on deploy/demo/cluster.yaml and sending it the pods of deploy/demo/pods.yaml."
exec /usr/bin/python3 deploy/demo/demo.py --extender "$SNUG_EXTENDER" "$@"
