package p4info

import (
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"

	"fairlane/wrcc"
)

// FuzzTableEntry decodes arbitrary entries by every decoder. An accepted entry must encode to an entry that decodes
// to the same value.
func FuzzTableEntry(f *testing.F) {
	for _, e := range []*p4v1.TableEntry{
		PortConfig(wrcc.PortConfig{Port: 1, FminMbps: 100, FmaxMbps: 1 << 31, TargetMbps: 5, PeriodUs: 24, RateRatioPct: 110, QRatioPct: 50}),
		ClassWeight(wrcc.ClassWeight{Port: 9, Class: 7, Multiplier: 3, Shift: 1}), Domain(wrcc.PortDomain{Port: 300, Domain: 2, WAN: true}), {},
	} {
		b, err := proto.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e p4v1.TableEntry
		if proto.Unmarshal(b, &e) != nil {
			return
		}
		if c, err := DecodePortConfig(&e); err == nil {
			if again, err := DecodePortConfig(PortConfig(c)); err != nil || again != c {
				t.Errorf("%+v was read back as %+v: %v", c, again, err)
			}
			if port, _, err := DecodeKey(&e); err != nil || port != c.Port {
				t.Errorf("key %d of port %d: %v", port, c.Port, err)
			}
		}
		if c, err := DecodeClassWeight(&e); err == nil {
			if again, err := DecodeClassWeight(ClassWeight(c)); err != nil || again != c {
				t.Errorf("%+v was read back as %+v: %v", c, again, err)
			}
		}
		if c, err := DecodeDomain(&e); err == nil {
			if again, err := DecodeDomain(Domain(c)); err != nil || again != c {
				t.Errorf("%+v was read back as %+v: %v", c, again, err)
			}
		}
	})
}

// FuzzMeasured decodes arbitrary registers, counters and digests.
func FuzzMeasured(f *testing.F) {
	for _, e := range []*p4v1.Entity{
		Entity(Register(RegisterPFR, 5, 1000)),
		Entity(Counter(CounterInput, 5, Count{1, 2})),
		Entity(&p4v1.RegisterEntry{RegisterId: RegisterPFR, Index: &p4v1.Index{}, Data: Digest(Congestion{Port: 1, TimeUs: 1 << 40})}),
	} {
		b, err := proto.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e p4v1.Entity
		if proto.Unmarshal(b, &e) != nil {
			return
		}
		r, c := e.GetRegisterEntry(), e.GetCounterEntry()
		if port, v, err := DecodeRegister(r, r.GetRegisterId()); err == nil {
			if p, w, err := DecodeRegister(Register(r.GetRegisterId(), port, v), r.GetRegisterId()); err != nil || p != port || w != v {
				t.Errorf("register %d %d was read back as %d %d: %v", port, v, p, w, err)
			}
		}
		if port, v, err := DecodeCounter(c, c.GetCounterId()); err == nil {
			if p, w, err := DecodeCounter(Counter(c.GetCounterId(), port, v), c.GetCounterId()); err != nil || p != port || w != v {
				t.Errorf("counter %d %v was read back as %d %v: %v", port, v, p, w, err)
			}
		}
		if d, err := DecodeDigest(r.GetData()); err == nil {
			if again, err := DecodeDigest(Digest(d)); err != nil || again != d {
				t.Errorf("digest %+v was read back as %+v: %v", d, again, err)
			}
		}
	})
}
