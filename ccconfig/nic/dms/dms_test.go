package dms

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/internal/testkit/grpctest"
)

const (
	pci    = "0000:3b:00.0"
	netdev = "ens1f0np0"
)

// service is a fake of the vendor's service for a card with one port: leaves below the interface, by path.
type service struct {
	gnmitree.Watchers
	mu     sync.Mutex
	leaves map[string]gnmitree.Value
	sets   int
	refuse error // of sets
	lose   bool  // sets are accepted and nothing happens
}

func newService() *service {
	s := &service{leaves: map[string]gnmitree.Value{
		"nvidia/qos/config/trust-mode": gnmitree.String("pcp"),
		"nvidia/qos/config/pfc":        gnmitree.String("00000000"),
		"nvidia/roce/config/tos":       gnmitree.Uint(0),
	}}
	for i := range 8 {
		for _, role := range []string{"rp", "np"} {
			s.leaves[fmt.Sprintf("nvidia/cc/config/priority[id=%d]/%s_enabled", i, role)] = gnmitree.Bool(true)
		}
	}
	return s
}

const below = "/interfaces/interface[name=" + netdev + "]/"

func (s *service) Info() gnmitree.Info {
	return gnmitree.Info{Models: []gnmitree.Model{{Name: "nvidia", Version: "1"}}, Types: []gnmitree.Type{gnmitree.TypeAll}}
}

func (s *service) Get(_ context.Context, q gnmitree.Query) ([][]gnmitree.Leaf, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([][]gnmitree.Leaf, len(q.Paths))
	for i := range q.Paths {
		for name, v := range s.leaves {
			p, err := gnmitree.ParsePath(below + name)
			if err != nil {
				return nil, err
			}
			if p.Compare(q.Paths[i]) == 0 {
				out[i] = append(out[i], gnmitree.Leaf{Path: p, Value: v, Class: gnmitree.ClassConfig})
			}
		}
	}
	return out, nil
}

func (s *service) Set(_ context.Context, ops []gnmitree.Operation) (gnmitree.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sets++
	if s.refuse != nil {
		return gnmitree.Result{}, s.refuse
	}
	after := maps.Clone(s.leaves)
	for _, o := range ops {
		name := strings.TrimPrefix(o.Path.String(), below)
		if _, ok := after[name]; !ok {
			return gnmitree.Result{}, gnmitree.Errorf(codes.NotFound, "no %s", name)
		}
		after[name] = o.Value
	}
	if !s.lose {
		s.leaves = after
	}
	return gnmitree.Result{}, nil
}

// dial serves the tree as the target of the card.
func dial(t testing.TB, s *service) gnmi.GNMIClient {
	t.Helper()
	server, err := gnmitree.NewServer(gnmitree.Options{Targets: gnmitree.Single(s, pci)})
	if err != nil {
		t.Fatal(err)
	}
	serve := func(ctx context.Context, l net.Listener) error { return server.Serve(ctx, l) }
	return gnmi.NewGNMIClient(grpctest.Connect(t, grpctest.Serve(t, serve)))
}

func table() *nicparam.Table { return nicparam.New(nicparam.Caps{}) }

func newAccessor(t testing.TB, c Client, target string) *Accessor {
	t.Helper()
	a, err := New(c, table(), target, nicfiles.Port{Number: 1, NetDev: netdev})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func set(name string, index int, v uint64) nicparam.Setting {
	return nicparam.Setting{Key: nicparam.Key{Port: 1, Name: name, Index: index}, Value: v}
}

func TestTheServiceIsSetAsOneRequestAndReadBack(t *testing.T) {
	t.Parallel()
	s := newService()
	a := newAccessor(t, dial(t, s), pci)
	if n := len(a.Keys()); n != 1+8+1+8+8 {
		t.Errorf("%d keys", n)
	}
	d := nicfiles.NewDevice(table(), a)
	r, err := d.Set(t.Context(), []nicparam.Setting{
		set("trust", 0, nicparam.TrustDSCP), set("pfc", 3, 1), set("pfc", 5, 1), set("default_roce_tos", 0, 106), set("rp_enable", 3, 1), set("np_enable", 2, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Fields {
		if f.By != nicparam.DMS || f.Outcome != nicfiles.Verified && f.Outcome != nicfiles.Unchanged {
			t.Errorf("%s: %s by %s", f.Key, f.Outcome, f.By)
		}
	}
	for name, want := range map[string]gnmitree.Value{
		"nvidia/qos/config/trust-mode":               gnmitree.String("dscp"),
		"nvidia/qos/config/pfc":                      gnmitree.String("00010100"),
		"nvidia/roce/config/tos":                     gnmitree.Uint(106),
		"nvidia/cc/config/priority[id=2]/np_enabled": gnmitree.Bool(false),
		"nvidia/cc/config/priority[id=3]/rp_enabled": gnmitree.Bool(true),
		"nvidia/cc/config/priority[id=3]/np_enabled": gnmitree.Bool(true),
	} {
		if got := s.leaves[name]; !got.Equal(want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if s.sets != 1 {
		t.Errorf("%d requests to set", s.sets)
	}
}

func TestServiceErrorsHaveTheirKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		repair func(*service)
		set    nicparam.Setting
		want   error
	}{
		{"a leaf that the card lacks", func(s *service) { delete(s.leaves, "nvidia/roce/config/tos") }, set("default_roce_tos", 0, 106), nicfiles.ErrAbsent},
		{"a refusal", func(s *service) { s.refuse = gnmitree.Errorf(codes.Internal, "carrier is down") }, set("default_roce_tos", 0, 106), nicfiles.ErrRefused},
		{"nothing stored", func(s *service) { s.lose = true }, set("trust", 0, 1), nicfiles.ErrNotKept},
		{"pause in words", func(s *service) { s.leaves["nvidia/qos/config/pfc"] = gnmitree.String("on") }, set("pfc", 3, 1), nicfiles.ErrUnreadable},
		{"pause of seven", func(s *service) { s.leaves["nvidia/qos/config/pfc"] = gnmitree.String("0000000") }, set("pfc", 3, 1), nicfiles.ErrUnreadable},
		{"trust by another name", func(s *service) { s.leaves["nvidia/qos/config/trust-mode"] = gnmitree.String("both") }, set("trust", 0, 1), nicfiles.ErrUnreadable},
		{"half a type of service", func(s *service) { s.leaves["nvidia/roce/config/tos"] = gnmitree.Decimal(0.5) }, set("default_roce_tos", 0, 1), nicfiles.ErrUnreadable},
		{"a type of service of nine bits", func(s *service) { s.leaves["nvidia/roce/config/tos"] = gnmitree.Uint(256) }, set("default_roce_tos", 0, 1), nicfiles.ErrUnreadable},
		{"a list", func(s *service) { s.leaves["nvidia/roce/config/tos"] = gnmitree.List(gnmitree.Uint(1)) }, set("default_roce_tos", 0, 1), nicfiles.ErrUnreadable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newService()
			c.repair(s)
			_, err := nicfiles.NewDevice(table(), newAccessor(t, dial(t, s), pci)).Set(t.Context(), []nicparam.Setting{c.set})
			if !errors.Is(err, c.want) || errors.Is(err, nicfiles.ErrNotRestored) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

func TestAnotherCardAndAnotherPortAreAbsent(t *testing.T) {
	t.Parallel()
	client := dial(t, newService())
	if r := newAccessor(t, client, "0000:5e:00.0").Read(t.Context(), []nicparam.Key{{Port: 1, Name: "trust"}})[0]; !errors.Is(r.Err, nicfiles.ErrAbsent) {
		t.Errorf("another card: %v", r.Err)
	}
	a := newAccessor(t, client, pci)
	for _, k := range []nicparam.Key{{Port: 2, Name: "trust"}, {Port: 1, Name: "rpg_gd"}, {Port: 1, Name: "nothing"}, {Port: 1, Name: "pfc", Index: 8}} {
		if r := a.Read(t.Context(), []nicparam.Key{k})[0]; !errors.Is(r.Err, nicfiles.ErrAbsent) {
			t.Errorf("%s: %v", k, r.Err)
		}
		if err := a.Write(t.Context(), []nicparam.Setting{{Key: k}})[0]; !errors.Is(err, nicfiles.ErrAbsent) {
			t.Errorf("%s: %v", k, err)
		}
	}
	if _, err := New(client, table(), "", nicfiles.Port{NetDev: netdev}); err == nil {
		t.Error("a card without an address was accepted")
	}
}

func TestATimeoutIsNotAbsence(t *testing.T) {
	t.Parallel()
	a := newAccessor(t, dial(t, newService()), pci)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := a.Read(ctx, []nicparam.Key{{Port: 1, Name: "trust"}})[0]
	if errors.Is(r.Err, nicfiles.ErrAbsent) || !errors.Is(r.Err, nicfiles.ErrUnreadable) {
		t.Error(r.Err)
	}
}

// Answers come in every form that gNMI has for a value.
func TestFormsOfValues(t *testing.T) {
	t.Parallel()
	a := newAccessor(t, nil, pci)
	for _, c := range []struct {
		v    *gnmi.TypedValue
		name string
		want uint64
	}{
		{&gnmi.TypedValue{Value: &gnmi.TypedValue_UintVal{UintVal: 106}}, "default_roce_tos", 106},
		{&gnmi.TypedValue{Value: &gnmi.TypedValue_IntVal{IntVal: 106}}, "default_roce_tos", 106},
		{&gnmi.TypedValue{Value: &gnmi.TypedValue_StringVal{StringVal: "106"}}, "default_roce_tos", 106},
		{&gnmi.TypedValue{Value: &gnmi.TypedValue_AsciiVal{AsciiVal: "dscp"}}, "trust", 1},
		{&gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(`"pcp"`)}}, "trust", 0},
		{&gnmi.TypedValue{Value: &gnmi.TypedValue_JsonVal{JsonVal: []byte(`true`)}}, "rp_enable", 1},
		{&gnmi.TypedValue{Value: &gnmi.TypedValue_BoolVal{BoolVal: true}}, "np_enable", 1},
		{&gnmi.TypedValue{Value: &gnmi.TypedValue_StringVal{StringVal: "0,0,0,1,0,0,0,0"}}, "pfc", 0},
	} {
		v, err := plain(c.v)
		if err != nil {
			t.Errorf("%v: %v", c.v, err)
			continue
		}
		if got, err := a.value(nicparam.Key{Port: 1, Name: c.name}, v); err != nil || got != c.want {
			t.Errorf("%v as %s: %d, %v", c.v, c.name, got, err)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	for _, s := range []string{`"7000000000"`, `"dscp"`, `1`, `true`, `[1]`, `"00010000"`, `1e300`, `-1`, `null`} {
		f.Add([]byte(s))
	}
	a := newAccessor(f, nil, pci)
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := plain(&gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: b}})
		if err != nil {
			if !errors.Is(err, nicfiles.ErrUnreadable) {
				t.Error(err)
			}
			return
		}
		for _, name := range []string{"trust", "pfc", "default_roce_tos", "rp_enable"} {
			p, _ := table().Find(name)
			if got, err := a.value(nicparam.Key{Port: 1, Name: name}, v); err == nil && !p.Legal(got) {
				t.Errorf("%s: %d", name, got)
			}
		}
	})
}
