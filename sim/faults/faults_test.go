package faults

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCountsAreUsedUp(t *testing.T) {
	t.Parallel()
	m := Messages{PassWrites: 1, LoseRequests: 2, Busy: 1}
	for i, c := range []struct {
		write bool
		want  Decision
	}{{false, Busy}, {false, Arrives}, {true, Arrives}, {true, Lost}, {false, Lost}, {true, Arrives}} {
		if got := m.Arrive(c.write); got != c.want {
			t.Errorf("request %d: fate %d, want %d", i, got, c.want)
		}
	}
	m = Messages{LoseRequests: -1}
	for range 10 {
		if m.Arrive(false) != Lost {
			t.Fatal("a request arrived at a device that is silent")
		}
	}
}

func TestNoReplyFollowsALostReply(t *testing.T) {
	t.Parallel()
	m := Messages{LoseReply: true, PassReplies: 1}
	for i, c := range []struct{ write, want bool }{{false, false}, {true, false}, {false, false}, {true, true}, {false, true}} {
		if got, _ := m.Reply(c.write); got != c.want {
			t.Errorf("reply %d is lost: %t, want %t", i, got, c.want)
		}
	}
}

func TestFaultsDependOnTheSeed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.Float64Range(0, 1)
		m := Messages{
			Seed: rapid.Uint64().Draw(t, "seed"), DropRequest: draw.Draw(t, "requests"), DropReply: draw.Draw(t, "replies"),
			BusyReply: draw.Draw(t, "busy"), DelayReply: draw.Draw(t, "late"), Delay: time.Second,
		}
		again := m
		for i := range 50 {
			if a, b := m.Arrive(i%2 == 0), again.Arrive(i%2 == 0); a != b {
				t.Fatalf("request %d: fates %d and %d with the same seed", i, a, b)
			}
			lost, late := m.Reply(i%2 == 0)
			if l, d := again.Reply(i%2 == 0); l != lost || d != late {
				t.Fatalf("reply %d: %t, %s and %t, %s with the same seed", i, lost, late, l, d)
			}
			if late != 0 && late != m.Delay {
				t.Fatalf("reply %d: late by %s", i, late)
			}
		}
	})
}

func TestFaultProbabilitiesAreMet(t *testing.T) {
	t.Parallel()
	m := Messages{Seed: 7, DropRequest: 0.25}
	const n = 4000
	lost := 0
	for range n {
		if m.Arrive(true) == Lost {
			lost++
		}
	}
	if lost < n*20/100 || lost > n*30/100 {
		t.Errorf("%d of %d requests are lost, want about a quarter", lost, n)
	}
}
