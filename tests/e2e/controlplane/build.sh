#!/usr/bin/env bash
# build.sh [MINOR]
# Builds etcd, kube-apiserver, kube-scheduler, kube-controller-manager and kubectl, unmodified, from their
# Go modules into
#   ${SNUG_CACHE:-$HOME/.cache/snug}/controlplane/<hash of the modules and flags>/bin
# and prints that folder as the only line on stdout. What is there already is used again.
# MINOR, such as 1.30: Kubernetes from the module kubernetes-MINOR. Without it: that of CI, from kubernetes.
# Exit codes: 0 done; 2 there is no such module; 3 there is no Go >= 1.26 here and it could not be installed;
# else a build failed.
# SNUG_GO=PROGRAM: build with this Go; no other is looked for, and none is installed.
set -euo pipefail

say() { echo "control plane: $*" >&2; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${SNUG_CACHE:-$HOME/.cache/snug}/controlplane
module=$here/kubernetes${1:+-$1}
if [[ ! -e $module/go.mod ]]; then
  modules=("$here"/kubernetes-*/)
  modules=("${modules[@]%/}")
  say "there is no Kubernetes $1; beside that of CI there is ${modules[*]##*/kubernetes-}"
  exit 2
fi
kubernetes_version=$(awk '$1 == "require" && $2 == "k8s.io/kubernetes" {print $3}' "$module/go.mod")
ldflags="-s -w -X k8s.io/component-base/version.gitVersion=$kubernetes_version"
hash=$({ cat "$module"/go.{mod,sum} "$here"/etcd/go.{mod,sum}; echo "$ldflags"; } | sha256sum | cut -c1-16)
final=$cache/$hash
of_kubernetes=(kube-apiserver kube-scheduler kube-controller-manager kubectl)
programs=(etcd "${of_kubernetes[@]}")

source "$here/../../go.sh"

build() {
  local go=$1 partial=$2
  export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0
  say "building etcd with $("$go" env GOVERSION) (about half a minute when nothing is cached)"
  (cd "$here/etcd" && "$go" build -p 2 -trimpath -ldflags "-s -w" -o "$partial/bin/etcd" \
    go.etcd.io/etcd/server/v3)
  say "building ${of_kubernetes[*]} $kubernetes_version (about 5 minutes when nothing is cached)"
  (cd "$module" && "$go" build -p 2 -trimpath -ldflags "$ldflags" -o "$partial/bin/" \
    "${of_kubernetes[@]/#/k8s.io/kubernetes/cmd/}")
}

build_once
