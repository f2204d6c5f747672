package saquery

import (
	"context"
	"errors"
	"strings"
	"testing"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// administration answers PortInfo requests to the own port with the master's LID, and path queries with a service
// level or a status.
type administration struct {
	master ident.LID
	sl     ident.SL
	status mad.Status
	asked  mad.PathRecord
	mask   uint64
}

func (a *administration) Exchange(_ context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	resp := *req
	if to.LID == 0 {
		return resp, (&mad.PortInfo{MasterSMLID: a.master}).Encode(resp.Data())
	}
	if to.LID != a.master {
		return resp, mad.ErrTimeout
	}
	if err := a.asked.Decode(req.Data()); err != nil {
		return resp, err
	}
	a.mask = req.ComponentMask()
	if a.status != mad.StatusOK {
		resp.SetStatus(a.status)
		return resp, nil
	}
	rec := a.asked
	rec.SL = a.sl
	return resp, rec.Encode(resp.Data())
}

func TestTheMasterIsFoundByTheOwnPort(t *testing.T) {
	t.Parallel()
	if lid, err := MasterLID(t.Context(), &administration{master: 7}); lid != 7 || err != nil {
		t.Errorf("LID %d, %v; want 7", lid, err)
	}
	for _, none := range []ident.LID{0, 0xffff} {
		if _, err := MasterLID(t.Context(), &administration{master: none}); err == nil || !strings.Contains(err.Error(), "no subnet manager") {
			t.Errorf("master 0x%x: %v", none, err)
		}
	}
}

func TestPathQueriesSetTheirComponentMask(t *testing.T) {
	t.Parallel()
	sa := &administration{master: 7, sl: 3}
	if sl, err := PathSL(t.Context(), sa, 7, 1, 2, 0x8010); sl != 3 || err != nil {
		t.Errorf("SL %d, %v; want 3", sl, err)
	}
	want := mad.PathRecord{SLID: 1, DLID: 2, PKey: 0x8010, NumbPath: 1}
	if mask := mad.PathCompSLID | mad.PathCompDLID | mad.PathCompPKey | mad.PathCompNumbPath; sa.mask != mask || sa.asked.SLID != want.SLID || sa.asked.DLID != want.DLID ||
		sa.asked.PKey != want.PKey || sa.asked.NumbPath != want.NumbPath {
		t.Errorf("asked for %+v by components 0x%x, want %+v by 0x%x", sa.asked, sa.mask, want, mask)
	}
	for status, absent := range map[mad.Status]bool{mad.StatusSANoRecords: true, mad.StatusSAInvalidGID: true, mad.StatusSADenied: false, mad.StatusBusy: false} {
		sa.status = status
		_, err := PathSL(t.Context(), sa, 7, 1, 2, 0x8010)
		var none NoPathError
		if errors.As(err, &none) != absent || absent && none.PKey != 0x8010 || err == nil {
			t.Errorf("status %s: %v", status, err)
		}
	}
	if _, err := PathSL(t.Context(), sa, 8, 1, 2, 0x8010); !errors.Is(err, mad.ErrTimeout) {
		t.Errorf("no answer: %v", err)
	}
}
