package cc

import (
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
)

// steps executes send opportunities of S2's figure 4 and returns R_C after each one. marks lists the marked opportunities,
// counted from 1.
func steps(p RPParams, marks ...int) (rates []float64) {
	s := NewRPState(&p, 1)
	marked := map[int]bool{}
	last := 0
	for _, m := range marks {
		marked[m] = true
		last = m
	}
	for send := 1; send <= last+40; send++ {
		s.Step(&p, 1, marked[send])
		rates = append(rates, s.Rate)
	}
	return rates
}

// backAtOne returns the first send after the last mark, counted from 1, at which R_C is 1 again.
func backAtOne(rates []float64, last int) int {
	for i := last; i < len(rates); i++ {
		if rates[i] >= 1 {
			return i + 1
		}
	}
	return -1
}

func TestS2Figure4AfterOneCut(t *testing.T) {
	t.Parallel()
	rates := steps(S2RecoveryDCQCNP(), 3)
	for send, want := range map[int]float64{1: 1, 2: 1, 3: 0.5, 4: 0.75, 5: 0.875, 6: 0.9375, 7: 0.96875, 8: 0.984375, 9: 1, 10: 1} {
		if got := rates[send-1]; got != want {
			t.Errorf("R_C at send %d is %v, want %v", send, got, want)
		}
	}
}

func TestS2Figure4AfterConsecutiveCuts(t *testing.T) {
	t.Parallel()
	// In S2, DCQCN-p recovers after 9 to 10 sends, and DCQCN after 11 to 13. S2 does not print DCQCN's R_AI as a fraction of
	// line rate. A value of about 0.11 reproduces both 11 and 13.
	for _, c := range []struct {
		p     RPParams
		marks []int
		want  int
	}{
		{S2RecoveryDCQCNP(), []int{3}, 6},
		{S2RecoveryDCQCNP(), []int{3, 4}, 9},
		{S2RecoveryDCQCNP(), []int{3, 4, 5}, 10},
		{S2RecoveryDCQCN(0.11), []int{3, 4}, 11},
		{S2RecoveryDCQCN(0.11), []int{3, 4, 5}, 13},
		{S2RecoveryDCQCN(0.11), []int{3, 5}, 9}, // cut, raise, cut
	} {
		last := c.marks[len(c.marks)-1]
		got := backAtOne(steps(c.p, c.marks...), last) - last
		if got != c.want {
			t.Errorf("marks %v: back at full rate after %d sends, want %d", c.marks, got, c.want)
		}
	}
}

func TestDCQCNPLowersAlphaOnBothSidesOfOneHalf(t *testing.T) {
	t.Parallel()
	s := RPState{Alpha: 1}
	for _, want := range []float64{1 - 1.0/40, 1 - 2.0/40} {
		s.lowerAlpha(1.0 / 16)
		if !sameValue(s.Alpha, want, 1e-12) {
			t.Errorf("alpha %v, want %v: 1/40 is less than alpha/16", s.Alpha, want)
		}
	}
	s.Alpha = 0.5
	s.lowerAlpha(1.0 / 16)
	if !sameValue(s.Alpha, 0.46, 1e-12) {
		t.Errorf("alpha %v, want 0.46: 1/25 is more than 0.5/16", s.Alpha)
	}
	s.Alpha = 0.03
	s.lowerAlpha(1.0 / 16)
	if s.Alpha != 0 {
		t.Errorf("alpha %v, want 0", s.Alpha)
	}
}

func TestDCQCNPNotificationsByTheirGap(t *testing.T) {
	t.Parallel()
	us := float64(testUS)
	gaps := Values{"decrease_interval": 20 * us, "increase_interval": 40 * us, "increase_timer": 55 * us}
	r := newDCQCNRig(t, "dcqcn-p", gaps).at(0).echo().wanted(50e9)
	r.at(20 * testUS).echo().wanted(50e9) // within the decrease interval
	r.at(21 * testUS).echo()
	// Between the two intervals a notification cuts and raises: R_T = 0.5 and R_C = 0.25, then R_C becomes their mean. Alpha
	// stays 1 at a cut.
	r.wanted(37.5e9)
	r.at(61 * testUS).echo().wanted(37.5e9 / 2) // at the increase interval: only a cut
	r.at(61*testUS + 55*testUS - 1).wanted(37.5e9 / 2)
	r.at(61*testUS + 55*testUS).wanted((37.5e9/2 + 37.5e9) / 2) // the cut restarted the timer

	gaps["late_cnp"] = 1
	r = newDCQCNRig(t, "dcqcn-p", gaps).at(0).echo().at(40 * testUS).echo()
	r.wanted(37.5e9)
	r.wantAlpha(1-1.0/40, "the raise lowers alpha")

	gaps["gap_from"] = 1
	r = newDCQCNRig(t, "dcqcn-p", gaps)
	for k := range quantity.Picoseconds(8) {
		r.at(k * 6 * testUS).echo().wanted(50e9) // each mark is within the decrease interval of the mark before
	}
}

func TestDCQCNPCompensatesTheTimer(t *testing.T) {
	t.Parallel()
	us := float64(testUS)
	r := newDCQCNRig(t, "dcqcn-p", Values{"decrease_interval": 20 * us, "increase_interval": 100 * us, "increase_timer": 30 * us})
	r.at(0).cnp().at(50 * testUS).cnp()
	// The timer expired at 30 us, 30 us after the notification. The next period starts with a credit of 30 us, its whole
	// length.
	rate := r.c.Rate
	r.at(50 * testUS).wanted(rate)
	r.at(50*testUS + 1)
	if r.c.Rate <= rate {
		t.Errorf("rate %v: the next timer period is 0", r.c.Rate)
	}
}

func TestDCQCNPDropsNotificationsBeyondItsTable(t *testing.T) {
	t.Parallel()
	s := dcqcnPSpec()
	a, err := s.Build(Values{"registered_flows": 2})
	if err != nil {
		t.Fatal(err)
	}
	a.Reserve(5)
	var c [5]Control
	hosts := [5]uint16{7, 7, 7, 9, 7}
	for i := range c {
		c[i] = a.Start(int32(i), 0, &Flow{LineRate: testLine, Host: hosts[i]})
	}
	cnp := func(slot int32, now quantity.Picoseconds) float64 {
		a.Settle(slot, now, &c[slot])
		a.Notify(slot, &Notification{Now: now, Kind: NotifyCNP}, &c[slot])
		return c[slot].Rate
	}
	for i, want := range []float64{50e9, 50e9, testLine, 50e9} {
		if got := cnp(int32(i), 0); got != want {
			t.Errorf("flow %d of host %d: rate %v, want %v", i, hosts[i], got, want)
		}
	}
	// The two registered flows have recovered by now, although the fabric has not settled them. The table has free entries
	// again.
	later := 6 * 55 * testUS
	if got := cnp(2, later); got != 50e9 {
		t.Errorf("rate %v with a free entry in the table, want a cut", got)
	}
	// A new flow in the slot of a registered flow frees the entry of that flow.
	if got := cnp(0, later); got != 50e9 {
		t.Errorf("rate %v, want a cut", got)
	}
	if got := cnp(4, later); got != testLine {
		t.Errorf("rate %v with a full table, want line rate", got)
	}
	a.Start(2, later, &Flow{LineRate: testLine, Host: 9})
	if got := cnp(4, later); got != 50e9 {
		t.Errorf("rate %v after the end of a registered flow, want a cut", got)
	}
}

// The table and its counter agree after any sequence of registrations, recoveries, ends and starts of flows.
func TestDCQCNPAccountingIsConsistent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := dcqcnPSpec()
		a, err := s.Build(Values{"registered_flows": float64(rapid.IntRange(1, 4).Draw(t, "limit"))})
		if err != nil {
			t.Fatal(err)
		}
		d := a.(*dcqcnP)
		const slots = 8
		d.Reserve(slots)
		var c Control
		for i := range int32(slots) {
			d.Start(i, 0, &Flow{LineRate: testLine, Host: uint16(i % 2)})
		}
		var now quantity.Picoseconds
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now += quantity.Picoseconds(rapid.Int64Range(0, 120).Draw(t, "us")) * testUS
			slot := int32(rapid.IntRange(0, slots-1).Draw(t, "slot"))
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				d.Settle(slot, now, &c)
			case 1:
				d.Settle(slot, now, &c)
				d.Notify(slot, &Notification{Now: now}, &c)
			case 2:
				d.Start(slot, now, &Flow{LineRate: testLine, Host: uint16(rapid.IntRange(0, 2).Draw(t, "host"))})
			}
			listed := 0
			for h, n := range d.nics {
				count := int32(0)
				for at := n.head; at != 0; at = d.flows.at(at - 1).next {
					f := d.flows.at(at - 1)
					if !f.registered || int(f.host) != h {
						t.Fatalf("slot %d is in the table of host %d: %+v", at-1, h, f)
					}
					count++
				}
				if count != n.count || count > d.limit {
					t.Fatalf("host %d: %d entries, counted %d, limit %d", h, count, n.count, d.limit)
				}
				listed += int(count)
			}
			for i := range int32(len(d.flows.pages) * slotPage) {
				if d.flows.at(i).registered {
					listed--
				}
			}
			if listed != 0 {
				t.Fatal("a registered flow is in no table")
			}
		}
	})
}

// The fabric settles a flow whenever it reads it. Such reads must not change which flows find a free entry in the table.
func TestDCQCNPReadsChangeNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const slots = 6
		v := Values{"registered_flows": float64(rapid.IntRange(1, 3).Draw(t, "limit")), "byte_counter": rapid.SampledFrom([]float64{0, 20_000}).Draw(t, "bytes")}
		var runs [2]Algorithm
		var c [2][slots]Control
		for r := range runs {
			runs[r] = mustBuild(t, new(dcqcnPSpec()), v)
			runs[r].Reserve(slots)
			for i := range int32(slots) {
				c[r][i] = runs[r].Start(i, 0, &Flow{LineRate: testLine, Host: uint16(i % 2)})
			}
		}
		var now quantity.Picoseconds
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			now += quantity.Picoseconds(rapid.Int64Range(0, 120).Draw(t, "us")) * testUS
			slot := int32(rapid.IntRange(0, slots-1).Draw(t, "slot"))
			if rapid.Bool().Draw(t, "look") {
				runs[1].Settle(slot, now, &c[1][slot])
				continue
			}
			kind := rapid.IntRange(0, 3).Draw(t, "kind")
			for r, a := range runs {
				a.Settle(slot, now, &c[r][slot])
				switch kind {
				case 0, 1:
					a.Notify(slot, &Notification{Now: now}, &c[r][slot])
				case 2:
					a.Sent(slot, now, 4096, &c[r][slot])
				case 3:
					a.Ack(slot, &Ack{Now: now, Packets: 1}, &c[r][slot])
				}
			}
			var g [2][3]float64
			for r, a := range runs {
				a.Read(slot, g[r][:])
			}
			if c[0][slot] != c[1][slot] || g[0] != g[1] {
				t.Fatalf("at %s slot %d: %+v, %v; with reads in between %+v, %v", now, slot, c[0][slot], g[0], c[1][slot], g[1])
			}
		}
	})
}

func TestDCQCNPRejectsReversedIntervals(t *testing.T) {
	t.Parallel()
	s := dcqcnPSpec()
	if _, err := s.Build(Values{"increase_interval": float64(49 * testUS)}); err == nil {
		t.Error("an increase interval below the decrease interval is accepted")
	}
}
