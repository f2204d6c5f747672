package ecn

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/fieldwise"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		q     QueueMarking
		field string
	}{
		{QueueMarking{Queue: 3, Marking: Marking{Min: 100_000, Max: 400_000, PMaxPct: 20}}, ""},
		{QueueMarking{Marking: Marking{}}, ""},
		{QueueMarking{Marking: Marking{Min: 5, Max: 5, PMaxPct: 100}}, ""},
		{QueueMarking{Queue: 8}, "queue"},
		{QueueMarking{Marking: Marking{Min: -1}}, "min_bytes"},
		{QueueMarking{Marking: Marking{Min: 10, Max: 9}}, "max_bytes"},
		{QueueMarking{Marking: Marking{Max: MaxThreshold + 1}}, "max_bytes"},
		{QueueMarking{Marking: Marking{PMaxPct: 101}}, "p_max_percent"},
		{QueueMarking{Marking: Marking{PMaxPct: -1}}, "p_max_percent"},
	} {
		err := c.q.Validate()
		var fe *fieldwise.Error
		if c.field == "" && err != nil || c.field != "" && (!errors.As(err, &fe) || fe.Field != c.field) {
			t.Errorf("%+v: error %v, want one about %q", c.q, err, c.field)
		}
	}
}

func TestProbabilityRisesWithTheQueueFromNoneToAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := Marking{Min: rapid.Int64Range(0, 1e6).Draw(t, "min"), PMaxPct: rapid.IntRange(0, 100).Draw(t, "percent")}
		m.Max = m.Min + rapid.Int64Range(0, 1e6).Draw(t, "span")
		a := rapid.Int64Range(0, 3e6).Draw(t, "a")
		b := a + rapid.Int64Range(0, 3e6).Draw(t, "more")
		p, q := m.Probability(a), m.Probability(b)
		if p > q || p < 0 || q > 1 || a < m.Min && p != 0 || b >= m.Max && q != 1 {
			t.Fatalf("%+v: %g at %d, %g at %d", m, p, a, q, b)
		}
	})
	m := Marking{Min: 100, Max: 300, PMaxPct: 20}
	if p := m.Probability(200); p != 0.1 {
		t.Errorf("halfway: %g, want 0.1", p)
	}
}
