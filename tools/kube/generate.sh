#!/bin/sh
# Generates the deep copies of kube/v1alpha1 and the CRDs in deploy/kubernetes/crds, with the pinned generator.
set -eu
cd "$(dirname "$0")/../.."

bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
(cd tools/kube && ${GO:-go} build -o "$bin/controller-gen" sigs.k8s.io/controller-tools/cmd/controller-gen)
"$bin/controller-gen" object paths=./kube/v1alpha1
"$bin/controller-gen" crd:allowDangerousTypes=false paths=./kube/v1alpha1 output:crd:dir=deploy/kubernetes/crds
