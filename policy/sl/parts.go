package sl

import (
	"cmp"
	"fmt"
	"slices"

	"fairlane/internal/disjoint"
	"fairlane/internal/phrase"
	"fairlane/policy/model"
	"fairlane/policy/plan"
)

// flowParts divides each tenant's attachments into groups that no flow joins, numbered from the largest on. Ports without flows belong to the
// first: their traffic is unknown, and the largest group is the most likely peer. It returns nil when no tenant has more than one group.
func flowParts(m *model.Model) [][]int32 {
	sets := make([]disjoint.Sets, len(m.Tenants))
	used := make([][]bool, len(m.Tenants))
	for t := range sets {
		sets[t] = disjoint.New(len(m.Tenants[t].Attachments))
		used[t] = make([]bool, len(sets[t]))
	}
	for i := range m.Flows {
		f := &m.Flows[i]
		a, okA := model.Attachment(m, f.Tenant, m.Fabric.PortID(f.Src))
		b, okB := model.Attachment(m, f.Tenant, m.Fabric.PortID(f.Dst))
		if okA && okB {
			sets[f.Tenant].Join(int32(a), int32(b))
			used[f.Tenant][a], used[f.Tenant][b] = true, true
		}
	}
	several, parts := false, make([][]int32, len(m.Tenants))
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

// mergeParts gives a tenant a single SL where an SL of one of its parts is free for all of them.
func (x *problem) mergeParts() {
	for first := 0; first < len(x.nodes); {
		last := first + 1
		for last < len(x.nodes) && x.nodes[last].tenant == x.nodes[first].tenant {
			last++
		}
		x.mergeAllParts(int32(first), int32(last))
		first = last
	}
}

func (x *problem) mergeAllParts(first, last int32) {
	for v := first; v < last; v++ {
		k := x.c.Colour[v]
		fits := true
		for u := first; u < last && fits; u++ {
			fits = x.c.Colour[u] == k || x.c.Free(u)&(1<<k) != 0
		}
		if !fits {
			continue
		}
		for u := first; u < last; u++ {
			if x.c.Colour[u] != k {
				x.c.Unassign(u)
				x.c.Assign(u, k)
			}
		}
		return
	}
}

// maxSplits bounds the number of split tenants that have a finding of their own.
const maxSplits = 64

// splits reports the tenants that have several SLs.
func (x *problem) splits() []plan.Finding {
	var out []plan.Finding
	more := 0
	for first := 0; first < len(x.nodes); {
		t := x.nodes[first].tenant
		var sls []string
		last := first
		for ; last < len(x.nodes) && x.nodes[last].tenant == t; last++ {
			s := fmt.Sprint(x.c.Colour[last])
			if !slices.Contains(sls, s) {
				sls = append(sls, s)
			}
		}
		if len(sls) > 1 {
			if len(out) < maxSplits {
				out = append(out, split(x.m.Tenants[t].Name, sls, last-first))
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
