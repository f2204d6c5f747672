package gnmitree

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
)

var _ gnmi.GNMIServer = (*Server)(nil)

func (s *Server) Capabilities(ctx context.Context, r *gnmi.CapabilityRequest) (out *gnmi.CapabilityResponse, err error) {
	c, from := Call{Method: "Capabilities", Peer: PeerOf(ctx)}, time.Now()
	defer func() { s.ended(c, from, err) }()
	if s.authorize != nil {
		if err := s.authorize(ctx, c); err != nil {
			return nil, coded(err)
		}
	}
	if _, err := extensions(r.GetExtension()); err != nil {
		return nil, err
	}
	out = &gnmi.CapabilityResponse{GNMIVersion: Version, SupportedEncodings: allEncodings()}
	if t, err := s.targets.Target(""); err == nil && len(t.Info().Encodings) > 0 {
		out.SupportedEncodings = slices.Clone(t.Info().Encodings)
	}
	for _, m := range s.targets.Models() {
		out.SupportedModels = append(out.SupportedModels, &gnmi.ModelData{Name: m.Name, Organization: m.Organization, Version: m.Version})
	}
	return out, nil
}

func compareModels(a, b Model) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Organization, b.Organization), cmp.Compare(a.Version, b.Version))
}

// Get implements gnmi.GNMIServer. It returns a notification for each path, with an update for each matching node, or for each
// leaf with EncodingProto.
func (s *Server) Get(ctx context.Context, r *gnmi.GetRequest) (out *gnmi.GetResponse, err error) {
	c, from := Call{Method: "Get", Target: r.GetPrefix().GetTarget(), Peer: PeerOf(ctx)}, time.Now()
	defer func() { s.ended(c, from, err) }()
	t, err := s.enter(ctx, c, r.GetPrefix())
	if err != nil {
		return nil, err
	}
	q, err := t.query(r)
	if err != nil {
		return nil, err
	}
	found, err := t.get(ctx, q)
	if err != nil {
		return nil, err
	}
	g := getter{target: t, kind: q.Type, encoding: r.GetEncoding(), now: time.Now(), room: answerFactor * s.limits.MessageBytes}
	out = &gnmi.GetResponse{Notification: make([]*gnmi.Notification, len(q.Paths))}
	for i, p := range q.Paths {
		if out.Notification[i], err = g.notification(p, found[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (t *target) query(r *gnmi.GetRequest) (q Query, err error) {
	if _, err := extensions(r.GetExtension()); err != nil {
		return q, err
	}
	if err := t.encoding(r.GetEncoding()); err != nil {
		return q, err
	}
	if err := t.models(r.GetUseModels()); err != nil {
		return q, err
	}
	types := map[gnmi.GetRequest_DataType]Type{
		gnmi.GetRequest_ALL: TypeAll, gnmi.GetRequest_CONFIG: TypeConfig, gnmi.GetRequest_STATE: TypeState, gnmi.GetRequest_OPERATIONAL: TypeOperational,
	}
	kind, ok := types[r.GetType()]
	if !ok {
		return q, invalid("data type is %s, want one of %v", r.GetType(), slices.Sorted(maps.Keys(types)))
	}
	if len(t.info.Types) > 0 && !slices.Contains(t.info.Types, kind) {
		return q, errorf(codes.Unimplemented, "data type %s is not supported by this target", r.GetType())
	}
	paths, err := t.paths(r.GetPath())
	return Query{Paths: paths, Type: kind, Text: r.GetEncoding() == EncodingJSONIETF}, err
}

// get reads the tree.
func (t *target) get(ctx context.Context, q Query) ([][]Leaf, error) {
	found, err := t.tree.Get(ctx, q)
	if err != nil {
		return nil, coded(err)
	}
	if len(found) != len(q.Paths) {
		return nil, errorf(codes.Internal, "the tree answers %d paths, want %d", len(found), len(q.Paths))
	}
	return found, nil
}

// getter builds the answer to a Get.
type getter struct {
	*target
	kind     Type
	encoding Encoding
	now      time.Time
	room     int // bytes left for values
}

func (g *getter) notification(pattern Path, leaves []Leaf) (*gnmi.Notification, error) {
	nodes, exists := nodesOf(pattern, leaves, g.kind)
	if !exists && !pattern.HasWildcard() && len(pattern.Elems) > 0 {
		return nil, errorf(codes.NotFound, "path %s: nothing is there", pattern)
	}
	prefix, n := g.reply(func(yield func(Path) bool) {
		for _, node := range nodes {
			if !yield(node.at) {
				return
			}
		}
	})
	out := &gnmi.Notification{Prefix: prefix}
	var oldest time.Time // by the tree's clock, if all leaves have a time
	for _, node := range nodes {
		for i := range node.leaves {
			at := node.leaves[i].Time
			if at.IsZero() {
				at = g.now
			}
			if oldest.IsZero() || at.Before(oldest) {
				oldest = at
			}
		}
		if g.encoding != EncodingProto {
			value := compose(node.at, node.leaves, g.encoding, g.info.Module)
			g.room -= len(value)
			out.Update = append(out.Update, &gnmi.Update{Path: g.wire(node.at, n, pattern.Origin), Val: jsonTyped(value, g.encoding)})
			continue
		}
		for i := range node.leaves {
			l := node.leaves[i]
			g.room -= leafBytes
			out.Update = append(out.Update, &gnmi.Update{Path: g.wire(l.Path, n, pattern.Origin), Val: l.Value.Typed(g.encoding)})
		}
	}
	if g.room < 0 {
		return nil, errorf(codes.ResourceExhausted, "the answer has more than %d bytes: ask for fewer paths, or subscribe to them once", answerFactor*g.limits.MessageBytes)
	}
	if oldest.IsZero() {
		oldest = g.now
	}
	out.Timestamp = oldest.UnixNano()
	return out, nil
}

const (
	// leafBytes is the assumed size of a leaf with its path when its size is not computed.
	leafBytes = 128
	// answerFactor is the ratio of the largest answer to the largest request.
	answerFactor = 4
)

func jsonTyped(text []byte, e Encoding) *gnmi.TypedValue {
	if e == EncodingJSON {
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonVal{JsonVal: text}}
	}
	return &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: text}}
}

// nodeLeaves is a node that matches a pattern, with the leaves at or below it.
type nodeLeaves struct {
	at     Path
	leaves []*Leaf
}

// nodesOf groups leaves by the nodes that match a pattern, and omits leaves of another type. exists reports whether
// any leaf matched, of whatever type.
func nodesOf(pattern Path, leaves []Leaf, kind Type) (nodes []nodeLeaves, exists bool) {
	var index map[string]int // of nodes, created for the second one
	for i := range leaves {
		l := &leaves[i]
		n, ok := pattern.Node(l.Path)
		if !ok {
			continue
		}
		exists = true
		if !l.Class.of(kind) {
			continue
		}
		at := l.Path.First(n)
		last := len(nodes) - 1
		if last >= 0 && sameElems(nodes[last].at.Elems, at.Elems) {
			nodes[last].leaves = append(nodes[last].leaves, l)
			continue
		}
		if last >= 0 && index == nil {
			index = map[string]int{nodes[0].at.String(): 0}
		}
		if j, ok := index[at.String()]; ok {
			nodes[j].leaves = append(nodes[j].leaves, l)
			continue
		}
		if index != nil {
			index[at.String()] = len(nodes)
		}
		nodes = append(nodes, nodeLeaves{at, []*Leaf{l}})
	}
	return nodes, exists
}
