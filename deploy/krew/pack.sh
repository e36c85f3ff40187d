#!/usr/bin/env bash
# Packs the plug-in for krew, for the architecture of this machine:
#
#   bash deploy/krew/pack.sh FOLDER ADDRESS
#
# writes FOLDER/snug-VERSION-linux-ARCH.tar.gz with the program build/release/snugctl (or $SNUGCTL), and
# FOLDER/snug.yaml with its sum. ADDRESS is where the archive will be found: https://HOST/PATH.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

if (($# != 2)); then
  printf 'usage: bash deploy/krew/pack.sh FOLDER ADDRESS\n' >&2
  exit 2
fi
folder=$1 address=${2%/}
program=${SNUGCTL:-$here/../../build/release/snugctl}
version=$(sed -n 's/^  version: //p' "$here/snug.yaml")
[[ $("$program" --version) == "snugctl ${version#v}" ]] || {
  printf 'pack: %s is not version %s of snugctl\n' "$program" "$version" >&2
  exit 1
}
case $(uname -m) in
  x86_64) arch=amd64 ;;
  aarch64) arch=arm64 ;;
  *) arch=$(uname -m) ;;
esac
archive=snug-$version-linux-$arch.tar.gz

mkdir -p "$folder"
contents=$(mktemp -d)
trap 'rm -rf "$contents"' EXIT
cp -L "$program" "$contents/kubectl-snug"
strip "$contents/kubectl-snug"
cp "$here/../../LICENSE" "$contents/"
# The same contents give the same bytes.
tar -C "$contents" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - kubectl-snug LICENSE |
  gzip -n >"$folder/$archive"
sum=$(sha256sum "$folder/$archive")
sed -e "s|^    uri: .*|    uri: $address/$archive|" -e "s|^    sha256: .*|    sha256: ${sum%% *}|" \
  -e "s|arch: amd64|arch: $arch|" "$here/snug.yaml" >"$folder/snug.yaml"
printf '%s\n' "$folder/snug.yaml"
