package policy

import (
	"cmp"
	"fmt"
	"slices"

	"fairlane/internal/disjoint"
	"fairlane/internal/phrase"
	"fairlane/policy/plan"
)

// flowParts divides each tenant's attachments into groups that no flow joins, numbered from the group with most
// ports on. Ports without flows belong to the first: nothing is known of whom they will talk to, and
// the largest group is the likeliest. It returns nil when no tenant has more than one group.
func flowParts(m *model) [][]int32 {
	sets := make([]disjoint.Sets, len(m.tenants))
	used := make([][]bool, len(m.tenants))
	for t := range sets {
		sets[t] = disjoint.New(len(m.tenants[t].Attachments))
		used[t] = make([]bool, len(sets[t]))
	}
	for i := range m.flows {
		f := &m.flows[i]
		a, okA := attachment(m, f.tenant, m.fabric.PortID(f.src))
		b, okB := attachment(m, f.tenant, m.fabric.PortID(f.dst))
		if okA && okB {
			sets[f.tenant].Join(int32(a), int32(b))
			used[f.tenant][a], used[f.tenant][b] = true, true
		}
	}
	several, parts := false, make([][]int32, len(m.tenants))
	for t, p := range sets {
		size := make(map[int32]int)
		var roots []int32
		for i := range p {
			if r := p.Find(int32(i)); used[t][i] {
				if size[r]++; size[r] == 1 {
					roots = append(roots, r)
				}
			}
		}
		slices.SortStableFunc(roots, func(a, b int32) int { return cmp.Compare(size[b], size[a]) })
		several = several || len(roots) > 1
		out := make([]int32, len(p))
		for i := range p {
			if used[t][i] {
				out[i] = int32(slices.Index(roots, p.Find(int32(i))))
			}
		}
		parts[t] = out
	}
	if !several {
		return nil
	}
	return parts
}

// reunite gives a tenant one SL again where one of those of its parts is free for all of them.
func (x *slProblem) reunite() {
	for first := 0; first < len(x.nodes); {
		last := first + 1
		for last < len(x.nodes) && x.nodes[last].tenant == x.nodes[first].tenant {
			last++
		}
		x.reuniteParts(int32(first), int32(last))
		first = last
	}
}

func (x *slProblem) reuniteParts(first, last int32) {
	for v := first; v < last; v++ {
		k := x.c.colour[v]
		fits := true
		for u := first; u < last && fits; u++ {
			fits = x.c.colour[u] == k || x.c.free(u)&(1<<k) != 0
		}
		if !fits {
			continue
		}
		for u := first; u < last; u++ {
			if x.c.colour[u] != k {
				x.c.unpaint(u)
				x.c.paint(u, k)
			}
		}
		return
	}
}

// maxSplits bounds how many split tenants have a finding of their own.
const maxSplits = 64

// splits reports the tenants that have several SLs.
func (x *slProblem) splits() []plan.Finding {
	var out []plan.Finding
	more := 0
	for first := 0; first < len(x.nodes); {
		t := x.nodes[first].tenant
		var sls []string
		last := first
		for ; last < len(x.nodes) && x.nodes[last].tenant == t; last++ {
			s := fmt.Sprint(x.c.colour[last])
			if !slices.Contains(sls, s) {
				sls = append(sls, s)
			}
		}
		if len(sls) > 1 {
			if len(out) < maxSplits {
				out = append(out, split(x.m.tenants[t].Name, sls, last-first))
			} else {
				more++
			}
		}
		first = last
	}
	if more > 0 {
		out = append(out, plan.NewFinding(plan.CodeSLSplit, nil, nil, phrase.Of("plan.sl-split-more", "n", more), splitFix))
	}
	return out
}
