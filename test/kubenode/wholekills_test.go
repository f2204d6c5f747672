package kubenode_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/kube/kubetest"
)

// setting returns a number of the environment, which test/kube.sh documents.
func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestKillsOfEveryPart kills the kubelet, the agent, the controller and the service at random instants while pods come and go.
// Afterwards each pod has the class of its tenant, no other device has one, the plan in force is that of the pods, and the audit
// log of the service verifies. FAIRLANE_KILLS is the number of kills of each part, FAIRLANE_SEED that of the instants.
func TestKillsOfEveryPart(t *testing.T) {
	kills, seed := setting(t, "FAIRLANE_KILLS", 3), setting(t, "FAIRLANE_SEED", int(time.Now().UnixNano()%1_000_000))
	t.Logf("FAIRLANE_KILLS=%d FAIRLANE_SEED=%d", kills, seed)
	amber, coral := &party{name: "amber", weight: 3, qps: 2}, &party{name: "coral", weight: 1, qps: 2}
	w := newWhole(t, "node-5", 40, amber, coral)
	random := rand.New(rand.NewPCG(uint64(seed), 7))
	parts := []string{"agent", "kubelet", "controller", "service"}
	var order []string
	for range kills {
		order = append(order, parts...)
	}
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	pause := func(most int) { time.Sleep(time.Duration(random.IntN(most)) * time.Millisecond) }
	for _, part := range order {
		x := w.teams[random.IntN(len(w.teams))]
		if len(x.pods) < 3 {
			w.create(x, w.emptier(random.IntN(2)))
		} else {
			w.drop(x, random.IntN(len(x.pods)))
		}
		pause(2000)
		switch part {
		case "agent":
			w.agent.Load().Stop()
			pause(1000)
			w.startAgent()
		case "kubelet":
			w.node.RestartKubelet(t)
			w.offer()
		case "controller":
			w.control.Kill()
			pause(1000)
			w.control.Start()
		case "service":
			w.service.Kill()
			pause(1000)
			w.service.Start()
		}
	}
	w.service.Answers(t)
	pods := 0
	for _, x := range w.teams {
		for _, s := range x.pods {
			w.revive(x, s)
			pods++
		}
	}
	if pods == 0 {
		pods++
		w.add(amber, 0)
	}
	t.Logf("%d pods, %d kills of each of %v: converged after %.1f s", pods, kills, parts, w.settle(3*time.Minute).Seconds())
	w.planIsOfThePods(t)
	w.auditVerifies(t)
}

// emptier returns the port with fewer pods, or the given one: a port has functions for all pods of this test only if they are spread.
func (w *whole) emptier(otherwise int) int {
	var pods [2]int
	for _, x := range w.teams {
		for port := range pods {
			pods[port] += x.on(port)
		}
	}
	switch {
	case pods[0] < pods[1]:
		return 0
	case pods[1] < pods[0]:
		return 1
	}
	return otherwise
}

// drop deletes a pod and does not wait.
func (w *whole) drop(x *party, i int) {
	w.t.Helper()
	if err := cluster.Admin.Delete(w.t.Context(), x.pods[i].pod); err != nil {
		w.t.Fatal(err)
	}
	x.pods = slices.Delete(x.pods, i, i+1)
}

// revive waits until a pod runs. One that a kubelet refused for good, as it started without device plugins, is replaced, as a
// workload's controller would.
func (w *whole) revive(x *party, s *sender) {
	w.t.Helper()
	kubetest.Eventually(w.t, 3*time.Minute, func() string {
		if err := cluster.Admin.Get(w.t.Context(), client.ObjectKeyFromObject(s.pod), s.pod); err != nil {
			return err.Error()
		}
		switch {
		case s.pod.Status.Phase == corev1.PodRunning:
			return ""
		case s.pod.Status.Phase != corev1.PodFailed:
			return fmt.Sprintf("pod %s/%s is %s", s.pod.Namespace, s.pod.Name, s.pod.Status.Phase)
		case s.pod.Status.Reason != "UnexpectedAdmissionError":
			w.t.Fatalf("pod %s/%s failed: %s: %s", s.pod.Namespace, s.pod.Name, s.pod.Status.Reason, s.pod.Status.Message)
		}
		w.node.Delete(w.t, s.pod, time.Minute)
		next, err := w.node.Pod(w.t.Context(), x.namespace, s.pod.Name, w.on(s.port))
		if err != nil {
			return err.Error()
		}
		s.pod = next
		return "replaced a refused pod"
	})
}

// planIsOfThePods checks that the attachments at the service are exactly those of the tenants' own hosts and of their pods.
func (w *whole) planIsOfThePods(t *testing.T) {
	t.Helper()
	for _, x := range w.teams {
		want := map[string]bool{x.sinks[0].String(): true, x.sinks[1].String(): true}
		for _, s := range x.pods {
			want[w.ports[s.port].String()] = true
		}
		var tenant struct {
			Attachments []struct {
				Port string `json:"port"`
			} `json:"attachments"`
		}
		w.service.Must(t, http.MethodGet, "/fabrics/lab/tenants/"+x.name, nil, &tenant)
		got := map[string]bool{}
		for _, a := range tenant.Attachments {
			got[a.Port] = true
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("tenant %s has the ports %v, want %v", x.name, got, want)
		}
	}
}
