package ibmad_test

import (
	"testing"

	"fairlane/ccconfig/ibmad"
	"fairlane/sim/simdev"
	"fairlane/subnet/mad"
)

// A rotation with Keep preserves the protection of each device, even after an interruption.
func TestKeptProtectionDiffersByDevice(t *testing.T) {
	t.Parallel()
	type guard struct {
		key     mad.Key
		protect bool
		lease   uint16
	}
	guards := []guard{{oldKey, true, 30}, {oldKey, true, 0}, {oldKey, false, 0}, {newKey, true, 90}, {0, false, 0}}
	rotate := ibmad.KeyChange{From: []mad.Key{oldKey}, To: newKey, Keep: true, Parallel: 1}
	for dies := 1; ; dies++ {
		f := newFleet(t, simdev.Options{})
		for i := range f.devices {
			g := guards[i%len(guards)]
			f.guard(i, g.key, g.protect, g.lease)
		}
		dead := false
		f.lose = func(n int, req *mad.Packet) (request, reply bool) {
			dead = dead || n == dies
			return n > dies, n >= dies
		}
		f.change(rotate)
		f.lose = nil
		r := f.change(rotate)
		if n := r.Count(ibmad.KeyChanged) + r.Count(ibmad.KeyUnchanged); n != len(f.devices) || r.Stopped != nil {
			t.Fatalf("interrupted at request %d: %d of %d have the key: %v", dies, n, len(f.devices), r.Stopped)
		}
		states, err := f.driver().ReadKeys(t.Context(), f.devices, ibmad.KeyRead{Keys: []mad.Key{newKey}})
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range states {
			g := guards[i%len(guards)]
			if s.Err != nil || s.Holder != ibmad.KeyKnown || s.Protect != g.protect || s.LeaseSeconds != g.lease {
				t.Errorf("interrupted at request %d: %v (%v), want protect %t, lease %d s", dies, s, s.Err, g.protect, g.lease)
			}
		}
		if !dead {
			break
		}
	}
}
