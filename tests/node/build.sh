#!/usr/bin/env bash
# build.sh [RUNTIME|plugins]
# Builds kubelet, and containerd with its shim and ctr, unmodified, from their Go modules, and takes runc and
# a static busybox from Debian's packages, without installing them, into
#   ${SNUG_CACHE:-$HOME/.cache/snug}/node/<hash of the modules and flags>/bin
# and prints that folder as the only line on stdout. What is there already is used again.
# RUNTIME: a folder of this one with the modules of another containerd or of CRI-O; the printed folder then has
# it instead, beside the same other programs. CRI-O also needs a C compiler, and Debian's package conmon.
# "plugins" instead of a runtime: the printed folder has the programs in the folder plugins, and no others.
# Exit codes: 0 done; 3 Go >= 1.26, a package or a compiler is missing here and cannot be had; else a build failed.
# SNUG_GO=PROGRAM: build with this Go; no other is looked for, and none is installed. SNUG_JOBS: parallel jobs (2).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${SNUG_CACHE:-$HOME/.cache/snug}/node
jobs=${SNUG_JOBS:-2}
runtime=${1:-containerd}
# The first module that FOLDER/go.mod requires, and its version.
module_of() { awk '$1 == "require" && $2 != "(" {print $2; exit}' "$here/$1/go.mod"; }
version_of() { awk '$1 == "require" && $2 != "(" {print $3; exit}' "$here/$1/go.mod"; }
[[ -f $here/$runtime/go.mod ]] || { echo "node: there is no runtime $runtime" >&2; exit 2; }
module=$(module_of "$runtime")
kubernetes_version=$(version_of kubernetes)
version=$(version_of "$runtime")
kubelet_flags="-s -w -X k8s.io/component-base/version.gitVersion=$kubernetes_version"
others=()
common=(kubelet runc busybox)
inputs=("$here"/kubernetes/go.{mod,sum} "$here/$runtime"/go.{mod,sum})
if [[ $runtime == plugins ]]; then
  commands=(device-plugin nri-plugin)
  module=. version=
  flags="-s -w"
  tags=""
  common=()
  inputs=("$here"/plugins/go.{mod,sum} "$here"/plugins/cmd/*/*.go)
elif [[ $runtime == cri-o* ]]; then
  commands=(crio)
  flags="-s -w"
  tags="containers_image_openpgp exclude_graphdriver_btrfs exclude_graphdriver_devicemapper"
  others=(conmon pinns)
else
  commands=(containerd containerd-shim-runc-v2 ctr)
  flags="-s -w -X $module/version.Version=$version"
  tags="no_btrfs no_zfs no_devmapper"
fi
hash=$({ cat "${inputs[@]}"
  echo "$kubelet_flags $flags $tags"; } | sha256sum | cut -c1-16)
final=$cache/$hash
programs=("${commands[@]}" "${others[@]}" "${common[@]}")

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

build_runtime() {
  local go=$1 partial=$2
  say "building $runtime${version:+ $version} with $("$go" env GOVERSION) (minutes when nothing is cached)"
  (cd "$here/$runtime" && "$go" build -p "$jobs" -trimpath -tags "$tags" -ldflags "$flags" \
    -o "$partial/bin/" "${commands[@]/#/$module/cmd/}")
}

# CRI-O's two other programs: conmon, and pinns, which is C.
build_crio_programs() {
  local go=$1 partial=$2 source
  unpack "$partial/packages" conmon || { say "apt gave no conmon"; exit 3; }
  mv "$partial/packages/usr/bin/conmon" "$partial/bin/"
  rm -rf "$partial/packages"
  "$partial/bin/conmon" --version || { say "Debian's conmon does not run here"; exit 3; }
  command -v cc >/dev/null || { say "there is no C compiler"; exit 3; }
  source=$(cd "$here/$runtime" && "$go" list -m -f '{{.Dir}}' "$module")
  cc -std=c99 -O2 -static -o "$partial/bin/pinns" "$source"/pinns/src/*.c
}

build_common() {
  local go=$1 partial=$2
  unpack "$partial/packages" runc busybox-static || { say "apt gave no runc and busybox-static"; exit 3; }
  mv "$partial/packages/usr/sbin/runc" "$partial/packages/bin/busybox" "$partial/bin/"
  rm -rf "$partial/packages"
  "$partial/bin/runc" --version || { say "Debian's runc does not run here"; exit 3; }
  say "building kubelet $kubernetes_version (minutes when nothing is cached)"
  (cd "$here/kubernetes" && "$go" build -p "$jobs" -trimpath -ldflags "$kubelet_flags" \
    -o "$partial/bin/" k8s.io/kubernetes/cmd/kubelet)
}

build() {
  export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0
  if [[ $runtime == containerd ]]; then
    build_common "$@"
  elif [[ $runtime != plugins ]]; then
    cp -l "${common[@]/#/$default/}" "$2/bin/"
  fi
  [[ $runtime != cri-o* ]] || build_crio_programs "$@"
  build_runtime "$@"
}

if [[ $runtime != containerd && $runtime != plugins ]]; then default=$("${BASH_SOURCE[0]}"); fi
build_once
