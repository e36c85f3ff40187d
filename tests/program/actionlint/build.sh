#!/usr/bin/env bash
# Builds actionlint from its Go module and prints the folder in which it is. What is there already is used again.
# Exit code 3: there is no Go >= 1.26 here and it could not be installed.
set -euo pipefail

say() { echo "actionlint: $*" >&2; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${SNUG_CACHE:-$HOME/.cache/snug}/actionlint
final=$cache/$(cat "$here"/go.{mod,sum} | sha256sum | cut -c1-16)
programs=(actionlint)

source "$here/../../go.sh"

build() {
  (cd "$here" && GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0 \
    "$1" build -p 2 -trimpath -ldflags "-s -w" -o "$2/bin/" github.com/rhysd/actionlint/cmd/actionlint)
}

build_once
