package manifest

import (
	"io"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
	"fairlane/internal/yamltree"
)

// Read reads the documents of a file; name is the file's name for messages. The error joins up to fifty
// *yamltree.Fault.
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

// resource reads one document; it returns none for a faulty one.
func resource(d *yamltree.Decoder, file string, n *yaml.Node) []Resource {
	before := d.Faults()
	var head struct {
		Kind   string     `json:"kind" want:"manifest.want-kind"`
		Name   string     `json:"name"`
		Fabric string     `json:"fabric"`
		Spec   *yaml.Node `json:"spec" want:"manifest.want-spec"`
	}
	d.Value(n, &head, "")
	if d.Faults() > before {
		return nil
	}
	r := Resource{Kind: Kind(head.Kind), Name: head.Name, Fabric: head.Fabric, At: Place{file, n.Line}}
	rule := r.Kind.rule()
	switch {
	case rule.spec == nil:
		d.FaultAt("kind", yamltree.Found(yamltree.Quoted(head.Kind), phrase.Of("want.one-of", "values", Kinds())))
	case rule.named && r.Name == "":
		d.Fault(n.Line, "name", yamltree.Missing(phrase.Of("manifest.want-name", "kind", head.Kind)))
	case !rule.named && r.Name != "" && rule.inFabric:
		d.FaultAt("name", yamltree.Found(yamltree.Quoted(r.Name), phrase.Of("manifest.want-no-name-in-fabric")))
	case !rule.named && r.Name != "":
		d.FaultAt("name", yamltree.Found(yamltree.Quoted(r.Name), phrase.Of("manifest.want-no-name")))
	case !rule.inFabric && r.Kind != KindServiceAccount && r.Fabric != "":
		d.FaultAt("fabric", yamltree.Found(yamltree.Quoted(r.Fabric), phrase.Of("manifest.want-no-fabric")))
	default:
		r.Spec = rule.spec()
		d.Value(head.Spec, r.Spec, "spec")
	}
	if d.Faults() > before {
		return nil
	}
	return []Resource{r}
}
