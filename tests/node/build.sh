#!/usr/bin/env bash
# Builds kubelet, and containerd with its shim and ctr, unmodified, from their Go modules, and takes runc and
# a static busybox from Debian's packages, without installing them, into
#   ${SNUG_CACHE:-$HOME/.cache/snug}/node/<hash of the modules and flags>/bin
# and prints that folder as the only line on stdout. What is there already is used again.
# Exit codes: 0 done; 3 Go >= 1.26 or a package is missing here and cannot be had; else a build failed.
# SNUG_GO=PROGRAM: build with this Go; no other is looked for, and none is installed. SNUG_JOBS: parallel jobs (2).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${SNUG_CACHE:-$HOME/.cache/snug}/node
jobs=${SNUG_JOBS:-2}
containerd=github.com/containerd/containerd/v2
version_of() { awk -v module="$2" '$1 == "require" && $2 == module {print $3}' "$here/$1/go.mod"; }
kubernetes_version=$(version_of kubernetes k8s.io/kubernetes)
containerd_version=$(version_of containerd "$containerd")
kubelet_flags="-s -w -X k8s.io/component-base/version.gitVersion=$kubernetes_version"
containerd_flags="-s -w -X $containerd/version.Version=$containerd_version"
containerd_tags="no_btrfs no_zfs no_devmapper"
hash=$({ cat "$here"/kubernetes/go.{mod,sum} "$here"/containerd/go.{mod,sum}
  echo "$kubelet_flags $containerd_flags $containerd_tags"; } | sha256sum | cut -c1-16)
final=$cache/$hash
programs=(kubelet containerd containerd-shim-runc-v2 ctr runc busybox)

say() { echo "node: $*" >&2; }
source "$here/../go.sh"

# unpack FOLDER PACKAGE…: the contents of Debian packages.
unpack() {
  local folder=$1 file
  shift
  mkdir -p "$folder"
  (cd "$folder" &&
    { apt-get -q download "$@" || { apt-get -q update && apt-get -q download "$@"; }; } &&
    for file in *.deb; do dpkg-deb -x "$file" .; done)
}

build() {
  local go=$1 partial=$2
  unpack "$partial/packages" runc busybox-static || { say "apt gave no runc and busybox-static"; exit 3; }
  mv "$partial/packages/usr/sbin/runc" "$partial/packages/bin/busybox" "$partial/bin/"
  rm -rf "$partial/packages"
  "$partial/bin/runc" --version || { say "Debian's runc does not run here"; exit 3; }
  export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0
  say "building containerd $containerd_version with $("$go" env GOVERSION) (minutes when nothing is cached)"
  (cd "$here/containerd" && "$go" build -p "$jobs" -trimpath -tags "$containerd_tags" \
    -ldflags "$containerd_flags" -o "$partial/bin/" \
    "$containerd/cmd/containerd" "$containerd/cmd/containerd-shim-runc-v2" "$containerd/cmd/ctr")
  say "building kubelet $kubernetes_version (minutes when nothing is cached)"
  (cd "$here/kubernetes" && "$go" build -p "$jobs" -trimpath -ldflags "$kubelet_flags" \
    -o "$partial/bin/" k8s.io/kubernetes/cmd/kubelet)
}

build_once
