package kubelarge

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/sim/live"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/test/kubenode"
)

// timeScale is the simulated time of the fabric in a second. Nothing is sent there: the test is about settings.
const timeScale = 0.01

// startFabric starts the simulated fabric, and returns it with the ports of its hosts.
func startFabric(t *testing.T) (*live.Ethernet, []string) {
	t.Helper()
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: leaves, HostsPerLeaf: hostsPerLeaf, Spines: 4, Wire: topogen.Wire{Rate: 100 * quantity.Gbps, Delay: quantity.Microsecond}})
	if err != nil {
		t.Fatal(err)
	}
	c := &live.Case{Name: fabric, Plane: policy.PlaneRoCE, Fabric: topo, Seed: 1, Functions: map[ident.PortID]int{}}
	var ports []string
	for _, host := range topo.Hosts() {
		id := topo.PortID(subnet.PortRef{Node: host, Port: 1})
		c.Functions[id] = functions
		ports = append(ports, id.String())
	}
	f, err := live.StartEthernet(t.Context(), c, live.EthernetOptions{TimeScale: timeScale, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, ports
}

// manager is the service.
type manager struct{ *kubenode.Service }

// startManager starts the service, declares the fabric and the tenants there, and rolls the first plan out.
func startManager(t *testing.T, f *live.Ethernet, m *model) *manager {
	t.Helper()
	began := time.Now()
	s := &manager{kubenode.NewService(t)}
	s.Must(t, http.MethodPost, "/fabrics", kubenode.Object{"name": fabric, "source": f.Source(), "time_scale": timeScale}, nil)
	s.Must(t, http.MethodPost, "/fabrics/"+fabric+"/discover", nil, nil)
	s.declare(t, m)
	s.RollOut(t, fabric)
	t.Logf("the service has the fabric, and its first plan is in force after %.0f s", time.Since(began).Seconds())
	return s
}

// declare declares the tenants with their weights. What the cluster claims for them stays.
func (s *manager) declare(t *testing.T, m *model) {
	t.Helper()
	var list []kubenode.Object
	for _, x := range m.tenants {
		list = append(list, kubenode.Object{"name": x.name, "weight": x.weight, "attachments": []kubenode.Object{}})
	}
	s.Must(t, http.MethodPut, "/fabrics/"+fabric+"/tenants", kubenode.Object{"tenants": list}, nil)
}

// rollout is a rollout of the service.
type rollout struct {
	ID       int64      `json:"id"`
	Actor    string     `json:"actor"`
	State    string     `json:"state"`
	Result   string     `json:"result"`
	Created  time.Time  `json:"created_at"`
	Finished *time.Time `json:"finished_at"`
}

// rollouts returns the rollouts that were created at a moment or later, the newest first.
func (s *manager) rollouts(t *testing.T, since time.Time) []rollout {
	t.Helper()
	var page struct {
		Items []rollout `json:"items"`
	}
	s.Must(t, http.MethodGet, "/fabrics/"+fabric+"/rollouts?limit=100", nil, &page)
	return slices.DeleteFunc(page.Items, func(r rollout) bool { return r.Created.Before(since) })
}

// planInForce returns the name of the plan in force, and the revision of its declarations.
func (s *manager) planInForce(t *testing.T) (string, int64) {
	t.Helper()
	var overview struct {
		Plan *struct {
			Name   string `json:"name"`
			Policy int64  `json:"policy"`
		} `json:"plan"`
	}
	s.Must(t, http.MethodGet, "/fabrics/"+fabric+"/overview", nil, &overview)
	if overview.Plan == nil {
		return "", 0
	}
	return overview.Plan.Name, overview.Plan.Policy
}

// wrong returns how what the service holds of a tenant differs from the model; empty: it does not.
func (s *manager) wrong(t *testing.T, m *model, x *tenant) string {
	t.Helper()
	var got struct {
		Weight      float64 `json:"weight"`
		Attachments []struct {
			Port string `json:"port"`
		} `json:"attachments"`
	}
	s.Must(t, http.MethodGet, "/fabrics/"+fabric+"/tenants/"+x.name, nil, &got)
	want, _ := m.ports(x)
	var ports []string
	for _, a := range got.Attachments {
		ports = append(ports, a.Port)
	}
	slices.Sort(ports)
	if got.Weight != x.weight || !slices.Equal(ports, want) {
		return fmt.Sprintf("the service has tenant %s with weight %v on %d ports, want %v on %d", x.name, got.Weight, len(ports), x.weight, len(want))
	}
	return ""
}
