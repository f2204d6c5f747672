package opensm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/opensm/osmfile"
)

// fakeSM is an OpenSM in memory: its files, the process that reads them, and its subnet administration. It implements the
// documented precedence: a request, the policy, the partition.
type fakeSM struct {
	mu    sync.Mutex
	disk  map[string]osmfile.Text
	force map[string]osmfile.Text // as read at the last reload
	down  map[ident.GUID]bool     // ports without a path
	guid  ident.GUID              // of the master
	here  ident.GUID              // of the transport's port, on which this OpenSM runs; 0 means another one
	run   int                     // of the process
	deaf  bool
	lock  chan struct{}
	ops   int // writes, reloads and rounds of queries so far
	// fails makes an operation fail, by its number from 1.
	fails func(op int, name string) error
}

const (
	optPath  = "/etc/opensm/opensm.conf"
	partPath = "/etc/opensm/partitions.conf"
	polPath  = "/etc/opensm/qos-policy.conf"
)

func newFakeSM(options, partitions, policy string) *fakeSM {
	s := &fakeSM{disk: map[string]osmfile.Text{}, down: map[ident.GUID]bool{}, guid: 0x99, here: 0x99, run: 1, lock: make(chan struct{}, 1)}
	for path, data := range map[string]string{optPath: options, partPath: partitions, polPath: policy} {
		if data != "-" {
			s.disk[path] = osmfile.Text{Path: path, Present: true, Data: data}
		}
	}
	s.sweep()
	return s
}

func (s *fakeSM) sweep() {
	s.force = map[string]osmfile.Text{}
	for k, v := range s.disk {
		s.force[k] = v
	}
}

var errInjected = errors.New("injected")

func (s *fakeSM) op(name string) error {
	s.ops++
	if s.fails == nil {
		return nil
	}
	return s.fails(s.ops, name)
}

func (s *fakeSM) Read(path string) (osmfile.Text, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.disk[path]
	t.Path = path
	return t, nil
}

func (s *fakeSM) Replace(before, next osmfile.Text) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.op("write"); err != nil {
		return err
	}
	now := s.disk[before.Path]
	now.Path = before.Path
	if now != before {
		return ErrChanged
	}
	if next.Present {
		s.disk[next.Path] = next
	} else {
		delete(s.disk, next.Path)
	}
	return nil
}

func (s *fakeSM) Lock(ctx context.Context, _ string) (func(), error) {
	select {
	case s.lock <- struct{}{}:
		return func() { <-s.lock }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *fakeSM) Reload(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.op("reload"); err != nil {
		return err
	}
	if !s.deaf {
		s.sweep()
	}
	return nil
}

func (s *fakeSM) Process(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprint(s.run), nil
}

// Exchange answers PortInfo, SMInfo and PathRecord.
func (s *fakeSM) Exchange(_ context.Context, _ mad.Target, req *mad.Packet) (mad.Packet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := *req
	resp.Respond(mad.StatusOK)
	switch req.Attr() {
	case mad.AttrPortInfo:
		if err := s.op("ask"); err != nil {
			return resp, err
		}
		info := mad.PortInfo{MasterSMLID: 7, OperationalVLs: 4}
		if s.here != 0 {
			info.CapabilityMask = mad.PortCapIsSM
		}
		return resp, info.Encode(resp.Data())
	case mad.AttrNodeInfo:
		return resp, (&mad.NodeInfo{PortGUID: s.here}).Encode(resp.Data())
	case mad.AttrSLToVLTable:
		m, _ := osmfile.ReadOptions(s.force[optPath].Data).SL2VL(osmfile.AdapterPort)
		for i := range m {
			m[i] &= 7
		}
		table := mad.SLToVLTable(m)
		return resp, table.Encode(resp.Data())
	case mad.AttrSMInfo:
		return resp, (&mad.SMInfo{GUID: s.guid, ActCount: 5, State: mad.SMStateMaster}).Encode(resp.Data())
	case mad.AttrPathRecord:
		var q mad.PathRecord
		if err := q.Decode(req.Data()); err != nil {
			return resp, err
		}
		sl, ok := s.path(q.SGID.GUID(), q.DGID.GUID(), q.PKey)
		if !ok {
			resp.SetStatus(mad.StatusSANoRecords)
			return resp, nil
		}
		q.SL, q.SLID = sl, ident.LID(q.SGID.GUID())
		return resp, q.Encode(resp.Data())
	}
	return resp, mad.ErrTimeout
}

// path returns OpenSM's decision; key 0 means any partition.
func (s *fakeSM) path(from, to ident.GUID, key ident.PKey) (ident.SL, bool) {
	if s.down[from] || s.down[to] {
		return 0, false
	}
	if key == 0 {
		return 0, true
	}
	qos := osmfile.ReadOptions(s.force[optPath].Data).Bool("qos")
	stanzas, faults := osmfile.ReadPartitions(s.force[partPath].Data)
	if osmfile.Refused(faults) {
		stanzas = nil
	}
	i := slices.IndexFunc(stanzas, func(x osmfile.Stanza) bool { return x.PKey == key.Base() })
	if i < 0 {
		return 0, false
	}
	in := func(g ident.GUID) bool {
		return slices.ContainsFunc(stanzas[i].Members, func(m osmfile.StanzaMember) bool { return m.Word == "ALL" || m.GUID == g })
	}
	if !in(from) || !in(to) {
		return 0, false
	}
	if !qos {
		return 0, true
	}
	if policy := s.force[polPath]; policy.Present {
		p, faults := osmfile.ReadPolicy(policy.Data)
		if len(faults) == 0 && p.Default != nil {
			return p.SL(key, from, to), true
		}
	}
	return stanzas[i].SL, true
}
