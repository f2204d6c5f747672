// Package dms accesses a NIC's parameters through the vendor's management service on the host (DOCA Management Service), as a
// gNMI client: trust, pause, type of service, and congestion control by priority. No DCQCN parameters of its tree have been
// published.
//
// The service supports Get and Set but not Subscribe, and uses the card's PCI address as the path target. The paths are those
// in the vendor's public tools; they have not been tested with a real service.
package dms

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
)

// Client is the part of gNMI that the service supports. gnmi.GNMIClient implements it.
type Client interface {
	Get(ctx context.Context, in *gnmi.GetRequest, opts ...grpc.CallOption) (*gnmi.GetResponse, error)
	Set(ctx context.Context, in *gnmi.SetRequest, opts ...grpc.CallOption) (*gnmi.SetResponse, error)
}

const (
	priorities = 8
	maxUpdates = 4096 // of an answer
)

// Accessor accesses the parameters of one port.
type Accessor struct {
	client Client
	target string
	port   nicfiles.Port
	table  *nicparam.Table
}

var _ nicfiles.Accessor = (*Accessor)(nil)

// New returns the access to a port of the card with a PCI address, which is the service's target.
func New(client Client, table *nicparam.Table, pci string, port nicfiles.Port) (*Accessor, error) {
	if port.NetDev == "" || pci == "" {
		return nil, fmt.Errorf("port %d: found network device %q of %q, want both", port.Number, nicparam.Clip(port.NetDev), nicparam.Clip(pci))
	}
	return &Accessor{client: client, target: pci, port: port, table: table}, nil
}

func (a *Accessor) Backend() nicparam.Backend { return nicparam.DMS }

func (a *Accessor) Keys() []nicparam.Key {
	return nicfiles.KeysOf(a.table, nicparam.DMS, a.port.Number)
}

func (a *Accessor) Knows(k nicparam.Key) bool {
	return k.Port == a.port.Number && nicfiles.ParamOf(a.table, nicparam.DMS, k.Name, k.Index) != nil
}

// path returns the path of the leaf for a key.
func (a *Accessor) path(k nicparam.Key) (*gnmi.Path, error) {
	if !a.Knows(k) {
		return nil, fmt.Errorf("%s by dms: %w", k, nicfiles.ErrAbsent)
	}
	p, _ := a.table.Find(k.Name)
	s, _ := p.Source(nicparam.DMS)
	out := &gnmi.Path{Elem: []*gnmi.PathElem{{Name: "interfaces"}, {Name: "interface", Key: map[string]string{"name": a.port.NetDev}}}}
	for word := range strings.SplitSeq(s.Name, "/") {
		name, rest, keyed := strings.Cut(word, "[")
		e := &gnmi.PathElem{Name: name}
		if keyed {
			key, value, _ := strings.Cut(strings.TrimSuffix(rest, "]"), "=")
			e.Key = map[string]string{key: strings.ReplaceAll(value, "<index>", strconv.Itoa(k.Index))}
		}
		out.Elem = append(out.Elem, e)
	}
	return out, nil
}

// Read sends one request for each leaf that the keys are part of, so that a leaf which a card lacks does not hide the
// others.
func (a *Accessor) Read(ctx context.Context, keys []nicparam.Key) []nicfiles.Reading {
	out := make([]nicfiles.Reading, len(keys))
	type answer struct {
		value any
		err   error
	}
	answers := map[nicparam.Key]answer{}
	for i, k := range keys {
		out[i] = nicfiles.Reading{Setting: nicparam.Setting{Key: k}, By: nicparam.DMS}
		path, err := a.path(k)
		if err != nil {
			out[i].Err = err
			continue
		}
		leaf := k
		if k.Name == "pfc" { // one leaf for all priorities
			leaf.Index = 0
		}
		known, have := answers[leaf]
		if !have {
			known.value, known.err = a.get(ctx, path)
			answers[leaf] = known
		}
		if out[i].Err = known.err; known.err == nil {
			out[i].Value, out[i].Err = a.value(k, known.value)
		}
		if out[i].Err != nil {
			out[i].Err = fmt.Errorf("%s by dms: %w", k, out[i].Err)
		}
	}
	return out
}

// get reads one leaf.
func (a *Accessor) get(ctx context.Context, path *gnmi.Path) (any, error) {
	r, err := a.client.Get(ctx, &gnmi.GetRequest{Prefix: &gnmi.Path{Target: a.target}, Path: []*gnmi.Path{path}, Encoding: gnmi.Encoding_JSON_IETF})
	if err != nil {
		return nil, kind(err, nicfiles.ErrUnreadable)
	}
	var values []*gnmi.TypedValue
	for _, n := range r.GetNotification() {
		for _, u := range n.GetUpdate() {
			values = append(values, u.GetVal())
		}
		if len(values) > maxUpdates {
			break
		}
	}
	if len(values) != 1 {
		return nil, fmt.Errorf("%w: found %d values, want one", nicfiles.ErrUnreadable, len(values))
	}
	return plain(values[0])
}

// kind returns the meaning of the service's error: an unknown leaf is absent.
func kind(err, otherwise error) error {
	if c := status.Code(err); c == codes.NotFound || c == codes.Unimplemented {
		otherwise = nicfiles.ErrAbsent
	}
	return fmt.Errorf("%w: %w", otherwise, err)
}

// plain converts a value to a string, a bool or a number.
func plain(v *gnmi.TypedValue) (any, error) {
	switch x := v.GetValue().(type) {
	case *gnmi.TypedValue_StringVal:
		return x.StringVal, nil
	case *gnmi.TypedValue_AsciiVal:
		return x.AsciiVal, nil
	case *gnmi.TypedValue_BoolVal:
		return x.BoolVal, nil
	case *gnmi.TypedValue_UintVal:
		return float64(x.UintVal), nil
	case *gnmi.TypedValue_IntVal:
		return float64(x.IntVal), nil
	case *gnmi.TypedValue_JsonIetfVal:
		return unquote(x.JsonIetfVal)
	case *gnmi.TypedValue_JsonVal:
		return unquote(x.JsonVal)
	}
	return nil, fmt.Errorf("%w: found a value of type %T, want a string, bool or number", nicfiles.ErrUnreadable, v.GetValue())
}

func unquote(b []byte) (any, error) {
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, fmt.Errorf("%w: found %q, want JSON: %w", nicfiles.ErrUnreadable, nicparam.Clip(string(b)), err)
	}
	switch out.(type) {
	case string, bool, float64:
		return out, nil
	}
	return nil, fmt.Errorf("%w: found %q, want a JSON string, bool or number", nicfiles.ErrUnreadable, nicparam.Clip(string(b)))
}

// value extracts a key's number from its leaf.
func (a *Accessor) value(k nicparam.Key, leaf any) (uint64, error) {
	if k.Name == "pfc" {
		mask, err := pause(leaf)
		if err != nil {
			return 0, err
		}
		return uint64(mask>>k.Index) & 1, nil
	}
	p, _ := a.table.Find(k.Name)
	v, err := uint64(0), error(nil)
	switch x := leaf.(type) {
	case bool:
		if x {
			v = 1
		}
	case float64:
		if x < 0 || x > math.MaxUint32 || x != math.Trunc(x) {
			return 0, fmt.Errorf("%w: found %v, want a whole number 0..%d", nicfiles.ErrUnreadable, x, uint32(math.MaxUint32))
		}
		v = uint64(x)
	case string:
		v, err = p.Parse(x)
	}
	if err == nil && !p.Holds(nicparam.DMS, v, a.table.Caps()) {
		err = fmt.Errorf("found %d, want %s", v, p.Allowed())
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", nicfiles.ErrUnreadable, err)
	}
	return v, nil
}

// pause parses the leaf for pause: eight digits, one for each priority from 0, with or without commas.
func pause(leaf any) (mask uint8, err error) {
	text, _ := leaf.(string)
	digits := strings.ReplaceAll(text, ",", "")
	if len(digits) != priorities || strings.Trim(digits, "01") != "" {
		return 0, fmt.Errorf("%w: pause: found %q, want eight digits 0 or 1", nicfiles.ErrUnreadable, nicparam.Clip(fmt.Sprint(leaf)))
	}
	for i := range priorities {
		mask |= (digits[i] - '0') << i
	}
	return mask, nil
}

// Write sends one request, which the service executes completely or not at all, as gNMI requires.
func (a *Accessor) Write(ctx context.Context, set []nicparam.Setting) []error {
	errs := make([]error, len(set))
	if err := a.write(ctx, set); err != nil {
		for i := range errs {
			errs[i] = err
		}
	}
	return errs
}

func (a *Accessor) write(ctx context.Context, set []nicparam.Setting) error {
	request := &gnmi.SetRequest{Prefix: &gnmi.Path{Target: a.target}}
	var pfc *gnmi.Update // one leaf for all priorities
	var mask uint8
	for _, s := range set {
		path, err := a.path(s.Key)
		if err != nil {
			return err
		}
		if s.Name != "pfc" {
			request.Update = append(request.Update, &gnmi.Update{Path: path, Val: a.typed(s)})
			continue
		}
		if pfc == nil {
			if mask, err = a.pauseNow(ctx, path); err != nil {
				return fmt.Errorf("%s by dms: %w", s.Key, err)
			}
			pfc = &gnmi.Update{Path: path}
			request.Update = append(request.Update, pfc)
		}
		mask = mask&^(1<<s.Index) | uint8(s.Value&1)<<s.Index
		pfc.Val = text(digits(mask))
	}
	if _, err := a.client.Set(ctx, request); err != nil {
		return fmt.Errorf("dms of %s: %w", a.target, kind(err, nicfiles.ErrRefused))
	}
	return nil
}

// pauseNow returns the priorities with pause, for those that a set does not contain.
func (a *Accessor) pauseNow(ctx context.Context, path *gnmi.Path) (uint8, error) {
	leaf, err := a.get(ctx, path)
	if err != nil {
		return 0, err
	}
	return pause(leaf)
}

func digits(mask uint8) string {
	out := make([]byte, priorities)
	for i := range out {
		out[i] = '0' + mask>>i&1
	}
	return string(out)
}

// typed encodes a setting for its leaf: an enumeration by name, a switch as a bool, anything else as a number.
func (a *Accessor) typed(s nicparam.Setting) *gnmi.TypedValue {
	p, _ := a.table.Find(s.Name)
	switch p.Kind {
	case nicparam.Enum:
		for _, v := range p.Values {
			if v.Number == s.Value {
				return text(v.Name)
			}
		}
	case nicparam.Bool:
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_BoolVal{BoolVal: s.Value != 0}}
	}
	return &gnmi.TypedValue{Value: &gnmi.TypedValue_UintVal{UintVal: s.Value}}
}

func text(s string) *gnmi.TypedValue {
	return &gnmi.TypedValue{Value: &gnmi.TypedValue_StringVal{StringVal: s}}
}
