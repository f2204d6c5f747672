package madlink

import (
	"testing"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

func target(lid int) mad.Target { return mad.Target{LID: ident.LID(lid + 1)} }

func TestTransactionIDsDifferBySlotAndRequest(t *testing.T) {
	t.Parallel()
	seen := map[uint32]bool{}
	for i := range uint32(MaxInFlight) {
		r := request{index: i}
		for range 50 {
			tid := r.nextTID()
			if tid == 0 || seen[tid] {
				t.Fatalf("transaction ID 0x%x is 0 or was used", tid)
			}
			seen[tid] = true
		}
	}
	r := request{turn: 1<<(32-indexBits) - 1}
	if tid := r.nextTID(); tid != 1<<indexBits {
		t.Errorf("after the last turn transaction ID 0x%x: want the first", tid)
	}
}

func TestTargetsWithoutRequestsAreDropped(t *testing.T) {
	t.Parallel()
	l := New(Options{InFlight: 2, PerTarget: 1, Retries: 0}, 0, nil)
	for lid := range 3 {
		q := l.turns.enter(target(lid))
		again := l.turns.enter(target(lid))
		if q != again {
			t.Errorf("target %d has two queues", lid)
		}
		l.turns.exit(q)
		l.turns.exit(again)
	}
	if n := len(l.turns.queues); n != 0 {
		t.Errorf("%d targets remembered: want none", n)
	}
}
