package gnmitree

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
)

// target is the target of a request.
type target struct {
	tree   Tree
	info   Info
	limits Limits
	name   string // as in the request
	prefix Path
}

// enter returns the target of a request if the caller is authorized for it.
func (s *Server) enter(ctx context.Context, c Call, prefix *gnmi.Path) (*target, error) {
	if n := len(prefix.GetTarget()); n > s.limits.NameBytes {
		return nil, invalid("prefix.target has %d bytes, want at most %d", n, s.limits.NameBytes)
	}
	if s.authorize != nil {
		if err := s.authorize(ctx, c); err != nil {
			return nil, coded(err)
		}
	}
	tree, err := s.targets.Target(c.Target)
	if err != nil {
		return nil, coded(err)
	}
	if tree == nil || !reflect.TypeOf(tree).Comparable() {
		return nil, errorf(codes.Internal, "target %q is a %T, want a tree that can be compared", c.Target, tree)
	}
	t := &target{tree: tree, info: tree.Info(), limits: s.limits, name: c.Target}
	if t.prefix, err = fromProto(prefix, s.limits); err != nil {
		return nil, invalid("prefix: %v", err)
	}
	t.bare(t.prefix)
	return t, nil
}

// path returns a path of a request, with the prefix before it.
func (t *target) path(p *gnmi.Path) (Path, error) {
	q, err := fromProto(p, t.limits)
	if err != nil {
		return Path{}, invalid("%v", err)
	}
	switch n := len(t.prefix.Elems) + len(q.Elems); {
	case p.GetTarget() != "":
		return Path{}, invalid("path %s names target %q, want that in the prefix", q, p.GetTarget())
	case q.Origin != "" && t.prefix.Origin != "" && q.Origin != t.prefix.Origin:
		return Path{}, invalid("path %s has origin %q, and the prefix has %q: want one of them", q, q.Origin, t.prefix.Origin)
	case n > t.limits.PathElements:
		return Path{}, invalid("path %s has %d elements with its prefix, want at most %d", q, n, t.limits.PathElements)
	}
	t.bare(q)
	q = t.prefix.Join(q)
	if len(t.info.Origins) > 0 && !slices.Contains(t.info.Origins, q.Origin) {
		return Path{}, invalid("path %s has origin %q, want one of %q", q, q.Origin, t.info.Origins)
	}
	return q, nil
}

// paths returns the paths of a Get, or only the prefix if there are none.
func (t *target) paths(in []*gnmi.Path) ([]Path, error) {
	if len(in) > t.limits.Paths {
		return nil, invalid("request has %d paths, want at most %d", len(in), t.limits.Paths)
	}
	if len(in) == 0 {
		in = []*gnmi.Path{nil}
	}
	out := make([]Path, len(in))
	for i := range in {
		var err error
		if out[i], err = t.path(in[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// bare removes the prefixes of the target's modules from p's elements, which must not be shared.
func (t *target) bare(p Path) {
	for i, e := range p.Elems {
		if strings.Contains(e.Name, ":") {
			p.Elems[i].Name = t.unqualified(e.Name)
		}
	}
}

func (t *target) unqualified(name string) string {
	module, rest, found := strings.Cut(name, ":")
	if found && rest != "" && slices.ContainsFunc(t.info.Models, func(m Model) bool { return m.Name == module }) {
		return rest
	}
	return name
}

// allEncodings returns the default encodings of a tree's answers.
func allEncodings() []Encoding { return []Encoding{EncodingJSON, EncodingJSONIETF, EncodingProto} }

func (t *target) encoding(e Encoding) error {
	allowed := t.info.Encodings
	if len(allowed) == 0 {
		allowed = allEncodings()
	}
	if !slices.Contains(allowed, e) {
		return errorf(codes.Unimplemented, "encoding %s is not supported, want one of %s", e, allowed)
	}
	return nil
}

// models returns an error if a request requires models that the target does not have. A request that names some of its models
// is answered from all of them.
func (t *target) models(use []*gnmi.ModelData) error {
	for _, u := range use {
		if !slices.ContainsFunc(t.info.Models, func(m Model) bool {
			return m.Name == u.GetName() && (u.GetOrganization() == "" || u.GetOrganization() == m.Organization) && (u.GetVersion() == "" || u.GetVersion() == m.Version)
		}) {
			return invalid("use_models names model %q of %q, version %q, which this target does not have: %+v", u.GetName(), u.GetOrganization(), u.GetVersion(), t.info.Models)
		}
	}
	return nil
}

// reply returns the prefix of notifications about paths, and the number of elements of each path that it replaces: those of the
// request's prefix, unless that is a pattern.
func (t *target) reply(paths func(yield func(Path) bool)) (*gnmi.Path, int) {
	out := &gnmi.Path{Target: t.name, Origin: t.prefix.Origin}
	n := len(t.prefix.Elems)
	if n == 0 || t.prefix.HasWildcard() {
		return out, 0
	}
	for p := range paths {
		if len(p.Elems) < n || !slices.EqualFunc(p.Elems[:n], t.prefix.Elems, equalElems) {
			return out, 0
		}
	}
	out.Elem = t.prefix.Proto().GetElem()
	return out, n
}

// wire returns a path of the target for a notification with a prefix of n elements. origin is that of the request's path.
func (t *target) wire(p Path, n int, origin string) *gnmi.Path {
	p = Path{Elems: p.Elems[n:]}
	if t.prefix.Origin == "" {
		p.Origin = origin
	}
	return p.Proto()
}

// extensions rejects extensions that would change the meaning of a request.
func extensions(all []*gnmi_ext.Extension) (master *gnmi_ext.MasterArbitration, err error) {
	for _, x := range all {
		switch x := x.GetExt().(type) {
		case *gnmi_ext.Extension_MasterArbitration:
			if master != nil {
				return nil, invalid("request has master arbitration twice")
			}
			master = x.MasterArbitration
		case *gnmi_ext.Extension_RegisteredExt, nil:
		default:
			return nil, errorf(codes.Unimplemented, "extension %T is not supported, want master arbitration or none", x)
		}
	}
	return master, nil
}

// ended reports the end of a call to Options.Observe.
func (s *Server) ended(c Call, from time.Time, err error) {
	if s.observe != nil {
		s.observe(c, time.Since(from), err)
	}
}
