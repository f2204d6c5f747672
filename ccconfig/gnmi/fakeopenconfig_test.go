package gnmi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/subnet/ident"
)

// fakeOpenConfig is a switch with openconfig-qos: leaves by path.
type fakeOpenConfig struct {
	injected

	leaves []gnmitree.Leaf
}

const (
	ocProfiles   = "/qos/queue-management-profiles/queue-management-profile"
	ocInterfaces = "/qos/interfaces/interface"
)

func ocQueue(port int, queue string) string {
	return fmt.Sprintf("%s[interface-id=Ethernet%d]/output/queues/queue[name=%s]", ocInterfaces, 4*(port-1), queue)
}

// openConfigSwitch has queues 3 and 6 on each port; 3 refers to a profile that marks.
func openConfigSwitch(ports int) *fakeOpenConfig {
	s := &fakeOpenConfig{}
	s.reset(ports)
	return s
}

func (s *fakeOpenConfig) reset(ports int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaves = nil
	s.system()
	s.rule("lossless", ecn.Marking{Min: 250_000, Max: 1_048_576, PMaxPct: 5})
	for p := 1; p <= ports; p++ {
		s.put(ocQueue(p, "3")+"/config/queue-management-profile", gnmitree.String("lossless"), gnmitree.ClassConfig)
		s.put(ocQueue(p, "6")+"/config/name", gnmitree.String("6"), gnmitree.ClassConfig)
		s.put(ocQueue(p, "3")+"/state/transmit-octets", gnmitree.Uint(uint64(1000*p)), gnmitree.ClassOperational)
		s.put(ocQueue(p, "3")+"/state/ecn-marked-pkts", gnmitree.Uint(uint64(p)), gnmitree.ClassOperational)
	}
}

// system creates the leaf with the switch's name. The caller holds the lock.
func (s *fakeOpenConfig) system() {
	if s.name != "" {
		s.put("/system/state/hostname", gnmitree.String(s.name), gnmitree.ClassState)
	}
}

func (s *fakeOpenConfig) call(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name = name
	s.system()
}

func (s *fakeOpenConfig) rule(name string, m ecn.Marking) {
	at := fmt.Sprintf("%s[name=%s]/wred/uniform/config/", ocProfiles, name)
	s.put(at+"min-threshold", gnmitree.Uint(uint64(m.Min)), gnmitree.ClassConfig)
	s.put(at+"max-threshold", gnmitree.Uint(uint64(m.Max)), gnmitree.ClassConfig)
	s.put(at+"enable-ecn", gnmitree.Bool(true), gnmitree.ClassConfig)
	s.put(at+"max-drop-probability-percent", gnmitree.Uint32(uint32(m.PMaxPct)), gnmitree.ClassConfig)
}

func (s *fakeOpenConfig) put(at string, v gnmitree.Value, class gnmitree.Class) {
	p, err := gnmitree.ParsePath(at)
	if err != nil {
		panic(err)
	}
	i := slices.IndexFunc(s.leaves, func(l gnmitree.Leaf) bool { return l.Path.Equal(p) })
	if i < 0 {
		i = len(s.leaves)
		s.leaves = append(s.leaves, gnmitree.Leaf{Path: p, Class: class})
	}
	s.leaves[i].Value = v
}

func (s *fakeOpenConfig) Info() gnmitree.Info {
	return gnmitree.Info{Models: []gnmitree.Model{{Name: "openconfig-qos", Organization: "OpenConfig working group", Version: "2.2.0"}}, Module: "openconfig-qos"}
}

func (s *fakeOpenConfig) Get(_ context.Context, q gnmitree.Query) ([][]gnmitree.Leaf, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([][]gnmitree.Leaf, len(q.Paths))
	for i, p := range q.Paths {
		for _, l := range s.leaves {
			if p.Covers(l.Path) {
				out[i] = append(out[i], l)
			}
		}
	}
	return out, nil
}

func (s *fakeOpenConfig) Set(_ context.Context, ops []gnmitree.Operation) (gnmitree.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := func(list gnmitree.Path) []string {
		switch list.Last() {
		case "interface":
			return []string{"interface-id"}
		case "queue", "queue-management-profile":
			return []string{"name"}
		}
		return nil
	}
	var all []gnmitree.Leaf
	for _, o := range ops {
		leaves, err := gnmitree.Flatten(o.Path, o.Value, gnmitree.Schema{Keys: keys})
		if err != nil {
			return gnmitree.Result{}, gnmitree.Errorf(codes.InvalidArgument, "%v", err)
		}
		all = append(all, leaves...)
	}
	for i, l := range all {
		if s.partial && i >= len(all)/2 {
			break
		}
		v := l.Value
		if n, err := v.AsUint(); err == nil && s.clamp && strings.HasSuffix(l.Path.Last(), "-threshold") {
			v = gnmitree.Uint(min(n, drivertest.ClampedBytes))
		}
		s.put(l.Path.String(), v, gnmitree.ClassConfig)
	}
	s.partial = false
	return gnmitree.Result{}, nil
}

// text is the value of a leaf; empty where there is none.
func (s *fakeOpenConfig) text(at string) string {
	p, err := gnmitree.ParsePath(at)
	if err != nil {
		panic(err)
	}
	for _, l := range s.leaves {
		if l.Path.Equal(p) {
			return strings.Trim(l.Value.String(), `"`)
		}
	}
	return ""
}

func (s *fakeOpenConfig) marking(ports int) (out []ecn.QueueMarking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := 1; p <= ports; p++ {
		name := s.text(ocQueue(p, "3") + "/config/queue-management-profile")
		if name == "" {
			continue
		}
		at := fmt.Sprintf("%s[name=%s]/wred/uniform/config/", ocProfiles, name)
		m := ecn.Marking{}
		_, _ = fmt.Sscan(s.text(at+"min-threshold"), &m.Min)
		_, _ = fmt.Sscan(s.text(at+"max-threshold"), &m.Max)
		_, _ = fmt.Sscan(s.text(at+"max-drop-probability-percent"), &m.PMaxPct)
		if s.text(at+"enable-ecn") == "true" {
			out = append(out, ecn.QueueMarking{Port: ident.PortNum(p), Queue: 3, Marking: m})
		}
	}
	return out
}

func (s *fakeOpenConfig) mark(to []ecn.QueueMarking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, q := range to {
		name := fmt.Sprint("theirs-", i%2)
		s.rule(name, q.Marking)
		s.put(ocQueue(int(q.Port), "3")+"/config/queue-management-profile", gnmitree.String(name), gnmitree.ClassConfig)
	}
}

func TestConformanceOfOpenConfig(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t testing.TB) drivertest.Harness {
		return switchHarness(t, gnmi.OpenConfig, openConfigSwitch(4), openConfigSwitch(6))
	})
}
