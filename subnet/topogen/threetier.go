package topogen

import (
	"cmp"
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/subnet"
)

// ThreeTierOptions describes a three-level Clos fabric of pods. In a pod every top-of-rack switch (ToR) has a link to
// every aggregation switch. The cores form as many equal planes as a pod has aggregation switches: the i-th of each pod
// has a link to every core of plane i, so that there is one path down from a core to each pod.
type ThreeTierOptions struct {
	Pods        int // 0 is 4
	ToRs        int // of a pod; 0 is 2
	Aggs        int // aggregation switches of a pod; 0 is 2
	Cores       int // in all, a multiple of Aggs; 0 is 4
	HostsPerToR int // 0 is 4
	Wire            // of the hosts' links
	// The rate and the delay of the links between ToR and aggregation, and between aggregation and
	// core; 0 is the hosts'.
	AggRate   quantity.BitRate
	AggDelay  quantity.Picoseconds
	CoreRate  quantity.BitRate
	CoreDelay quantity.Picoseconds
}

func (o ThreeTierOptions) withDefaults() ThreeTierOptions {
	o.Pods, o.ToRs, o.Aggs = cmp.Or(o.Pods, 4), cmp.Or(o.ToRs, 2), cmp.Or(o.Aggs, 2)
	o.Cores, o.HostsPerToR = cmp.Or(o.Cores, 4), cmp.Or(o.HostsPerToR, 4)
	o.Rate, o.Delay = o.rate(), o.delay()
	o.AggRate, o.AggDelay = cmp.Or(o.AggRate, o.Rate), cmp.Or(o.AggDelay, o.Delay)
	o.CoreRate, o.CoreDelay = cmp.Or(o.CoreRate, o.Rate), cmp.Or(o.CoreDelay, o.Delay)
	return o
}

// Links returns the number of links of the fabric that the options describe.
func (o ThreeTierOptions) Links() int {
	o = o.withDefaults()
	return o.Pods*o.ToRs*(o.HostsPerToR+o.Aggs) + o.Pods*o.Cores
}

// check reports sizes for which a switch has too few ports; a core keeps spare ports for other links.
func (o ThreeTierOptions) check(b *builder, spare int) {
	b.check("aggregation switches", o.Aggs, 1, subnet.MaxPorts-1)
	b.check("ToRs", o.ToRs, 1, subnet.MaxPorts-1)
	b.check("hosts per ToR", o.HostsPerToR, 1, subnet.MaxPorts-o.Aggs)
	b.check("pods", o.Pods, 1, subnet.MaxPorts-spare)
	if b.err == nil && o.Cores%o.Aggs != 0 {
		b.err = fmt.Errorf("cores %d: want a multiple of the %d aggregation switches of a pod", o.Cores, o.Aggs)
	}
	b.check("cores", o.Cores, o.Aggs, o.Aggs*(subnet.MaxPorts-o.ToRs))
	if b.err == nil {
		tors := o.Pods * o.ToRs
		b.check("hosts in all", tors*o.HostsPerToR, 1, subnet.MaxNodes)
		b.check("links in all", o.Links(), 1, subnet.MaxLinks)
	}
}

// ThreeTier builds the fabric. Switches are pod1-tor1.., pod1-agg1.. and core1..; hosts are
// host-0001.. in the order of pods and ToRs. A switch's lower ports lead down: ToR ports 1 to
// HostsPerToR to hosts, aggregation ports 1 to ToRs to ToRs, core port p to pod p.
func ThreeTier(o ThreeTierOptions) (*subnet.Fabric, error) {
	o = o.withDefaults()
	var b builder
	if o.check(&b, 0); b.err != nil {
		return nil, fmt.Errorf("three tiers: %w", b.err)
	}
	b.threeTier(o, "", "", 0)
	return b.finish("three-tier", o.Wire)
}

// threeTier adds the nodes and links of one fabric whose names start with prefix. It returns the first core; its cores
// have spare ports after those to the pods.
func (b *builder) threeTier(o ThreeTierOptions, prefix, domain string, spare int) (firstCore int32) {
	firstToR := int32(len(b.nodes))
	firstAgg := firstToR + int32(o.Pods*o.ToRs)
	firstCore = firstAgg + int32(o.Pods*o.Aggs)
	plane := o.Cores / o.Aggs
	for i := range o.Pods * o.ToRs {
		b.sw(fmt.Sprintf("%spod%d-tor%d", prefix, i/o.ToRs+1, i%o.ToRs+1), domain, o.HostsPerToR+o.Aggs)
	}
	for i := range o.Pods * o.Aggs {
		b.sw(fmt.Sprintf("%spod%d-agg%d", prefix, i/o.Aggs+1, i%o.Aggs+1), domain, o.ToRs+plane)
	}
	for i := range o.Cores {
		b.sw(fmt.Sprintf("%score%d", prefix, i+1), domain, o.Pods+spare)
	}
	for i := range o.Pods * o.ToRs {
		pod, tor := i/o.ToRs, firstToR+int32(i)
		for h := range o.HostsPerToR {
			host := b.host(fmt.Sprintf("%shost-%04d", prefix, i*o.HostsPerToR+h+1), domain)
			b.link(tor, h+1, host, 1, o.Rate, o.Delay)
		}
		for a := range o.Aggs {
			b.link(tor, o.HostsPerToR+a+1, firstAgg+int32(pod*o.Aggs+a), i%o.ToRs+1, o.AggRate, o.AggDelay)
		}
	}
	for i := range o.Pods * o.Aggs {
		for c := range plane {
			core := firstCore + int32(i%o.Aggs*plane+c)
			b.link(firstAgg+int32(i), o.ToRs+c+1, core, i/o.Aggs+1, o.CoreRate, o.CoreDelay)
		}
	}
	return firstCore
}

// FatTree320 returns the fabric of HPCC's evaluation (Li et al., SIGCOMM 2019, section 5.1), which
// the prediction paper (S3) uses too: 320 hosts at 100 Gbit/s on 20 ToRs, 20 aggregation
// switches and 16 cores joined at 400 Gbit/s, 1 us a link. It has five pods of four ToRs, each with 16
// hosts, and four aggregation switches, each with a link to four cores.
func FatTree320() (*subnet.Fabric, error) {
	return ThreeTier(ThreeTierOptions{
		Pods: 5, ToRs: 4, Aggs: 4, Cores: 16, HostsPerToR: 16,
		AggRate: 400 * quantity.Gbps, CoreRate: 400 * quantity.Gbps,
	})
}

// DualDCOptions describes two equal data centres and the link between them.
type DualDCOptions struct {
	// Site is the fabric of each data centre. Its defaults are those of S0.
	Site ThreeTierOptions
	// DCIRate and DCIDelay are those of the link between the two data-centre interconnect (DCI) switches; 0 is 400 Gbit/s
	// and 1 ms.
	DCIRate  quantity.BitRate
	DCIDelay quantity.Picoseconds
	// Domains name the data centres; empty is dc1 and dc2. They prefix the names of all nodes.
	Domains [2]string
}

// DualDC builds two data centres, each a ThreeTier with a DCI switch that has a link of the cores' rate and delay to
// every core, and one link between the DCI switches. Nodes have the names of ThreeTier after their domain, such as
// dc1-pod1-tor1, and the DCI switches are dc1-dci and dc2-dci. All hosts of the first data centre come before those of
// the second.
func DualDC(o DualDCOptions) (*subnet.Fabric, error) {
	site := o.Site.withDefaults()
	domains := [2]string{cmp.Or(o.Domains[0], "dc1"), cmp.Or(o.Domains[1], "dc2")}
	var b builder
	site.check(&b, 1)
	b.check("cores", site.Cores, 1, subnet.MaxPorts-1)
	if b.err == nil && domains[0] == domains[1] {
		b.err = fmt.Errorf("domains %q and %q: want two different names", domains[0], domains[1])
	}
	if b.err != nil {
		return nil, fmt.Errorf("two data centres: %w", b.err)
	}
	var dci [2]int32
	for i, domain := range domains {
		firstCore := b.threeTier(site, domain+"-", domain, 1)
		dci[i] = b.sw(domain+"-dci", domain, site.Cores+1)
		for c := range site.Cores {
			b.link(firstCore+int32(c), site.Pods+1, dci[i], c+1, site.CoreRate, site.CoreDelay)
		}
	}
	b.link(dci[0], site.Cores+1, dci[1], site.Cores+1,
		cmp.Or(o.DCIRate, 400*quantity.Gbps), cmp.Or(o.DCIDelay, quantity.Millisecond))
	return b.finish("dual-dc", site.Wire)
}

// S0DualDC returns the fabric of WRCC's simulations (S0): two data centres, each with 4 cores, 8 aggregation
// switches, 8 ToRs and 4 servers a ToR, 100 Gbit/s and 1 us a link, joined at 400 Gbit/s and 1 ms.
//
// S0 does not specify the wiring of the tiers. Here each data centre has four pods of two ToRs and two aggregation
// switches, as in a fat tree of 4-port switches with twice the hosts. The largest round trip inside a data centre is
// then 2 · 6 links = 12 us as in S0, and the cores' four links to the DCI switch together have the rate of the long
// link.
func S0DualDC() (*subnet.Fabric, error) { return DualDC(DualDCOptions{}) }
