package local

import (
	"fmt"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// shownPath is the path to one LID of a port.
type shownPath struct {
	From  string    `json:"from"`
	To    string    `json:"to"`
	LID   ident.LID `json:"lid"`
	Ports []string  `json:"ports"` // sending ports, in order
	Error string    `json:"error,omitempty"`
}

// pathsBetween follows the forwarding tables between two named ports, in both directions, to every LID.
func pathsBetween(f *subnet.Fabric, names []string) ([]shownPath, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if len(names) != 2 {
		return nil, usage.Of(phrase.Of("usage.between-two", "ports", strings.Join(names, ",")))
	}
	var ends [2]subnet.PortRef
	for i, name := range names {
		ref, err := f.ResolvePort(strings.TrimSpace(name))
		if err != nil {
			return nil, usage.Wrap(phrase.Because(err, phrase.Of("usage.flag-reason", "flag", "between", "reason", err)))
		}
		ends[i] = ref
	}
	if ends[0] == ends[1] {
		return nil, usage.Of(phrase.Of("usage.between-twice", "port", f.PortName(ends[0])))
	}
	if f.LFTs == nil {
		return nil, usage.Of(phrase.Of("usage.between-no-tables"))
	}
	var out []shownPath
	for _, way := range [2][2]subnet.PortRef{{ends[0], ends[1]}, {ends[1], ends[0]}} {
		found := subnet.PathsToPort(f, way[0], way[1])
		if len(found) == 0 {
			return nil, usage.Of(phrase.Of("usage.between-no-lid", "port", f.PortName(way[1])))
		}
		for _, p := range found {
			w := shownPath{From: f.PortName(way[0]), To: f.PortName(way[1]), LID: p.LID, Ports: []string{}}
			for _, ref := range p.Path {
				w.Ports = append(w.Ports, f.PortName(ref))
			}
			if p.Err != nil {
				w.Error = p.Err.Error()
			}
			out = append(out, w)
		}
	}
	return out, nil
}

// printPaths prints one path on each line.
func (a *app) printPaths(paths []shownPath) error {
	for _, w := range paths {
		text := strings.Join(w.Ports, " > ")
		if w.Error != "" {
			text = w.Error
		}
		if _, err := fmt.Fprintln(a.Stdout, a.T("fabricshow.way", "from", w.From, "to", w.To, "lid", w.LID, "way", text)); err != nil {
			return err
		}
	}
	return nil
}
