package umad_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlane/subnet/mad"
	"fairlane/subnet/umad"
	"fairlane/subnet/umad/umadtest"
)

const recordSize = 112 // NodeRecord

// table answers a query with the given number of records, in the kernel's form: the first packet, followed by the
// data of all others. Record n starts with n.
func table(s umadtest.Sent, records int) []byte {
	p := s.MAD
	p.SetMethod(mad.MethodGetTableResp)
	p.SetAttrOffset(recordSize / 8)
	if records == 0 {
		p.SetAttrOffset(0)
	}
	out := p[:56:56]
	for n := range records {
		r := make([]byte, recordSize)
		binary.BigEndian.PutUint32(r, uint32(n))
		r[recordSize-1] = 0xee
		out = append(out, r...)
	}
	return out
}

func query() *mad.Packet {
	p := mad.NewSA(mad.MethodGet, mad.AttrNodeRecord, 0)
	p.SetComponentMask(1)
	return &p
}

func TestTablesOfAnyLengthAreReadInFull(t *testing.T) {
	t.Parallel()
	records := 0
	var method mad.Method
	d := umadtest.New(func(s umadtest.Sent) []byte {
		method = s.MAD.Method()
		if s.MAD.Attr() != mad.AttrNodeRecord {
			return echo(s)
		}
		return table(s, records)
	})
	c := open(t, d, umad.Options{InFlight: 1})
	for _, records = range []int{0, 1, 2, 3, 17, 5000, 1} {
		got, err := c.Table(t.Context(), mad.Target{LID: 1}, query())
		if err != nil || len(got) != records || method != mad.MethodGetTable {
			t.Errorf("%d records: received %d by %s, error %v", records, len(got), method, err)
			continue
		}
		for n, r := range got {
			if len(r) != recordSize || cap(r) != recordSize || binary.BigEndian.Uint32(r) != uint32(n) || r[recordSize-1] != 0xee {
				t.Fatalf("%d records: record %d is %x", records, n, r)
			}
		}
		if err := get(t.Context(), t, c, 1); err != nil { // the next message is complete, too
			t.Error(err)
		}
	}
	if reads := d.Reads(); slices.Min(reads) != 64+256 || slices.Max(reads) != 64+56+5000*recordSize {
		t.Errorf("buffers of %d to %d bytes", slices.Min(reads), slices.Max(reads))
	}
}

// A table that a plain Exchange requests is truncated, and affects no other request.
func TestExchangeReturnsTheStartOfATable(t *testing.T) {
	t.Parallel()
	c := open(t, umadtest.New(func(s umadtest.Sent) []byte { return table(s, 9) }), umad.Options{})
	p, err := c.Exchange(t.Context(), mad.Target{LID: 1}, query())
	if err != nil || p.Method() != mad.MethodGetTableResp || binary.BigEndian.Uint32(p[56+recordSize:]) != 1 {
		t.Errorf("got %s, error %v", &p, err)
	}
}

func TestTableReportsErrors(t *testing.T) {
	t.Parallel()
	status := mad.StatusSANoRecords
	d := umadtest.New(func(s umadtest.Sent) []byte {
		s.MAD.SetMethod(mad.MethodGetTableResp)
		s.MAD.SetStatus(status)
		return s.MAD[:]
	})
	c := open(t, d, umad.Options{})
	if got, err := c.Table(t.Context(), mad.Target{LID: 1}, query()); got != nil || err != nil {
		t.Errorf("no records: %v, error %v", got, err)
	}
	status = mad.StatusSADenied
	var refused *mad.StatusError
	if _, err := c.Table(t.Context(), mad.Target{LID: 1}, query()); !errors.As(err, &refused) || refused.Status != mad.StatusSADenied {
		t.Errorf("denied: error %v", err)
	}
	status = 0
	if _, err := c.Table(t.Context(), mad.Target{LID: 1}, query()); err == nil || !strings.Contains(err.Error(), "records have no size") {
		t.Errorf("records without a size: error %v", err)
	}
	req := counter(0)
	if _, err := c.Table(t.Context(), mad.Target{LID: 1}, &req); err == nil || !strings.Contains(err.Error(), "want class subnet administration") {
		t.Errorf("a table of another class: error %v", err)
	}
}

// An answer over the bound blocks all later ones, so the client ends with that reason.
func TestATableOverTheBoundEndsTheClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := umadtest.New(func(s umadtest.Sent) []byte { return table(s, int(s.MAD.Modifier())) })
		c := open(t, d, umad.Options{MaxTable: 56 + 3*recordSize, Timeout: time.Minute})
		req := query()
		req.SetModifier(3)
		if got, err := c.Table(t.Context(), mad.Target{LID: 1}, req); err != nil || len(got) != 3 {
			t.Errorf("at the bound: %d records, error %v", len(got), err)
		}
		req.SetModifier(4)
		_, err := c.Table(t.Context(), mad.Target{LID: 1}, req)
		if !errors.Is(err, umad.ErrClosed) || !strings.Contains(err.Error(), "response of 504 bytes: want at most 392") {
			t.Errorf("over the bound: error %v", err)
		}
		if slices.Max(d.Reads()) > 64+392 {
			t.Errorf("a buffer of %d bytes", slices.Max(d.Reads()))
		}
	})
}
