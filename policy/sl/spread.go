package sl

import (
	"math/bits"

	"fairlane/policy/colour"
	"fairlane/policy/model"
)

// spreadRounds bounds the passes over all nodes.
const spreadRounds = 4

// spread reduces the number of nodes that share an SL on ports where sharing is allowed: tenants that only receive there share the SL's counter, and
// its setting should they begin to send. Nodes with an SL in force or pinned keep theirs, and SL 0 stays free.
func (x *problem) spread(ports []model.PortTenants) {
	on := make([][]int32, len(x.nodes))              // ports
	count := make([][colour.Colours]int, len(ports)) // of attachments
	x.c.Start(append([]int8(nil), x.c.Colour...))
	for i := range ports {
		p := &ports[i]
		for k, t := range p.Tenants {
			v := x.nodeOf[t][p.At[k]]
			if pin := x.m.Tenants[t].Attachments[p.At[k]].SL; pin != nil {
				count[i][*pin]++
				continue
			}
			on[v] = append(on[v], int32(i))
			count[i][x.c.Colour[v]]++
		}
	}
	for range spreadRounds {
		moved := false
		for v := range x.nodes {
			moved = x.spreadNode(int32(v), on[v], count) || moved
		}
		if !moved {
			return
		}
	}
}

// spreadNode gives a node the free SL that the fewest others have on its ports.
func (x *problem) spreadNode(v int32, on []int32, count [][colour.Colours]int) bool {
	was := x.c.Colour[v]
	if was <= 0 || bits.OnesCount16(x.c.Domain[v]) < 2 || x.c.Move != nil && x.c.InForce(int(v)) >= 0 {
		return false
	}
	shared := func(k int8) (sum int) {
		for _, i := range on {
			sum += count[i][k]
		}
		return sum
	}
	best, least := was, shared(was)-len(on)
	for _, k := range x.order {
		if k == 0 || k == was || x.c.Free(v)&(1<<k) == 0 {
			continue
		}
		if n := shared(k); n < least {
			best, least = k, n
		}
	}
	if best == was {
		return false
	}
	x.c.Unassign(v)
	x.c.Assign(v, best)
	for _, i := range on {
		count[i][was]--
		count[i][best]++
	}
	return true
}
