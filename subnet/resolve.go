package subnet

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/subnet/ident"
)

// nearMisses is the number of alternatives in an error of ResolvePort.
const nearMisses = 5

// Label returns the node's display name: its NodeDescription, or its GUID when that is empty.
func (n *Node) Label() string {
	if n.Name != "" {
		return n.Name
	}
	return n.GUID.String()
}

// PortName returns the port's display name: "host-07/P1", with the node's Label. ResolvePort resolves it when the
// NodeDescription is unique.
func (f *Fabric) PortName(r PortRef) string {
	if r.Node < 0 || int(r.Node) >= len(f.Nodes) {
		return "no port"
	}
	return f.Nodes[r.Node].Label() + "/P" + strconv.Itoa(int(r.Port))
}

// ResolvePort resolves the name of a port: "0x0002c90300a1b2c3:1" (node GUID and port), a port GUID, or a NodeDescription
// followed by ":1" or "/P1". The port number may be omitted for a node with a single port, or with a single plugged-in
// port. The error for an unknown name lists similar names; the error for an ambiguous one lists the ports.
func (f *Fabric) ResolvePort(text string) (PortRef, error) {
	t := strings.TrimSpace(text)
	if t == "" {
		return noPort, &phrase.Error{Text: phrase.Of("subnet.port-empty")}
	}
	var found []PortRef
	var nodes []int32 // nodes with several ports, named without a port number
	for _, n := range f.candidates(t) {
		switch p, ok := f.onlyPort(n); {
		case ok:
			found = append(found, p)
		default:
			nodes = append(nodes, n)
		}
	}
	if base, num, ok := SplitPort(t); ok {
		for _, n := range f.candidates(base) {
			if r := (PortRef{n, num}); f.Valid(r) {
				found = append(found, r)
			}
		}
	}
	if g, err := ident.ParseGUID(t); err == nil {
		if r, ok := f.PortByGUID(g); ok {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, comparePortRefs)
	found = slices.Compact(found)
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return noPort, f.ambiguous(text, found)
	case len(nodes) > 0:
		return noPort, f.wantPort(text, nodes)
	}
	return noPort, f.unknownPort(text, t)
}

// candidates returns the nodes whose NodeDescription or node GUID is the text.
func (f *Fabric) candidates(t string) []int32 {
	nodes := slices.Clone(f.NodesByName(t))
	if g, err := ident.ParseGUID(t); err == nil {
		if n, ok := f.NodeByGUID(g); ok && !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// onlyPort returns the port of a node that needs no number: its only one, or the only one that is plugged in.
func (f *Fabric) onlyPort(n int32) (PortRef, bool) {
	ports := f.Nodes[n].Ports
	if len(ports) == 2 {
		return PortRef{n, 1}, true
	}
	only, plugged := noPort, 0
	for p := 1; p < len(ports); p++ {
		if ports[p].Link >= 0 {
			only, plugged = PortRef{n, ident.PortNum(p)}, plugged+1
		}
	}
	return only, plugged == 1
}

// SplitPort splits the number of a port, 0 to MaxPorts, from the end of its name: ":1", "/P1" or "/1".
func SplitPort(t string) (base string, num ident.PortNum, ok bool) {
	i := strings.LastIndexAny(t, ":/")
	if i < 0 {
		return "", 0, false
	}
	digits := t[i+1:]
	if t[i] == '/' {
		digits = strings.TrimPrefix(strings.TrimPrefix(digits, "P"), "p")
	}
	v, err := strconv.ParseUint(digits, 10, 8)
	if err != nil || v > MaxPorts {
		return "", 0, false
	}
	return t[:i], ident.PortNum(v), true
}

// ambiguous returns the error of a text that names several ports.
func (f *Fabric) ambiguous(text string, refs []PortRef) error {
	var names []string
	for _, r := range refs[:min(len(refs), nearMisses)] {
		names = append(names, fmt.Sprintf("%s (%s)", f.PortName(r), f.PortID(r)))
	}
	return &phrase.Error{Text: phrase.Of("subnet.port-ambiguous", "port", strconv.Quote(text), "ports", phrase.Names(names, len(refs), nearMisses))}
}

// kindText returns the display name of a kind of node.
func kindText(k NodeKind) phrase.Text {
	switch k {
	case KindCA:
		return phrase.Of("subnet.ca")
	case KindSwitch:
		return phrase.Of("subnet.switch")
	case KindRouter:
		return phrase.Of("subnet.router")
	}
	return phrase.Verbatim(k.String())
}

func (f *Fabric) wantPort(text string, nodes []int32) error {
	if len(nodes) > 1 {
		refs := make([]PortRef, len(nodes))
		for i, n := range nodes {
			refs[i] = PortRef{n, 1}
		}
		return f.ambiguous(text, refs)
	}
	n := &f.Nodes[nodes[0]]
	return &phrase.Error{Text: phrase.Of("subnet.port-number", "port", strconv.Quote(text), "kind", kindText(n.Kind), "node", nodeLabel(n), "max", len(n.Ports)-1,
		"such", f.PortName(PortRef{nodes[0], 1}))}
}

// unknownPort returns the error of a name without a port: the node has no such port, or the similar names.
func (f *Fabric) unknownPort(text, t string) error {
	base, num, ok := SplitPort(t)
	if ok {
		for _, n := range f.candidates(base) {
			node := &f.Nodes[n]
			return &phrase.Error{Text: phrase.Of("subnet.no-port", "port", strconv.Quote(text), "kind", kindText(node.Kind), "node", nodeLabel(node), "n", num, "max", len(node.Ports)-1)}
		}
	} else {
		base = t
	}
	near := f.nearNames(base)
	if len(near) == 0 {
		return &phrase.Error{Text: phrase.Of("subnet.unknown-port", "port", strconv.Quote(text), "nodes", len(f.Nodes))}
	}
	return &phrase.Error{Text: phrase.Of("subnet.unknown-port-near", "port", strconv.Quote(text), "near", near)}
}

// nearNames returns up to nearMisses node names closest to the given one: by edit distance up to a third of its length,
// or containing it.
func (f *Fabric) nearNames(want string) []string {
	type near struct {
		name string
		dist int
	}
	want = strings.ToLower(want)
	if len(want) > MaxNameLen {
		return nil
	}
	limit := max(1, len(want)/3)
	var found []near
	for name := range f.index.names {
		low := strings.ToLower(name)
		d := editDistance(want, low, limit)
		if d > limit && (len(want) < 2 || !strings.Contains(low, want)) {
			continue
		}
		found = append(found, near{name, d})
	}
	slices.SortFunc(found, func(a, b near) int {
		if a.dist != b.dist {
			return a.dist - b.dist
		}
		return strings.Compare(a.name, b.name)
	})
	var names []string
	for _, n := range found[:min(len(found), nearMisses)] {
		names = append(names, n.name)
	}
	return names
}

// editDistance is Levenshtein's distance in bytes, or limit+1 when it is larger than limit.
// Both texts have at most MaxNameLen bytes.
func editDistance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	var prev, cur [MaxNameLen + 1]int
	for j := 0; j <= len(b); j++ {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
		}
		prev = cur
	}
	return min(prev[len(b)], limit+1)
}
