package scenario

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"go.yaml.in/yaml/v3"

	"fairlane/sim/workload"
	"fairlane/subnet"
)

// newTrace reads the flows of a file whose hosts have the numbers of the fabric's own file, if that has any.
func (s *Scenario) newTrace(r io.Reader, file string) (*trace, error) {
	t := &trace{file: file, line: 1, numbers: s.Ethernet.numbers, tenants: len(s.Tenants)}
	hosts := len(Hosts(s.Fabric))
	if t.numbers != nil {
		hosts = max(2, len(t.numbers))
	}
	var err error
	if t.in, err = workload.NewTrace(r, hosts); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

// tryTrace opens the file of a trace and reads its header and first flow, where files can be read: a run would
// fail late. The other flows are read as they start, because a trace may have millions.
func (s *Scenario) tryTrace(d *document, g *Generator, n *yaml.Node) {
	if s.Ethernet.open == nil || d.err != nil {
		return
	}
	f, err := s.Ethernet.open(g.File)
	if err == nil {
		err = errors.Join(s.tryFlow(f, g.File), f.Close())
	}
	if err != nil {
		d.failWith(n, fmt.Errorf("workload.file: %w", err))
	}
}

// tryFlow wants a first flow that starts in the time of the run; the others start no earlier.
func (s *Scenario) tryFlow(r io.Reader, file string) error {
	t, err := s.newTrace(r, file)
	if err != nil {
		return err
	}
	a, ok := t.Next()
	switch {
	case t.Err() != nil:
		return t.Err()
	case !ok:
		return fmt.Errorf("%s: trace: found no flows: want at least one", file)
	case a.At >= s.Duration:
		return t.fault("column start_ns: the first flow starts at %s: want less than the duration, %s", a.At, s.Duration)
	}
	return nil
}

// trace is a trace whose hosts and tenants are those of the scenario. Its errors name file and line.
type trace struct {
	in      *workload.Trace
	file    string
	line    int     // of the last flow; every line is one
	numbers []int32 // of the hosts in the network by those in the file, -1 is no host; nil when they are the same
	tenants int
	err     error
}

// Next implements workload.Source.
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

// hostNumbers maps the numbers that hosts have for names to those that the network gives them.
func hostNumbers(f *subnet.Fabric) []int32 {
	var out []int32
	for i, h := range Hosts(f) {
		id, err := strconv.Atoi(f.Nodes[h.Node].Name)
		if err != nil || id < 0 {
			continue // a table of links has no such host
		}
		for len(out) <= id {
			out = append(out, -1)
		}
		out[id] = int32(i)
	}
	return out
}
