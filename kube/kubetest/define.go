package kubetest

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Define creates the definition of another project's kind, which accepts every field, unless it exists, and waits until it is served.
func (c *Cluster) Define(t testing.TB, plural string, kind schema.GroupVersionKind) {
	t.Helper()
	type object = map[string]any
	crd := &unstructured.Unstructured{Object: object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": plural + "." + kind.Group},
		"spec": object{"group": kind.Group, "scope": "Namespaced", "names": object{"kind": kind.Kind, "plural": plural}, "versions": []any{object{
			"name": kind.Version, "served": true, "storage": true,
			"schema": object{"openAPIV3Schema": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		}}},
	}}
	if err := client.IgnoreAlreadyExists(c.Admin.Create(t.Context(), crd)); err != nil {
		t.Fatal(err)
	}
	Eventually(t, time.Minute, func() string {
		l := &unstructured.UnstructuredList{}
		l.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.Admin.List(t.Context(), l); err != nil {
			return err.Error()
		}
		return ""
	})
}
