package kubetest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/kube/kubetest"
)

// TestTheServerAcceptsEveryManifest asks the API server for a dry run of each object, with strict checks of field names.
func TestTheServerAcceptsEveryManifest(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(kubetest.Manifests(), "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var k struct {
		Resources []string `yaml:"resources"`
	}
	if err := yaml.Unmarshal(text, &k); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(kubetest.Manifests(), "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crds, err := filepath.Glob(filepath.Join(kubetest.Manifests(), "crds", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, crds...) {
		name, err := filepath.Rel(kubetest.Manifests(), f)
		if err != nil {
			t.Fatal(err)
		}
		if name == "kustomization.yaml" {
			continue
		}
		if !slices.Contains(k.Resources, name) {
			t.Errorf("%s is not in kustomization.yaml", name)
		}
		objects, err := kubetest.Objects(name)
		if err != nil {
			t.Fatal(err)
		}
		strict := client.WithFieldValidation(cluster.Admin, "Strict")
		for _, o := range objects {
			t.Run(strings.ToLower(o.GetKind())+"/"+o.GetName(), func(t *testing.T) {
				err := strict.Create(t.Context(), o, client.DryRunAll)
				if err != nil && !apierrors.IsAlreadyExists(err) { // what other tests need was applied before
					t.Error(err)
				}
			})
		}
	}
}
