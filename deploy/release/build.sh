#!/usr/bin/env bash
# Builds all that a release publishes, with what `setup.sh build image cross` installs:
#
#   bash deploy/release/build.sh VERSION ADDRESS OUT
#
# ADDRESS is where the files of OUT/files will be found. OUT gets image and agent-image (amd64 and arm64), SBOMs, notes.md, and files:
# the .deb packages of amd64, the archive for krew, and SHA256SUMS.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if (($# != 3)); then
  printf 'usage: bash deploy/release/build.sh VERSION ADDRESS OUT\n' >&2
  exit 2
fi
version=$1 address=$2 out=$3
named=$(sed -n 's/^project(snug VERSION \([^ ]*\).*/\1/p' CMakeLists.txt)
if [[ $version != "$named" ]]; then
  printf 'release: CMakeLists.txt has version %s, not %s\n' "$named" "$version" >&2
  exit 1
fi
mkdir -p "$out/files"
bash deploy/release/notes.sh "$version" >"$out/notes.md"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
SNUG_SYSROOT=$(bash deploy/image/debian.sh sysroot arm64)
export SOURCE_DATE_EPOCH SNUG_SYSROOT

for preset in release release-arm64; do
  cmake --preset "$preset" -D CMAKE_UNITY_BUILD=ON
  cmake --build --preset "$preset"
done
bash deploy/image/build.sh --arch amd64 build/release "$out"
bash deploy/image/build.sh --arch arm64 build/release-arm64 "$out"
cpack --config build/release/CPackConfig.cmake -B build/release/packages
cp build/release/packages/*.deb "$out/files/"
bash deploy/krew/pack.sh "$out/files" "$address"
(cd "$out/files" && sha256sum -- * >../SHA256SUMS && mv ../SHA256SUMS .)
