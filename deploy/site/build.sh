#!/usr/bin/env bash
# Builds the documents of docs/ as a site that needs no other server. A dead link or any other warning is an error.
#
#   bash deploy/site/build.sh [FOLDER]     default: build/site
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$(realpath --canonicalize-missing "${1:-$here/../../build/site}")

venv=${SNUG_CACHE:-$HOME/.cache/snug}/site/$(sha256sum "$here/requirements.txt" | cut -c1-16)
if [[ ! -d $venv ]]; then
  mkdir -p "${venv%/*}"
  partial=$(mktemp -d "$venv.XXXXXX")
  trap 'rm -rf "$partial"' EXIT
  /usr/bin/python3 -m venv "$partial"
  "$partial/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --no-deps -r "$here/requirements.txt"
  mv --no-target-directory "$partial" "$venv" 2>/dev/null || [[ -d $venv ]] # another one was faster
fi
cd "$here"
# Without --quiet: it would silence the warnings, and --strict counts those that are written.
NO_MKDOCS_2_WARNING=true "$venv/bin/python" -m mkdocs build --strict --site-dir "$out"
printf '%s\n' "$out/index.html"
