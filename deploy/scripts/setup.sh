#!/usr/bin/env bash
# Installs the Debian packages that Snug needs, if they are missing.
#
#   bash deploy/scripts/setup.sh [demo | build] [kubernetes] [image] [cross] [test] [lint]     (default: build)
#   bash deploy/scripts/setup.sh --list LEVEL…                              only prints their names
#
# demo: to run the demo with an existing program. build: to compile, and to run the demo. kubernetes: to
# build and start a control plane. image: for images and packages. cross: to compile for arm64, and
# to run such a program. test: to compile and run the tests. lint: clang-tidy and clang-format.
# For Debian 12; needs root or sudo only if a package is missing.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/say.sh"

demo_packages=(curl python3 python3-yaml)
build_packages=(
  "${demo_packages[@]}" g++ cmake ninja-build ccache pkg-config git ca-certificates
  libcurl4-openssl-dev nlohmann-json3-dev libspdlog-dev libyaml-cpp-dev
  libsimdjson-dev libprotozero-dev prometheus-cpp-dev libcli11-dev libssl-dev
  libboost-graph-dev)
kubernetes_packages=(openssl python3-pip)
image_packages=(mmdebstrap dpkg-dev file)
cross_packages=(g++-aarch64-linux-gnu qemu-user-static)
test_packages=(
  "${kubernetes_packages[@]}" "${image_packages[@]}" libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev
  libcpp-httplib-dev patch clang-19 libclang-rt-19-dev python3-jsonschema python3-venv
  fish mandoc zsh chromium prometheus runc umoci)
lint_packages=(clang-tidy-19 clang-format-19)

give_up() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

wanted_packages() {
  local level
  case $* in
    demo | 'demo kubernetes') printf '%s\n' "${demo_packages[@]}" ;;
    *) printf '%s\n' "${build_packages[@]}" ;;
  esac
  for level in "$@"; do
    case $level in
      demo | build) ;;
      kubernetes) printf '%s\n' "${kubernetes_packages[@]}" ;;
      image) printf '%s\n' "${image_packages[@]}" ;;
      cross) printf '%s\n' "${cross_packages[@]}" ;;
      test) printf '%s\n' "${test_packages[@]}" ;;
      lint) printf '%s\n' "${lint_packages[@]}" ;;
      *) give_up "unknown level '$level'; the levels are demo, build, kubernetes, image, cross, test and lint." ;;
    esac
  done
}

# Prints the given packages that are not installed, one per line.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
    sed -n 's/^installed //p' || true)
  printf '%s\n' "$@" | grep -vxF -f <(printf '%s\n' "$installed") || true
}

as_root() {
  if (($(id -u) == 0)); then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

# Lets the packages that are installed next start no service (of `test`, prometheus has one): Debian's
# scripts ask this program before they start one. One that is there already stays.
POLICY=/usr/sbin/policy-rc.d
forbid_services() {
  [[ ! -e $POLICY ]] || return 0
  trap 'as_root rm -f "$POLICY"' EXIT
  printf '#!/bin/sh\nexit 101\n' | as_root tee "$POLICY" >/dev/null
  as_root chmod 755 "$POLICY"
}

# Ends what forbid_services began. The service stays off after the next boot, too.
allow_services() {
  if [[ -n $(trap -p EXIT) ]]; then
    as_root rm -f "$POLICY"
    trap - EXIT
  fi
  if [[ " $* " == *' prometheus '* ]] && command -v systemctl >/dev/null; then
    as_root systemctl --quiet disable prometheus.service || true
  fi
}

# Update and install as one step, so that a retry repeats both if the mirror changed in between.
apt_round() {
  local log=$1
  shift
  quietly "$log" as_root apt-get -q update &&
    quietly "$log" as_root apt-get -q -y --no-install-recommends install "$@"
}

install_missing() {
  local log
  command -v apt-get >/dev/null || give_up "packages are missing and this machine has no apt-get; on Debian 12 they are: $*."
  if (($(id -u) != 0)); then
    command -v sudo >/dev/null || give_up "packages are missing and installing them needs root or sudo: apt-get install $*."
    sudo -v || give_up "sudo refused; as root run: apt-get install $*."
  fi
  log=$(mktemp)
  say "Installing $# Debian packages, a few minutes on a bare machine: $*"
  forbid_services
  if ! QUIETLY_TAIL=5 apt_round "$log" "$@"; then
    say "apt failed; trying once more."
    QUIETLY_TAIL=15 apt_round "$log" "$@" ||
      give_up "apt could not install the packages above, twice; see its message and check the network and the apt sources (its whole output: $log)."
  fi
  allow_services "$@"
  rm -f "$log"
}

main() {
  local wanted missing
  if [[ ${1:-} == --list ]]; then
    wanted_packages "${@:2}"
    return
  fi
  wanted=$(wanted_packages "$@")
  command -v dpkg-query >/dev/null || give_up "this is no Debian; install the equivalents of: ${wanted//$'\n'/ }."
  mapfile -t wanted <<<"$wanted"
  missing=$(missing_packages "${wanted[@]}")
  [[ -n $missing ]] || return 0
  mapfile -t missing <<<"$missing"
  install_missing "${missing[@]}"
  missing=$(missing_packages "${wanted[@]}")
  [[ -z $missing ]] || give_up "apt says it is done, but these are still missing: ${missing//$'\n'/ }."
  say "All packages are installed."
}

main "$@"
