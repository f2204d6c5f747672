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
func (e *Ethernet) newTrace(r io.Reader, hosts int) (workload.Source, error) {
	if e.numbers == nil {
		return workload.NewTrace(r, hosts)
	}
	t, err := workload.NewTrace(r, max(2, len(e.numbers)))
	if err != nil {
		return nil, err
	}
	return &numbered{Trace: t, numbers: e.numbers}, nil
}

// tryTrace opens the file of a trace and reads its header, where files can be read: a run would fail late.
func (s *Scenario) tryTrace(d *document, g *Generator, n *yaml.Node) {
	if s.Ethernet.open == nil || d.err != nil {
		return
	}
	f, err := s.Ethernet.open(g.File)
	if err == nil {
		if _, err = s.Ethernet.newTrace(f, len(Hosts(s.Fabric))); err != nil {
			err = fmt.Errorf("%s: %w", g.File, err)
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		d.failWith(n, fmt.Errorf("workload.file: %w", err))
	}
}

// numbered is a trace with other numbers of hosts than the network's.
type numbered struct {
	*workload.Trace
	numbers []int32
	err     error
}

// Next implements workload.Source.
func (t *numbered) Next() (workload.Arrival, bool) {
	a, ok := t.Trace.Next()
	if !ok || t.err != nil {
		return workload.Arrival{}, false
	}
	for i, host := range []*int32{&a.Src, &a.Dst} {
		n := t.numbers[*host]
		if n < 0 {
			t.err = fmt.Errorf("trace: flow %d: column %s: %d: want the number of a host of the fabric", a.Flow, [2]string{"src", "dst"}[i], *host)
			return workload.Arrival{}, false
		}
		*host = n
	}
	return a, true
}

// Err returns the error that ended the trace, or nil.
func (t *numbered) Err() error { return errors.Join(t.err, t.Trace.Err()) }

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
