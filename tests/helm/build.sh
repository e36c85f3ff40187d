#!/usr/bin/env bash
# Builds helm, unmodified, from its Go module into
#   ${SNUG_CACHE:-$HOME/.cache/snug}/helm/<hash of the module and flags>/bin
# and prints that folder as the only line on stdout. What is there already is used again.
# Exit codes: 0 done; 3 there is no Go >= 1.26 here and it could not be installed; else the build failed.
set -euo pipefail

say() { echo "helm: $*" >&2; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${SNUG_CACHE:-$HOME/.cache/snug}/helm
version=$(awk '$1 == "helm.sh/helm/v3" {print $2}' "$here/go.mod")
# A release has these flags too: charts see the versions.
ldflags="-s -w -X helm.sh/helm/v3/internal/version.version=$version"
hash=$({ cat "$here"/go.{mod,sum}; echo "$ldflags"; } | sha256sum | cut -c1-16)
final=$cache/$hash
programs=(helm)

source "$here/../go.sh"

build() {
  local go=$1 partial=$2
  export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0
  say "building helm $version with $("$go" env GOVERSION) (about a minute when nothing is cached)"
  (cd "$here" && "$go" build -p 2 -trimpath -ldflags "$ldflags" -o "$partial/bin/" helm.sh/helm/v3/cmd/helm)
}

build_once
