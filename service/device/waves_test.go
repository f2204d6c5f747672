package device_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/service/device"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// leafSpine gives a target for every host and, when asked, marking switch of a fabric.
func leafSpine(t interface{ Fatal(...any) }, leaves, hosts int, marks bool) (*subnet.Fabric, []device.Target) {
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: leaves, HostsPerLeaf: hosts, Spines: 2})
	if err != nil {
		t.Fatal(err)
	}
	var list []device.Target
	for _, h := range f.Hosts() {
		list = append(list, device.Target{Device: driver.Device{Kind: subnet.KindCA, ID: f.PortID(subnet.PortRef{Node: h, Port: 1})}})
	}
	for _, s := range f.Switches() {
		st := &driver.SwitchState{}
		if marks {
			st.Defaults.Threshold = 5
		}
		list = append(list, device.Target{Device: driver.Device{Kind: subnet.KindSwitch, ID: ident.PortID{Node: f.Nodes[s].GUID}}, Want: driver.Settings{Switch: st}})
	}
	return f, list
}

func sizes(steps []device.Step) (out []int) {
	for _, s := range steps {
		out = append(out, len(s.Targets))
	}
	return out
}

func TestWaves(t *testing.T) {
	t.Parallel()
	f, list := leafSpine(t, 4, 4, true)
	for name, c := range map[string]struct {
		o    device.WaveOptions
		want []int
	}{
		// The canary is in the first leaf, so 3 of its hosts remain; then two leaves, then the last one; six switches.
		"leaves":           {device.WaveOptions{}, []int{1, 3, 8, 4, 1, 1, 2, 2}},
		"small waves":      {device.WaveOptions{Wave: 3}, []int{1, 3, 3, 1, 3, 1, 3, 1, 1, 1, 2, 2}},
		"pods":             {device.WaveOptions{Domain: device.DomainPod}, []int{1, 3, 8, 4, 1, 1, 2, 2}},
		"no domains":       {device.WaveOptions{Domain: device.DomainNone}, []int{1, 1, 2, 4, 8, 1, 1, 2, 2}},
		"many canaries":    {device.WaveOptions{Canary: 100}, []int{16, 6}},
		"two canary hosts": {device.WaveOptions{Canary: 2}, []int{2, 2, 8, 4, 2, 1, 2, 1}},
	} {
		steps, err := device.PlanWaves(list, f, c.o)
		if err != nil || !slices.Equal(sizes(steps), c.want) {
			t.Errorf("%s: waves of %v, want %v (%v)", name, sizes(steps), c.want, err)
		}
	}
	for _, bad := range []device.WaveOptions{{Canary: -1}, {Wave: -1}, {Wave: 1 << 20}, {Domain: "rack"}} {
		if _, err := device.PlanWaves(list, f, bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// written lists the devices of a plan in the order in which a rollout writes them.
func written(t *testing.T, targets []device.Target) (out []driver.Device) {
	t.Helper()
	steps, err := device.PlanWaves(targets, nil, device.WaveOptions{Domain: device.DomainNone})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		for _, i := range s.Targets {
			out = append(out, targets[i].Device)
		}
	}
	return out
}

func TestAdaptersComeBeforeSwitchesThatMark(t *testing.T) {
	t.Parallel()
	var list []device.Target
	for _, d := range devices(3, 2) {
		list = append(list, device.Target{Device: d, Want: wanted(d, 0)})
	}
	if got, want := written(t, list), devices(3, 2); !slices.Equal(got, want) {
		t.Errorf("written in the order %v, want %v", got, want)
	}
}

func TestSwitchesComeFirstWhenMarkingEnds(t *testing.T) {
	t.Parallel()
	var list []device.Target
	for _, d := range devices(2, 2) {
		list = append(list, device.Target{Device: d, Want: drivertest.Defaults(d)})
	}
	if got, want := written(t, list), []driver.Device{sw(0), sw(1), ca(0), ca(1)}; !slices.Equal(got, want) {
		t.Errorf("written in the order %v, want %v", got, want)
	}
}

func TestEveryTargetIsInOneWaveAndKindsDoNotMix(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		marks := rapid.Bool().Draw(t, "marks")
		f, list := leafSpine(t, rapid.IntRange(1, 6).Draw(t, "leaves"), rapid.IntRange(1, 6).Draw(t, "hosts"), marks)
		o := device.WaveOptions{Canary: rapid.IntRange(0, 4).Draw(t, "canary"), Wave: rapid.IntRange(0, 9).Draw(t, "wave"),
			Domain: rapid.SampledFrom(device.Domains()).Draw(t, "domain")}
		steps, err := device.PlanWaves(list, f, o)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int]bool{}
		last := subnet.NodeKind(0)
		turns := 0
		for _, s := range steps {
			if len(s.Targets) == 0 || o.Wave > 0 && len(s.Targets) > o.Wave && !s.Canary {
				t.Fatalf("a wave of %d, want 1 to %d", len(s.Targets), o.Wave)
			}
			for _, i := range s.Targets {
				if seen[i] {
					t.Fatalf("target %d is in two waves", i)
				}
				seen[i] = true
				if k := list[i].Device.Kind; k != last {
					last = k
					turns++
				}
			}
		}
		if len(seen) != len(list) || turns != 2 {
			t.Fatalf("%d of %d targets, %d turns between kinds", len(seen), len(list), turns)
		}
		if first := list[steps[0].Targets[0]].Device.Kind; (first == subnet.KindSwitch) == marks {
			t.Fatalf("marking %v begins with kind %v", marks, first)
		}
	})
}
