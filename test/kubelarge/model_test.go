package kubelarge

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"fairlane/agent/cluster"
	"fairlane/agent/pods/podsock"
)

// tenant is a tenant with its binding, which has the same name, and its namespaces.
type tenant struct {
	name   string
	weight float64
	spaces []string
	nodes  []*node // where its pods may run
}

// node is a node with the port of its host, and the pods there.
type node struct {
	name     string
	port     string // GUID:PORT
	pods     []*pod
	reporter *cluster.Reporter // of the node's agent
}

// pod is a pod with the virtual function of its node that it holds.
type pod struct {
	tenant          *tenant
	namespace, name string
	uid             string
	node            *node
	function        int
}

// model is what the test wants the cluster to hold.
type model struct {
	tenants []*tenant
	nodes   []*node
	pods    map[string]*pod // by namespace and name
	next    int             // number of the next pod
}

// newModel places the pods: tenants come in groups of tenantsPerNode, and the pods of a group have nodes of their own.
func newModel(ports []string) *model {
	m := &model{pods: map[string]*pod{}}
	for i := range nodeCount {
		m.nodes = append(m.nodes, &node{name: fmt.Sprintf("node-%04d", i), port: ports[i]})
	}
	groups := tenantCount / tenantsPerNode
	for i := range tenantCount {
		x := &tenant{name: fmt.Sprintf("tenant-%02d", i), weight: float64(1 + i%tenantsPerNode)}
		for s := range spacesOfTenant {
			x.spaces = append(x.spaces, fmt.Sprintf("%s-%d", x.name, s))
		}
		group := i / tenantsPerNode
		x.nodes = m.nodes[group*nodeCount/groups : (group+1)*nodeCount/groups]
		m.tenants = append(m.tenants, x)
		for at, n := range x.nodes {
			for p := range podsPerNode / tenantsPerNode {
				m.add(x, x.spaces[(at*podsPerNode/tenantsPerNode+p)%spacesOfTenant], n)
			}
		}
	}
	return m
}

// add adds a pod to the model, with the first free function of its node.
func (m *model) add(x *tenant, namespace string, n *node) *pod {
	p := &pod{tenant: x, namespace: namespace, name: fmt.Sprintf("worker-%05d", m.next), node: n}
	m.next++
	for slices.ContainsFunc(n.pods, func(other *pod) bool { return other.function == p.function }) {
		p.function++
	}
	n.pods = append(n.pods, p)
	m.pods[namespace+"/"+p.name] = p
	return p
}

// remove removes a pod from the model.
func (m *model) remove(p *pod) {
	p.node.pods = slices.DeleteFunc(p.node.pods, func(other *pod) bool { return other == p })
	delete(m.pods, p.namespace+"/"+p.name)
}

// all returns the pods in a fixed order.
func (m *model) all() []*pod {
	return slices.SortedFunc(maps.Values(m.pods), func(a, b *pod) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.namespace, b.namespace))
	})
}

// share returns what a plan has for a tenant on a port, in thousandths: its part by weight among the tenants there, 0 for a tenant
// alone.
func (n *node) share(x *tenant) int32 {
	weights := map[*tenant]float64{}
	for _, p := range n.pods {
		weights[p.tenant] = p.tenant.weight
	}
	if len(weights) == 1 {
		return 0
	}
	total := 0.0
	for _, w := range weights {
		total += w
	}
	return max(1, int32(1000*x.weight/total))
}

// ports returns the ports of a tenant's pods, sorted, and their number of pods.
func (m *model) ports(x *tenant) (ports []string, pods int) {
	for _, n := range x.nodes {
		before := pods
		for _, p := range n.pods {
			if p.tenant == x {
				pods++
			}
		}
		if pods > before {
			ports = append(ports, n.port)
		}
	}
	slices.Sort(ports)
	return ports, pods
}

// records returns the table of the node's agent, as it is after the CNI plugin attached each pod.
func (n *node) records() []podsock.Record {
	all := make([]podsock.Record, len(n.pods))
	for i, p := range n.pods {
		container := sha256.Sum256([]byte(p.uid))
		device := fmt.Sprintf("0000:5e:%02x.%d", 1+p.function/8, p.function%8)
		settings := podsock.Settings{MaxMbps: new(uint32(0)), ShareMbps: new(uint32(0)), TOS: new(uint8(106))}
		all[i] = podsock.Record{
			Attachment: podsock.Attachment{
				Key:   podsock.Key{Network: "rdma", ContainerID: hex.EncodeToString(container[:]), Interface: "net1"},
				NetNS: "/run/netns/" + p.uid, Pod: podsock.Pod{Namespace: p.namespace, Name: p.name, UID: p.uid}, Device: device,
			},
			Source: podsock.SourceCNI, Binding: p.tenant.name, Tenant: p.tenant.name, Class: "default", Levers: podsock.Levers{TOS: new(uint8(106))},
			Found: podsock.Device{
				ID: device, RDMA: fmt.Sprintf("mlx5_%d", p.function+2), RDMAPort: 1, NetDev: fmt.Sprintf("eth2v%d", p.function), PF: "0000:5e:00.0", PFNetDev: "eth2",
				VF: &p.function, Port: n.port, Link: "Ethernet",
			},
			Applied: podsock.Settings{TOS: new(uint8(106))}, ReadBack: settings, Added: time.Unix(1_700_000_000, 0), Checked: time.Unix(1_700_000_000, 0),
		}
	}
	return all
}
