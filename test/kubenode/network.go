package kubenode

import (
	"encoding/json"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/kube/kubetest"
)

// bridgeName is the bridge of the default network and of the networks with devices.
const bridgeName = "fltest0"

// network writes Multus as the node's CNI configuration; its default network is a bridge.
func (n *Node) network(testing.TB) error {
	if err := os.MkdirAll(n.path("net.d"), 0o700); err != nil {
		return err
	}
	config := map[string]any{
		"cniVersion": "1.0.0", "name": "multus", "type": "multus", "kubeconfig": n.path("kubeconfig"), "cniDir": n.path("multus"), "binDir": n.programs,
		"delegates": []any{map[string]any{"cniVersion": "1.0.0", "name": "default", "plugins": []any{n.bridge("10.231.0.0/24")}}},
	}
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	return os.WriteFile(n.path("net.d", "00-multus.conf"), text, 0o600)
}

// bridge is the first plugin of a chain; it stands for the plugin that would move a virtual function.
func (n *Node) bridge(subnet string) map[string]any {
	return map[string]any{"type": "bridge", "bridge": bridgeName, "ipam": map[string]any{"type": "host-local", "subnet": subnet, "dataDir": n.path("ipam")}}
}

// Networks creates the definition of NetworkAttachmentDefinition.
func Networks(t testing.TB, c *kubetest.Cluster) {
	t.Helper()
	c.Define(t, "network-attachment-definitions", schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"})
}

// Network creates a network in a namespace: a bridge, and the plugins chained after it. Its pods get a device of
// the resource.
func (n *Node) Network(t testing.TB, namespace, name, resource, subnet string, plugins ...map[string]any) {
	t.Helper()
	u, err := n.definition(name, resource, subnet, plugins...)
	if err != nil {
		t.Fatal(err)
	}
	u.SetNamespace(namespace)
	if err := client.IgnoreAlreadyExists(n.cluster.Admin.Create(t.Context(), u)); err != nil {
		t.Fatal(err)
	}
}

// definition returns the definition of a network.
func (n *Node) definition(name, resource, subnet string, plugins ...map[string]any) (*unstructured.Unstructured, error) {
	config, err := json.Marshal(map[string]any{"cniVersion": "1.0.0", "name": name, "plugins": append([]map[string]any{n.bridge(subnet)}, plugins...)})
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
		"metadata": map[string]any{"name": name, "annotations": map[string]any{"k8s.v1.cni.cncf.io/resourceName": resource}},
		"spec":     map[string]any{"config": string(config)},
	}}, err
}

// NetworkManifest returns the definition of Network as JSON, for any namespace.
func (n *Node) NetworkManifest(name, resource, subnet string, plugins ...map[string]any) (string, error) {
	u, err := n.definition(name, resource, subnet, plugins...)
	if err != nil {
		return "", err
	}
	text, err := u.MarshalJSON()
	return string(text), err
}
