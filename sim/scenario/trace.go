package scenario

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/sim/workload"
	"fairlane/subnet"
)

// newTrace reads the flows of a generator's file. Its host numbers are those of the fabric file, if the file has host
// numbers.
func (s *Scenario) newTrace(r io.Reader, g *Generator) (*trace, error) {
	file := g.File
	t := &trace{file: file, line: 1, numbers: s.Ethernet.numbers, tenants: len(s.Tenants), placed: make(map[int32][]string)}
	hosts := len(Hosts(s.Fabric))
	if t.numbers != nil {
		hosts = max(2, len(t.numbers))
	}
	var err error
	if t.in, err = workload.NewTrace(r, hosts); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if t.perFlow = t.in.HasTenants(); g.Tenant < 0 && !t.perFlow {
		return nil, fault(phrase.Of("scenario.trace-tenant", "file", file))
	}
	return t, nil
}

// tryTrace opens a trace and reads its header and first flow, if files can be read. A trace may have millions of flows, so only
// ReadTraces reads them all.
func (s *Scenario) tryTrace(d *document, g *Generator, n *yaml.Node) {
	if s.Ethernet.open == nil || d.err != nil {
		return
	}
	f, err := s.Ethernet.open(g.File)
	if err == nil {
		err = errors.Join(s.tryFlow(f, g), f.Close())
	}
	if err != nil {
		d.failWith(n, fmt.Errorf("workload.file: %w", err))
	}
}

// tryFlow requires that the first flow starts before the end of the run; the others do not start earlier.
func (s *Scenario) tryFlow(r io.Reader, g *Generator) error {
	t, err := s.newTrace(r, g)
	if err != nil {
		return err
	}
	a, ok := t.Next()
	switch {
	case t.Err() != nil:
		return t.Err()
	case !ok:
		return fault(phrase.Of("scenario.trace-empty", "file", g.File))
	case a.At >= s.Duration:
		return t.fault("column start_ns: the first flow starts at %s: want less than the duration, %s", a.At, s.Duration)
	}
	return nil
}

// traced is the summary of a trace's flows that start before the end of the run.
type traced struct {
	until       quantity.Picoseconds // scenario duration at the time of reading
	flows       float64
	bytes       float64
	first, last quantity.Picoseconds // starts of the first and the last flow
	tags        []string             // tag columns
}

// ReadTraces reads all traces of an Ethernet scenario completely, so that errors are found before a run and Estimate counts
// their flows. It skips flows after the duration, and reads again only if the duration has changed.
func (s *Scenario) ReadTraces() error {
	if s.Ethernet == nil {
		return nil
	}
	for i := range s.Ethernet.Workload {
		g := &s.Ethernet.Workload[i]
		if g.Kind != KindTrace || g.traced != nil && g.traced.until == s.Duration {
			continue
		}
		f, err := s.Ethernet.openTrace(g.File)
		if err != nil {
			return fmt.Errorf("scenario %s: %w", s.Name, err)
		}
		got, err := s.readTrace(f, g)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("scenario %s: %w", s.Name, err)
		}
		g.traced = got
	}
	return nil
}

func (s *Scenario) readTrace(r io.Reader, g *Generator) (*traced, error) {
	t, err := s.newTrace(r, g)
	if err != nil {
		return nil, err
	}
	out := &traced{until: s.Duration, tags: t.in.TagColumns()}
	for a, ok := t.Next(); ok && a.At < s.Duration; a, ok = t.Next() {
		if out.flows == 0 {
			out.first = a.At
		}
		out.last = a.At
		out.flows++
		out.bytes += float64(a.Bytes)
	}
	return out, t.Err()
}

// expectation returns the expected traffic of a trace; it is zero before ReadTraces has read the trace.
func (t *traced) expectation(slowest quantity.BitRate) expectation {
	if t == nil || t.flows == 0 {
		return expectation{}
	}
	atOnce := t.flows
	if span := (t.last - t.first).Seconds(); span > 0 { // Little's law, for flows at half the link rate
		atOnce = min(atOnce, 1+t.flows/span*(t.bytes/t.flows*16/float64(slowest)+1e-4))
	}
	return expectation{t.flows, t.bytes, atOnce}
}

// HasTraces reports whether part of the traffic is from traces, whose flows have numbers of the trace.
func (s *Scenario) HasTraces() bool {
	return s.Ethernet != nil && slices.ContainsFunc(s.Ethernet.Workload, func(g Generator) bool { return g.Kind == KindTrace })
}

// TagColumns returns the names of the tag columns of all traces that ReadTraces has read, without duplicates.
func (s *Scenario) TagColumns() []string {
	var out []string
	if s.Ethernet == nil {
		return nil
	}
	for i := range s.Ethernet.Workload {
		if t := s.Ethernet.Workload[i].traced; t != nil {
			for _, name := range t.tags {
				if !slices.Contains(out, name) {
					out = append(out, name)
				}
			}
		}
	}
	return out
}

// Origin is the trace data of a flow.
type Origin struct {
	Flow int64 // number in the trace
	// Tags are in the order of Scenario.TagColumns; nil if the trace has none. They are shared: do not change them.
	Tags []string
}

// origin returns the trace data of a flow. The tags are in the order of the columns of all traces.
func (t *trace) origin(a *workload.Arrival, columns []string) Origin {
	own := t.in.TagColumns()
	if len(own) == 0 || slices.Equal(own, columns) {
		return Origin{a.Flow, t.in.Tags(a.Tags)}
	}
	tags, ok := t.placed[a.Tags]
	if !ok {
		tags = make([]string, len(columns))
		for i, tag := range t.in.Tags(a.Tags) {
			tags[slices.Index(columns, own[i])] = tag
		}
		t.placed[a.Tags] = tags
	}
	return Origin{a.Flow, tags}
}

// trace is a trace with the hosts and tenants of the scenario. Its errors name file and line.
type trace struct {
	in      *workload.Trace
	file    string
	line    int     // line of the last flow; every flow is one line
	numbers []int32 // network hosts by number in the file, -1 means no host; nil means equal numbers
	tenants int
	perFlow bool               // the file names the tenant of each flow
	placed  map[int32][]string // combinations of tags, as origin returns them
	err     error
}

var _ workload.Source = (*trace)(nil)

func (t *trace) Next() (workload.Arrival, bool) {
	if t.err != nil {
		return workload.Arrival{}, false
	}
	a, ok := t.in.Next()
	if !ok {
		return workload.Arrival{}, false
	}
	t.line++
	if int(a.Tenant) >= t.tenants {
		t.err = t.fault("column tenant: %d: want the number of a tenant, 0 to %d", a.Tenant, t.tenants-1)
		return workload.Arrival{}, false
	}
	if t.numbers == nil {
		return a, true
	}
	for i, host := range []*int32{&a.Src, &a.Dst} {
		n := t.numbers[*host]
		if n < 0 {
			t.err = t.fault("column %s: %d: want the number of a host of the fabric", [2]string{"src", "dst"}[i], *host)
			return workload.Arrival{}, false
		}
		*host = n
	}
	return a, true
}

func (t *trace) fault(format string, args ...any) error {
	return fmt.Errorf("%s: trace: line %d: %w", t.file, t.line, fmt.Errorf(format, args...))
}

// Err returns the error that ended the trace, or nil.
func (t *trace) Err() error {
	if err := t.in.Err(); err != nil {
		return fmt.Errorf("%s: %w", t.file, err)
	}
	return t.err
}

// hostNumbers maps host numbers used as names in the fabric file to the network's host numbers.
func hostNumbers(f *subnet.Fabric) []int32 {
	var out []int32
	for i, h := range Hosts(f) {
		id, err := strconv.Atoi(f.Nodes[h.Node].Name)
		if err != nil || id < 0 {
			continue // no link table contains such a host name
		}
		for len(out) <= id {
			out = append(out, -1)
		}
		out[id] = int32(i)
	}
	return out
}
