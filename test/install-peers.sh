#!/usr/bin/env bash
# Installs the tools that the tests run unmodified: the InfiniBand tools for the simulated fabric, PostgreSQL, Prometheus and Alertmanager
# (the tests start their own servers; they do not use one that the package starts), curl, ip, systemd-analyze and promtool, and Chromium with a
# font for Chinese, for the tests of the portal.
set -euo pipefail

packages=(opensm ibsim-utils libumad2sim0 infiniband-diags postgresql curl iproute2 systemd prometheus prometheus-alertmanager)
if [ -f web/package.json ]; then
  packages+=(chromium fonts-noto-cjk)
fi
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
