package scenario

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
	"fairlane/internal/yamltree"
	"fairlane/subnet"
	"fairlane/subnet/topofile"
)

// groups reads the named host sets of the file. Their members must be hosts of the fabric.
func (d *document) groups(n *yaml.Node, fabric *subnet.Fabric) {
	if n == nil || d.err != nil || yamltree.IsNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.fail(n, "groups", describe(n), phrase.Of("scenario.want-groups-map"))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if len(fabric.NodesByName(key.Value)) > 0 {
			d.fail(key, "groups", topofile.Quoted(key.Value), phrase.Of("scenario.want-no-host"))
		}
		f := fields{d: d, node: n, name: "groups", m: map[string]*yaml.Node{key.Value: value}}
		var members []string
		for _, m := range f.values(key.Value, subnet.MaxPorts) {
			for _, name := range d.hostNames(f.path(key.Value), m, fabric) {
				if _, err := fabric.ResolvePort(name); err != nil {
					d.failWith(m, noHost(f.path(key.Value), err, fabric))
				}
			}
			members = append(members, m.Value)
		}
		if d.err != nil {
			return
		}
		d.failWith(key, d.names.Define(key.Value, members))
	}
}

// hostNames returns the host names that a text denotes: the text itself if it is the name of a host, otherwise the members of
// the group or host set.
func (d *document) hostNames(field string, n *yaml.Node, fabric *subnet.Fabric) []string {
	if d.err != nil {
		return nil
	}
	if len(fabric.NodesByName(n.Value)) > 0 {
		return []string{n.Value}
	}
	names, err := d.names.Expand(n.Value)
	if err != nil {
		d.failWith(n, fmt.Errorf("%s: %w", field, err))
	}
	return names
}

// hostSource is the text from which hosts of a flow came, and whether it denotes several hosts.
type hostSource struct {
	text string
	many bool
}

// checkDistinct records an error if another text of the same list denotes the same host, and at least one of the two texts is a host
// set or group.
func (d *document) checkDistinct(seen map[string]hostSource, field string, n *yaml.Node, names []string) {
	from := hostSource{n.Value, len(names) != 1 || names[0] != n.Value}
	for _, name := range names {
		if other, twice := seen[name]; twice && (other.many || from.many) {
			d.twice(field, n, name, other, from)
			return
		}
		seen[name] = from
	}
}

// twice records the error that two texts of one list denote the same host.
func (d *document) twice(field string, n *yaml.Node, host string, first, second hostSource) {
	d.fail(n, field, phrase.Of("scenario.found-twice", "host", host, "first", first.text, "second", second.text), phrase.Of("scenario.want-host-once"))
}

// some records an error if a key has no hosts.
func (f fields) some(key string, hosts int) {
	if hosts == 0 {
		f.d.fail(f.at(key), f.path(key), describe(f.at(key)), phrase.Of("scenario.want-a-host"))
	}
}

// isPattern reports whether a text is a pattern of names: it has *, ?, or brackets that are not the numbers of a host set.
func isPattern(text string) bool {
	if strings.ContainsAny(text, `*?\`) {
		return true
	}
	for {
		_, rest, found := strings.Cut(text, "[")
		if !found {
			return false
		}
		inside, tail, closed := strings.Cut(rest, "]")
		if closed && strings.Trim(inside, "0123456789,- ") != "" {
			return true
		}
		text = tail
	}
}

// set returns the hosts of a host set or a group.
func (r *hostReader) set(field string, n *yaml.Node) []int32 {
	var out []int32
	for _, name := range r.d.hostNames(field, n, r.fabric) {
		ref, err := r.fabric.ResolvePort(name)
		h, ok := r.number[ref]
		switch {
		case err != nil:
			r.d.failWith(n, noHost(field, err, r.fabric))
		case !ok:
			r.d.fail(n, field, topofile.Quoted(name), phrase.Of("scenario.want-host-port"))
		}
		if r.d.err != nil {
			return nil
		}
		out = append(out, h)
	}
	return out
}
