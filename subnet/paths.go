package subnet

import "fairlane/subnet/ident"

// LIDPath is the path to one of a port's LIDs.
type LIDPath struct {
	LID  ident.LID
	Path []PortRef // as Path returns it; nil without a path
	Err  error     // why there is no path: wraps ErrNoRoute or ErrLoop
}

// PathsToPort follows the forwarding tables from src to every LID of dst, base LID first: 2^LMC of them, by which a
// subnet manager offers different paths to one port (IBTA vol. 1, 4.1.3 and 7.11.1). It is empty when dst has no LID.
// For any port of a switch the LID is that of port 0.
func PathsToPort(f *Fabric, src, dst PortRef) []LIDPath {
	if f.Valid(dst) && f.Nodes[dst.Node].Kind == KindSwitch {
		dst.Port = 0
	}
	p := f.Port(dst)
	if p == nil || p.LID == 0 {
		return nil
	}
	out := make([]LIDPath, 0, 1<<p.LMC)
	for i := range ident.LID(1) << p.LMC {
		w := LIDPath{LID: p.LID + i}
		if w.Path, w.Err = Path(f, src, w.LID); w.Err != nil {
			w.Path = nil
		}
		out = append(out, w)
	}
	return out
}
