package kubenode_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlane/agent/pods/podsock"
	"fairlane/ccconfig/dcqcn"
	"fairlane/internal/quantity"
	"fairlane/kube/kubetest"
	"fairlane/policy"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
	"fairlane/sim/tenantnet"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
	"fairlane/test/kubenode"
)

// team is a namespace with its tenant, and what each of its pods sends.
type team struct {
	tenant    string
	weight    quantity.Weight
	qps       int // of a pod
	namespace string
	pods      []*corev1.Pod
}

// stage is the simulated fabric behind the node: the node's port sends to one port for each team.
type stage struct {
	fabric *subnet.Fabric
	source ident.PortID
	sinks  []ident.PortID
}

func newStage(t *testing.T, sinks int) *stage {
	t.Helper()
	f, err := topogen.Star(sinks+1, topogen.Wire{Rate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{fabric: f}
	for _, host := range f.Hosts() {
		s.sinks = append(s.sinks, f.PortID(subnet.PortRef{Node: host, Port: 1}))
	}
	s.source, s.sinks = s.sinks[0], s.sinks[1:]
	return s
}

// flows returns what the pods of the teams send.
func (s *stage) flows(teams []*team) []tenants.Flow {
	var out []tenants.Flow
	for i, x := range teams {
		for range x.pods {
			out = append(out, tenants.Flow{Tenant: x.tenant, Src: s.source, Dst: s.sinks[i], QPs: x.qps})
		}
	}
	return out
}

// compile returns the shares of the teams on the node's port, in thousandths, as a plan has them.
func (s *stage) compile(t *testing.T, teams []*team) map[string]int32 {
	t.Helper()
	in := policy.Input{Fabric: s.fabric, Options: policy.Options{Plane: policy.PlaneRoCE}, Flows: s.flows(teams)}
	for i, x := range teams {
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: x.tenant, Weight: x.weight, PKey: ident.PKey(0x8001 + i), Attachments: []tenants.Attachment{{Port: s.source}, {Port: s.sinks[i]}}})
	}
	p, err := policy.Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int32{}
	for _, x := range p.RoCE.Traffic {
		if x.Port == s.source {
			out[x.Tenant] = int32(x.VFShare)
		}
	}
	return out
}

// deliver simulates the traffic of the pods, each on its virtual function with the settings of the card, and returns what
// each team received, in bit/s. The congestion control is that of the vendor: the node's port is the bottleneck.
func (s *stage) deliver(t *testing.T, teams []*team, settings func(*corev1.Pod) podsock.Settings) map[string]float64 {
	t.Helper()
	flows := s.flows(teams)
	cfg := tenantnet.RoCE(1)
	var err error
	if cfg.Algorithms, err = cc.NewMlxEach([]dcqcn.Settings{dcqcn.Default()}); err != nil {
		t.Fatal(err)
	}
	n, err := tenantnet.New(s.fabric, flows, cfg)
	if err != nil {
		t.Fatal(err)
	}
	host, _ := n.HostOf(s.source)
	var functions []int32 // by flow
	for _, x := range teams {
		for _, p := range x.pods {
			f, err := n.AddFunction(host, ether.FunctionShare{Min: quantity.BitRate(*settings(p).ShareMbps) * quantity.Mbps})
			if err != nil {
				t.Fatal(err)
			}
			functions = append(functions, f)
		}
	}
	for i, at := range n.Pairs {
		spec := n.Spec(i)
		spec.Function = functions[at]
		if err := n.Add(spec); err != nil {
			t.Fatal(err)
		}
	}
	received := func() map[string]int64 {
		out := map[string]int64{}
		for f := range n.Flows {
			out[flows[n.Pairs[f.ID]].Tenant] += f.Received
		}
		return out
	}
	const settle, window = 20 * quantity.Millisecond, 20 * quantity.Millisecond
	n.RunUntil(settle)
	before := received()
	n.RunUntil(settle + window)
	out := map[string]float64{}
	for tenant, octets := range received() {
		out[tenant] = float64(octets-before[tenant]) * 8 * n.Wire / (float64(window) / float64(quantity.Second))
	}
	return out
}

// shareErrors returns the largest relative difference between what the teams received and their part by weight of the port.
func shareErrors(t *testing.T, teams []*team, delivered map[string]float64) float64 {
	t.Helper()
	var total, weights, worst float64
	for _, x := range teams {
		total += delivered[x.tenant]
		weights += float64(x.weight)
	}
	for _, x := range teams {
		want := total * float64(x.weight) / weights
		t.Logf("%-6s weight %v, %d pods of %d queue pairs: %.1f of %.1f Gbit/s", x.tenant, x.weight, len(x.pods), x.qps, delivered[x.tenant]/1e9, want/1e9)
		worst = max(worst, math.Abs(delivered[x.tenant]-want)/want)
	}
	return worst
}

// bound is the largest share error on the RoCE plane, as docs/roce.md promises it for tenants that share a port.
const bound = 0.10

func TestDeliveredSharesFollowTheWeightsOfNamespaces(t *testing.T) {
	vfs := make([]string, 8)
	for i := range vfs {
		vfs[i] = fmt.Sprintf("0000:5e:01.%d", i)
	}
	teams := []*team{{tenant: "ruby", weight: 4 * quantity.WeightOne, qps: 1}, {tenant: "opal", weight: 2 * quantity.WeightOne, qps: 4}, {tenant: "jade", weight: quantity.WeightOne, qps: 16}}
	s := newStage(t, len(teams))
	card := kubenode.NewCard(s.source.String(), 100_000, vfs...)
	kubenode.Networks(t, cluster)
	n := kubenode.Start(t, cluster, "node-2")
	agent := n.Agent(t, card)
	n.Devices(t, vfResource, vfs...)
	capacity(t, n, int64(len(vfs)))
	add := func(x *team) {
		t.Helper()
		p, err := n.Pod(t.Context(), x.namespace, fmt.Sprintf("worker-%d", len(x.pods)), onNetwork("rdma"))
		if err != nil {
			t.Fatal(err)
		}
		x.pods = append(x.pods, p)
		n.Running(t, p, 2*time.Minute)
	}
	settings := func(p *corev1.Pod) podsock.Settings {
		return card.Settings(agent.Record(t, p.Namespace, p.Name).Device)
	}
	unmanaged := func(*corev1.Pod) podsock.Settings { return podsock.Settings{ShareMbps: new(uint32(0))} }

	for _, x := range teams {
		x.pods = []*corev1.Pod{{}} // the plan is made for one pod each
	}
	shares := s.compile(t, teams)
	for i, x := range teams {
		x.pods = nil
		x.namespace = bind(t, x.tenant, shares[x.tenant])
		n.Network(t, x.namespace, "rdma", vfResource, fmt.Sprintf("10.231.%d.0/24", i+10), plugin(n))
		add(x)
	}
	if worst := shareErrors(t, teams, s.deliver(t, teams, unmanaged)); worst <= bound {
		t.Errorf("without Fairlane the share error is %.1f %%: the test proves nothing", worst*100)
	}
	worst := shareErrors(t, teams, s.deliver(t, teams, settings))
	t.Logf("share error %.1f %%", worst*100)
	if worst > bound {
		t.Errorf("share error %.1f %%, want at most %.0f %%", worst*100, bound*100)
	}

	t.Run("the pods of one namespace triple", func(t *testing.T) {
		add(teams[2])
		add(teams[2])
		// The shares of the namespace's functions are divided anew.
		kubetest.Eventually(t, time.Minute, func() string {
			var sum uint32
			for _, p := range teams[2].pods {
				sum += *settings(p).ShareMbps
			}
			if want := uint32(shares["jade"]) * card.Mbps / 1000; sum > want || sum < want*95/100 {
				return fmt.Sprintf("functions of jade have %d Mbit/s in all, want %d", sum, want)
			}
			return ""
		})
		worst := shareErrors(t, teams, s.deliver(t, teams, settings))
		t.Logf("share error %.1f %%", worst*100)
		if worst > bound {
			t.Errorf("share error %.1f %%, want at most %.0f %%", worst*100, bound*100)
		}
	})
}
