#!/usr/bin/env bash
# kube.sh [--build PROGRAM…]: runs the tests of the Kubernetes parts against a real API server. It builds the API server from
# source once, into the user's cache folder, and installs Debian's etcd. With --build it only builds the programs, of
# kube-apiserver and kubelet, and prints their folder as the last line.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(cd tools/kube && go list -m -f '{{.Version}}' k8s.io/kubernetes)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/fairlane/kubernetes/$version-$(go env GOVERSION)

# build PROGRAM: the version is set as the project's own build does, or clients would read a placeholder.
build() {
  if [ -x "$folder/$1" ]; then
    echo "$1 $version: built before, in $folder"
    return
  fi
  echo "building $1 $version into $folder (about 9 minutes of processor time for kube-apiserver, 3 GB of build cache)"
  local began=$SECONDS package=k8s.io/component-base/version number=${version#v}
  mkdir -p "$folder"
  (cd tools/kube && nice go build -trimpath -o "$folder/$1.part" -ldflags "-s -w -X $package.gitVersion=$version \
    -X $package.gitMajor=${number%%.*} -X $package.gitMinor=$(cut -d. -f2 <<<"$number") -X $package.gitTreeState=clean" "k8s.io/kubernetes/cmd/$1")
  mv "$folder/$1.part" "$folder/$1"
  echo "built $1 in $((SECONDS - began)) s"
}

if [ "${1:-}" = --build ]; then
  shift
  for program in "${@:-kube-apiserver}"; do build "$program"; done
  echo "$folder"
  exit 0
fi

build kube-apiserver
if ! command -v etcd >/dev/null; then
  echo "installing etcd-server"
  sudo=""
  [ "$(id -u)" -eq 0 ] || sudo=sudo
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends etcd-server
fi

echo "generated files"
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r kube/v1alpha1/zz_generated.deepcopy.go deploy/kubernetes/crds "$copy/"
./tools/kube/generate.sh
if ! diff -r "$copy/crds" deploy/kubernetes/crds || ! diff "$copy/zz_generated.deepcopy.go" kube/v1alpha1/zz_generated.deepcopy.go; then
  echo "kube.sh: the generated files were out of date and are now current: commit them" >&2
  exit 1
fi

echo "tests"
began=$SECONDS
FAIRLANE_KUBE_BINARIES=$folder go test -count=1 -timeout 10m ./kube/...
echo "tests took $((SECONDS - began)) s"
