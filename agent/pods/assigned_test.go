package pods_test

import (
	"strings"
	"testing"

	"fairlane/agent/pods"
	"fairlane/agent/pods/podsock"
)

// express is the binding of a namespace whose tenant has a second class.
func express() pods.Binding {
	b := bulk()
	b.Classes = map[string]podsock.Levers{"bulk": b.Levers, "express": {MaxMbps: new(uint32(90000)), ShareOf1000: new(uint16(500)), TOS: new(uint8(184))}}
	return b
}

// reports are one pod's device as its three sources report it; only a claim knows the class of the DeviceClass.
func reports() map[podsock.Source]podsock.Attachment {
	out := map[podsock.Source]podsock.Attachment{}
	for source, key := range map[podsock.Source]podsock.Key{
		podsock.SourceCNI:          {Network: "rdma-net", ContainerID: "a", Interface: "net1"},
		podsock.SourceClaim:        {Network: "nics", ContainerID: "uid-a", Interface: "device0"},
		podsock.SourcePodResources: {Network: "nvidia.com.vf", ContainerID: "uid-a", Interface: "device0"},
	} {
		a := attachment("a", vf0)
		a.Key = key
		if source != podsock.SourceCNI {
			a.NetNS, a.FailPolicy = "", podsock.Open
		}
		out[source] = a
	}
	return out
}

func TestTheClassOfADeviceClassWinsInEveryOrderOfSources(t *testing.T) {
	t.Parallel()
	const cni, claim, list = podsock.SourceCNI, podsock.SourceClaim, podsock.SourcePodResources
	for _, order := range [][]podsock.Source{
		{claim},
		{claim, cni}, {cni, claim}, {claim, list}, {list, claim},
		{cni, claim, list}, {cni, list, claim}, {claim, cni, list}, {claim, list, cni}, {list, cni, claim}, {list, claim, cni},
		{claim, cni, cni}, {cni, claim, cni}, // a repeated ADD
	} {
		var names []string
		for _, s := range order {
			names = append(names, string(s))
		}
		for _, restarts := range []bool{false, true} {
			name := strings.Join(names, ", ")
			if restarts {
				name += " with restarts"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.bindings.bound["team-a"] = express()
				r.cards.set(vf0, 5, 6, 7)
				for _, source := range order {
					a := reports()[source]
					if source == claim {
						a.Assigned = "express"
					}
					if _, err := r.table.Add(t.Context(), a, source); err != nil {
						t.Fatal(err)
					}
					if restarts {
						r.open()
					}
					r.table.Sweep(t.Context())
				}
				r.cards.is(t, vf0, 90000, 100000, 184)
				record := r.one()
				if record.Source == cni {
					if err := r.table.Check(t.Context(), reports()[cni]); err != nil {
						t.Errorf("CHECK: %v", err)
					}
				}
				if record.Class != "express" || record.Pending || record.Drift || record.Reason != "" {
					t.Errorf("%+v", record)
				}
				if err := r.table.Delete(t.Context(), record.Key); err != nil {
					t.Fatal(err)
				}
				r.cards.is(t, vf0, 5, 6, 7)
			})
		}
	}
}

func TestAnAssignedClassEndsWithItsPod(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.bindings.bound["team-a"] = express()
	a := reports()[podsock.SourceClaim]
	a.Assigned = "express"
	r.add(attachment("a", vf0))
	if _, err := r.table.Add(t.Context(), a, podsock.SourceClaim); err != nil {
		t.Fatal(err)
	}
	r.cards.is(t, vf0, 90000, 100000, 184)
	r.spaces.end("/run/netns/a")
	r.add(attachment("b", vf0)) // another pod takes the device over
	r.cards.is(t, vf0, 40000, 50000, 104)
}

func TestAnAssignedClassThatTheTenantLacksIsAppliedWhenItExists(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.bindings.bound["team-a"] = pods.Binding{Name: "gold-bulk", Tenant: "gold", Class: "bulk", Levers: bulk().Levers, Classes: map[string]podsock.Levers{"bulk": bulk().Levers}}
	r.add(attachment("a", vf0))
	a := reports()[podsock.SourceClaim]
	a.Assigned = "express"
	for range 2 {
		if _, err := r.table.Add(t.Context(), a, podsock.SourceClaim); err != nil {
			t.Fatal(err)
		}
		r.table.Sweep(t.Context())
	}
	r.cards.is(t, vf0, 40000, 50000, 104) // a running pod keeps its class
	if record := r.one(); !record.Pending || !strings.Contains(record.Reason, `found no class "express", want bulk`) {
		t.Errorf("%+v", record)
	}
	r.bindings.change(func(s *source) { s.bound["team-a"] = express() })
	r.table.Sweep(t.Context())
	r.cards.is(t, vf0, 90000, 100000, 184)
	if record := r.one(); record.Pending || record.Reason != "" {
		t.Errorf("%+v", record)
	}
}

// A device that several claims hold is known by its port, and nothing is set on it.
func TestASharedDeviceIsLocatedAndLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cards.set(vf0, 5, 6, 7)
	for _, container := range []string{"a", "b"} {
		a := attachment(container, "")
		a.NetNS, a.FailPolicy, a.SharedDevice, a.ClaimedBps = "", podsock.Open, vf0, 40_000_000_000
		record, err := r.table.Add(t.Context(), a, podsock.SourceClaim)
		if err != nil || record.Found.PF != "0000:3b:00.0" || record.ClaimedBps != 40_000_000_000 || record.Pending {
			t.Errorf("%+v, %v", record, err)
		}
	}
	r.open()
	r.table.Sweep(t.Context())
	for _, record := range r.table.List(t.Context(), true) {
		if record.Found.PF == "" || record.Counters != nil || record.Reason != "" {
			t.Errorf("after a restart: %+v", record)
		}
	}
	if err := r.table.RestoreAll(t.Context()); err != nil {
		t.Error(err)
	}
	r.cards.is(t, vf0, 5, 6, 7)
	if r.cards.applies+r.cards.restores != 0 {
		t.Errorf("%d writes, %d restores, want none", r.cards.applies, r.cards.restores)
	}
}
