package gnmi

import (
	"context"
	"fmt"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/gnmi/gnmitree"
)

// session is a target with its dialect's state, for the current exclusive user.
type session struct {
	d      *Driver
	target Target
	client gpb.GNMIClient
	speaks dialect

	nameless bool // the target did not report its name when last asked
}

func newSession(d *Driver, t Target, conn *grpc.ClientConn) *session {
	s := &session{d: d, target: t, client: gpb.NewGNMIClient(conn)}
	switch t.Dialect {
	case Agent:
		s.speaks = newAgent(s)
	case SONiC:
		s.speaks = newSONiCSwitch(s)
	case OpenConfig:
		s.speaks = newOpenConfig(s)
	}
	return s
}

// answer is a target's answer for one path of a Get.
type answer struct {
	at      time.Time // time of the reading, by the target's clock
	updates []*gpb.Update
	prefix  *gpb.Path
}

// query describes a Get.
type query struct {
	kind     gpb.GetRequest_DataType
	encoding gpb.Encoding
	paths    []gnmitree.Path
}

// get reads paths, and returns one answer for each. The error is that of the request, for classify.
func (s *session) get(ctx context.Context, q query) ([]answer, error) {
	ctx, cancel := s.d.links.Request(ctx)
	defer cancel()
	r := &gpb.GetRequest{Prefix: s.prefix(), Type: q.kind, Encoding: q.encoding, Path: make([]*gpb.Path, len(q.paths))}
	for i, p := range q.paths {
		r.Path[i] = p.Proto()
	}
	a, err := s.client.Get(ctx, r)
	if err != nil {
		return nil, err
	}
	if len(a.GetNotification()) != len(q.paths) {
		return nil, status.Errorf(codes.Internal, "%d notifications for %d paths, want one for each", len(a.GetNotification()), len(q.paths))
	}
	out := make([]answer, len(q.paths))
	for i, n := range a.GetNotification() {
		out[i] = answer{time.Unix(0, n.GetTimestamp()), n.GetUpdate(), n.GetPrefix()}
	}
	return out, nil
}

// set executes operations as one transaction, deletes before replaces before updates. The first shared elements of their paths,
// equal in all, are sent once in the prefix; 0 sends complete paths, because some devices support only a target in the prefix.
func (s *session) set(ctx context.Context, ops []gnmitree.Operation, shared int) error {
	ctx, cancel := s.d.links.Request(ctx)
	defer cancel()
	r := &gpb.SetRequest{Prefix: s.prefix()}
	if shared > 0 && len(ops) > 0 {
		r.Prefix = ops[0].Path.First(shared).Proto()
		r.Prefix.Target = s.target.Name
	}
	for _, o := range ops {
		o.Path.Elems = o.Path.Elems[shared:]
		switch o.Op {
		case gnmitree.OpDelete:
			r.Delete = append(r.Delete, o.Path.Proto())
		case gnmitree.OpReplace:
			r.Replace = append(r.Replace, &gpb.Update{Path: o.Path.Proto(), Val: o.Value.Typed(gnmitree.EncodingJSONIETF)})
		case gnmitree.OpUpdate:
			r.Update = append(r.Update, &gpb.Update{Path: o.Path.Proto(), Val: o.Value.Typed(gnmitree.EncodingJSONIETF)})
		}
	}
	if e := s.d.o.Election; e != (ElectionID{}) {
		r.Extension = []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_MasterArbitration{MasterArbitration: &gnmi_ext.MasterArbitration{
			Role: &gnmi_ext.Role{Id: s.d.o.Role}, ElectionId: &gnmi_ext.Uint128{High: e.High, Low: e.Low},
		}}}}
	}
	_, err := s.client.Set(ctx, r)
	return err
}

func (s *session) prefix() *gpb.Path {
	if s.target.Name == "" {
		return nil
	}
	return &gpb.Path{Target: s.target.Name}
}

// json returns the JSON text of an answer's single value; nil if it has none.
func (a answer) json() ([]byte, error) {
	if len(a.updates) == 0 {
		return nil, nil
	}
	if len(a.updates) > 1 {
		return nil, fmt.Errorf("%d values, want one", len(a.updates))
	}
	return jsonOf(a.updates[0].GetVal())
}

func jsonOf(v *gpb.TypedValue) ([]byte, error) {
	switch v := v.GetValue().(type) {
	case *gpb.TypedValue_JsonIetfVal:
		return v.JsonIetfVal, nil
	case *gpb.TypedValue_JsonVal:
		return v.JsonVal, nil
	}
	return nil, fmt.Errorf("a value of type %T, want JSON", v.GetValue())
}
