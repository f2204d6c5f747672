package simdev

import (
	"testing"
	"time"

	"fairlane/subnet/mad"
)

// A subnet manager with a higher priority sends the master a trap, and then waits for the TrapRepress.
func TestATrapBetweenSubnetManagersIsAnswered(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, false)
	master, rival := mustDial(s, "h3 HCA-1", true), mustDial(s, "h1 HCA-1", true)
	notice := Message{DLID: s.lid(host3), MAD: mad.NewSMP(mad.MethodTrap, mad.AttrNotice, 0)}
	notice.MAD.SetTID(9)
	rival.send(notice)
	got, _ := master.receive()
	if got.MAD.Method() != mad.MethodTrap || got.SLID != s.lid(host1) {
		t.Fatalf("the master received %s from LID %d", got.MAD.String(), got.SLID)
	}
	got.DLID, got.SLID = got.SLID, 0
	got.MAD.SetMethod(mad.MethodTrapRepress)
	master.send(got)
	if back, status := rival.receive(); status != 0 || back.MAD.Method() != mad.MethodTrapRepress || uint32(back.MAD.TID()) != 9 {
		t.Errorf("the other subnet manager received %s, status %d", back.MAD.String(), status)
	}
	got.DLID = s.lid(leaf1) // the trap of a switch is sent only once
	master.send(got)
	master.send(master.local(mad.AttrNodeInfo, 1))
	if m, _ := master.receive(); m.MAD.Attr() != mad.AttrNodeInfo {
		t.Errorf("the master received %s", m.MAD.String())
	}
}

// The preload library has no timer. The server returns an unanswered request as timed out, once.
func TestUnansweredSMRequestIsReturned(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, false)
	sm, other := mustDial(s, "h3 HCA-1", true), mustDial(s, "h1 HCA-1", false)
	ask := func(tid uint64) Message {
		t.Helper()
		m := Message{DLID: s.lid(host3), MAD: mad.NewSMP(mad.MethodGet, mad.AttrSMInfo, 0)}
		m.MAD.SetTID(tid)
		other.send(m)
		got, _ := sm.receive()
		got.DLID, got.SLID = got.SLID, 0
		got.MAD.Respond(mad.StatusOK)
		return got
	}
	sm.send(ask(1))
	if m, status := other.receive(); status != 0 || uint32(m.MAD.TID()) != 1 {
		t.Errorf("the first answer is %s, status %d", m.MAD.String(), status)
	}
	open := ask(2)
	before := time.Now()
	s.server.returnUnanswered(before.Add(-time.Hour)) // no request is an hour old
	s.server.returnUnanswered(before.Add(time.Hour))
	s.server.returnUnanswered(before.Add(time.Hour))
	if m, status := other.receive(); status != 110 || uint32(m.MAD.TID()) != 2 {
		t.Errorf("an unanswered request returns as %s, status %d", m.MAD.String(), status)
	}
	sm.send(open) // a late answer
	if m, status := other.receive(); status != 0 || uint32(m.MAD.TID()) != 2 {
		t.Errorf("the late answer is %s, status %d", m.MAD.String(), status)
	}
}

// A subnet manager requests its role once, and runs without it after a rejection. A subnet manager that was killed must not
// block its replacement.
func TestSubnetManagerReplacesAKilledOne(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, false)
	killed, next := mustDial(s, "h3 HCA-1", true), mustDial(s, "h3 HCA-1", false)
	killed.close()
	next.ask(ctlSetIsSM, 1, 0, 0, 0)
	next.close()
	mustDial(s, "h3 HCA-1", true)
	if st := s.server.Stats(); st.Clients != 1 || st.Refused != 0 {
		t.Errorf("%d clients, %d refused", st.Clients, st.Refused)
	}
}
