package p4info

import (
	"errors"
	"fmt"
	"strconv"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"fairlane/internal/fieldwise"
	"fairlane/wrcc"
)

// Widths of keys and values, bits.
const (
	portBits   = 16
	classBits  = 3
	rateBits   = 32
	shortBits  = 16
	shiftBits  = 4
	domainBits = 16
	flagBits   = 1
)

// PortConfig returns the table entry of a port's settings.
func PortConfig(c wrcc.PortConfig) *p4v1.TableEntry {
	return entry(TablePortConfig, ActionPortConfig, []uint64{uint64(c.Port)}, uint64(c.FminMbps), uint64(c.FmaxMbps), uint64(c.TargetMbps),
		uint64(c.PeriodUs), uint64(c.RateRatioPct), uint64(c.QRatioPct))
}

// ClassWeight returns the table entry of a class's weight.
func ClassWeight(w wrcc.ClassWeight) *p4v1.TableEntry {
	return entry(TableClassWeight, ActionClassWeight, []uint64{uint64(w.Port), uint64(w.Class)}, uint64(w.Multiplier), uint64(w.Shift))
}

// Domain returns the table entry of a port's data centre.
func Domain(d wrcc.PortDomain) *p4v1.TableEntry {
	wan := uint64(0)
	if d.WAN {
		wan = 1
	}
	return entry(TableDomain, ActionDomain, []uint64{uint64(d.Port)}, uint64(d.Domain), wan)
}

// Key returns only the key of the entry, with which P4Runtime deletes it.
func Key(e *p4v1.TableEntry) *p4v1.TableEntry {
	return &p4v1.TableEntry{TableId: e.GetTableId(), Match: e.GetMatch()}
}

// All returns the entry for a read of a whole table.
func All(table uint32) *p4v1.TableEntry { return &p4v1.TableEntry{TableId: table} }

// Entity wraps an entry for requests and answers.
func Entity[E *p4v1.TableEntry | *p4v1.RegisterEntry | *p4v1.CounterEntry | *p4v1.DigestEntry](e E) *p4v1.Entity {
	out := &p4v1.Entity{}
	switch e := any(e).(type) {
	case *p4v1.TableEntry:
		out.Entity = &p4v1.Entity_TableEntry{TableEntry: e}
	case *p4v1.RegisterEntry:
		out.Entity = &p4v1.Entity_RegisterEntry{RegisterEntry: e}
	case *p4v1.CounterEntry:
		out.Entity = &p4v1.Entity_CounterEntry{CounterEntry: e}
	case *p4v1.DigestEntry:
		out.Entity = &p4v1.Entity_DigestEntry{DigestEntry: e}
	}
	return out
}

func entry(table, action uint32, key []uint64, params ...uint64) *p4v1.TableEntry {
	e := &p4v1.TableEntry{TableId: table}
	for i, k := range key {
		e.Match = append(e.Match, &p4v1.FieldMatch{FieldId: uint32(i + 1), FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: Encode(k)}}})
	}
	a := &p4v1.Action{ActionId: action}
	for i, v := range params {
		a.Params = append(a.Params, &p4v1.Action_Param{ParamId: uint32(i + 1), Value: Encode(v)})
	}
	e.Action = &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: a}}
	return e
}

// field is a key or a parameter of a table: name and width by id, starting at 1.
type field struct {
	name string
	bits int
}

var (
	portKey      = []field{{"port", portBits}}
	portClassKey = []field{{"port", portBits}, {"class", classBits}}
)

// DecodePortConfig decodes an entry of TablePortConfig. It checks values against their widths only, because a device's state
// may be inconsistent. Errors name the field.
func DecodePortConfig(e *p4v1.TableEntry) (wrcc.PortConfig, error) {
	d := open(e, "port_cfg", TablePortConfig, portKey)
	v := d.params(ActionPortConfig, []field{
		{"f_min_mbps", rateBits}, {"f_max_mbps", rateBits}, {"b_tar_mbps", rateBits},
		{"wrcct_us", shortBits}, {"rate_ratio_max_pct", shortBits}, {"q_ratio_max_pct", shortBits},
	})
	if d.err != nil {
		return wrcc.PortConfig{}, d.err
	}
	return wrcc.PortConfig{
		Port: uint16(d.key[0]), FminMbps: uint32(v[0]), FmaxMbps: uint32(v[1]), TargetMbps: uint32(v[2]),
		PeriodUs: uint16(v[3]), RateRatioPct: uint16(v[4]), QRatioPct: uint16(v[5]),
	}, nil
}

// DecodeClassWeight decodes an entry of TableClassWeight in the same way.
func DecodeClassWeight(e *p4v1.TableEntry) (wrcc.ClassWeight, error) {
	d := open(e, "class_weight", TableClassWeight, portClassKey)
	v := d.params(ActionClassWeight, []field{{"multiplier", shortBits}, {"shift", shiftBits}})
	if d.err != nil {
		return wrcc.ClassWeight{}, d.err
	}
	return wrcc.ClassWeight{Port: uint16(d.key[0]), Class: uint8(d.key[1]), Multiplier: uint16(v[0]), Shift: uint8(v[1])}, nil
}

// DecodeDomain decodes an entry of TableDomain in the same way.
func DecodeDomain(e *p4v1.TableEntry) (wrcc.PortDomain, error) {
	d := open(e, "domain_cfg", TableDomain, portKey)
	v := d.params(ActionDomain, []field{{"domain", domainBits}, {"wan", flagBits}})
	if d.err != nil {
		return wrcc.PortDomain{}, d.err
	}
	return wrcc.PortDomain{Port: uint16(d.key[0]), Domain: uint16(v[0]), WAN: v[1] != 0}, nil
}

// DecodeKey decodes the key of an entry of one of our tables, for example of a deletion: the port, and the class if the table
// has one.
func DecodeKey(e *p4v1.TableEntry) (port uint16, class uint8, err error) {
	name, fields := "port_cfg", portKey
	switch e.GetTableId() {
	case TablePortConfig:
	case TableDomain:
		name = "domain_cfg"
	case TableClassWeight:
		name, fields = "class_weight", portClassKey
	default:
		return 0, 0, fieldwise.Bad("table_id", fmt.Sprintf("0x%08x", e.GetTableId()), "a table of the P4Info")
	}
	d := open(e, name, e.GetTableId(), fields)
	if d.err != nil {
		return 0, 0, d.err
	}
	if len(d.key) > 1 {
		class = uint8(d.key[1])
	}
	return uint16(d.key[0]), class, nil
}

// decoder decodes one entry and collects its errors.
type decoder struct {
	e    *p4v1.TableEntry
	name string
	key  []uint64
	err  error
}

// open decodes the key of an entry.
func open(e *p4v1.TableEntry, name string, table uint32, fields []field) *decoder {
	d := &decoder{e: e, name: name, key: make([]uint64, len(fields))}
	if e.GetTableId() != table {
		d.fail("table_id", fmt.Sprintf("0x%08x", e.GetTableId()), fmt.Sprintf("0x%08x", table))
	}
	if e.GetPriority() != 0 {
		d.fail("priority", strconv.Itoa(int(e.GetPriority())), "0: the match is exact")
	}
	if n := len(e.GetMatch()); n != len(fields) {
		d.fail("match", fmt.Sprintf("%d fields", n), strconv.Itoa(len(fields)))
		return d
	}
	seen := make([]bool, len(fields))
	for _, m := range e.GetMatch() {
		i, ok := d.index("match field", m.GetFieldId(), seen)
		if !ok {
			return d
		}
		x, exact := m.GetFieldMatchType().(*p4v1.FieldMatch_Exact_)
		if !exact {
			d.fail(fields[i].name, "another kind of match", "an exact match")
			return d
		}
		d.key[i] = d.value(fields[i], x.Exact.GetValue())
	}
	return d
}

// params decodes the parameters of the entry's action.
func (d *decoder) params(action uint32, fields []field) []uint64 {
	out := make([]uint64, len(fields))
	a := d.e.GetAction().GetAction()
	switch {
	case a == nil:
		d.fail("action", "none", fmt.Sprintf("action 0x%08x", action))
		return out
	case a.GetActionId() != action:
		d.fail("action_id", fmt.Sprintf("0x%08x", a.GetActionId()), fmt.Sprintf("0x%08x", action))
		return out
	case len(a.GetParams()) != len(fields):
		d.fail("params", strconv.Itoa(len(a.GetParams())), strconv.Itoa(len(fields)))
		return out
	}
	seen := make([]bool, len(fields))
	for _, p := range a.GetParams() {
		i, ok := d.index("parameter", p.GetParamId(), seen)
		if !ok {
			return out
		}
		out[i] = d.value(fields[i], p.GetValue())
	}
	return out
}

// index converts an id to an index in the fields; each id may occur only once.
func (d *decoder) index(what string, id uint32, seen []bool) (int, bool) {
	if id < 1 || int(id) > len(seen) {
		d.fail(what, strconv.FormatUint(uint64(id), 10), fmt.Sprintf("1 to %d", len(seen)))
		return 0, false
	}
	if seen[id-1] {
		d.fail(what, fmt.Sprintf("%d twice", id), "each once")
		return 0, false
	}
	seen[id-1] = true
	return int(id - 1), true
}

func (d *decoder) value(f field, b []byte) uint64 {
	v, err := Decode(d.name+"."+f.name, b, f.bits)
	d.err = errors.Join(d.err, err)
	return v
}

func (d *decoder) fail(field, found, allowed string) {
	d.err = errors.Join(d.err, fieldwise.Bad(d.name+"."+field, found, allowed))
}
