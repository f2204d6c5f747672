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

// Traces, flows and results use the host numbers of the link table, whatever the numbers are.
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
			t.Errorf("flows %s, want %s to be included", got.text, want)
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

// A missing or invalid trace is reported at the scenario's line before the run.
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

// Sizes with excessive products are rejected before the fabric is built.
func TestExcessiveSizesAreRejectedBeforeConstruction(t *testing.T) {
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

// records is a recorder that keeps the flows of a run.
type records struct {
	flowsOnly
	got []FlowRecord
}

func (r *records) Flow(f FlowRecord) error {
	r.got = append(r.got, f)
	return nil
}

const taggedTrace = "flow_id,src,dst,size_bytes,start_ns,tag,tag_job\n" +
	"70,0,2,1000,0,web,a\n7,1,2,2000,0,storage,a\n9,1,3,500000,10,web,\n8,0,3,3000,20,,b\n"

// Flows keep the numbers and tags of their traces, on one thread and on two threads. Slowdowns are grouped by tag and size.
func TestFlowsKeepTheNumbersAndTagsOfTheirTraces(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.csv": taggedTrace, "b.csv": "flow_id,src,dst,size_bytes,start_ns,tag_job\n7,2,3,1000,0,c\n"}
	const text = "fabric: {topology: leaf-spine, leaves: 2, hosts_per_leaf: 2, spines: 1}\nflows: [{src: host-001, dst: host-004, bytes: 700}]\n" +
		"workload: [{kind: trace, file: a.csv}, {kind: trace, file: b.csv}]\n"
	want := map[string]string{"1000 web,a": "70", "2000 storage,a": "7", "500000 web,": "9", "3000 ,b": "8", "1000 ,c": "7"}
	for _, threads := range []int{1, 2} {
		s := parseBeside(t, t.TempDir(), files, text)
		if err := s.SetThreads(threads); err != nil {
			t.Fatal(err)
		}
		rec := &records{}
		r, err := RunEthernet(context.Background(), s, EtherOptions{Recorder: rec})
		if err != nil || len(rec.got) != 6 {
			t.Fatalf("%v: %d flows", err, len(rec.got))
		}
		for _, f := range rec.got {
			if f.Origin == nil {
				if f.Bytes != 700 {
					t.Errorf("%d threads: no origin of %+v", threads, f)
				}
				continue
			}
			key := fmt.Sprintf("%d %s", f.Bytes, strings.Join(f.Origin.Tags, ","))
			if want[key] != fmt.Sprint(f.Origin.Flow) {
				t.Errorf("%d threads: flow %d is %q, want %q", threads, f.Origin.Flow, key, want[key])
			}
		}
		var tags []string
		for _, tag := range r.ByTag {
			tags = append(tags, fmt.Sprintf("%s=%s %d/%d", tag.Column, tag.Tag, tag.All.Flows, len(tag.BySize)))
			if tag.All.Mean < tag.All.P50*0.99 && tag.All.Flows == 1 || tag.All.Mean <= 0 {
				t.Errorf("%+v", tag)
			}
		}
		if got := strings.Join(tags, ", "); got != "tag=storage 1/1, tag=web 2/2, tag_job=a 2/2, tag_job=b 1/1, tag_job=c 1/1" {
			t.Errorf("%d threads: %s", threads, got)
		}
		if l := r.Listed[1]; l.TraceFlow == nil || *l.TraceFlow != 70 || strings.Join(l.Tags, ",") != "web,a" || r.Listed[0].TraceFlow != nil {
			t.Errorf("listed %+v", r.Listed[:2])
		}
	}
}

// Errors anywhere in a trace are found before the run, such as a repeated flow number. Flows after the end of the run are not
// read.
func TestTracesAreReadBeforeTheRun(t *testing.T) {
	t.Parallel()
	const star = "fabric: {topology: star, hosts: 4}\nduration: 1ms\nworkload: [{kind: trace, file: t.csv}]\n"
	const head = "flow_id,src,dst,size_bytes,start_ns\n"
	for body, want := range map[string]string{
		"5,0,1,10,0\n6,0,1,10,5\n5,1,2,10,7\n": "scenario x: t.csv: trace: line 4: column flow_id: 5 repeats an earlier number: want each number once",
		"5,0,1,10,0\n6,0,1,10,999999\nx\n":     "scenario x: t.csv: trace: line 4: column flow_id: \"x\"",
		"5,0,1,10,0\n6,0,1,10,1000000\nx\n":    "",
	} {
		s := parseBeside(t, t.TempDir(), map[string]string{"t.csv": head + body}, star)
		err := s.ReadTraces()
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", body, err, want)
		}
	}
}

func TestTheEstimateCountsTraces(t *testing.T) {
	t.Parallel()
	s := parseBeside(t, t.TempDir(), map[string]string{"t.csv": taggedTrace + "99,0,1,1000,2000000,,\n"},
		"fabric: {topology: star, hosts: 4}\nduration: 1ms\nflows: [{src: h1, dst: h2, bytes: 500}]\nworkload: [{kind: trace, file: t.csv}]\n")
	if err := s.ReadTraces(); err != nil {
		t.Fatal(err)
	}
	if est := s.Estimate(); est.Flows != 5 || est.Bytes != 506_500 || !est.Trace || est.PacketHops != 2*507 {
		t.Errorf("%+v: want 5 flows, 506,500 bytes and 507 packets over two links", est)
	}
	s.Duration *= 10 // now the flow at 2 ms starts before the end
	if err := s.ReadTraces(); err != nil || s.Estimate().Flows != 6 {
		t.Errorf("%v: %+v", err, s.Estimate())
	}
}

// The tenant column determines the tenant of each flow, tenant 0 included, and overrides the scenario's tenant. Without the
// column, the scenario must name a tenant.
func TestTraceTenantsComeFromItsColumn(t *testing.T) {
	t.Parallel()
	const star = "fabric: {topology: star, hosts: 4}\ntenants: [{name: red, weight: 1}, {name: blue, weight: 1}]\nworkload: [{kind: trace, %sfile: t.csv}]\n"
	const column = "flow_id,src,dst,size_bytes,start_ns,tenant\n0,0,1,5000,0,0\n1,1,2,7000,0,1\n2,2,3,7000,0,1\n"
	for _, tenant := range []string{"", "tenant: red, ", "tenant: blue, "} {
		s := parseBeside(t, t.TempDir(), map[string]string{"t.csv": column}, fmt.Sprintf(star, tenant))
		r, err := RunEthernet(context.Background(), s, EtherOptions{})
		if err != nil || r.Tenants[0].Completed != 1 || r.Tenants[1].Completed != 2 {
			t.Errorf("%q: %v, %+v: want one flow of red and two of blue", tenant, err, r)
		}
	}
	none := func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("flow_id,src,dst,size_bytes,start_ns\n0,0,1,5000,0\n")), nil
	}
	_, err := Parse("x.yaml", []byte("name: x\nplane: ethernet\n"+fmt.Sprintf(star, "")), none)
	if err == nil || !strings.Contains(err.Error(), "workload.file: t.csv: trace: line 1: found no column tenant: want one, or workload.tenant in the scenario") {
		t.Errorf("without a column: %v", err)
	}
}
