#!/usr/bin/env bash
# build.sh [--optional] [--install]: builds the portal and the console into web/dist, unless they are up to date.
#   --install   installs Node.js on Debian if a suitable one is missing
#   --optional  if that, or the build, fails, says so in one line and succeeds: the program then serves a page that says so
# build.sh --exec COMMAND…: runs a command in web/ with the Node.js that builds
set -euo pipefail
cd "$(dirname "$0")"
web=$PWD
root=$(dirname "$PWD")
own=$root/.cache/node # installed by --install
log=$root/.cache/web.log
wanted="Node.js 20.19 or later (22.12 or later if above 20) with npm"
export PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 # browser tests use the system's browser

optional="" install="" run=()
while [ $# -gt 0 ]; do
  case $1 in
    --optional) optional=1 ;;
    --install) install=1 ;;
    --exec) shift; run=("$@"); break ;;
    *) echo "build.sh: unknown argument $1" >&2; exit 2 ;;
  esac
  shift
done

# found prints the version of Node.js in the PATH.
found() { node --version 2>/dev/null || true; }

# fits reports whether the Node.js in the PATH can build the portal: Vite states these versions.
fits() {
  local v major minor
  v=$(found)
  [ -n "$v" ] && command -v npm >/dev/null || return 1
  IFS=. read -r major minor _ <<<"${v#v}"
  case $major in
    20) [ "$minor" -ge 19 ] ;;
    22) [ "$minor" -ge 12 ] ;;
    *) [ "$major" -gt 22 ] ;;
  esac
}

# use_own puts the Node.js that install_node installed first in the PATH.
use_own() {
  [ -x "$own/node_modules/.bin/node" ] || return 1
  PATH=$own/node_modules/.bin:$PATH
}

# install_node installs Node.js below .cache: Debian 12 has 18, whose npm can fetch a later one as a package.
install_node() {
  local arch sudo="" command
  mkdir -p "$root/.cache"
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) arch=x64 ;;
    Linux-aarch64) arch=arm64 ;;
    *) echo "no packages for this system are known" >"$log"; return 1 ;;
  esac
  [ "$(id -u)" -eq 0 ] || sudo="sudo -n "
  command="npm install --prefix $own --no-save --no-audit --no-fund --ignore-scripts --loglevel=error node-linux-$arch@22.23.3 npm@10.9.9"
  if ! command -v npm >/dev/null; then
    command -v apt-get >/dev/null || { echo "neither npm nor apt-get was found" >"$log"; return 1; }
    command="${sudo}apt-get update -qq && ${sudo}env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends npm && $command"
  fi
  echo "installing Node.js: $command"
  timeout 600 bash -c "$command" >"$log" 2>&1 || return 1
}

# give_up ends the script with the reason: as a failure, or in one line with success.
give_up() {
  if [ -n "$optional" ]; then
    echo "portal: not built, the program will have no portal and console: $1"
    exit 0
  fi
  echo "portal: $1" >&2
  exit 1
}

# need_node makes a suitable Node.js the first in the PATH.
need_node() {
  fits && return
  local had
  had=$(found)
  if use_own && fits; then return; fi
  if [ -n "$install" ]; then
    if install_node && use_own && fits; then return; fi
    give_up "want $wanted, found ${had:-none}; installing it failed ($log)"
  fi
  give_up "want $wanted, found ${had:-none}; web/build.sh --install installs it on Debian"
}

# digest prints the SHA-256 of the names and contents of the files that it reads from standard input.
digest() { LC_ALL=C sort | xargs -r -d '\n' sha256sum | sha256sum | cut -d' ' -f1; }

# state prints the digests of the sources and of the built files.
state() {
  { find . \( -path ./node_modules -o -path ./dist -o -path ./e2e -o -path ./test \) -prune -o -type f ! -name '*.go' ! -name '*.sh' -print
    ls ../internal/i18n/catalogue/messages.*.yaml; } | digest
  find dist -type f ! -name placeholder.html | digest
}

# packages installs the packages of package-lock.json, unless node_modules has exactly these.
packages() {
  local lock
  lock=$(sha256sum package-lock.json | cut -d' ' -f1)
  [ "$(cat node_modules/.stamp 2>/dev/null)" = "$lock" ] && return
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  echo "$lock" >node_modules/.stamp
}

# build installs the packages and builds.
build() {
  packages
  [ -f dist/console.html ] && [ -f dist/portal.html ] && [ "$(cat node_modules/.built 2>/dev/null)" = "$(state)" ] && return
  npm run build
  state >node_modules/.built
}

if [ ${#run[@]} -gt 0 ]; then
  need_node
  exec "${run[@]}"
fi
[ -f package.json ] || give_up "its sources are missing: web/package.json"
mkdir -p "$root/.cache"
exec 9>"$root/.cache/web.lock"
flock 9 # another build of the same tree
need_node
if [ -n "$optional" ]; then
  set +e # a condition would switch it off in the subshell too
  ( set -e; build ) >"$log" 2>&1
  status=$?
  set -e
  [ "$status" -eq 0 ] || give_up "the build failed ($log)"
else
  build
fi
