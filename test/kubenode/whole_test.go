package kubenode_test

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/agent/pods/podsock"
	"fairlane/internal/quantity"
	"fairlane/internal/testkit/proctest"
	"fairlane/kube/kubetest"
	"fairlane/kube/v1alpha1"
	"fairlane/policy"
	"fairlane/sim/gnmidev"
	"fairlane/sim/live"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
	"fairlane/test/kubenode"
)

// whole is everything on one machine: a simulated fabric whose first two hosts are the NIC ports of a real node, the service, the
// controller, and pods that get the functions of these ports.
type whole struct {
	t       *testing.T
	fabric  *live.Ethernet
	ports   [2]ident.PortID // of the node
	card    *kubenode.Card
	node    *kubenode.Node
	agent   atomic.Pointer[kubenode.Agent]
	service *kubenode.Service
	control *proctest.Program
	teams   []*party
}

// party is a namespace with its tenant, whose pods send through functions of the node to hosts of the tenant.
type party struct {
	name      string
	weight    float64
	qps       int             // of a pod
	sinks     [2]ident.PortID // own hosts, by port of the node: each can take all that the port sends
	namespace string
	flows     [2][]int // by port of the node: flows of the fabric that pods can use
	pods      []*sender
}

// sender is a running pod with its flow.
type sender struct {
	pod  *corev1.Pod
	port int
	flow int
}

const (
	wireRate  = 10 * quantity.Gbps
	timeScale = 0.02 // simulated seconds a second
	functions = 4    // of a port
	slots     = 4    // pods of a tenant on a port
)

// bound is the largest share error on the RoCE plane, as docs/roce.md promises it for tenants that share a port.
const bound = 0.10

// The resources and networks of the two ports.
var (
	vfResources = [2]string{vfResource, "fairlane.test/vfb"}
	networks    = [2]string{"rdma", "rdmab"}
)

// newWhole starts everything. Its first plan has the tenants at their own hosts only: no pod runs.
func newWhole(t *testing.T, name string, octet int, teams ...*party) *whole {
	t.Helper()
	w := &whole{t: t, teams: teams}
	w.start(name)
	for _, x := range teams {
		x.namespace = cluster.Namespace(t, x.name, labels(x.name))
		for port, network := range networks {
			w.node.Network(t, x.namespace, network, vfResources[port], fmt.Sprintf("10.231.%d.0/24", octet), plugin(w.node))
			octet++
		}
		create(t, "lab", x.name)
	}
	return w
}

// start starts the fabric, the service, the controller and the node with its agent.
func (w *whole) start(node string) {
	w.startFabric()
	w.service = kubenode.NewService(w.t)
	w.declare()
	w.control, _ = kubenode.NewController(w.t, cluster, w.service, "lab")
	kubenode.Networks(w.t, cluster)
	w.node = kubenode.Start(w.t, cluster, node)
	w.startAgent()
	w.offer()
}

// startFabric starts the simulated fabric: the node's two ports, and two hosts for each tenant. Flows wait for pods.
func (w *whole) startFabric() {
	t := w.t
	topo, err := topogen.Star(2+2*len(w.teams), topogen.Wire{Rate: wireRate, Delay: quantity.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	c := &live.Case{Name: "lab", Plane: policy.PlaneRoCE, Fabric: topo, Seed: 1, Functions: map[ident.PortID]int{}}
	id := func(i int) ident.PortID { return topo.PortID(subnet.PortRef{Node: topo.Hosts()[i], Port: 1}) }
	w.ports = [2]ident.PortID{id(0), id(1)}
	for i, x := range w.teams {
		x.sinks = [2]ident.PortID{id(2 + 2*i), id(3 + 2*i)}
		for port, source := range w.ports {
			c.Functions[source] = functions
			for range slots {
				x.flows[port] = append(x.flows[port], len(c.Flows))
				c.Waiting = append(c.Waiting, len(c.Flows))
				c.Flows = append(c.Flows, tenants.Flow{Tenant: x.name, Src: source, Dst: x.sinks[port], QPs: x.qps})
			}
		}
		c.Tenants = append(c.Tenants, tenants.Tenant{Name: x.name, Weight: quantity.Weight(x.weight * float64(quantity.WeightOne))})
	}
	c.Tenants = tenants.Attach(c.Tenants, c.Flows)
	if w.fabric, err = live.StartEthernet(t.Context(), c, live.EthernetOptions{TimeScale: timeScale, Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.fabric.Close(); err != nil {
			t.Error(err)
		}
	})
	w.card = kubenode.NewCard(w.ports[0].String(), uint32(wireRate/quantity.Mbps), vfsOf(0)...)
	w.card.AddPort(w.ports[1].String(), vfsOf(1)...)
	// The functions of the card are those of the simulated hosts, whose agents report their tenants as fairlane-agent does.
	for _, source := range w.ports {
		w.host(source).ServePods(func(port ident.PortID) map[int]string {
			if a := w.agent.Load(); a != nil {
				return a.Table.Tenants(port.String())
			}
			return nil
		})
	}
	w.card.Changed = func(port string, function int, s podsock.Settings) {
		id, err := ident.ParsePortID(port)
		if err == nil {
			err = w.host(id).Hold(id, function, *s.ShareMbps)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

func vfsOf(port int) []string {
	var out []string
	for i := range functions {
		out = append(out, fmt.Sprintf("0000:%02x:01.%d", 0x5e+port, i))
	}
	return out
}

func (w *whole) host(id ident.PortID) *gnmidev.Host { return w.fabric.Hosts[id.Node] }

// declare declares the fabric and the tenants at the service, and rolls the first plan out.
func (w *whole) declare() {
	t := w.t
	w.service.Must(t, http.MethodPost, "/fabrics", kubenode.Object{"name": "lab", "source": w.fabric.Source(), "time_scale": timeScale}, nil)
	w.service.Must(t, http.MethodPost, "/fabrics/lab/discover", nil, nil)
	w.declareTenants()
	w.service.RollOut(t, "lab")
}

func (w *whole) startAgent() { w.agent.Store(w.node.Agent(w.t, w.card)) }

// offer starts the device plugins, which register with the current kubelet.
func (w *whole) offer() {
	for port, resource := range vfResources {
		w.node.Devices(w.t, resource, vfsOf(port)...)
	}
	capacity(w.t, w.node, functions, vfResources[:]...)
}

// on gives a pod a device of a port.
func (w *whole) on(port int) func(*corev1.Pod) {
	return onNetwork(networks[port], corev1.ResourceName(vfResources[port]))
}

// add starts a pod on a port of the node, and its traffic.
func (w *whole) add(x *party, port int) *sender {
	w.t.Helper()
	s := w.create(x, port)
	w.node.Running(w.t, s.pod, 2*time.Minute)
	w.send(x, s)
	return s
}

func (w *whole) create(x *party, port int) *sender {
	w.t.Helper()
	p, err := w.node.Pod(w.t.Context(), x.namespace, "worker-"+strconv.FormatInt(time.Now().UnixNano()%1e9, 36), w.on(port))
	if err != nil {
		w.t.Fatal(err)
	}
	s := &sender{pod: p, port: port, flow: -1}
	x.pods = append(x.pods, s)
	return s
}

// send starts the traffic of a running pod, through its function.
func (w *whole) send(x *party, s *sender) {
	w.t.Helper()
	free := func(f int) bool {
		return !slices.ContainsFunc(x.pods, func(other *sender) bool { return other.flow == f })
	}
	s.flow = x.flows[s.port][slices.IndexFunc(x.flows[s.port], free)] // there are slots for all pods of the tests
	_, function := w.card.Place(w.agent.Load().Record(w.t, x.namespace, s.pod.Name).Device)
	kubetest.Eventually(w.t, time.Minute, func() string { // an earlier pod's packets may still be on their way
		if err := w.fabric.Fabric.MoveFlow(s.flow, function); err != nil {
			return err.Error()
		}
		return ""
	})
	if err := w.fabric.Fabric.StartFlow(s.flow); err != nil {
		w.t.Fatal(err)
	}
}

// remove deletes a pod. Its traffic ends first.
func (w *whole) remove(x *party, s *sender) {
	w.t.Helper()
	if err := w.fabric.Fabric.StopFlow(s.flow); err != nil {
		w.t.Fatal(err)
	}
	x.pods = slices.DeleteFunc(x.pods, func(other *sender) bool { return other == s })
	w.node.Delete(w.t, s.pod, time.Minute)
}

// on returns the number of pods on a port.
func (x *party) on(port int) (n int) {
	for _, s := range x.pods {
		if s.port == port {
			n++
		}
	}
	return n
}

// senders returns the tenants with pods on a port, and the sum of their weights.
func (w *whole) senders(port int) (out []*party, total float64) {
	for _, x := range w.teams {
		if x.on(port) > 0 {
			out, total = append(out, x), total+x.weight
		}
	}
	return out, total
}

// wrong returns what is not yet as the pods and the weights want it: functions of the simulated hosts, records, objects. It is empty when
// all is as wanted.
func (w *whole) wrong() string {
	for port, id := range w.ports {
		state, err := w.host(id).State(id)
		if err != nil {
			return err.Error()
		}
		got := map[int]quantity.BitRate{}
		for _, f := range state.Functions {
			got[f.Index] = f.Min
		}
		senders, total := w.senders(port)
		want := map[int]quantity.BitRate{}
		for _, r := range w.agent.Load().Table.List(w.t.Context(), false) {
			if r.Found.Port != id.String() {
				continue
			}
			of := slices.IndexFunc(senders, func(x *party) bool { return x.name == r.Tenant })
			if of < 0 || r.Pending || r.Drift || r.Releasing || r.Found.VF == nil {
				return fmt.Sprintf("record of %s: tenant %s, pending %t, drift %t, releasing %t: %s", r.Pod.Name, r.Tenant, r.Pending, r.Drift, r.Releasing, r.Reason)
			}
			thousandths := 0
			if len(senders) > 1 {
				thousandths = max(1, int(1000*senders[of].weight/total)) / senders[of].on(port)
			}
			want[*r.Found.VF] = wireRate * quantity.BitRate(thousandths) / 1000
		}
		pods := 0
		for _, x := range senders {
			pods += x.on(port)
		}
		if len(want) != pods {
			return fmt.Sprintf("port %d has %d records, want %d", port, len(want), pods)
		}
		for f := range functions {
			if got[f] != want[f] {
				return fmt.Sprintf("port %d: function %d has %s for sure, want %s (all: %v, want %v)", port, f, got[f], want[f], got, want)
			}
		}
	}
	return ""
}

// settle waits until everything is as wanted, and returns the time that it took.
func (w *whole) settle(most time.Duration) time.Duration {
	w.t.Helper()
	began := time.Now()
	kubetest.Eventually(w.t, most, func() string {
		return cmp.Or(w.wrong(), w.inForce())
	})
	return time.Since(began)
}

// inForce returns why a binding is not in force with its weight; empty: all are.
func (w *whole) inForce() string {
	for _, x := range w.teams {
		var b v1alpha1.TenantBinding
		if err := cluster.Admin.Get(w.t.Context(), client.ObjectKey{Name: x.name}, &b); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionInForce)
		switch {
		case c == nil || c.Status != metav1.ConditionTrue:
			return fmt.Sprintf("binding %s: %+v", x.name, c)
		case b.Status.Weight != strconv.FormatFloat(x.weight, 'f', -1, 64):
			return fmt.Sprintf("binding %s has weight %s, want %v", x.name, b.Status.Weight, x.weight)
		case int(b.Status.Pods) != len(x.pods):
			return fmt.Sprintf("binding %s has %d pods, want %d", x.name, b.Status.Pods, len(x.pods))
		}
	}
	return ""
}

// delivered lets the fabric run for a time, and returns what each tenant received of a port, in bit/s.
func (w *whole) delivered(port int, span quantity.Picoseconds) map[string]float64 {
	w.t.Helper()
	read := func() ([]uint64, quantity.Picoseconds) {
		all := make([]uint64, w.fabric.Fabric.Flows())
		w.fabric.Fabric.Delivered(all)
		return all, w.fabric.Fabric.Now()
	}
	if err := w.fabric.Wait(w.t.Context(), 20*quantity.Millisecond); err != nil { // shares settle
		w.t.Fatal(err)
	}
	before, began := read()
	if err := w.fabric.Wait(w.t.Context(), span); err != nil {
		w.t.Fatal(err)
	}
	after, ended := read()
	out := map[string]float64{}
	for _, x := range w.teams {
		for _, f := range x.flows[port] {
			out[x.name] += float64(after[f]-before[f]) * 8 / (float64(ended-began) / float64(quantity.Second))
		}
	}
	return out
}

// held checks that tenants receive their parts by weight of a port, within the plane's bound. It returns the largest share error.
func (w *whole) held(port int) float64 {
	w.t.Helper()
	got := w.delivered(port, 20*quantity.Millisecond)
	all, weights := w.senders(port)
	var total, worst float64
	for _, rate := range got {
		total += rate
	}
	for _, x := range all {
		want := total * x.weight / weights
		w.t.Logf("port %d: %-6s weight %v, %d pods of %d queue pairs: %.2f of %.2f Gbit/s", port, x.name, x.weight, x.on(port), x.qps, got[x.name]/1e9, want/1e9)
		worst = max(worst, math.Abs(got[x.name]-want)/want)
	}
	if total < 0.8*float64(wireRate) {
		w.t.Errorf("port %d delivers %.2f Gbit/s in all", port, total/1e9)
	}
	return worst
}

// mustHold is held, and fails beyond the bound.
func (w *whole) mustHold(port int) {
	w.t.Helper()
	worst := w.held(port)
	w.t.Logf("port %d: share error %.1f %%", port, worst*100)
	if worst > bound {
		w.t.Errorf("port %d: share error %.1f %%, want at most %.0f %%", port, worst*100, bound*100)
	}
}
