package p4info

import (
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"fairlane/wrcc"
)

func pad(b []byte) []byte { return append([]byte{0, 0, 0, 0, 0}, b...) }

// TestShortenRemovesLeadingZeros pads every byte string of an entity: the padded entity is rejected, and the shortened
// one is accepted.
func TestShortenRemovesLeadingZeros(t *testing.T) {
	t.Parallel()
	want := wrcc.PortConfig{Port: 0, FminMbps: 100, FmaxMbps: 1 << 31, TargetMbps: 256, PeriodUs: 24, RateRatioPct: 110, QRatioPct: 50}
	e := PortConfig(want)
	x := e.GetMatch()[0].GetExact()
	x.Value = pad(x.GetValue())
	for _, p := range e.GetAction().GetAction().GetParams() {
		p.Value = pad(p.GetValue())
	}
	if _, err := DecodePortConfig(e); err == nil {
		t.Error("a padded entry was accepted")
	}
	Shorten(Entity(e))
	if got, err := DecodePortConfig(e); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}

	r := Register(RegisterPFR, 3, 1000)
	r.Data = &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: pad(Encode(1000))}}
	Shorten(Entity(r))
	if _, v, err := DecodeRegister(r, RegisterPFR); err != nil || v != 1000 {
		t.Errorf("register %d, %v", v, err)
	}

	told := Congestion{Port: 9, Class: 0, PFR: 7, Queue: 1 << 20, TimeUs: 5}
	d := Digest(told)
	for _, m := range d.GetStruct().GetMembers() {
		m.Data = &p4v1.P4Data_Bitstring{Bitstring: pad(m.GetBitstring())}
	}
	ShortenData(d)
	if got, err := DecodeDigest(d); err != nil || got != told {
		t.Errorf("digest %+v, %v", got, err)
	}
}

func TestShortenLeavesTheRest(t *testing.T) {
	t.Parallel()
	e := &p4v1.TableEntry{TableId: TablePortConfig, Match: []*p4v1.FieldMatch{{FieldId: 1, FieldMatchType: &p4v1.FieldMatch_Exact_{}}}}
	for _, x := range []*p4v1.Entity{nil, {}, Entity(e), {Entity: &p4v1.Entity_RegisterEntry{}}, {Entity: &p4v1.Entity_CounterEntry{}}} {
		Shorten(x)
	}
	ShortenData(nil)
	if _, err := DecodePortConfig(e); err == nil {
		t.Error("an entry without bytes was accepted")
	}
}
