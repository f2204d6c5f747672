#!/usr/bin/env bash
# Installs the tools that the tests run unmodified: those of InfiniBand on the simulated fabric, PostgreSQL, of which
# the tests start servers of their own (the one that the package may start is not used), curl, ip, and systemd-analyze.
set -euo pipefail

packages=(opensm ibsim-utils libumad2sim0 infiniband-diags postgresql curl iproute2 systemd)
missing=()
for p in "${packages[@]}"; do
  dpkg -s "$p" >/dev/null 2>&1 || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0

sudo=""
[ "$(id -u)" -eq 0 ] || sudo=sudo
echo "installing ${missing[*]}"
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}"
