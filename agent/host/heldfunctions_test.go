package host

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"fairlane/agent"
	"fairlane/agent/pods"
	"fairlane/agent/pods/podsock"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/ccconfig/nic/vfshare"
)

// shared is a host whose virtual functions have two writers: a manager by gNMI, and the classes of pods.
type shared struct {
	t       *testing.T
	m       *machine
	links   *noLinks
	journal *agent.MemoryJournal
	state   string // directory of the pods' records
	class   map[string]pods.Binding
	agent   *agent.Agent
	table   *pods.Table
}

// Rates in Mbit/s before any writer: an administrator's.
var originally = []vfshare.LinkRate{{Function: 0, Min: 7, Max: 70}, {Function: 1, Min: 8, Max: 80}}

func newShared(t *testing.T) *shared {
	t.Helper()
	half := podsock.Levers{ShareOf1000: new(uint16(500))} // 100000 Mbit/s of the port's 200000
	s := &shared{
		t: t, m: podMachine(t, false), links: &noLinks{rates: append([]vfshare.LinkRate{}, originally...)}, journal: &agent.MemoryJournal{}, state: t.TempDir(),
		class: map[string]pods.Binding{"half": {Name: "red", Tenant: "red", Class: "default", Levers: half}, "named": {Name: "blue", Tenant: "blue", Class: "default", Levers: podsock.Levers{TOS: new(uint8(104))}}},
	}
	s.start()
	return s
}

// Binding implements pods.Bindings.
func (s *shared) Binding(namespace string) (pods.Binding, time.Duration, pods.State) {
	b, ok := s.class[namespace]
	if !ok {
		return b, 0, pods.Unbound
	}
	return b, 0, pods.Bound
}

// start starts the agent, again if it ran before, on the same journals.
func (s *shared) start() {
	s.t.Helper()
	h := s.m.open(func(o *Options) { o.Links, o.Devlink = s.links, devlink(legacyText) })
	var err error
	s.table, err = pods.Open(pods.Options{
		Dir: s.state, BootID: "boot-1", Bindings: s, Devices: h.PodDevices(), Namespaces: h.NetNamespaces(), Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	h.HeldBy(s.table)
	if s.agent, err = agent.New(s.t.Context(), agent.Options{Host: h, Journal: s.journal, Now: time.Now}); err != nil {
		s.t.Fatal(err)
	}
	s.sweep()
}

// sweep lets both parts of the agent compare and repair what they set.
func (s *shared) sweep() {
	s.t.Helper()
	for range 2 {
		if err := s.agent.Sweep(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		s.table.Sweep(s.t.Context())
	}
}

// attached is the request of a pod for a virtual function.
func attached(namespace, function string) podsock.Attachment {
	return podsock.Attachment{
		Key: podsock.Key{Network: "rdma", ContainerID: namespace, Interface: "net1"}, Pod: podsock.Pod{Namespace: namespace, Name: "p", UID: "uid-" + namespace},
		Device: function,
	}
}

func (s *shared) begin(namespace, function string) {
	s.t.Helper()
	if _, err := s.table.Add(s.t.Context(), attached(namespace, function), podsock.SourcePodResources); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shared) end(namespace, function string) {
	s.t.Helper()
	if err := s.table.Delete(s.t.Context(), attached(namespace, function).Key); err != nil {
		s.t.Fatal(err)
	}
}

func shareKey(function int) nicparam.Key {
	return nicparam.Key{Port: 1, Name: paramShare, Index: function}
}

// configured returns the shares that a manager reads.
func (s *shared) configured() map[int]uint64 {
	s.t.Helper()
	out := map[int]uint64{}
	for function := range originally {
		p := nicyang.Param(card, shareKey(function)).Child("config").Child("value")
		found, err := s.agent.Get(s.t.Context(), gnmitree.Query{Paths: []gnmitree.Path{p}, Type: gnmitree.TypeConfig})
		if err != nil {
			s.t.Fatal(err)
		}
		if len(found[0]) != 1 {
			s.t.Fatalf("%s: found %d values, want 1", p, len(found[0]))
		}
		if out[function], err = found[0][0].Value.AsUint(); err != nil {
			s.t.Fatal(err)
		}
	}
	return out
}

// plan brings the shares of a plan to the host as a manager does: functions without a share get 0. It returns the number of
// values that it had to write.
func (s *shared) plan(want map[int]uint64) int {
	s.t.Helper()
	var ops []gnmitree.Operation
	for function, now := range s.configured() {
		if now != want[function] {
			ops = append(ops, gnmitree.Operation{Op: gnmitree.OpUpdate, Path: nicyang.Param(card, shareKey(function)).Child("config").Child("value"), Value: gnmitree.Uint(want[function])})
		}
	}
	if len(ops) > 0 {
		if _, err := s.agent.Set(s.t.Context(), ops); err != nil {
			s.t.Fatal(err)
		}
	}
	return len(ops)
}

// settled fails the test unless the device has these shares, the manager reads these, and neither writes again.
func (s *shared) settled(when string, want map[int]uint64, device ...uint32) {
	s.t.Helper()
	for round := range 3 {
		s.sweep()
		for function, share := range device {
			if got := s.links.rates[function].Min; got != share {
				s.t.Errorf("%s, round %d: function %d has the share %d, want %d", when, round, function, got, share)
			}
		}
		if n := s.plan(want); n > 0 {
			s.t.Errorf("%s, round %d: the manager had to set %d shares again", when, round, n)
		}
	}
	for _, r := range s.table.List(s.t.Context(), false) {
		if r.Drift || r.Pending || r.Releasing {
			s.t.Errorf("%s: pod %s: %+v", when, r.Pod.Namespace, r)
		}
	}
}

// card is the name of the host's card.
const card = "0000:3b:00"

const vf0 = "0000:3b:01.0"

func TestAPlansSharesAndThoseOfPodsDoNotCollide(t *testing.T) {
	t.Parallel()
	plan := map[int]uint64{0: 50000} // and none of other functions
	for name, c := range map[string]struct {
		function string
		pod      int    // its index
		beneath  uint32 // what the plan gives it
	}{"on a function of the plan": {vf0, 0, 50000}, "on another function": {vf1, 1, 0}} {
		for _, podFirst := range []bool{false, true} {
			for _, restarts := range []bool{false, true} {
				t.Run(fmt.Sprintf("pod %s, first %v, restarts %v", name, podFirst, restarts), func(t *testing.T) {
					t.Parallel()
					s := newShared(t)
					again := func() {
						if restarts {
							s.start()
						}
					}
					if podFirst {
						s.begin("half", c.function)
						again()
						s.plan(plan)
					} else {
						s.plan(plan)
						again()
						s.begin("half", c.function)
					}
					again()
					device := []uint32{50000, 0}
					device[c.pod] = 100000
					s.settled("while the pod runs", plan, device...)
					s.end("half", c.function)
					again()
					device[c.pod] = c.beneath
					s.settled("after the pod", plan, device...)
				})
			}
		}
	}
}

// The agent's removal restores what was there before either writer, in whatever order they came.
func TestRemovalRestoresFunctionsThatPodsHold(t *testing.T) {
	t.Parallel()
	for _, podFirst := range []bool{false, true} {
		t.Run(fmt.Sprintf("pod first %v", podFirst), func(t *testing.T) {
			t.Parallel()
			s := newShared(t)
			if podFirst {
				s.begin("half", vf1)
			}
			s.plan(map[int]uint64{0: 50000})
			if !podFirst {
				s.begin("half", vf1)
			}
			s.start()
			if err := s.table.RestoreAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := s.agent.Restore(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			for i, want := range originally {
				if got := s.links.rates[i]; got != want {
					t.Errorf("function %d has %+v, want %+v", i, got, want)
				}
			}
		})
	}
}

// A manager that returns a host to its state before the first plan while a pod runs leaves the pod its class, and the function
// that state when the pod ends.
func TestAStateThatIsRestoredBeneathARunningPod(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.plan(map[int]uint64{0: 50000})
	s.begin("half", vf0)
	back := map[int]uint64{0: 7, 1: 8}
	s.plan(back)
	s.settled("while the pod runs", back, 100000, 8)
	s.end("half", vf0)
	s.settled("after the pod", back, 7, 8)
}

// A class without a share leaves the function's share to the plan.
func TestAClassWithoutAShareLeavesThePlansShare(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.begin("named", vf0)
	plan := map[int]uint64{0: 50000}
	s.plan(plan)
	s.settled("while the pod runs", plan, 50000, 0)
	s.class["named"] = pods.Binding{Name: "blue", Tenant: "blue", Class: "default", Levers: podsock.Levers{ShareOf1000: new(uint16(250))}}
	s.settled("with a share", plan, 50000, 0)
	s.end("named", vf0)
	s.settled("after the pod", plan, 50000, 0)
}

// A driver that was loaded again has neither writer's values; both set theirs again.
func TestBothWritersSetTheirsAgainAfterAReload(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	plan := map[int]uint64{0: 50000, 1: 60000}
	s.plan(plan)
	s.begin("half", vf0)
	for i := range s.links.rates {
		s.links.rates[i].Min = 0
	}
	s.m.remove("sys/class/infiniband/mlx5_0") // another inode: another life of the device
	s.m.link("sys/class/infiniband/mlx5_0", "sys/devices/pci0000:3a/0000:3b:00.0/infiniband/mlx5_0")
	s.m.remove("sys/class/net/ens1f0np0/ifindex")
	s.m.file("sys/class/net/ens1f0np0/ifindex", "44")
	s.settled("after the reload", plan, 100000, 60000)
	s.end("half", vf0)
	s.settled("after the pod", plan, 50000, 60000)
}

func TestTheStateOfAHeldFunctionSaysWhatActs(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.plan(map[int]uint64{0: 50000})
	s.begin("half", vf0)
	s.sweep()
	at := nicyang.Param(card, shareKey(0)).Child("state")
	found, err := s.agent.Get(t.Context(), gnmitree.Query{Paths: []gnmitree.Path{at}, Type: gnmitree.TypeState})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, l := range found[0] {
		got[l.Path.Last()] = string(l.Value.AppendJSON(nil))
	}
	if got["value"] != `"100000"` || got["set-value"] != `"50000"` || got["problem"] != `"a pod holds the function: it has 100000 until the pod ends, then 50000"` {
		t.Errorf("found %v", got)
	}
}
