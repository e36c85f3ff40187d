#!/usr/bin/env bash
# Tries the README's two commands where nothing is installed: makes a bare Debian 12 with debootstrap,
# clones the last commit into it, and runs them in there. Needs root and the package debootstrap.
#
#   sudo bash tests/fresh/debootstrap.sh [--quick] [--keep]
#
# --quick: tests/run.sh --quick. --keep: leaves the new system for a look around.
# CHROOT: where to make it (a folder under TMPDIR). MIRROR: the Debian mirror (the host's own).
# The host's settings for apt, pip and proxies and its certificates are copied, so that what this
# machine can reach can be reached from inside.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source deploy/scripts/say.sh

CHROOT=${CHROOT:-${TMPDIR:-/tmp}/snug-fresh}
LOG=$CHROOT.log
quick=() keep=false child=

give_up() {
  printf 'fresh: %s\n' "$*" >&2
  exit 1
}

# `URI suite component` of each Debian source that the host's apt uses.
host_sources() {
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
    sort -u | awk '$2 ~ /^bookworm/ && $4 == "Debian" {print $1, $2, $3}'
}

make_system() {
  local mirror=${MIRROR:-}
  [[ -n $mirror ]] || mirror=$(host_sources | awk '$2 == "bookworm" {print $1; exit}')
  [[ -n $mirror ]] || give_up "the host's apt has no source for Debian 12; set MIRROR to one."
  say "Making a bare Debian 12 in $CHROOT from $mirror (log: $LOG)."
  mkdir -p "$CHROOT"
  quietly "$LOG" debootstrap --variant=minbase bookworm "$CHROOT" "$mirror"
  if [[ -n ${MIRROR:-} ]]; then
    echo "deb $mirror bookworm main" >"$CHROOT/etc/apt/sources.list"
  else
    host_sources | sed 's/^/deb /' >"$CHROOT/etc/apt/sources.list"
  fi
}

copy_settings() {
  apt-config dump | grep -E '^Acquire::(Check-|.*[Pp]roxy)' >"$CHROOT/etc/apt/apt.conf.d/99host" || true
  local file
  for file in /etc/resolv.conf /etc/hosts /etc/pip.conf; do
    [[ ! -e $file ]] || cp -L "$file" "$CHROOT$file"
  done
  if [[ -d /usr/local/share/ca-certificates ]]; then
    mkdir -p "$CHROOT/usr/local/share/ca-certificates"
    cp -rL /usr/local/share/ca-certificates/. "$CHROOT/usr/local/share/ca-certificates/"
  fi
}

mount_system() {
  mount -t proc proc "$CHROOT/proc"
  mount --bind /dev "$CHROOT/dev"
}

unmount_system() {
  local folder
  for folder in dev proc; do
    if mountpoint -q "$CHROOT/$folder"; then
      umount "$CHROOT/$folder" || umount -l "$CHROOT/$folder"
    fi
  done
}

finish() {
  local code=$?
  trap - EXIT INT TERM
  if [[ -n $child ]]; then
    kill -- "-$child" 2>/dev/null || true
    wait "$child" || true
  fi
  unmount_system
  if $keep || ((code != 0)); then
    say "The new system is left in $CHROOT; nothing of the host is mounted in it any more."
  else
    rm -rf --one-file-system "$CHROOT"
  fi
  exit "$code"
}

# Runs a command in the clone inside the new system, as a process group of its own, with none of the
# host's variables but those that say how to reach the network.
inside() {
  local network inner_home code=0
  inner_home=$(awk -F: '$3 == 0 {print $6; exit}' "$CHROOT/etc/passwd")
  mapfile -t network < <(env | grep -iE '^((https?|no|all|ftp)_proxy|PIP_[A-Z_]*|GOPROXY|GONOSUMDB|GOSUMDB|GOFLAGS)=' || true)
  set -m
  chroot "$CHROOT" /usr/bin/env -i HOME="$inner_home" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    "${network[@]}" CI="${CI:-}" /bin/bash -c 'cd /srv/snug && exec "$@"' - "$@" </dev/null &
  child=$!
  set +m
  wait "$child" || code=$?
  child=
  return "$code"
}

main() {
  local option
  for option in "$@"; do
    case $option in
      --quick) quick=(--quick) ;;
      --keep) keep=true ;;
      *) give_up "unknown option '$option'; the options are --quick and --keep." ;;
    esac
  done
  (($(id -u) == 0)) || give_up "making a new system needs root."
  command -v debootstrap >/dev/null || give_up "debootstrap is missing: apt-get install debootstrap."
  [[ ! -e $CHROOT/usr ]] || give_up "$CHROOT is there already; remove it or set CHROOT to another folder."
  trap finish EXIT
  trap 'exit 130' INT TERM
  make_system
  copy_settings
  mount_system
  say "Cloning the last commit into it."
  git clone --quiet "file://$PWD" "$CHROOT/srv/snug"
  say "deploy/demo.sh, with nothing installed:"
  inside bash deploy/demo.sh
  say "tests/run.sh ${quick[*]}, with nothing but what the demo installed:"
  inside bash tests/run.sh "${quick[@]}"
  say "Both commands work on a fresh Debian 12."
}

main "$@"
