package series

import (
	"context"
	"errors"
	"time"
)

// Store keeps series and answers queries about them. It is safe for concurrent use.
type Store interface {
	// Append adds samples of one instant. Either all are added or none; a sample that is too old or a second value for the same
	// instant fails the batch. New series beyond the store's limit are left out, and the error is ErrTooManySeries.
	Append(ctx context.Context, at time.Time, batch []Sample) error
	Reader
}

// Reader answers queries within a scope. Errors are ErrBadQuery, ErrCost and ErrAway, that of an ended context, and others when the series
// cannot be read.
type Reader interface {
	// Instant evaluates a query at one time.
	Instant(ctx context.Context, s Scope, query string, at time.Time) (Answer, error)
	// Range evaluates a query at every step from start to end, both included.
	Range(ctx context.Context, s Scope, query string, start, end time.Time, step time.Duration) (Answer, error)
	// LabelNames returns the names of labels, sorted.
	LabelNames(ctx context.Context, s Scope, l Lookup) ([]string, error)
	// LabelValues returns the values of a label, sorted.
	LabelValues(ctx context.Context, s Scope, name string, l Lookup) ([]string, error)
	// Series returns the labels of series, the metric name as __name__, sorted. At least one selector is required.
	Series(ctx context.Context, s Scope, l Lookup) ([]map[string]string, error)
}

// Errors, for errors.Is.
var (
	ErrTooManySeries = errors.New("too many series") // new ones beyond the store's limit
	ErrBadQuery      = errors.New("bad query")       // the text or a parameter
	ErrCost          = errors.New("query limit")     // the query reads or returns too much, or takes too long
	// ErrAway means that the server that has the series does not answer, or refuses to.
	ErrAway = errors.New("the server that has the series does not answer: its operators find the cause in the log of fairlane serve")
	// ErrOff means that the service keeps no series.
	ErrOff = errors.New("this service stores no time series: set series.path in its configuration")
)

// Bounds of a query.
const (
	MaxQueryBytes = 16 << 10 // of the text
	MaxPoints     = 11_000   // steps of a range query, as Prometheus has it
	MaxSelectors  = 32       // selectors of a lookup of series or labels
	MaxResults    = 100_000  // series or values of a lookup
	QueryTimeout  = 30 * time.Second
)

// Label is a label of a series.
type Label struct{ Name, Value string }

// Map returns the values of labels by their names.
func Map(list []Label) map[string]string {
	out := make(map[string]string, len(list))
	for _, l := range list {
		out[l.Name] = l.Value
	}
	return out
}

// Sample is a value of a series. A series is identified by its family and its labels.
type Sample struct {
	Family string
	Labels []Label // those of the family, always in the same order
	Value  float64
	// Gap ends the series: queries find no value from this sample on until the next one. Value is ignored.
	Gap bool
}

// AppendKey appends a key that identifies the series of a sample.
func (s *Sample) AppendKey(b []byte) []byte {
	b = append(b, s.Family...)
	for _, l := range s.Labels {
		b = append(b, 0)
		b = append(b, l.Name...)
		b = append(b, 0)
		b = append(b, l.Value...)
	}
	return b
}

// Answer is the result of a query: Data is JSON in the form of Prometheus's HTTP API, without its envelope.
type Answer struct {
	Data     []byte
	Warnings []string // nil for none
	Infos    []string // nil for none
}

// Lookup selects series by selectors and time.
type Lookup struct {
	Selectors  []string  // such as `{tenant="red"}`; a series matches one of them; none matches all series
	Start, End time.Time // zero is no bound
	Limit      int       // most results; 0 is MaxResults
	// Warn is called with each warning, such as that some series could not be read, maybe more than once; nil ignores them.
	Warn func(string)
}

// Scope limits a query to the series of some fabrics and tenants. The zero value sees nothing.
type Scope struct {
	All     bool        // every series; the other fields are ignored
	Fabrics []string    // every series of these fabrics
	Tenants []TenantRef // of these tenants the series of the families that tenants may read
}

// Everything is the scope of callers without a limit.
var Everything = Scope{All: true}

// TenantRef names a tenant on a fabric.
type TenantRef struct{ Fabric, Tenant string }
