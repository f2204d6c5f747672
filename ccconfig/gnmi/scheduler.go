package gnmi

import (
	"cmp"
	"fmt"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// Discipline is the scheduling discipline of a queue.
type Discipline string

// Disciplines. OpenConfig does not distinguish weighted ones: they are WRR.
const (
	Strict Discipline = "strict" // served before all weighted queues
	DWRR   Discipline = "dwrr"   // by weight, in octets
	WRR    Discipline = "wrr"    // by weight
)

// NoPriority is the priority of a scheduler without one.
const NoPriority = -1

// Scheduler is the scheduling of a queue or a port, in units independent of the switch's model.
type Scheduler struct {
	Type     Discipline
	Weight   uint64           // 1 to 100 on SONiC; 0 means strict, or not reported
	Priority int              // 0 to 9 on SONiC, where the ASIC ignores it; NoPriority if there is none
	Assured  quantity.BitRate // committed rate; 0 means none
	Peak     quantity.BitRate // 0 means no limit in bit/s
	// PeakPackets is the limit of a scheduler that meters packets, in packets/s; 0 means none.
	PeakPackets uint64
	// PeakPercent is a limit in percent of the link's rate, 1 to 100, only in openconfig-qos; 0 means none.
	PeakPercent int
}

// NamedScheduler is the scheduler of a queue or port, with its name.
type NamedScheduler struct {
	Name      string     // on the switch; empty if there is no reference
	Scheduler *Scheduler // nil without a reference, or if Fault is set
	Fault     string     // code of a finding; empty means none
	Problem   string     // explanation of the fault, with the remedy
}

// QueueSchedule is the scheduling of a queue.
type QueueSchedule struct {
	NamedScheduler

	Queue uint8
	// Rank orders the strict queues of a port: the highest is served first. On SONiC it is the queue number.
	Rank uint64
}

// PortSchedule is the scheduling of a switch port and its queues.
type PortSchedule struct {
	NamedScheduler // of the whole port

	Port   ident.PortNum
	Label  string           // name of the port on the switch
	Link   quantity.BitRate // link rate; 0 means not reported
	Queues []QueueSchedule  // by number, without queues that have no scheduler
}

// Find returns the entry of a queue; nil if there is none.
func (p *PortSchedule) Find(queue uint8) *QueueSchedule {
	i, ok := slices.BinarySearchFunc(p.Queues, queue, func(q QueueSchedule, n uint8) int { return cmp.Compare(q.Queue, n) })
	if !ok {
		return nil
	}
	return &p.Queues[i]
}

// limit returns a peak rate below that of a link; false if there is none, or if it is not known in bit/s. A limit in percent of
// an unknown link rate is returned as 0.
func (s *Scheduler) limit(link quantity.BitRate) (quantity.BitRate, bool) {
	switch {
	case s.Peak > 0 && (link == 0 || s.Peak < link):
		return s.Peak, true
	case s.PeakPercent > 0 && s.PeakPercent < 100:
		return link / 100 * quantity.BitRate(s.PeakPercent), true
	}
	return 0, false
}

// cnpDSCP is the default DSCP of congestion notification packets: that of parameter cnp_dscp.
const cnpDSCP = 48

// Values for an unknown queue.
const (
	noQueue = -1 // not determined
	noMaps  = -2 // the port has no maps, which is a separate finding
)

// schedules adds deviations of the schedulers that make predictions wrong. cnp returns the queue of congestion notification
// packets on a port, which may be strict, or noQueue or noMaps.
func (f *findings) schedules(ports []PortSchedule, x Expectation, cnp func(port string) int) {
	for i := range ports {
		p := &ports[i]
		f.fault(p.Label, p.NamedScheduler)
		f.slow(p, "the port", p.NamedScheduler)
		for j := range p.Queues {
			f.fault(p.Label, p.Queues[j].NamedScheduler)
		}
		q := p.Find(x.Queue)
		if q == nil && len(p.Queues) > 0 {
			f.add(FindingUnscheduled, p.Label, fmt.Sprintf("queue %d refers to no scheduler, and others of the port do: what it gets is the switch's default: make it refer to one", x.Queue))
		}
		if q == nil || q.Scheduler == nil { // strict queues precede it with any scheduler
			q = &QueueSchedule{Queue: x.Queue, NamedScheduler: NamedScheduler{Scheduler: &Scheduler{Type: WRR}}}
		}
		f.slow(p, fmt.Sprintf("queue %d", x.Queue), q.NamedScheduler)
		if own := cnp(p.Label); own != noMaps {
			f.starved(p, q, own)
		}
		if !x.Weighted {
			f.underweighted(p, q)
		}
	}
}

func (f *findings) fault(port string, n NamedScheduler) {
	if n.Fault != "" {
		f.add(n.Fault, port, n.Problem)
	}
}

// slow adds a finding for a peak rate below the link's, because predictions assume the whole link.
func (f *findings) slow(p *PortSchedule, what string, n NamedScheduler) {
	const remedy = "plans assume the full link rate: use a scheduler without a peak rate, or correct the rate of the link in the fabric file"
	s := n.Scheduler
	if s == nil {
		return
	}
	if s.PeakPackets > 0 {
		f.add(FindingPeak, p.Label, fmt.Sprintf("%s is limited to %d packets/s by scheduler %s, which is not a rate in bit/s; %s", what, s.PeakPackets, n.Name, remedy))
	}
	rate, limited := s.limit(p.Link)
	switch {
	case !limited:
	case s.Peak == 0:
		f.add(FindingPeak, p.Label, fmt.Sprintf("%s is limited to %d %% of its link by scheduler %s; %s", what, s.PeakPercent, n.Name, remedy))
	case p.Link == 0:
		f.add(FindingPeak, p.Label, fmt.Sprintf("%s is limited to %s by scheduler %s, and the switch does not report the link's rate: check that the link is not faster; %s", what, rate, n.Name, remedy))
	default:
		f.add(FindingPeak, p.Label, fmt.Sprintf("%s is limited to %s by scheduler %s, and its link has %s; %s", what, rate, n.Name, p.Link, remedy))
	}
}

// starved adds a finding for strict queues that can take the whole link from a queue.
func (f *findings) starved(p *PortSchedule, at *QueueSchedule, cnp int) {
	var unlimited, capped queueKeyNames
	var sum quantity.BitRate
	percent := 0 // sum of the limits in percent of the link
	for i := range p.Queues {
		q := &p.Queues[i]
		switch s := q.Scheduler; {
		case s == nil || s.Type != Strict || q.Queue == at.Queue || int(q.Queue) == cnp:
		case at.Scheduler.Type == Strict && q.Rank <= at.Rank:
		default:
			name := fmt.Sprint(q.Queue)
			rate, limited := s.limit(p.Link)
			if !limited {
				unlimited = append(unlimited, name)
				continue
			}
			capped = append(capped, name)
			if s.Peak == 0 || rate != s.Peak {
				percent += s.PeakPercent
				continue
			}
			sum = min(sum+min(rate, quantity.MaxBitRate), quantity.MaxBitRate)
		}
	}
	if percent >= 100 || p.Link > 0 && sum >= p.Link-p.Link/100*quantity.BitRate(percent) {
		unlimited = append(unlimited, capped...)
	}
	if len(unlimited) == 0 {
		return
	}
	noun := "queue"
	if len(unlimited) > 1 {
		noun = "queues"
	}
	f.add(FindingStarved, p.Label, fmt.Sprintf("%s %s, served strictly before queue %d, can take the whole link from it: give such queues a peak rate below the link's or a weight, or keep all but CNPs (DSCP %d) out of them", noun, unlimited, at.Queue, cnpDSCP))
}

// underweighted adds a finding for a weight below half of an equal share among the weighted queues.
func (f *findings) underweighted(p *PortSchedule, at *QueueSchedule) {
	if at.Scheduler.Type == Strict || at.Scheduler.Weight == 0 {
		return
	}
	own, others, n := float64(at.Scheduler.Weight), 0.0, 1
	for i := range p.Queues {
		q := &p.Queues[i]
		if s := q.Scheduler; s != nil && q.Queue != at.Queue && s.Type != Strict && s.Weight > 0 {
			others += float64(s.Weight)
			n++
		}
	}
	if 2*float64(n)*own >= own+others {
		return
	}
	f.add(FindingLight, p.Label, fmt.Sprintf("queue %d has weight %d by scheduler %s, of %.0f in %d queues of its port: while the others send it gets %.2g %% of the link, less than half of an equal share: refer it to a scheduler of weight %.0f or more",
		at.Queue, at.Scheduler.Weight, at.Name, own+others, n, 100*own/(own+others), equalHalf(others, n)))
}

// equalHalf returns the smallest weight that is half of an equal share among n queues, where others is the sum of the other
// weights.
func equalHalf(others float64, n int) float64 {
	w := others / float64(2*n-1)
	if unlimited := float64(uint64(min(w, 1<<62))); unlimited < w {
		return unlimited + 1
	}
	return w
}
