package fill

// fatTree is a k-ary fat tree of three levels as link numbers: k pods of k/2 edge and k/2
// aggregation switches, k³/4 hosts. Routes go up by the destination's number and straight down.
type fatTree struct{ k int }

func (t fatTree) half() int  { return t.k / 2 }
func (t fatTree) hosts() int { return t.k * t.k * t.k / 4 }

// links counts link directions: for each host, edge uplink and aggregation uplink one up and one down.
func (t fatTree) links() int { return 6 * t.hosts() }

// path appends the links from one host to another.
func (t fatTree) path(hops []int32, src, dst int) []int32 {
	h, n := t.half(), t.hosts()
	up := func(level, i int) int32 { return int32(2*level*n + i) }
	down := func(level, i int) int32 { return int32((2*level+1)*n + i) }
	srcEdge, dstEdge, srcPod, dstPod := src/h, dst/h, src/(h*h), dst/(h*h)
	hops = append(hops, up(0, src))
	if srcEdge != dstEdge {
		a := dst % h // the aggregation switch
		hops = append(hops, up(1, srcEdge*h+a))
		if srcPod != dstPod {
			c := dst / h % h // the core of its plane
			hops = append(hops, up(2, (srcPod*h+a)*h+c), down(2, (dstPod*h+a)*h+c))
		}
		hops = append(hops, down(1, dstEdge*h+a))
	}
	return append(hops, down(0, dst))
}

// splitMix is splitmix64.
type splitMix uint64

func (d *splitMix) below(n int) int {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

// placement selects the hosts of a tenant.
type placement int

const (
	compact   placement = iota // neighbours
	scattered                  // one to four random tenants on each host
)

// treeProblem puts flows of tenants between their hosts of a fat tree with links of 100 Gbit/s.
func treeProblem(t fatTree, hosts, tenants, flows int, where placement, flat bool) *Problem {
	d := splitMix(1)
	members := make([][]int, tenants)
	for h := range hosts {
		if where == compact {
			members[h*tenants/hosts] = append(members[h*tenants/hosts], h)
			continue
		}
		for range 1 + d.below(4) {
			i := d.below(tenants)
			members[i] = append(members[i], h)
		}
	}
	p := &Problem{Capacity: make([]float64, t.links()), First: []int32{0}}
	for i := range p.Capacity {
		p.Capacity[i] = 100e9
	}
	if flat {
		p.Sends = make([]bool, t.links())
		for h := range t.hosts() {
			p.Sends[h] = true
		}
	}
	for i := range tenants {
		w := float64(1 + d.below(8))
		p.TenantWeight = append(p.TenantWeight, w)
		p.ClassWeight = append(p.ClassWeight, 1)
		for range flows*(i+1)/tenants - flows*i/tenants {
			src, dst := members[i][d.below(len(members[i]))], members[i][d.below(len(members[i]))]
			if src == dst {
				continue
			}
			p.Hops = t.path(p.Hops, src, dst)
			p.First = append(p.First, int32(len(p.Hops)))
			p.Tenant, p.Class = append(p.Tenant, int32(i)), append(p.Class, int32(i))
			n := float64(1 + d.below(4))
			p.Units = append(p.Units, n)
		}
	}
	if flat { // weights as in a plan, where they follow from the entitlements
		p.Sending = p.Units
		tree := *p
		tree.Sends, tree.Sending = nil, nil
		s, err := Solve(&tree)
		if err != nil {
			panic(err)
		}
		p.Units = s.Rates
		p.Tenant, p.Class, p.TenantWeight, p.ClassWeight = nil, nil, nil, nil
	}
	return p
}
