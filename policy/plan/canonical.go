package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"reflect"
	"strconv"

	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/qos"
	"fairlane/policy/halves"
	"fairlane/subnet/ident"
)

// The canonical form of a plan, whose SHA-256 is the plan's name. It has every exported field except Plan.Name and fields tagged
// canonical:"-", in the order of the types; fields tagged canonical:"1" or canonical:"2" only in plans of that format (Plan.Format):
//
//	integers  uvarint; signed ones zigzag first        bool    one byte
//	floats    IEEE 754 bits, 8 bytes little-endian      string  uvarint length, bytes
//	slices    uvarint length, elements                  arrays, structs  elements, fields
//	pointers  one byte 0 or 1, then what they point to
//
// with one exception. Every CAPlan, every SwitchPlan, and Plan.Placements as a whole, which make up most of a plan, are replaced by the 32
// bytes of the SHA-256 of their own canonical form, after the rest; so are, in plans that have them, every NICPlan and every ECNPlan,
// RoCEPlan.Traffic as a whole, every WRCCPortPlan and every WRCCSenderPlan. A plan in which few devices changed is thus named without visiting
// the others.

// Digest is the SHA-256 of a part of a plan.
type Digest [sha256.Size]byte

// Digests holds the digests of parts that a plan shares with an earlier compilation.
type Digests struct {
	CAs      []Digest
	Switches []Digest
	Places   []Digest // at most one

	NICs     []Digest
	Markings []Digest
	Traffic  []Digest // at most one

	Ports   []Digest
	Senders []Digest

	head []byte // buffer for the rest of a plan
}

// Next returns digests for the plan that follows the one of d, to be filled. d may be nil and is not used for hashing again.
func (d *Digests) Next() *Digests {
	if d == nil {
		return &Digests{}
	}
	return &Digests{head: d.head}
}

// Hash returns the plan's name: the SHA-256, in lower-case hexadecimal, of its canonical form. It does not change the plan.
func (p *Plan) Hash() string { return p.HashWith(&Digests{}) }

// HashWith returns the plan's name and fills the digests missing in d. Digests in d that are not zero must be those of the plan.
func (p *Plan) HashWith(d *Digests) string {
	d.Fill(p)
	head := *p
	head.Name, head.CAs, head.Switches, head.Placements = "", nil, nil, nil
	parts := [][]Digest{d.CAs, d.Switches, d.Places}
	if p.RoCE != nil {
		head.RoCE = &RoCEPlan{Classes: p.RoCE.Classes}
		parts = append(parts, d.NICs, d.Markings, d.Traffic)
	}
	if p.WRCC != nil {
		rest := *p.WRCC
		rest.Ports, rest.Senders = nil, nil
		head.WRCC = &rest
		parts = append(parts, d.Ports, d.Senders)
	}
	e := encoder{b: d.head[:0], format: strconv.Itoa(max(p.Format, 1))}
	e.value(reflect.ValueOf(&head).Elem())
	for _, part := range parts {
		e.uint(uint64(len(part)))
		for i := range part {
			e.b = append(e.b, part[i][:]...)
		}
	}
	d.head = e.b
	sum := sha256.Sum256(e.b)
	return hex.EncodeToString(sum[:])
}

// Fill computes the missing digests.
func (d *Digests) Fill(p *Plan) {
	fillDigests(&d.CAs, p.CAs)
	fillDigests(&d.Switches, p.Switches)
	fillDigests(&d.Places, []placementList{p.Placements})
	if r := p.RoCE; r != nil {
		fillDigests(&d.NICs, r.NICs)
		fillDigests(&d.Markings, r.Switches)
		fillDigests(&d.Traffic, []trafficList{r.Traffic})
	}
	if w := p.WRCC; w != nil {
		fillDigests(&d.Ports, w.Ports)
		fillDigests(&d.Senders, w.Senders)
	}
}

// fillDigests computes the digests of parts that have none, on two goroutines.
func fillDigests[T any](d *[]Digest, parts []T) {
	if len(*d) != len(parts) {
		*d = make([]Digest, len(parts))
	}
	halves.Do(len(parts), func(from, to int) {
		var e encoder
		for i := from; i < to; i++ {
			if (*d)[i] != (Digest{}) {
				continue
			}
			e.b = e.b[:0]
			e.value(reflect.ValueOf(&parts[i]).Elem())
			(*d)[i] = sha256.Sum256(e.b)
		}
	})
}

// Renew builds the parts of a plan. It takes those that are not fresh from the previous plan, with their digests.
func Renew[T any](before []T, was []Digest, fresh []bool, anew func(i int) T) ([]T, []Digest) {
	out, digests := make([]T, len(fresh)), make([]Digest, len(fresh))
	halves.Do(len(fresh), func(from, to int) {
		for i := from; i < to; i++ {
			if fresh[i] {
				out[i] = anew(i)
			} else {
				out[i], digests[i] = before[i], was[i]
			}
		}
	})
	return out, digests
}

type (
	placementList []Placement
	trafficList   []RoCEPlacement
)

// encoder appends the canonical form.
type encoder struct {
	b      []byte
	format string // of the plan
}

// ifSet tags fields that later versions added within a format: they are part of the canonical form, after their name, where they are not zero. So
// plans without them keep their names.
const ifSet = "if-set"

// has reports whether a field is part of the canonical form.
func (e *encoder) has(f reflect.StructField) bool {
	tag := f.Tag.Get("canonical")
	return f.IsExported() && (tag == "" || tag == e.format)
}

func (e *encoder) uint(x uint64)   { e.b = binary.AppendUvarint(e.b, x) }
func (e *encoder) int(x int64)     { e.b = binary.AppendVarint(e.b, x) }
func (e *encoder) float(x float64) { e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(x)) }

func (e *encoder) string(s string) {
	e.uint(uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) bool(x bool) {
	if x {
		e.b = append(e.b, 1)
	} else {
		e.b = append(e.b, 0)
	}
}

// value appends any value. The most frequent types are encoded by hand; tests compare that with the encoding by reflection.
func (e *encoder) value(v reflect.Value) {
	if v.CanAddr() {
		switch x := v.Addr().Interface().(type) {
		case *Reason:
			e.reason(x)
			return
		case *ibcc.CASettings:
			e.settings(x)
			return
		case *NamedPort:
			e.port(x.Port)
			e.string(x.Name)
			return
		case *LinkTenant:
			e.tenant(x)
			return
		case *LinkShare:
			e.port(x.Port)
			e.port(x.Peer)
			e.string(x.Name)
			e.int(int64(x.Capacity))
			e.uint(uint64(len(x.Tenants)))
			for i := range x.Tenants {
				e.tenant(&x.Tenants[i])
			}
			return
		case *ecn.QueueMarking:
			e.uint(uint64(x.Port))
			e.uint(uint64(x.Queue))
			e.int(x.Marking.Min)
			e.int(x.Marking.Max)
			e.int(int64(x.Marking.PMaxPct))
			return
		case *qos.QueueWeight:
			e.uint(uint64(x.Port))
			e.uint(uint64(x.Queue))
			e.uint(uint64(x.Weight))
			return
		case *Placement:
			e.string(x.Tenant)
			e.uint(uint64(x.PKey))
			e.port(x.Port)
			e.uint(uint64(x.SL))
			return
		}
	}
	e.walk(v)
}

func (e *encoder) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		e.bool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.int(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.uint(v.Uint())
	case reflect.Float32, reflect.Float64:
		e.float(v.Float())
	case reflect.String:
		e.string(v.String())
	case reflect.Pointer:
		e.bool(!v.IsNil())
		if !v.IsNil() {
			e.value(v.Elem())
		}
	case reflect.Slice:
		e.uint(uint64(v.Len()))
		for i := range v.Len() {
			e.value(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			e.value(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); e.has(f) {
				e.value(v.Field(i))
			} else if f.Tag.Get("canonical") == ifSet && !v.Field(i).IsZero() {
				e.string(f.Name)
				e.value(v.Field(i))
			}
		}
	default:
		panic("plan: a plan has a field of kind " + v.Kind().String()) // a test encodes every type
	}
}

func (e *encoder) port(p ident.PortID) {
	e.uint(uint64(p.Node))
	e.uint(uint64(p.Port))
}

func (e *encoder) reason(r *Reason) {
	for _, s := range [...]string{r.Field, r.Value, r.Unit, r.Range, r.Tenant, r.Rule, r.Formula, r.Clamped} {
		e.string(s)
	}
}

func (e *encoder) tenant(t *LinkTenant) {
	e.string(t.Tenant)
	e.int(int64(t.QPs))
	e.int(int64(t.Entitled))
	e.int(int64(t.Predicted))
	e.float(t.Bound)
}

func (e *encoder) settings(c *ibcc.CASettings) {
	e.bool(c.PerSL)
	for i := range c.SLs {
		p := &c.SLs[i]
		e.uint(uint64(p.Timer))
		e.uint(uint64(p.Increase))
		e.uint(uint64(p.Trigger))
		e.uint(uint64(p.Min))
	}
	e.uint(uint64(c.Limit))
	e.uint(uint64(len(c.Table)))
	for _, t := range c.Table {
		e.uint(uint64(t.Shift))
		e.uint(uint64(t.Multiplier))
	}
}
