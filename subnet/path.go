package subnet

import (
	"fmt"
	"slices"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/subnet/ident"
)

// Reasons why Path finds no path, for errors.Is.
var (
	// ErrNoRoute means that no port has the LID, a forwarding table has no entry for it, or an entry leads to a port with
	// nothing plugged in.
	ErrNoRoute error = &phrase.Error{Text: phrase.Of("subnet.no-route")}
	// ErrLoop means that the forwarding tables send the packet in a loop.
	ErrLoop error = &phrase.Error{Text: phrase.Of("subnet.loop")}
)

// Path follows the forwarding tables from a port to a LID and returns the transmitting ports in order, the source port
// first: each is one link direction that the traffic uses. The path is empty when the LID is the source's own. The source
// is a port of a channel adapter or a router, or port 0 of a switch. Errors wrap ErrNoRoute or ErrLoop and name the place
// of the fault.
func Path(f *Fabric, src PortRef, dlid ident.LID) ([]PortRef, error) {
	return AppendPath(make([]PortRef, 0, 6), f, src, dlid)
}

// AppendPath is Path for callers that look up many paths: it appends to dst, which it returns unchanged after an error.
func AppendPath(dst []PortRef, f *Fabric, src PortRef, dlid ident.LID) ([]PortRef, error) {
	if !f.Valid(src) {
		return dst, phrase.Because(ErrNoRoute, phrase.Of("subnet.path-no-port", "node", src.Node, "port", src.Port))
	}
	end, ok := f.PortByLID(dlid)
	if !ok {
		return dst, noPath(f.PortName(src), dlid, ErrNoRoute, phrase.Of("subnet.path-no-lid"))
	}
	path, at := dst, src
	if f.Nodes[src.Node].Kind != KindSwitch {
		if end == src {
			return dst, nil
		}
		path, at = append(path, src), noPort
		if peer, plugged := f.Peer(src); plugged {
			at = peer
		}
	}
	for hops := 0; ; hops++ {
		switch {
		case at.Node < 0:
			return dst, noPath(f.PortName(src), dlid, ErrNoRoute, phrase.Of("subnet.path-unplugged", "port", f.PortName(path[len(path)-1])))
		case at == end, at.Node == end.Node && end.Port == 0:
			return path, nil
		case f.Nodes[at.Node].Kind != KindSwitch:
			return dst, noPath(f.PortName(src), dlid, ErrNoRoute, phrase.Of("subnet.path-other-lid", "port", f.PortName(at)))
		case hops > len(f.Switches()):
			return dst, noPath(f.PortName(src), dlid, ErrLoop, phrase.Verbatim(f.circle(path[len(dst):])))
		}
		out, err := f.egress(at.Node, dlid)
		if err != nil {
			return dst, phrase.Because(err, phrase.Of("subnet.path", "port", f.PortName(src), "lid", dlid, "reason", err))
		}
		path = append(path, out)
		peer, plugged := f.Peer(out)
		if !plugged {
			peer = noPort
		}
		at = peer
	}
}

// noPath is the error of a path, which wraps one of the reasons above.
func noPath(port string, dlid ident.LID, kind error, why phrase.Text) error {
	return phrase.Because(kind, phrase.Of("subnet.path", "port", port, "lid", dlid, "reason", phrase.Of("labelled", "label", kind, "text", why)))
}

// egress looks the LID up in a switch's forwarding table.
func (f *Fabric) egress(node int32, dlid ident.LID) (PortRef, error) {
	row := f.LFT(node)
	if row == nil {
		return noPort, fmt.Errorf("%w: %w", ErrNoRoute, fault(phrase.Of("subnet.path-no-table", "switch", nodeLabel(&f.Nodes[node]))))
	}
	if int(dlid) >= len(row) || row[dlid] == ident.DropPort {
		return noPort, fmt.Errorf("%w: %w", ErrNoRoute, fault(phrase.Of("subnet.path-dropped", "switch", nodeLabel(&f.Nodes[node]))))
	}
	if row[dlid] == 0 {
		return noPort, fmt.Errorf("%w: %w", ErrNoRoute, fault(phrase.Of("subnet.path-own", "switch", nodeLabel(&f.Nodes[node]))))
	}
	return PortRef{node, row[dlid]}, nil
}

// circle lists the ports of the loop at the end of a path that is too long.
func (f *Fabric) circle(path []PortRef) string {
	last := path[len(path)-1]
	var names []string
	for i := len(path) - 1; i >= 0; i-- {
		names = append(names, f.PortName(path[i]))
		if i < len(path)-1 && path[i] == last || len(names) == 8 {
			break
		}
	}
	slices.Reverse(names)
	return strings.Join(names, " - ")
}
