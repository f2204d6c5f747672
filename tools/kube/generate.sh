#!/bin/sh
# Generates the deep copies of kube/v1alpha1 and the CRDs in deploy/kubernetes/crds, with the pinned generator, and the other
# manifests in deploy/kubernetes from the chart. HELM is a built Helm; without it, the pinned one is built.
set -eu
cd "$(dirname "$0")/../.."

bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
(cd tools/kube && ${GO:-go} build -o "$bin/controller-gen" sigs.k8s.io/controller-tools/cmd/controller-gen)
"$bin/controller-gen" object paths=./kube/v1alpha1
"$bin/controller-gen" crd:allowDangerousTypes=false paths=./kube/v1alpha1 output:crd:dir=deploy/kubernetes/crds

helm=${HELM:-$bin/helm}
[ -x "$helm" ] || (cd tools/helm && ${GO:-go} build -trimpath -o "$helm" helm.sh/helm/v3/cmd/helm)
"$helm" template fairlane deploy/helm/fairlane --namespace fairlane-system --kube-version 1.34.1 \
  --set crds.install=false --values tools/kube/manifests.yaml >"$bin/all.yaml" 2>"$bin/err" || { cat "$bin/err" >&2; exit 1; }
# One file for each template, as the comments of Helm name it.
mkdir "$bin/out"
awk -v out="$bin/out/" '
  /^---$/ { next }
  /^# Source: / { n = split($3, path, "/"); file = out path[n]; if (file in seen) print "---" > file; else print "# Generated from deploy/helm/fairlane by tools/kube/generate.sh; do not edit." > file; seen[file] = 1; next }
  file != "" { print > file }' "$bin/all.yaml"
sed -i -e 's/[[:space:]]*$//' -e '/^$/d' "$bin"/out/*.yaml
mv "$bin"/out/*.yaml deploy/kubernetes/
