package scenario

import (
	"cmp"
	"errors"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/sim/ether"
	"fairlane/sim/workload"
)

// feed gives the network its flows in the order of time. Open-loop flows are made one at a time; flows
// of reactive jobs are added when those they wait for are done.
type feed struct {
	s       *Scenario
	unit    float64 // of weights
	n       Network
	streams []stream
	jobs    []job
	next    int64 // number of the next flow
	// jobFlows finds the job of a flow on its way; open-loop flows are not in it.
	jobFlows map[int64]jobFlow
	// origins finds what a trace says of a flow on its way.
	origins map[int64]Origin
	tags    []string // columns of all traces
	failed  error
}

// stream is a source of flows in the order of their start, with its next flow.
type stream struct {
	next func() (ether.FlowSpec, bool)
	fail func() error // nil where nothing can fail
	head ether.FlowSpec
	more bool
	from *Origin // of head, where the stream is a trace; next sets it
}

type job struct {
	workload.Reactive
	spec ether.FlowSpec // what all its flows have in common
}

type jobFlow struct {
	job  int
	flow int64
}

// addFlows makes a stream of the flows that the scenario lists. Flows of the fixed kind share
// their tenant's weight: each of n has a weight of w/n.
func (f *feed) addFlows(flows []EtherFlow) {
	if len(flows) == 0 {
		return
	}
	count := f.s.listedFlows()
	sorted := slices.Clone(flows)
	slices.SortStableFunc(sorted, func(a, b EtherFlow) int { return cmp.Compare(a.Start, b.Start) })
	k := 0
	f.push(stream{next: func() (ether.FlowSpec, bool) {
		if len(sorted) == 0 {
			return ether.FlowSpec{}, false
		}
		e := &sorted[0]
		spec := ether.FlowSpec{
			Src: e.Src, Dst: e.Dst, Bytes: e.Bytes, Start: e.Start, Stop: e.Stop, Algorithm: e.Control, Class: e.Class,
			Tenant: uint16(e.Tenant), Weight: f.weight(e.Tenant) / count[e.Tenant], Demand: e.Demand, Entropy: uint32(k),
		}
		if k++; k == e.Count {
			k, sorted = 0, sorted[1:]
		}
		return spec, true
	}})
}

// weight is that of a tenant.
func (f *feed) weight(tenant int) float64 { return f.s.Tenants[tenant].Weight.Float() / f.unit }

// spec is what all flows of a generator have in common.
func (f *feed) spec(g *Generator) ether.FlowSpec {
	return ether.FlowSpec{
		Algorithm: g.Control, Class: g.Class, Tenant: uint16(max(g.Tenant, 0)), Weight: f.weight(max(g.Tenant, 0)),
	}
}

func (f *feed) addStream(g *Generator, src workload.Source) {
	common := f.spec(g)
	t, labelled := src.(*trace)
	st := stream{}
	if labelled {
		st.from = new(Origin)
	}
	from := st.from
	st.next = func() (ether.FlowSpec, bool) {
		a, ok := src.Next()
		if !ok {
			return ether.FlowSpec{}, false
		}
		spec := common
		spec.Src, spec.Dst, spec.Bytes, spec.Start = a.Src, a.Dst, a.Bytes, a.At
		if labelled {
			*from = t.origin(&a, f.tags)
			if t.perFlow {
				spec.Tenant, spec.Weight = uint16(a.Tenant), f.weight(int(a.Tenant))
			}
		}
		return spec, true
	}
	if s, ok := src.(interface{ Err() error }); ok {
		st.fail = s.Err
	}
	f.push(st)
}

func (f *feed) push(s stream) {
	s.head, s.more = s.next()
	f.streams = append(f.streams, s)
}

func (f *feed) addJob(g *Generator, r workload.Reactive) {
	f.jobs = append(f.jobs, job{r, f.spec(g)})
}

// begin hands the first flows to the network.
func (f *feed) begin() error {
	for i := range f.jobs {
		f.release(i, f.jobs[i].Start())
	}
	if f.failed != nil {
		return f.failed
	}
	return f.n.SetSource(f)
}

// Next implements ether.Source: the earliest of the streams' next flows, the first of equals.
func (f *feed) Next() (ether.FlowSpec, bool) {
	best := -1
	for i := range f.streams {
		if f.streams[i].more && (best < 0 || f.streams[i].head.Start < f.streams[best].head.Start) {
			best = i
		}
	}
	if best < 0 {
		return ether.FlowSpec{}, false
	}
	s := &f.streams[best]
	spec := s.head
	spec.ID = f.next
	f.next++
	if s.from != nil {
		f.origins[spec.ID] = *s.from
	}
	s.head, s.more = s.next()
	return spec, true
}

// release adds flows of a job that wait for nothing any more.
func (f *feed) release(j int, flows []workload.Arrival) {
	for _, a := range flows {
		spec := f.jobs[j].spec
		spec.ID, spec.Src, spec.Dst, spec.Bytes, spec.Start = f.next, a.Src, a.Dst, a.Bytes, a.At
		f.next++
		if err := f.n.Add(spec); err != nil {
			f.fail(err)
			return
		}
		f.jobFlows[spec.ID] = jobFlow{j, a.Flow}
	}
}

// onDone tells jobs of their flows before it calls then. It returns nil when nobody wants to know.
func (f *feed) onDone(then func(ether.Done)) func(ether.Done) {
	return func(d ether.Done) {
		if jf, ok := f.jobFlows[d.ID]; ok {
			delete(f.jobFlows, d.ID)
			f.release(jf.job, f.jobs[jf.job].Done(jf.flow, d.Start+d.FCT))
		}
		if then != nil {
			then(d)
		}
		delete(f.origins, d.ID)
	}
}

func (f *feed) fail(err error) {
	if f.failed == nil {
		f.failed = err
	}
}

func (f *feed) err() error {
	errs := []error{f.failed}
	for i := range f.streams {
		if f.streams[i].fail != nil {
			errs = append(errs, f.streams[i].fail())
		}
	}
	return errors.Join(errs...)
}

// spanOf is the time in which a generator starts flows.
func (s *Scenario) spanOf(g *Generator) quantity.Picoseconds {
	end := s.Duration
	if g.Until > 0 {
		end = min(end, g.Until)
	}
	return max(0, end-g.From)
}
