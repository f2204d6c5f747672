package fill

import (
	"slices"
	"sync"

	"fairlane/internal/disjoint"
)

// Solver solves one problem after another with memory. Its solutions are the same, bit for bit, as those of Solve. It does not compute
// unchanged parts again. A part is a set of flows connected by links, with those links; its solution depends only on its own contents. If values
// changed in a large part, it computes only what the change affects (see replay). The zero value is ready. A Solver is not safe for concurrent
// use.
type Solver struct {
	problem *Problem
	found   *Solution
	parts   []part
	of      []int32 // part by link, -1 for none
	use     []bool  // links that can limit a flow
	once    bool    // disables the memory
	effort  int     // the budget of every part; 0 is the engine's own
	// unsettled is the work that continues after Solve has returned: updating histories.
	unsettled sync.WaitGroup
	// Eager keeps the histories of parts of any size, and replays them to their end at any cost. It is for tests.
	Eager bool
	// Followed counts the parts of the last problem whose histories were replayed.
	Followed int
	// Computed counts the flows of the last problem that were computed, not taken over.
	Computed int
}

// minPartSize is the smallest size of a part, in flows, with a history. After minMissesToStop misses in a row no history is kept, until there are
// missesToRetry.
const minPartSize, minMissesToStop, missesToRetry = 500, 3, 20

// part is a set of flows that share links only with each other.
type part struct {
	flows       []int32 // ascending
	over        []int32
	residual    float64
	approximate bool
	memory      *memory // nil when there is none
	misses      int8    // times in a row that it was computed from scratch although remembered, or could not be remembered
}

// Settle waits until the solver has updated its memory after the last problem. Callers that drop a solver must call it; Solve does first.
func (s *Solver) Settle() { s.unsettled.Wait() }

// Solve is the function Solve with memory: callers must not change the problem or the solution afterwards. It leaves part of its work to
// goroutines of its own, see Settle.
func (s *Solver) Solve(p *Problem) (*Solution, error) {
	s.Settle()
	sameLayout := s.problem != nil && p.sameLayout(s.problem)
	if err := p.check(sameLayout); err != nil {
		return nil, err
	}
	s.Computed, s.Followed = 0, 0
	var sol *Solution
	var parts []part
	var at scratch
	use, of := s.use, s.of
	if sameLayout {
		sol, parts = s.found.copy(), slices.Clone(s.parts)
	} else {
		sol, use = newSolution(p.flows()), p.binding()
		parts, of = p.split(use)
	}
	for i := range parts {
		pt := &parts[i]
		if sameLayout && pt.memory != nil {
			if n, ok := pt.memory.update(p, sol, pt, s); ok {
				s.Computed += n
				s.Followed++
				pt.misses = 0
				continue
			}
			pt.misses++
		} else if old := s.matching(p, pt, use); old != nil {
			s.reuse(sol, pt, old)
			continue
		}
		if at == nil {
			at = newScratch(len(p.Capacity))
		}
		s.compute(p, sol, pt, use, at)
	}
	s.problem, s.found, s.parts, s.of, s.use = p, sol, parts, of, use
	return sol.gather(parts), nil
}

// compute solves a part from scratch.
func (s *Solver) compute(p *Problem, sol *Solution, pt *part, use []bool, at scratch) {
	s.Computed += len(pt.flows)
	e := newEngine(p, pt.flows, use, at)
	if s.keepsHistory(pt) {
		e.recorder = newRecorder(len(e.members))
	}
	e.run(s.budget(e))
	e.write(sol)
	e.note(pt)
	if pt.memory = remember(e); pt.memory == nil {
		pt.misses = (pt.misses + 1) % (missesToRetry + 1)
	}
}

// keepsHistory reports whether to keep the history of a part. After several changes in a row that affected most of the part, further ones are
// likely to as well, and recording is not worth its cost; it is retried now and then.
func (s *Solver) keepsHistory(pt *part) bool {
	return s.Eager || !s.once && pt.misses < minMissesToStop && len(pt.flows) >= minPartSize
}

func (s *Solver) budget(e *engine) int {
	if s.effort > 0 {
		return s.effort
	}
	return e.budget()
}

// gather combines the results of parts.
func (s *Solution) gather(parts []part) *Solution {
	for i := range parts {
		pt := &parts[i]
		s.Overbooked = append(s.Overbooked, pt.over...)
		s.Residual = max(s.Residual, pt.residual)
		if pt.approximate {
			s.Approximate += len(pt.flows)
		}
	}
	slices.Sort(s.Overbooked)
	return s
}

const none, many = -1, -2

// neighbours returns, for each link, the only link from which its flows come, and the only link to which they go on; many where there are
// several, or flows begin or end there.
func (p *Problem) neighbours() (before, after []int32) {
	before, after = make([]int32, len(p.Capacity)), make([]int32, len(p.Capacity))
	for i := range before {
		before[i], after[i] = none, none
	}
	note := func(at *int32, link int32) {
		switch {
		case *at == none:
			*at = link
		case *at != link:
			*at = many
		}
	}
	for f := range p.flows() {
		hops := p.Hops[p.First[f]:p.First[f+1]]
		for k, l := range hops {
			if k == 0 {
				before[l] = many
			} else {
				note(&before[l], hops[k-1])
			}
			if k == len(hops)-1 {
				after[l] = many
			} else {
				note(&after[l], hops[k+1])
			}
		}
	}
	return before, after
}

// binding flags the links that can limit a flow. If all flows of a link come from, or go on to, one link that is no faster, that link limits them
// first, and this one is not flagged. Of two such links in a row with the same flows and capacity, the first is flagged. With nominal capacities,
// all links with flows are.
func (p *Problem) binding() []bool {
	before, after := p.neighbours()
	use := make([]bool, len(p.Capacity))
	for l, c := range p.Capacity {
		b, a := before[l], after[l]
		if p.Nominal != nil {
			use[l] = b != none
			continue
		}
		fed := b >= 0 && p.Capacity[b] <= c
		drained := a >= 0 && (p.Capacity[a] < c || p.Capacity[a] == c && before[a] != int32(l))
		use[l] = c < Boundless && !fed && !drained
	}
	return use
}

// split returns the parts of a problem, by their first flows, and the part of each link.
func (p *Problem) split(use []bool) ([]part, []int32) {
	sets := disjoint.New(len(p.Capacity))
	for f := range p.flows() {
		one := int32(none)
		for _, l := range p.Hops[p.First[f]:p.First[f+1]] {
			switch {
			case !use[l]:
			case one == none:
				one = l
			default:
				sets.Join(one, l)
			}
		}
	}
	return p.gather(use, sets)
}

// gather lists the flows of each part. Each flow that no link limits is a part of its own.
func (p *Problem) gather(use []bool, sets disjoint.Sets) ([]part, []int32) {
	of := make([]int32, len(p.Capacity))
	for i := range of {
		of[i] = none
	}
	var parts []part
	add := func(f int32) int32 {
		parts = append(parts, part{flows: []int32{f}})
		return int32(len(parts) - 1)
	}
	for f := range int32(p.flows()) {
		at := int32(none)
		for _, l := range p.Hops[p.First[f]:p.First[f+1]] {
			if !use[l] {
				continue
			}
			r := sets.Find(l)
			switch {
			case at != none:
			case of[r] == none:
				at = add(f)
			default:
				at = of[r]
				parts[at].flows = append(parts[at].flows, f)
			}
			of[r], of[l] = at, at
		}
		if at == none {
			add(f)
		}
	}
	return parts, of
}

// matching returns the part of the last problem with the same contents.
func (s *Solver) matching(p *Problem, pt *part, use []bool) *part {
	if s.problem == nil || s.problem.flat() != p.flat() || s.problem.Precision != p.Precision {
		return nil
	}
	f := pt.flows[0]
	for _, l := range p.Hops[p.First[f]:p.First[f+1]] {
		if !use[l] {
			continue
		}
		if int(l) >= len(s.of) || s.of[l] == none {
			return nil
		}
		if old := &s.parts[s.of[l]]; s.same(p, use, pt, old) {
			return old
		}
		return nil
	}
	return nil
}
