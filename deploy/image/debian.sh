#!/usr/bin/env bash
# Gets packages of Debian 12 for an architecture, from the sources of this machine's apt, and prints the
# folder in which they are:
#
#   bash deploy/image/debian.sh packages ARCH     the .debs of packages.txt and of what these need
#   bash deploy/image/debian.sh sysroot ARCH      an unpacked system with what Snug is compiled against
#
# What is there already is used again: remove ${SNUG_CACHE:-~/.cache/snug}/image to get newer packages.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

say() { printf 'debian: %s\n' "$*" >&2; }

sources() {
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
    grep ' bookworm' | sort -u
}

fetch() {
  mmdebstrap --quiet --variant=extract --arch="$arch" --skip=check/qemu "$@"
}

# ca-certificates and base-files without what they need (a shell, Perl): the image takes only data of them.
get_packages() {
  fetch --format=null --include="$(grep -vx ca-certificates "$here/packages.txt" | paste -sd,)" \
    --extract-hook='cd "$1/var/cache/apt/archives" && export APT_CONFIG=$MMDEBSTRAP_APT_CONFIG &&
      apt-get -qq -o APT::Sandbox::User=root download ca-certificates base-files' \
    --extract-hook="copy-out /var/cache/apt/archives $1" bookworm /dev/null - <<<"$list"
  mv "$1"/archives/*.deb "$1"
  rm -r "$1/archives"
}

# By way of tar, so that all files belong to the caller.
get_sysroot() {
  fetch --format=tar --include="$(bash "$here/../scripts/setup.sh" --list build | grep -- '-dev$' | paste -sd,),libstdc++-12-dev" \
    --extract-hook='for each in "$1"/var/cache/apt/archives/*.deb; do
      dpkg-deb --show --showformat="\${Package}\t\${Version}\n" "$each"; done >"$1/packages.tsv"' \
    bookworm - - <<<"$list" | tar --extract --directory "$1" --no-same-owner --exclude='./dev/*'
}

what=${1:-} arch=${2:-}
if [[ ! $what =~ ^(packages|sysroot)$ || ! $arch =~ ^(amd64|arm64)$ ]]; then
  printf 'usage: bash deploy/image/debian.sh packages|sysroot amd64|arm64\n' >&2
  exit 2
fi
list=$(sources) || {
  say "apt has no lists of a Debian 12 source; run apt-get update."
  exit 1
}
cache=${SNUG_CACHE:-$HOME/.cache/snug}/image
hash=$({ cat "$here"/{debian.sh,packages.txt} "$here/../scripts/setup.sh"; echo "$list"; } | sha256sum | cut -c1-16)
final=$cache/$what-$arch-$hash
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9 # one at a time; the second finds the first one's result
if [[ ! -d $final ]]; then
  say "getting the $what for $arch"
  rm -rf "$final.partial"
  mkdir "$final.partial"
  "get_$what" "$final.partial" >&2
  mv "$final.partial" "$final"
fi
echo "$final"
