package workload

// Merged combines several sources. Create it with Merge.
type Merged struct {
	heads   []head // a binary heap
	sources []Source
}

type head struct {
	Arrival
	source int
}

// Merge returns the flows of all sources in the order of their start; flows with the same start are in the order of the
// sources. Each flow keeps the flow number of its source. Give the sources different labels to distinguish their flows.
func Merge(sources ...Source) *Merged {
	m := &Merged{sources: sources}
	for i, s := range sources {
		if a, ok := s.Next(); ok {
			m.heads = append(m.heads, head{a, i})
		}
	}
	for i := len(m.heads)/2 - 1; i >= 0; i-- {
		m.sift(i)
	}
	return m
}

// Next returns the next flow.
func (m *Merged) Next() (Arrival, bool) {
	if len(m.heads) == 0 {
		return Arrival{}, false
	}
	first := m.heads[0]
	if a, ok := m.sources[first.source].Next(); ok {
		m.heads[0].Arrival = a
	} else {
		last := len(m.heads) - 1
		m.heads[0] = m.heads[last]
		m.heads = m.heads[:last]
	}
	m.sift(0)
	return first.Arrival, true
}

// Err returns the first error of a source that has one, such as a Trace.
func (m *Merged) Err() error {
	for _, s := range m.sources {
		if err := sourceErr(s); err != nil {
			return err
		}
	}
	return nil
}

// sourceErr returns the error that ended a source, if the source has an Err method.
func sourceErr(s Source) error {
	if f, ok := s.(interface{ Err() error }); ok {
		return f.Err()
	}
	return nil
}

func (m *Merged) less(i, j int) bool {
	a, b := &m.heads[i], &m.heads[j]
	if a.At != b.At {
		return a.At < b.At
	}
	return a.source < b.source
}

// sift moves the entry at i down to its position.
func (m *Merged) sift(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(m.heads); c++ {
			if m.less(c, least) {
				least = c
			}
		}
		if least == i {
			return
		}
		m.heads[i], m.heads[least] = m.heads[least], m.heads[i]
		i = least
	}
}
