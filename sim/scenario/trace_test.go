package scenario

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"fairlane/internal/quantity"
)

// Hosts keep the numbers of the table of links in traces, in flows and in results, whatever they are.
func TestHostsKeepTheNumbersOfTheirTable(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"links.csv": "node_a,kind_a,port_a,node_b,kind_b,port_b,rate_bps,delay_ns\n" +
			"0,switch,1,9,host,1,100000000000,1000\n0,switch,2,4,host,1,100000000000,1000\n0,switch,3,1,switch,1,100000000000,1000\n1,switch,2,7,host,1,100000000000,1000\n",
		"flows.csv": "flow_id,src,dst,size_bytes,start_ns\n0,9,7,1000,0\n1,4,9,2000,0\n",
		"bad.csv":   "flow_id,src,dst,size_bytes,start_ns\n0,9,7,1000,0\n1,4,1,2000,0\n",
	}
	const fabric = "fabric: {links: links.csv}\nflows: [{src: 7, dst: 4, bytes: 3000}]\n"
	s := parseBeside(t, t.TempDir(), files, fabric+"workload: [{kind: trace, file: flows.csv}]\n")
	got := &flowPairs{}
	if _, err := RunEthernet(context.Background(), s, EtherOptions{Recorder: got}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"9>7 1000", "4>9 2000", "7>4 3000"} {
		if !strings.Contains(got.text, want) {
			t.Errorf("flows %s, want %s among them", got.text, want)
		}
	}
	s = parseBeside(t, t.TempDir(), files, fabric+"workload: [{kind: trace, file: bad.csv}]\n")
	if _, err := RunEthernet(context.Background(), s, EtherOptions{}); err == nil || !strings.Contains(err.Error(), "bad.csv: trace: line 3: column dst: 1: want the number of a host") {
		t.Errorf("a flow to a switch: %v", err)
	}
}

type flowPairs struct{ text string }

func (r *flowPairs) Flow(f FlowRecord) error {
	r.text += fmt.Sprintf("%s>%s %d; ", f.Src, f.Dst, f.Bytes)
	return nil
}
func (r *flowPairs) Rate(quantity.Picoseconds, string, int64, quantity.BitRate) error { return nil }
func (r *flowPairs) Queue(quantity.Picoseconds, string, int64) error                  { return nil }

// A trace that is not there, or is none, is a fault of the scenario's line before anything runs.
func TestTracesAreTriedWhenTheScenarioIsRead(t *testing.T) {
	t.Parallel()
	open := func(name string) (io.ReadCloser, error) {
		const head = "flow_id,src,dst,size_bytes,start_ns\n"
		body, ok := map[string]string{
			"t.csv": "id\n", "empty.csv": head, "late.csv": head + "0,0,1,5,100000000\n", "far.csv": head + "0,0,4,5,0\n", "good.csv": head + "0,0,3,5,99999999\n",
		}[name]
		if !ok {
			return nil, os.ErrNotExist
		}
		return io.NopCloser(strings.NewReader(body)), nil
	}
	const text = "name: x\nplane: ethernet\nfabric: {topology: star, hosts: 4}\nworkload:\n  - {kind: trace, file: "
	if _, err := Parse("x.yaml", []byte(text+"good.csv}\n"), open); err != nil {
		t.Error(err)
	}
	for file, want := range map[string]string{
		"t.csv": "x.yaml:5: workload.file: t.csv: trace: line 1: header", "none.csv": "x.yaml:5: workload.file: file does not exist",
		"empty.csv": "x.yaml:5: workload.file: empty.csv: trace: found no flows: want at least one",
		"late.csv":  "x.yaml:5: workload.file: late.csv: trace: line 2: column start_ns: the first flow starts at 100 ms: want less than the duration, 100 ms",
		"far.csv":   "x.yaml:5: workload.file: far.csv: trace: line 2: column dst: \"4\": want a whole number from 0 to 3",
	} {
		_, err := Parse("x.yaml", []byte(text+file+"}\n"), open)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}

// What is absurd is refused at once, whatever its sizes multiply to.
func TestAbsurdSizesAreRefusedBeforeTheyAreBuilt(t *testing.T) {
	t.Parallel()
	big := "fabric: {topology: fat-tree, k: 34}\n"
	for _, c := range []struct{ text, want string }{
		{"fabric: {topology: three-tier, pods: 16, tors: 240, aggs: 240, cores: 240, hosts_per_tor: 10}\nflows: []\n", "found 963840 links: want at most 250000"},
		{"fabric: {topology: dual-dc, pods: 100, tors: 30, aggs: 20, cores: 20, hosts_per_tor: 30}\nflows: []\n", "links: want at most 250000"},
		{"fabric: {topology: three-tier, pods: 250, tors: 60, aggs: 4, cores: 4, hosts_per_tor: 2}\nflows: []\n", "found \"30000 hosts and 16004 switches\": want at most 268435456 routes"},
		{"fabric: {topology: star, hosts: 4, rate: 0Gbit/s}\nflows: []\n", "fabric.rate: found \"0Gbit/s\": want a rate of at least 1Mbit/s"},
		{"fabric: {topology: star, hosts: 4, rate: 100}\nflows: []\n", "fabric.rate: found \"100\": want a rate from 0 to 100 Tbit/s such as 100Gbit/s"},
		{big + "flows:\n" + strings.Repeat("  - {src: 'host*', dst: host-0001}\n", 200), "want a host other than the source"},
		{big + "flows:\n" + strings.Repeat("  - {src: 'host-1*', dst: host-0001}\n", 2000), "want at most 1048576, one for each source"},
		{big + "workload:\n" + strings.Repeat("  - {kind: permutation, bytes: 1}\n", 256), "want at most 2097152 in all its items together"},
		{big + "workload:\n  - {kind: permutation, bytes: 1, hosts: [" + strings.Repeat("'h*', ", 1100) + "'h*']}\n", "want patterns that stand for at most 8388608 hosts in all"},
	} {
		_, err := Parse("x.yaml", []byte("name: x\nplane: ethernet\n"+c.text), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80q: %v, want %q", c.text, err, c.want)
		}
	}
	ib := "name: x\nfabric: {topology: three-tier, pods: 16, tors: 100, aggs: 60, cores: 60, hosts_per_tor: 10}\ntenants: [{name: a, weight: 1}]\nflows: []\n"
	if _, err := Parse("x.yaml", []byte(ib), nil); err == nil || !strings.Contains(err.Error(), "found 112960 links: want at most 100000") {
		t.Errorf("too many links with forwarding tables: %v", err)
	}
}
