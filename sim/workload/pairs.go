package workload

import (
	"fmt"
	"slices"

	"fairlane/sim"
)

// Pairs draws the source and destination of a flow. It is immutable.
type Pairs struct {
	hosts []int32 // hosts, group by group
	group []int32 // group of each entry of hosts
	start []int32 // index of each group in hosts, with one more entry for the end
	cross float64
}

// AnyPair draws two different hosts, all equally likely. It requires 2 to MaxHosts different hosts.
func AnyPair(hosts []int32) (*Pairs, error) { return GroupPairs([][]int32{hosts}, 0) }

// GroupPairs draws the source uniformly from all hosts. The destination is drawn, with probability cross (0 to 1), from the
// hosts of other groups, and otherwise from the other hosts of the source's group, in both cases uniformly.
//
// Groups are the data centres of S0's evaluation, whose cross-domain to intra-domain ratio of 5:1 means cross = 5/6; S0's own
// reference has the reverse ratio, cross = 1/6. cross above 0 requires two groups, and cross below 1 requires two hosts in
// every group.
func GroupPairs(groups [][]int32, cross float64) (*Pairs, error) {
	switch {
	case !(cross >= 0 && cross <= 1):
		return nil, fmt.Errorf("pairs: fraction of flows between groups %v: want 0 to 1", cross)
	case cross > 0 && len(groups) < 2:
		return nil, fmt.Errorf("pairs: %d groups: want at least 2 for flows between groups", len(groups))
	}
	p := &Pairs{cross: cross, start: []int32{0}}
	for i, g := range groups {
		if len(g) == 0 || len(g) == 1 && cross < 1 {
			return nil, fmt.Errorf("pairs: group %d has %d hosts: want at least 2 if flows stay inside groups, otherwise 1", i+1, len(g))
		}
		if len(p.hosts)+len(g) > MaxHosts {
			return nil, fmt.Errorf("pairs: too many hosts: want at most %d", MaxHosts)
		}
		p.hosts = append(p.hosts, g...)
		p.group = append(p.group, slices.Repeat([]int32{int32(i)}, len(g))...)
		p.start = append(p.start, int32(len(p.hosts)))
	}
	if err := checkHosts(p.hosts); err != nil {
		return nil, fmt.Errorf("pairs: %w", err)
	}
	return p, nil
}

// Draw draws the source and destination of a flow.
func (p *Pairs) Draw(r *sim.RNG) (src, dst int32) {
	i := int32(r.Uint64n(uint64(len(p.hosts))))
	a, z := p.start[p.group[i]], p.start[p.group[i]+1]
	between := r.Float64() < p.cross // Float64 is in [0, 1), so this is always false for 0 and always true for 1
	var j int32
	if between {
		j = int32(r.Uint64n(uint64(int32(len(p.hosts)) - (z - a))))
		if j >= a {
			j += z - a
		}
	} else {
		j = a + int32(r.Uint64n(uint64(z-a-1)))
		if j >= i {
			j++
		}
	}
	return p.hosts[i], p.hosts[j]
}
