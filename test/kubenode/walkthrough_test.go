package kubenode_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlane/agent/pods/podsock"
	"fairlane/kube/kubetest"
	"fairlane/subnet/ident"
	"fairlane/test/kubenode"
)

// page is the walk-through.
const page = "docs/kubernetes-walkthrough.md"

// TestWalkthrough runs the commands of the walk-through, and compares what they print, figures left out. With FAIRLANE_KUBE_DEMO, the
// name of a folder, it starts the same machine for a person, and ends at an interrupt.
func TestWalkthrough(t *testing.T) {
	demo := os.Getenv("FAIRLANE_KUBE_DEMO")
	dir := demo
	if dir == "" {
		dir = t.TempDir()
	}
	own, err := kubetest.Start() // the page lists all objects
	if err != nil {
		t.Fatal(err)
	}
	shared := cluster
	cluster = own
	t.Cleanup(func() {
		cluster = shared
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := newDemo(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.follow(ctx) }()
	defer func() { cancel(); <-ended }()
	if demo != "" {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		fmt.Printf("\nAPI server, kubelet, service and controller are running. In another terminal, type\n\n    . %s/env.sh\n\nand what %s says. Ctrl-C here ends everything.\n\n", dir, page)
		<-ctx.Done()
		return
	}
	text, err := os.ReadFile(filepath.Join(kubetest.Manifests(), "..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	steps := stepsOf(string(text))
	if len(steps) < 8 {
		t.Fatalf("%s has %d commands", page, len(steps))
	}
	for _, s := range steps {
		w.run(dir, s)
	}
}

// newDemo starts everything with three tenants and no pods, and writes what a person needs into a folder. The operator claims the
// tenants' part of the node's first port and declares their traffic, so that the service can measure it.
func newDemo(t *testing.T, dir string) *whole {
	w := &whole{t: t, teams: []*party{{name: "ruby", weight: 4, qps: 1}, {name: "opal", weight: 2, qps: 4}, {name: "jade", weight: 1, qps: 16}}}
	w.start("node-1")
	var flows []kubenode.Object
	for _, x := range w.teams {
		flows = append(flows, kubenode.Object{"tenant": x.name, "src": w.ports[0].String(), "dst": x.sinks[0].String(), "qps": x.qps})
	}
	w.declareTenants(flows...)
	w.service.RollOut(t, "lab")
	w.service.Must(t, http.MethodPut, "/settings", kubenode.Object{"shares": kubenode.Object{"interval_s": 10, "window_ms": 20}}, nil)
	if err := kubetest.WriteKubeconfig(cluster.User(t, "operator", "system:masters"), filepath.Join(dir, "kubeconfig")); err != nil {
		t.Fatal(err)
	}
	network, err := w.node.NetworkManifest("rdma", vfResources[0], "10.231.70.0/24", plugin(w.node))
	if err != nil {
		t.Fatal(err)
	}
	env := fmt.Sprintf("export KUBECONFIG=%s/kubeconfig FAIRLANE_URL=%s FAIRLANE_TOKEN=%s DEMO=%s PATH=%s:%s:$PATH\n",
		dir, w.service.URL, w.service.Token, dir, os.Getenv(kubenode.Programs), os.Getenv(kubetest.Folder))
	for name, text := range map[string]string{"env.sh": env, "network.json": network} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// follow gives every pod its traffic: it sends through the function that the pod has, for as long as the pod has it.
func (w *whole) follow(ctx context.Context) {
	sending := map[podsock.Key]int{} // flow of a record
	for ; ctx.Err() == nil; time.Sleep(500 * time.Millisecond) {
		live := map[podsock.Key]bool{}
		for _, r := range w.agent.Load().Table.List(ctx, false) {
			live[r.Key] = !r.Releasing
			if _, ok := sending[r.Key]; ok || r.Releasing || r.Found.VF == nil {
				continue
			}
			for _, x := range w.teams {
				port := slices.IndexFunc(w.ports[:], func(id ident.PortID) bool { return id.String() == r.Found.Port })
				if x.name != r.Tenant || port < 0 {
					continue
				}
				for _, f := range x.flows[port] {
					if !slices.Contains(slices.Collect(maps.Values(sending)), f) && w.fabric.Fabric.MoveFlow(f, *r.Found.VF) == nil && w.fabric.Fabric.StartFlow(f) == nil {
						sending[r.Key] = f
						break
					}
				}
			}
		}
		for k, f := range sending {
			if !live[k] {
				_ = w.fabric.Fabric.StopFlow(f)
				delete(sending, k)
			}
		}
	}
}

// step is a command of the page with what it prints.
type step struct{ command, output string }

// stepsOf returns the commands of a page: in a block of text, each begins with a dollar sign, and its further lines with "> ".
func stepsOf(text string) (steps []step) {
	for _, block := range regexp.MustCompile("(?s)```text\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for _, line := range strings.Split(strings.TrimSuffix(block[1], "\n"), "\n") {
			switch {
			case strings.HasPrefix(line, "$ "):
				steps = append(steps, step{command: line[2:]})
			case strings.HasPrefix(line, "> ") && steps[len(steps)-1].output == "":
				steps[len(steps)-1].command += "\n" + line[2:]
			default:
				steps[len(steps)-1].output += line + "\n"
			}
		}
	}
	return steps
}

var (
	figures = regexp.MustCompile(`[0-9][0-9a-f.:]*(ms|s|m|h)?\b`)
	spaces  = regexp.MustCompile(`[ \t─█▏▎▍▌▋▊▉·|│]+`)
	suffix  = regexp.MustCompile(`-[0-9a-f]{10}\b|\bplan [0-9a-f]{12,64}`)
)

// shape returns a text without figures, and without what depends on a run.
func shape(s string) string {
	s = suffix.ReplaceAllString(s, "N")
	s = figures.ReplaceAllStringFunc(s, func(n string) string {
		if n == "0" { // what is 0 on the page, and what is not, must be so here
			return n
		}
		return "N"
	})
	s = spaces.ReplaceAllString(s, " ")
	var lines []string
	for _, line := range strings.Split(s, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// run runs a command of the page until it prints what the page has: status follows within seconds.
func (w *whole) run(dir string, s step) {
	w.t.Helper()
	began := time.Now()
	for {
		c := exec.CommandContext(w.t.Context(), "bash", "-euc", ". "+dir+"/env.sh\n"+s.command)
		c.Dir = dir
		text, err := c.CombinedOutput()
		of := shape
		if strings.Contains(s.command, "custom-columns") { // these figures are the same in every run
			of = strings.TrimSpace
		}
		out := string(text)
		if err == nil && matches(of(s.output), of(out)) {
			w.t.Logf("$ %s\n%s", s.command, out)
			return
		}
		if !repeatable(s.command) || time.Since(began) > time.Minute {
			w.t.Fatalf("$ %s\n%s%v\nthe page has\n%s", s.command, out, err, s.output)
		}
		time.Sleep(time.Second)
	}
}

// repeatable reports whether a command only reads.
func repeatable(command string) bool {
	return strings.HasPrefix(command, "kubectl get ") || strings.HasPrefix(command, "fairlane share show")
}

// matches compares outputs; a line "…" stands for any lines.
func matches(want, got string) bool {
	parts := strings.Split(regexp.QuoteMeta(want), "…")
	return regexp.MustCompile("(?s)^" + strings.Join(parts, ".*") + "$").MatchString(got)
}
