package views

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlane/service/control"
	"fairlane/subnet"
)

// Bounds of a search.
const (
	maxFound    = 50
	maxSearched = 8 // fabrics whose devices are searched, as many as topologies are cached
)

// Kinds of results.
const (
	FoundFabric  = "fabric"
	FoundTenant  = "tenant"
	FoundSwitch  = "switch"
	FoundHost    = "host"
	FoundPort    = "port"
	FoundPlan    = "plan"
	FoundRollout = "rollout"
	FoundUser    = "user"
)

// Found is a result of a search.
type Found struct {
	Kind, Fabric, ID, Name, Detail string
	worse                          int // 0 for the text itself, 1 when the name begins with it, 2 otherwise
}

// SearchQuery is a text to search for.
type SearchQuery struct {
	Text, Fabric string
	Limit        int // 1 to maxFound
	// May reports whether the caller may read objects of a kind on a fabric, "" for the whole service, and in one tenant of it.
	May func(object, fabric, tenant string) bool
}

// Search returns what matches a text and its caller may see, the best first, and whether there is more. Its work is bounded by the size
// of the fabrics that the caller may see.
func (v *Views) Search(ctx context.Context, q SearchQuery) (list []Found, more bool, err error) {
	text := strings.ToLower(strings.TrimSpace(q.Text))
	q.Limit = min(max(q.Limit, 1), maxFound)
	if text == "" {
		return nil, false, nil
	}
	s := &search{v: v, q: q, text: text, most: q.Limit + 1}
	err = v.Store.View(ctx, func(r control.Repos) error { return s.run(ctx, r) })
	if err != nil {
		return nil, false, err
	}
	order := []string{FoundFabric, FoundTenant, FoundSwitch, FoundHost, FoundPort, FoundPlan, FoundRollout, FoundUser}
	slices.SortStableFunc(s.found, func(a, b Found) int {
		return cmp.Or(a.worse-b.worse, slices.Index(order, a.Kind)-slices.Index(order, b.Kind), natural(a.Name, b.Name), cmp.Compare(a.Fabric, b.Fabric))
	})
	more = s.more || len(s.found) > q.Limit
	return s.found[:min(len(s.found), q.Limit)], more, nil
}

type search struct {
	v     *Views
	q     SearchQuery
	text  string // in lower case
	most  int    // results of each kind on each fabric
	found []Found
	more  bool
}

func (s *search) add(f Found) {
	switch name := strings.ToLower(f.Name); {
	case name == s.text || strings.EqualFold(f.ID, s.text):
	case strings.HasPrefix(name, s.text):
		f.worse = 1
	default:
		f.worse = 2
	}
	s.found = append(s.found, f)
}

func (s *search) run(ctx context.Context, r control.Repos) error {
	list, err := s.fabrics(ctx, r)
	if err != nil {
		return err
	}
	searched := 0
	for i := range list {
		f := &list[i]
		if strings.Contains(f.Name, s.text) && s.mayFabric(ctx, f.Name) {
			s.add(Found{Kind: FoundFabric, Fabric: f.Name, ID: f.Name, Name: f.Name})
		}
		if err := s.tenants(ctx, r, f.Name); err != nil {
			return err
		}
		if control.VisibleTenants(ctx, f.Name) != nil {
			continue
		}
		if s.q.May("fabric", f.Name, "") {
			if searched++; searched > maxSearched {
				s.more = true
			} else if err := s.devices(ctx, r, f.Name); err != nil {
				return err
			}
		}
		if err := s.plansAndRollouts(ctx, r, f.Name); err != nil {
			return err
		}
	}
	if s.q.Fabric != "" || !s.q.May("user", "", "") {
		return nil
	}
	names, err := r.UsersLike(ctx, s.text, s.most)
	for _, name := range names {
		s.add(Found{Kind: FoundUser, ID: name, Name: name})
	}
	return err
}

// mayFabric reports whether the caller may list a fabric: with the right to read its tenants, or one of them.
func (s *search) mayFabric(ctx context.Context, fabric string) bool {
	return s.q.May("tenant", fabric, "") || slices.ContainsFunc(control.VisibleTenants(ctx, fabric), func(n string) bool { return s.q.May("tenant", fabric, n) })
}

// fabrics returns the fabrics that the caller may see, one when the query names it.
func (s *search) fabrics(ctx context.Context, r control.Repos) ([]control.Fabric, error) {
	page := control.Page{Limit: control.MaxPageLimit}
	if p, ok := control.PrincipalFrom(ctx); ok && !p.Wide() {
		names := p.Fabrics()
		if s.q.Fabric != "" {
			names = slices.DeleteFunc(names, func(n string) bool { return n != s.q.Fabric })
		}
		if len(names) == 0 {
			return nil, nil
		}
		list, _, err := r.FabricsNamed(ctx, names, page)
		return list, err
	}
	if s.q.Fabric != "" {
		f, err := r.Fabric(ctx, s.q.Fabric)
		if errors.Is(err, control.ErrNotFound) { // as for a fabric that the caller may not see
			return nil, nil
		}
		return []control.Fabric{f}, err
	}
	list, _, err := r.ListFabrics(ctx, page)
	return list, err
}

func (s *search) tenants(ctx context.Context, r control.Repos, fabric string) error {
	own := control.VisibleTenants(ctx, fabric)
	if own == nil {
		if !s.q.May("tenant", fabric, "") {
			return nil
		}
		list, err := r.TenantsLike(ctx, fabric, s.text, s.most)
		for _, t := range list {
			s.add(Found{Kind: FoundTenant, Fabric: fabric, ID: t.Name, Name: t.Name, Detail: t.Weight.String()})
		}
		return err
	}
	own = slices.DeleteFunc(own, func(n string) bool { return !strings.Contains(n, s.text) || !s.q.May("tenant", fabric, n) })
	if len(own) == 0 {
		return nil
	}
	list, _, err := r.TenantsNamed(ctx, fabric, own, control.Page{Limit: s.most})
	for i := range list {
		s.add(Found{Kind: FoundTenant, Fabric: fabric, ID: list[i].Name, Name: list[i].Name, Detail: list[i].Weight.String()})
	}
	return err
}

func (s *search) plansAndRollouts(ctx context.Context, r control.Repos, fabric string) error {
	if strings.Trim(s.text, "0123456789abcdef") == "" && s.q.May("plan", fabric, "") {
		list, err := r.PlansLike(ctx, fabric, s.text, s.most)
		if err != nil {
			return err
		}
		for _, p := range list {
			s.add(Found{Kind: FoundPlan, Fabric: fabric, ID: p.Name, Name: p.Name, Detail: p.CreatedAt.UTC().Format(time.RFC3339)})
		}
	}
	if len(s.text) > 18 || strings.Trim(s.text, "0123456789") != "" || !s.q.May("rollout", fabric, "") {
		return nil
	}
	id, err := strconv.ParseInt(s.text, 10, 64)
	if err != nil {
		return err
	}
	ro, err := r.RolloutHead(ctx, fabric, id)
	if errors.Is(err, control.ErrNotFound) {
		return nil
	}
	if err == nil {
		n := strconv.FormatInt(id, 10)
		s.add(Found{Kind: FoundRollout, Fabric: fabric, ID: n, Name: n, Detail: string(ro.State)})
	}
	return err
}

// nameIndex has the names of a topology's nodes and ports in the forms that a search compares.
type nameIndex struct {
	sha   string
	nodes []indexed // by natural order of their names
}

type indexed struct {
	name, lower, guid string
	at                int32
	guids             []portGUID
}

type portGUID struct {
	text string
	ref  subnet.PortRef
}

func (v *Views) indexOf(sha string, f *subnet.Fabric) *nameIndex {
	fits := func(x *nameIndex) bool { return x.sha == sha }
	if x, ok := cachedIn(v, &v.indexes, fits); ok {
		return x
	}
	x := &nameIndex{sha: sha, nodes: make([]indexed, len(f.Nodes))}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		e := indexed{name: n.Label(), lower: strings.ToLower(n.Label()), guid: n.GUID.String(), at: int32(i)}
		for _, p := range n.Ports {
			if p.GUID != 0 && p.GUID != n.GUID {
				e.guids = append(e.guids, portGUID{p.GUID.String(), subnet.PortRef{Node: int32(i), Port: p.Num}})
			}
		}
		x.nodes[i] = e
	}
	slices.SortStableFunc(x.nodes, func(a, b indexed) int { return natural(a.lower, b.lower) })
	keepIn(v, &v.indexes, x, fits)
	return x
}

// devices adds nodes and ports.
func (s *search) devices(ctx context.Context, r control.Repos, fabric string) error {
	snap, f, err := s.v.Latest(ctx, r, fabric)
	switch {
	case errors.Is(err, control.ErrConflict): // never discovered
		return nil
	case err != nil:
		return err
	}
	x := s.v.indexOf(snap.SHA256, f)
	hex := s.text
	if strings.Trim(hex, "0123456789abcdef") == "" && len(hex) >= 4 {
		hex = "0x" + hex
	}
	base, num, port := subnet.SplitPort(s.text)
	var rest []Found // nodes that contain the text elsewhere than at the beginning
	n := 0
	for i := range x.nodes {
		e := &x.nodes[i]
		switch {
		case strings.HasPrefix(e.lower, s.text), strings.HasPrefix(hex, "0x") && strings.HasPrefix(e.guid, hex):
			s.add(node(fabric, f, e))
			n++
		case strings.Contains(e.lower, s.text):
			if len(rest) < s.most {
				rest = append(rest, node(fabric, f, e))
			}
		case port && (e.lower == base || e.guid == base):
			if ref := (subnet.PortRef{Node: e.at, Port: num}); f.Valid(ref) {
				s.add(portFound(fabric, f, ref, ""))
				n++
			}
		}
		if strings.HasPrefix(hex, "0x") {
			for _, g := range e.guids {
				if strings.HasPrefix(g.text, hex) {
					s.add(portFound(fabric, f, g.ref, g.text))
					n++
				}
			}
		}
		if n >= s.most {
			return nil
		}
	}
	for _, x := range rest[:min(len(rest), s.most-n)] {
		s.add(x)
	}
	return nil
}

func node(fabric string, f *subnet.Fabric, e *indexed) Found {
	kind := FoundHost
	if f.Nodes[e.at].Kind == subnet.KindSwitch {
		kind = FoundSwitch
	}
	return Found{Kind: kind, Fabric: fabric, ID: e.guid, Name: e.name, Detail: e.guid}
}

func portFound(fabric string, f *subnet.Fabric, ref subnet.PortRef, guid string) Found {
	id := f.PortID(ref)
	return Found{Kind: FoundPort, Fabric: fabric, ID: id.String(), Name: f.PortName(ref), Detail: cmp.Or(guid, id.String())}
}
