package scenario

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Threads change only the order of simultaneous events. The same flows complete in nearly the same times, and runs with the
// same number of threads are identical.
func TestThreadsGiveTheSameFabric(t *testing.T) {
	t.Parallel()
	run := func(threads int) *EtherResult {
		s := load(t, "fattree320")
		s.Duration, s.Ethernet.Workload[0].Until, s.Ethernet.Workload[1].Until = 20*ms, 100*us, 100*us
		if err := s.SetThreads(threads); err != nil {
			t.Fatal(err)
		}
		return runEther(t, s, EtherOptions{})
	}
	one, three, again := run(1), run(3), run(3)
	if one.Threads != 1 || three.Threads != 3 || !one.Finished || !three.Finished {
		t.Fatalf("%d and %d threads, finished %v and %v", one.Threads, three.Threads, one.Finished, three.Finished)
	}
	if one.Flows.Completed != three.Flows.Completed || one.Totals.AcceptedBytes != three.Totals.AcceptedBytes || one.RTT.Count == 0 {
		t.Errorf("one thread %+v, three %+v", one.Totals, three.Totals)
	}
	closeTo(t, "mean completion time", three.FCT.Mean, one.FCT.Mean, 0.03)
	closeTo(t, "round trips", float64(three.RTT.Count), float64(one.RTT.Count), 0.01)
	closeTo(t, "busiest link", three.Utilisation, one.Utilisation, 0.03)
	three.Curves, again.Curves = EtherCurves{}, EtherCurves{}
	if diff := cmp.Diff(three, again); diff != "" {
		t.Errorf("the same number of threads gave two different results:\n%s", diff)
	}
}

func TestThreadsAreRefusedWhereAFabricCannotBeDivided(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		threads int
		want    string
	}{
		{"ib16", 2, "threads 2: want 1: a run on the plane infiniband uses one thread"},
		{"allreduce", 2, "threads 2: want 1: the flows of a collective wait for each other"},
		{"incast20", 2, "threads 2: want at most 1, the number of switches that have hosts"},
		{"fattree128", 33, "threads 33: want at most 32"},
		{"fattree128", 65, "threads 65: want 1 to 64"},
		{"fattree128", 0, "threads 0: want 1 to 64"},
		{"fattree128", 32, ""},
		{"ib16", 1, ""},
	} {
		err := load(t, c.name).SetThreads(c.threads)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on %d threads: %v, want %q", c.name, c.threads, err, c.want)
		}
	}
	refused(t, []struct{ old, new, want string }{
		{"payload: 1000", "threads: 2", "x.yaml:4: model: threads 2: want at most 1, the number of switches that have hosts"},
		{"payload: 1000", "threads: 65", "x.yaml:4: model.threads"},
	})
	bicc := "fabric: {topology: dual-dc}\nbicc: {}\nmodel: {cnp: {packets: true}}\ncongestion_control: {algorithm: dcqcn}\nflows: [{src: dc1-host-0001, dst: dc2-host-0001}]\n"
	if err := parse(t, bicc).SetThreads(2); err == nil || !strings.Contains(err.Error(), "BiCC") {
		t.Errorf("BiCC on two threads: %v", err)
	}
}
