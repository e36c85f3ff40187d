#!/usr/bin/env bash
# Prints the notes of a release, its section of CHANGELOG.md: bash deploy/release/notes.sh VERSION
set -euo pipefail
changelog=$(dirname "${BASH_SOURCE[0]}")/../../CHANGELOG.md

notes=$(awk -v heading="## [${1?usage: notes.sh VERSION}]" \
  '/^## / {on = index($0, heading) == 1; next} on' "$changelog" | sed '/./,$!d')
if [[ -z $notes ]]; then
  printf 'notes: CHANGELOG.md has no section %s\n' "$1" >&2
  exit 1
fi
printf '%s\n' "$notes"
