# shellcheck shell=bash
# Shell functions of ./quickstart and ./run_tests. Source it from bash in the repository's root.

# The distribution's package commands need root.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Asks the network for nothing when nothing is missing.
install_missing_packages() {
  local package missing=()
  for package in $(grep -v '^#' cmake/packages.txt); do
    is_installed "$package" || missing+=("$package")
  done
  [ "${#missing[@]}" -gt 0 ] || return 0
  echo "== Installing ${missing[*]}"
  as_root apt-get update
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}

# build_release TARGET…: configures build/release and builds the targets, all of them without arguments.
build_release() {
  cmake --preset release
  cmake --build build/release ${1:+--target "$@"}
}
