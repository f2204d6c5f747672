package manifest

import (
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/yamltree"
)

// Read reads the documents of a file; name is the file's, for messages. The error joins up to fifty *yamltree.Fault.
func Read(name string, r io.Reader) ([]Resource, error) {
	d := yamltree.NewDecoder(name)
	var out []Resource
	for n := range d.Documents(r, MaxBytes) {
		if !yamltree.IsNull(n) {
			out = append(out, resource(d, name, n)...)
		}
	}
	return out, d.Err()
}

// resource reads one document; none when it has a fault.
func resource(d *yamltree.Decoder, file string, n *yaml.Node) []Resource {
	before := d.Faults()
	var head struct {
		Kind   string     `json:"kind" want:"a kind of resource"`
		Name   string     `json:"name"`
		Fabric string     `json:"fabric"`
		Spec   *yaml.Node `json:"spec" want:"what the resource is"`
	}
	d.Value(n, &head, "")
	if d.Faults() > before {
		return nil
	}
	r := Resource{Kind: Kind(head.Kind), Name: head.Name, Fabric: head.Fabric, At: Place{file, n.Line}}
	rule := r.Kind.rule()
	switch {
	case rule.spec == nil:
		d.FaultAt("kind", "found "+yamltree.Quote(head.Kind)+", want one of "+words(Kinds()))
	case rule.named && r.Name == "":
		d.Fault(n.Line, "name", "missing, want the name of the "+head.Kind)
	case !rule.named && r.Name != "":
		d.FaultAt("name", "found "+yamltree.Quote(r.Name)+", want none, since there is one for "+map[bool]string{true: "each fabric", false: "all"}[rule.inFabric])
	case !rule.inFabric && r.Kind != KindServiceAccount && r.Fabric != "":
		d.FaultAt("fabric", "found "+yamltree.Quote(r.Fabric)+", want none, since a resource of this kind belongs to no fabric")
	default:
		r.Spec = rule.spec()
		d.Value(head.Spec, r.Spec, "spec")
	}
	if d.Faults() > before {
		return nil
	}
	return []Resource{r}
}

func words(list []Kind) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return strings.Join(out, ", ")
}
