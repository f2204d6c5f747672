#!/usr/bin/env bash
# kube.sh [--build PROGRAM… | --demo | --large]: runs the tests of the Kubernetes parts against a real API server and, as root, on a real node.
# It builds the API server, the kubelet, kubectl, Multus and both versions of Helm from source once, into the user's cache folder, and
# takes etcd, containerd and runc from Debian. Kubernetes needs 3 GB of build cache. With --build it only builds the programs, of
# kube-apiserver, kubelet and kubectl, and prints their folder as the last line. With --demo it starts the machine of
# docs/kubernetes-walkthrough.md, in /run/fairlane-kube, until Ctrl-C.
# KILLS (default 3) is the number of kills of each part, SEED that of their instants (default: from the clock; the test prints it).
# IDLE (default 10m) is the time for which the controller of the large cluster is left alone. --large runs that test and no other, LARGE=0 all
# others.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(cd tools/kube && go list -m -f '{{.Version}}' k8s.io/kubernetes)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/fairlane/kubernetes/$version-$(go env GOVERSION)

# compile NAME COST MODULE PACKAGE FILE [LDFLAGS]: builds a program of a module in tools into a file, once.
compile() {
  if [ -x "$5" ]; then
    echo "$1: built before, in $(dirname "$5")"
    return
  fi
  echo "building $1 ($2 of processor time)"
  local began=$SECONDS
  mkdir -p "$(dirname "$5")"
  (cd "tools/$3" && nice go build -trimpath -ldflags "-s -w ${6:-}" -o "$5.part" "$4")
  mv "$5.part" "$5"
  echo "built $1 in $((SECONDS - began)) s"
}

# build PROGRAM: a program of Kubernetes. The version is set as the project's own build does, or clients would read a placeholder.
build() {
  local package=k8s.io/component-base/version number=${version#v}
  compile "$1 $version" "up to 9 minutes" kube "k8s.io/kubernetes/cmd/$1" "$folder/$1" \
    "-X $package.gitVersion=$version -X $package.gitMajor=${number%%.*} -X $package.gitMinor=$(cut -d. -f2 <<<"$number") -X $package.gitTreeState=clean"
}

if [ "${1:-}" = --build ]; then
  shift
  for program in "${@:-kube-apiserver}"; do build "$program"; done
  echo "$folder"
  exit 0
fi

# helm TOOL MODULE NAME: a pinned Helm.
helm() {
  local version
  version=$(cd "tools/$1" && go list -m -f '{{.Version}}' "$2")
  compile "Helm $version" "2 minutes" "$1" "$2/cmd/helm" "$helms/$3-$version"
  ln -sf "$3-$version" "$helms/$3"
}
helms=$(dirname "$folder")/helm-$(go env GOVERSION)

# large: tests a cluster of 1,000 nodes, which need no root. Its programs are built here.
large() {
  local version to=$folder/large began
  version=$(cd tools/kwok && go list -m -f '{{.Version}}' sigs.k8s.io/kwok)
  mkdir -p "$to"
  if [ ! -x "$to/kwok-$version" ]; then
    echo "building kwok $version (about 2 minutes of processor time)"
    (cd tools/kwok && nice go build -trimpath -ldflags "-s -w" -o "$to/kwok.part" sigs.k8s.io/kwok/cmd/kwok)
    mv "$to/kwok.part" "$to/kwok-$version"
  fi
  ln -sf "kwok-$version" "$to/kwok"
  for stage in node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease pod/fast/pod-ready pod/fast/pod-delete; do
    echo "---"
    cat "$(cd tools/kwok && go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage/$stage.yaml"
  done >"$to/stages.yaml"
  make --no-print-directory bin/fairlane bin/fairlane-kube
  cp bin/fairlane bin/fairlane-kube "$to/"
  echo "test of a large cluster"
  began=$SECONDS
  FAIRLANE_KUBE_BINARIES=$folder FAIRLANE_NODE_PROGRAMS=$to FAIRLANE_IDLE=${IDLE:-10m} go test -count=1 -v -timeout 60m ./test/kubelarge
  echo "test of a large cluster took $((SECONDS - began)) s"
}

build kube-apiserver
if ! command -v etcd >/dev/null; then
  echo "installing etcd-server"
  sudo=""
  [ "$(id -u)" -eq 0 ] || sudo=sudo
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends etcd-server
fi

# rdma NODE: rdma-cni's program of its own source, but for one file: test/kubenode/testdata/rdmaops stands for the kernel's RDMA netlink.
rdma() {
  local copy
  copy=$(mktemp -d)
  cp -r "$(go mod download github.com/k8snetworkplumbingwg/rdma-cni && go list -m -f '{{.Dir}}' github.com/k8snetworkplumbingwg/rdma-cni)/." "$copy/"
  chmod -R u+w "$copy"
  cp test/kubenode/testdata/rdmaops/rdma_ops.go "$copy/pkg/rdma/"
  (cd "$copy" && go build -trimpath -buildvcs=false -o "$1/rdma" ./cmd/rdma)
  rm -rf "$copy"
}

# programs NODE: what runs on a node, in one folder. containerd and runc are unpacked and not installed: a machine that runs its own
# must not change.
programs() {
  local to=$1 debs
  mkdir -p "$to"
  if [ ! -x "$to/containerd" ]; then
    echo "unpacking containerd and runc of Debian"
    debs=$(mktemp -d)
    chmod 755 "$debs"
    (cd "$debs" && apt-get update -qq && apt-get download -qq containerd runc && for deb in *.deb; do dpkg -x "$deb" .; done)
    cp "$debs"/usr/bin/{ctr,containerd-shim-runc-v2} "$debs"/usr/sbin/runc "$to/"
    cp "$debs"/usr/bin/containerd "$to/" # the last, since its presence is tested
    rm -rf "$debs"
  fi
  compile Multus "90 seconds" multus gopkg.in/k8snetworkplumbingwg/multus-cni.v4/cmd/multus "$to/multus"
  rdma "$to"
  make --no-print-directory bin/cni/cnitool bin/fairlane-cni bin/fairlane bin/fairlane-kube bin/fairlane-agent
  cp bin/cni/{bridge,host-local,loopback} bin/fairlane-cni bin/fairlane bin/fairlane-kube bin/fairlane-agent "$to/"
  ln -sf "$folder/kubelet" "$to/kubelet"
}

# on_node TEST-ARGUMENTS…: runs tests with a node. The folders of a kubelet and of containerd are empty in a mount namespace of the
# tests' own, where the name of the webhook's service is this machine. Agents of pods and of tests have theirs there too.
on_node() {
  FAIRLANE_HELM=$helms FAIRLANE_KUBE_BINARIES=$folder FAIRLANE_NODE_PROGRAMS=$folder/node FAIRLANE_NODE_PRIVATE=1 FAIRLANE_KILLS=${KILLS:-3} FAIRLANE_SEED=${SEED:-} \
    unshare --mount --propagation private bash -euc '
      for folder in /var/lib/kubelet /var/lib/cni /var/lib/fairlane-agent /run/netns /run/containerd /run/fairlane-agent; do
        mkdir -p "$folder"
        mount -t tmpfs -o mode=755 none "$folder"
      done
      mount --make-rshared /
      hosts=$(mktemp)
      { cat /etc/hosts; echo "127.0.0.1 fairlane-kube.fairlane-system.svc"; } >"$hosts"
      mount --bind "$hosts" /etc/hosts
      rm "$hosts"
      exec go test -count=1 -v ./test/kubenode "$@"' _ "$@"
}

if [ "${1:-}" = --demo ]; then
  build kubelet
  build kubectl
  programs "$folder/node"
  demo=/run/fairlane-kube
  rm -rf "$demo"
  mkdir -m 700 "$demo"
  FAIRLANE_KUBE_DEMO=$demo on_node -timeout 0 -run TestWalkthrough
  exit 0
fi

if [ "${1:-}" = --large ]; then
  large
  exit 0
fi

helm helm helm.sh/helm/v3 helm3
helm helm4 helm.sh/helm/v4 helm4

echo "generated files"
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r kube/v1alpha1/zz_generated.deepcopy.go deploy/kubernetes "$copy/"
HELM=$helms/helm3 ./tools/kube/generate.sh
if ! diff -r "$copy/kubernetes" deploy/kubernetes || ! diff "$copy/zz_generated.deepcopy.go" kube/v1alpha1/zz_generated.deepcopy.go; then
  echo "kube.sh: the generated files were out of date and are now current: commit them" >&2
  exit 1
fi

echo "tests"
began=$SECONDS
FAIRLANE_KUBE_BINARIES=$folder FAIRLANE_HELM=$helms go test -count=1 -timeout 10m ./kube/... ./test/chart
echo "tests took $((SECONDS - began)) s"

if [ "$(id -u)" -eq 0 ]; then
  build kubelet
  build kubectl
  programs "$folder/node"
  echo "tests on a node"
  began=$SECONDS
  on_node -timeout "$((20 + ${KILLS:-3}))m"
  echo "tests on a node took $((SECONDS - began)) s"
else
  echo "tests on a node: skipped, they need root for network namespaces and containers"
fi
if [ "${LARGE:-1}" = 1 ]; then
  large
else
  echo "test of a large cluster: skipped, since LARGE is $LARGE; it takes 20 minutes"
fi
