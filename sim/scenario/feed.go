package scenario

import (
	"cmp"
	"errors"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/sim/ether"
	"fairlane/sim/workload"
)

// feed passes flows to the network in the order of time. Open-loop flows are generated one at a time; flows of reactive jobs
// are added when the flows for which they wait are complete.
type feed struct {
	s       *Scenario
	unit    float64 // unit of the scenario's weights
	n       Network
	streams []stream
	jobs    []job
	next    int64 // number of the next flow
	// jobFlows maps active flows to their jobs; it does not contain open-loop flows.
	jobFlows map[int64]jobFlow
	// origins maps active flows to their trace data.
	origins map[int64]Origin
	tags    []string // tag columns of all traces
	failed  error
}

// stream is a source of flows in the order of their start, with its next flow.
type stream struct {
	next func() (ether.FlowSpec, bool)
	fail func() error // nil if the source cannot fail
	head ether.FlowSpec
	more bool
	from *Origin // trace data of head, set by next; nil if the stream is not a trace
}

type job struct {
	workload.Reactive
	spec ether.FlowSpec // fields common to all flows of the stream
}

type jobFlow struct {
	job  int
	flow int64
}

// addFlows adds a stream of the flows that the scenario lists. The n flows of a tenant share its weight w: each has weight w/n.
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

// weight returns the weight of a tenant.
func (f *feed) weight(tenant int) float64 { return f.s.Tenants[tenant].Weight.Float() / f.unit }

// spec returns the fields common to all flows of a generator.
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

// begin passes the first flows to the network.
func (f *feed) begin() error {
	for i := range f.jobs {
		f.release(i, f.jobs[i].Start())
	}
	if f.failed != nil {
		return f.failed
	}
	return f.n.SetSource(f)
}

// Next implements ether.Source: it returns the earliest of the streams' next flows.
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

// release adds flows of a job that may start now.
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

// onDone returns a callback that notifies jobs of their completed flows before it calls then, or nil if neither a job nor the
// caller needs it.
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

// spanOf returns the time in which a generator starts flows.
func (s *Scenario) spanOf(g *Generator) quantity.Picoseconds {
	end := s.Duration
	if g.Until > 0 {
		end = min(end, g.Until)
	}
	return max(0, end-g.From)
}
