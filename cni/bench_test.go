package cni_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// runPlugin runs the plugin and returns its CPU time.
func (n *node) runPlugin(command string) (cpu time.Duration, err error) {
	out, state, err := n.plugin(command, `,"prevResult":`+prev)
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", command, err, out)
	}
	return state.UserTime() + state.SystemTime(), nil
}

// agentCPU returns the CPU time that the agent used so far.
func (n *node) agentCPU() time.Duration {
	n.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.pid))
	if err != nil {
		n.t.Fatal(err)
	}
	// utime and stime are the 14th and 15th field, in hundredths of a second; the second is a name in parentheses.
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	var ticks int
	for _, f := range fields[11:13] {
		v, err := strconv.Atoi(f)
		if err != nil {
			n.t.Fatal(err)
		}
		ticks += v
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// BenchmarkAdd measures what the plugin adds to the start of a pod: its process, the call of the agent, the lookup of the
// device, the class applied and read back, and the record on disk. The rest of the chain is not part of it.
func BenchmarkAdd(b *testing.B) {
	n := newNode(b)
	n.start()
	var took, plugin []time.Duration
	agent := n.agentCPU()
	for b.Loop() {
		began := time.Now()
		cpu, err := n.runPlugin("ADD")
		took = append(took, time.Since(began))
		plugin = append(plugin, cpu)
		if err == nil {
			_, err = n.runPlugin("DEL")
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((n.agentCPU()-agent).Seconds()*1000/float64(len(took)), "agent-CPU-ms/ADD+DEL")
	for _, of := range []struct {
		name string
		all  []time.Duration
	}{{"plugin-CPU-ms", plugin}, {"elapsed-ms", took}} {
		slices.Sort(of.all)
		for _, percent := range []int{50, 99} {
			b.ReportMetric(of.all[percent*(len(of.all)-1)/100].Seconds()*1000, fmt.Sprintf("%s/ADD-p%d", of.name, percent))
		}
	}
	n.stop()
}

// resident returns a figure of the agent's memory, in KB.
func (n *node) resident(name string) int {
	n.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.pid))
	if err != nil {
		n.t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + name + `:\s+(\d+) kB$`).FindSubmatch(text)
	if m == nil {
		n.t.Fatalf("no %s in %s", name, text)
	}
	kb, err := strconv.Atoi(string(m[1]))
	if err != nil {
		n.t.Fatal(err)
	}
	return kb
}

// maxResident is the budget of the agent's resident memory on a host without a cluster, in KB.
const maxResident = 40 << 10

func TestTheAgentStaysSmall(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.start()
	for range 20 {
		for _, command := range []string{"ADD", "CHECK", "DEL"} {
			if _, err := n.runPlugin(command); err != nil {
				t.Fatal(err)
			}
		}
	}
	most, now := n.resident("VmHWM"), n.resident("VmRSS")
	t.Logf("resident memory: %d KB, at most %d KB", now, most)
	if most >= maxResident {
		t.Errorf("resident memory: at most %d KB, want less than %d KB", most, maxResident)
	}
}
