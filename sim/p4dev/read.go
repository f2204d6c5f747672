package p4dev

import (
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/wrcc/p4info"
)

// read answers a Read, which any client may send. An id of 0, a missing key and a missing index are wildcards.
func (d *Device) read(r *p4v1.ReadRequest) ([]*p4v1.Entity, error) {
	if err := d.hasPipeline(); err != nil {
		return nil, err
	}
	if r.GetRole() != "" {
		return nil, status.Errorf(codes.InvalidArgument, "role %q: want the default role", r.GetRole())
	}
	if n := len(r.GetEntities()); n > maxUpdates {
		return nil, status.Errorf(codes.InvalidArgument, "%d entities in a Read: want at most %d", n, maxUpdates)
	}
	var out []*p4v1.Entity
	for _, e := range r.GetEntities() {
		more, err := d.readEntity(e)
		if err != nil {
			return nil, err
		}
		if out = append(out, more...); len(out) > maxRead {
			return nil, status.Errorf(codes.ResourceExhausted, "more than %d entities in an answer", maxRead)
		}
	}
	return out, nil
}

// maxRead is the largest number of entities in one answer; no device has this many.
const maxRead = 1 << 16

func (d *Device) readEntity(e *p4v1.Entity) ([]*p4v1.Entity, error) {
	switch e := e.GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		return d.readTable(e.TableEntry)
	case *p4v1.Entity_RegisterEntry:
		return d.readRegister(e.RegisterEntry)
	case *p4v1.Entity_CounterEntry:
		return d.readCounter(e.CounterEntry)
	case *p4v1.Entity_DigestEntry:
		if d.digest == nil {
			return nil, nil
		}
		return []*p4v1.Entity{p4info.Entity(d.digest)}, nil
	}
	return nil, status.Error(codes.Unimplemented, "want a table, register, counter or digest entry")
}

func (d *Device) readTable(e *p4v1.TableEntry) ([]*p4v1.Entity, error) {
	table := e.GetTableId()
	if _, has := d.sizes[table]; table != 0 && !has {
		return nil, status.Errorf(codes.NotFound, "no table 0x%08x", table)
	}
	port, class, one := uint16(0), uint8(0), len(e.GetMatch()) > 0
	if one {
		var err error
		if port, class, err = p4info.DecodeKey(e); err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
	}
	var out []*p4v1.Entity
	add := func(of uint32, at uint16, e *p4v1.TableEntry) {
		if (table == 0 || table == of) && (!one || at == port) {
			out = append(out, p4info.Entity(e))
		}
	}
	c := d.config()
	for _, p := range c.Ports {
		add(p4info.TablePortConfig, p.Port, p4info.PortConfig(p))
	}
	for _, w := range c.Weights {
		if !one || w.Class == class {
			add(p4info.TableClassWeight, w.Port, p4info.ClassWeight(w))
		}
	}
	for _, p := range c.Domains {
		add(p4info.TableDomain, p.Port, p4info.Domain(p))
	}
	return out, nil
}

// cells returns the range of cells for an index: one cell, or all.
func cells(i *p4v1.Index) (from, to int, err error) {
	if i == nil {
		return 0, p4info.Size, nil
	}
	if i.GetIndex() < 0 || i.GetIndex() >= p4info.Size {
		return 0, 0, status.Errorf(codes.OutOfRange, "index %d: want 0 to %d", i.GetIndex(), p4info.Size-1)
	}
	return int(i.GetIndex()), int(i.GetIndex()) + 1, nil
}

func (d *Device) measure(port int) Measured {
	if port < 1 || port > d.ports {
		return Measured{}
	}
	return d.plane.Measure(uint16(port))
}

func (d *Device) readRegister(e *p4v1.RegisterEntry) ([]*p4v1.Entity, error) {
	if d.faults.NoRegisterAccess {
		return nil, status.Error(codes.Unimplemented, "no access to registers")
	}
	of := func(id uint32, value func(Measured) uint32) array {
		return array{id, func(port uint16, m Measured) *p4v1.Entity { return p4info.Entity(p4info.Register(id, port, value(m))) }}
	}
	return d.readArrays("register", d.features.Registers, e.GetRegisterId(), e.GetIndex(),
		of(p4info.RegisterPFR, func(m Measured) uint32 { return m.FairRateMbps }),
		of(p4info.RegisterAvgRTT, func(m Measured) uint32 { return m.AvgRTTUs }),
		of(p4info.RegisterQueue, func(m Measured) uint32 { return m.QueueBytes }),
	)
}

func (d *Device) readCounter(e *p4v1.CounterEntry) ([]*p4v1.Entity, error) {
	of := func(id uint32, value func(Measured) p4info.Count) array {
		return array{id, func(port uint16, m Measured) *p4v1.Entity { return p4info.Entity(p4info.Counter(id, port, value(m))) }}
	}
	return d.readArrays("counter", d.features.Counters, e.GetCounterId(), e.GetIndex(),
		of(p4info.CounterInput, func(m Measured) p4info.Count { return m.Input }),
		of(p4info.CounterFCNP, func(m Measured) p4info.Count { return p4info.Count{Packets: m.FCNPs} }),
		of(p4info.CounterRewrites, func(m Measured) p4info.Count { return p4info.Count{Packets: m.Rewrites} }),
		of(p4info.CounterPauses, func(m Measured) p4info.Count { return p4info.Count{Packets: m.Pauses} }),
		of(p4info.CounterPFRSum, func(m Measured) p4info.Count { return m.FairRateSum }),
	)
}

// array is a register or counter with a cell for each port.
type array struct {
	id   uint32
	cell func(port uint16, m Measured) *p4v1.Entity
}

// readArrays reads the cells for an id and an index, from the arrays that the program has.
func (d *Device) readArrays(kind string, has map[uint32]bool, id uint32, index *p4v1.Index, all ...array) ([]*p4v1.Entity, error) {
	from, to, err := cells(index)
	if err != nil {
		return nil, err
	}
	var out []*p4v1.Entity
	known := id == 0
	for _, a := range all {
		if !has[a.id] || id != 0 && id != a.id {
			continue
		}
		known = true
		for port := from; port < to; port++ {
			out = append(out, a.cell(uint16(port), d.measure(port)))
		}
	}
	if !known {
		return nil, status.Errorf(codes.NotFound, "no %s 0x%08x", kind, id)
	}
	return out, nil
}
