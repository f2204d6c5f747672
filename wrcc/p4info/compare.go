package p4info

import (
	"errors"
	"fmt"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// Features are the parts of our P4Info that a device's program has.
type Features struct {
	Ports   int // entries of TablePortConfig
	Weights int // entries of TableClassWeight; 0 without the table
	Domains int // entries of TableDomain

	Registers map[uint32]bool
	Counters  map[uint32]bool
	Digest    bool
}

// Compare returns the parts of our P4Info that a device's program has. The tables of ports and data centres are required, and
// every part must have our ids, names, fields and widths; the other parts are optional, and a program may have more than ours.
// The error lists every entity that differs.
func Compare(have *configv1.P4Info) (Features, error) {
	ours, err := New()
	if err != nil {
		return Features{}, err
	}
	f := Features{Registers: map[uint32]bool{}, Counters: map[uint32]bool{}}
	errs := f.tables(ours, have)
	for _, w := range ours.GetRegisters() {
		if h := find(have.GetRegisters(), w.GetPreamble().GetId()); h != nil {
			errs = append(errs, sameName("register", w, h), sameNumber("register "+w.GetPreamble().GetAlias()+": bits",
				h.GetTypeSpec().GetBitstring().GetBit().GetBitwidth(), w.GetTypeSpec().GetBitstring().GetBit().GetBitwidth()))
			f.Registers[w.GetPreamble().GetId()] = true
		}
	}
	for _, w := range ours.GetCounters() {
		if h := find(have.GetCounters(), w.GetPreamble().GetId()); h != nil {
			errs = append(errs, sameName("counter", w, h), sameNumber("counter "+w.GetPreamble().GetAlias()+": unit", h.GetSpec().GetUnit(), w.GetSpec().GetUnit()))
			f.Counters[w.GetPreamble().GetId()] = true
		}
	}
	if h := find(have.GetDigests(), DigestCongestion); h != nil {
		w := find(ours.GetDigests(), DigestCongestion)
		errs = append(errs, sameName("digest", w, h), sameStruct(ours, have, w, h))
		f.Digest = true
	}
	if err := errors.Join(errs...); err != nil {
		return Features{}, fmt.Errorf("P4Info of program %q: %w", have.GetPkgInfo().GetName(), err)
	}
	return f, nil
}

func (f *Features) tables(ours, have *configv1.P4Info) []error {
	var errs []error
	for _, w := range ours.GetTables() {
		id, name := w.GetPreamble().GetId(), "table "+w.GetPreamble().GetAlias()
		h := find(have.GetTables(), id)
		if h == nil {
			if id != TableClassWeight {
				errs = append(errs, fmt.Errorf("%s: found none, want one with id 0x%08x", name, id))
			}
			continue
		}
		errs = append(errs, sameName("table", w, h), sameFields(name+": match field", w.GetMatchFields(), h.GetMatchFields()))
		for _, m := range h.GetMatchFields() {
			errs = append(errs, sameNumber(name+": kind of match of "+m.GetName(), m.GetMatchType(), configv1.MatchField_EXACT))
		}
		for _, ref := range w.GetActionRefs() {
			wa, ha := find(ours.GetActions(), ref.GetId()), find(have.GetActions(), ref.GetId())
			if ha == nil {
				errs = append(errs, fmt.Errorf("%s: no action 0x%08x, %s", name, ref.GetId(), wa.GetPreamble().GetName()))
				continue
			}
			errs = append(errs, sameName("action", wa, ha), sameFields("action "+wa.GetPreamble().GetAlias()+": parameter", wa.GetParams(), ha.GetParams()))
		}
		f.size(id, h.GetSize())
	}
	return errs
}

// maxEntries is the largest plausible table size.
const maxEntries = 1 << 20

func (f *Features) size(table uint32, size int64) {
	n := int(min(max(size, 0), maxEntries))
	switch table {
	case TablePortConfig:
		f.Ports = n
	case TableClassWeight:
		f.Weights = n
	case TableDomain:
		f.Domains = n
	}
}

type named interface {
	GetPreamble() *configv1.Preamble
}

// find returns the entity with an id, or nil.
func find[T named](list []T, id uint32) (none T) {
	for _, e := range list {
		if e.GetPreamble().GetId() == id {
			return e
		}
	}
	return none
}

func sameName(kind string, want, have named) error {
	if w, h := want.GetPreamble().GetName(), have.GetPreamble().GetName(); w != h {
		return fmt.Errorf("%s 0x%08x: found name %q, want %q", kind, want.GetPreamble().GetId(), h, w)
	}
	return nil
}

func sameNumber[T comparable](what string, have, want T) error {
	if have != want {
		return fmt.Errorf("%s: found %v, want %v", what, have, want)
	}
	return nil
}

type column interface {
	GetId() uint32
	GetName() string
	GetBitwidth() int32
}

func sameFields[T column](what string, want, have []T) error {
	if len(want) != len(have) {
		return fmt.Errorf("%s: found %d, want %d", what, len(have), len(want))
	}
	var errs []error
	for i, w := range want {
		if h := have[i]; h.GetId() != w.GetId() || h.GetName() != w.GetName() || h.GetBitwidth() != w.GetBitwidth() {
			errs = append(errs, fmt.Errorf("%s %d: found id %d, %q of %d bits, want id %d, %q of %d bits", what, i+1,
				h.GetId(), h.GetName(), h.GetBitwidth(), w.GetId(), w.GetName(), w.GetBitwidth()))
		}
	}
	return errors.Join(errs...)
}

func sameStruct(ours, have *configv1.P4Info, w, h *configv1.Digest) error {
	members := func(p *configv1.P4Info, d *configv1.Digest) []*configv1.P4StructTypeSpec_Member {
		return p.GetTypeInfo().GetStructs()[d.GetTypeSpec().GetStruct().GetName()].GetMembers()
	}
	wm, hm := members(ours, w), members(have, h)
	if len(wm) != len(hm) {
		return fmt.Errorf("digest congestion: found %d members, want %d", len(hm), len(wm))
	}
	width := func(m *configv1.P4StructTypeSpec_Member) int32 {
		return m.GetTypeSpec().GetBitstring().GetBit().GetBitwidth()
	}
	for i := range wm {
		if wm[i].GetName() != hm[i].GetName() || width(wm[i]) != width(hm[i]) {
			return fmt.Errorf("digest congestion: member %d: found %q of %d bits, want %q of %d bits", i+1, hm[i].GetName(), width(hm[i]), wm[i].GetName(), width(wm[i]))
		}
	}
	return nil
}
