package telemetry

import (
	"slices"
	"sync"
	"time"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Clears records when measurements cleared counters of a fabric, so that readings of the same counters between them are not misread. It is safe for
// concurrent use; the zero value is ready. A nil *Clears records nothing.
type Clears struct {
	mu sync.Mutex
	at map[clearKey][]clearSpan // the latest, oldest first
}

// clearKey is the counters of an attribute on a port.
type clearKey struct {
	lid  ident.LID
	port ident.PortNum
	id   mad.AttrID
}

// clearSpan is the time in which a request to clear counters was under way.
type clearSpan struct{ begin, end time.Time } // end is zero while it is

// maxClearings bounds the clearings that are kept of a key: more than happen between two readings of a watch.
const maxClearings = 4

// begin records that a request to clear begins; the returned function records its end.
func (c *Clears) begin(k clearKey) (end func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at = map[clearKey][]clearSpan{}
	}
	begin := time.Now()
	list := append(c.at[k], clearSpan{begin: begin})
	c.at[k] = list[max(len(list)-maxClearings, 0):]
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i := range c.at[k] {
			if x := &c.at[k][i]; x.begin.Equal(begin) {
				x.end = time.Now()
			}
		}
	}
}

// during reports whether counters may have been cleared between two times.
func (c *Clears) during(k clearKey, from, to time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.at[k], func(x clearSpan) bool { return !x.begin.After(to) && (x.end.IsZero() || !x.end.Before(from)) })
}
