#!/usr/bin/env bash
# Makes the images of snug-extender and snug-agent as OCI layouts, without a registry and without a container runtime:
#
#   bash deploy/image/build.sh --arch amd64|arm64 PROGRAMS OUT
#
# PROGRAMS holds the built snug-extender, snugctl, snug-agent, snug-mps, snug-gate and snug-observe. OUT/image gets the
# image of snug-extender, with snugctl, and OUT/agent-image that of snug-agent, with the other three; a second call for the
# other architecture adds to them.
# OUT also gets the SBOMs and the versions of Debian's packages. The same programs, packages and commit give the same
# digests, which are printed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

if (($# != 4)) || [[ $1 != --arch || ! $2 =~ ^(amd64|arm64)$ ]]; then
  printf 'usage: bash deploy/image/build.sh --arch amd64|arm64 PROGRAMS OUT\n' >&2
  exit 2
fi
arch=$2 programs=$3 out=$4

revision=$(git -C "$here" rev-parse HEAD 2>/dev/null || echo unknown)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct 2>/dev/null || echo 0)}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
packages=$(bash "$here/debian.sh" packages "$arch")
if [[ $arch == "$(dpkg --print-architecture)" ]]; then
  strip=strip
  dpkg-query --show >"$work/headers.tsv" # what the compiler has seen
else
  strip=aarch64-linux-gnu-strip
  cp "$(bash "$here/debian.sh" sysroot "$arch")/packages.tsv" "$work/headers.tsv"
fi
for name in snug-extender snugctl snug-agent snug-mps snug-gate snug-observe; do
  "$strip" -o "$work/$name" "$programs/$name"
done
mkdir -p "$out"
/usr/bin/python3 -B "$here/image.py" --arch "$arch" --packages "$packages" --programs "$work" --headers "$work/headers.tsv" \
  --revision "$revision" "$out"
