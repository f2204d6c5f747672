package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fairlane/internal/quantity"
)

// TraceHeader is the beginning of the first line of a trace; columns tenant and tag may follow.
const TraceHeader = "flow_id,src,dst,size_bytes,start_ns"

// Limits of the tags of a trace.
const (
	MaxTagColumns = 8
	MaxTagLength  = 64      // bytes per tag
	MaxTagSets    = 1 << 16 // different combinations of tags
)

const (
	maxTraceLine  = 1024 // bytes
	maxTraceStart = uint64(maxSpan / quantity.Nanosecond)
)

// Trace is a source of the flows of a CSV file:
//
//	flow_id,src,dst,size_bytes,start_ns,tag
//	0,0,20,200000000,0,storage
//	1,3,20,5000000,1500.25,web
//
// After start_ns a column tenant may follow, and up to MaxTagColumns columns of tags: tag, or tag_ and a name. Numbers are
// plain decimals without signs, spaces or quotes; start_ns may have up to three decimals. Flow numbers are unique. Hosts are
// 0 to hosts-1, source and destination differ, sizes are 1 to MaxBytes, starts are at most 10^6 s and are in order of time.
// Tags are empty or consist of up to MaxTagLength letters, digits, spaces and ._:/+-. The file is read on demand. Memory
// grows with the set of used flow numbers: one bit per number if they are dense.
type Trace struct {
	in      *bufio.Scanner
	columns []column
	tags    []string // names of the tag columns
	sets    [][]string
	known   map[string]int32 // number of each tag combination; the key has a comma after each tag
	seen    map[int64]uint64 // set of used flow numbers: the key is the number without its lowest six bits, which select a bit of the value
	line    int
	last    quantity.Picoseconds
	err     error
}

// column is the name and range of a column; tag columns have no range.
type column struct {
	name      string
	low, high uint64
	tag       bool
}

// traceColumns returns the columns of a header; false for an invalid header.
func traceColumns(header string, hosts int) (columns []column, ok bool) {
	rest, ok := strings.CutPrefix(header, TraceHeader)
	if !ok || rest != "" && rest[0] != ',' {
		return nil, false
	}
	top := uint64(hosts - 1)
	columns = []column{
		{name: "flow_id", high: math.MaxInt64}, {name: "src", high: top}, {name: "dst", high: top}, {name: "size_bytes", low: 1, high: MaxBytes},
		{name: "start_ns", high: maxTraceStart},
	}
	tags := 0
	for rest != "" {
		var name string
		name, rest, ok = strings.Cut(rest[1:], ",")
		if ok {
			rest = "," + rest
		}
		c := column{name: name, high: math.MaxInt32, tag: name != "tenant"}
		if c.tag {
			tags++
		}
		if c.tag && !tagColumn.MatchString(name) || tags > MaxTagColumns || slices.ContainsFunc(columns, func(o column) bool { return o.name == name }) {
			return nil, false
		}
		columns = append(columns, c)
	}
	return columns, true
}

var (
	tagColumn = regexp.MustCompile(`^tag(_[A-Za-z0-9_]{1,40})?$`)
	tagText   = regexp.MustCompile(`^[A-Za-z0-9 ._:/+-]{0,64}$`)
)

// NewTrace reads the header, and returns an error if it is invalid. At a later invalid line, Next returns false and Err
// returns the error. Errors name the line and the column.
func NewTrace(r io.Reader, hosts int) (*Trace, error) {
	if err := checkRange("number of hosts", hosts, 2, MaxHosts); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	t := &Trace{in: bufio.NewScanner(r), seen: make(map[int64]uint64), known: make(map[string]int32)}
	t.in.Buffer(make([]byte, 0, maxTraceLine), maxTraceLine)
	line, ok := t.scan()
	if !ok && t.err != nil {
		return nil, t.err
	}
	if t.columns, ok = traceColumns(line, hosts); !ok {
		return nil, fmt.Errorf("trace: line 1: header %q: want %q, then columns tenant, tag or tag_NAME, each once, with at most %d tag columns", line, TraceHeader, MaxTagColumns)
	}
	for _, c := range t.columns {
		if c.tag {
			t.tags = append(t.tags, c.name)
		}
	}
	return t, nil
}

// HasTenants reports whether the file has a tenant column.
func (t *Trace) HasTenants() bool {
	return slices.ContainsFunc(t.columns, func(c column) bool { return c.name == "tenant" })
}

// TagColumns returns the names of the tag columns, in their order.
func (t *Trace) TagColumns() []string { return t.tags }

// Tags returns a flow's tags for its Arrival.Tags, in the order of TagColumns. The caller must not change them.
func (t *Trace) Tags(set int32) []string {
	if len(t.tags) == 0 {
		return nil
	}
	return t.sets[set]
}

// Next returns the flow of the next line. It returns false at the end of the file and at the first
// error; see Err.
func (t *Trace) Next() (Arrival, bool) {
	if t.err != nil {
		return Arrival{}, false
	}
	line, ok := t.scan()
	if !ok {
		return Arrival{}, false
	}
	a, err := t.parse(line)
	if err != nil {
		t.err = fmt.Errorf("trace: line %d: %w", t.line, err)
		return Arrival{}, false
	}
	t.last = a.At
	return a, true
}

// Err returns the error that ended the trace, or nil.
func (t *Trace) Err() error { return t.err }

func (t *Trace) scan() (string, bool) {
	t.line++
	found := t.in.Scan()
	switch err := t.in.Err(); { // also set when the last line is incomplete because the reader failed
	case errors.Is(err, bufio.ErrTooLong):
		t.err = fmt.Errorf("trace: line %d: too long: want less than %d bytes", t.line, maxTraceLine)
	case err != nil:
		t.err = fmt.Errorf("trace: read line %d: %w", t.line, err)
	case found:
		return t.in.Text(), true
	}
	return "", false
}

func (t *Trace) parse(line string) (Arrival, error) {
	var v [6]uint64 // values in the order of the columns, without tag columns
	var pico uint64
	var tags [MaxTagColumns]string
	numbers, texts := 0, 0
	rest, more := line, true
	for i := range t.columns {
		c := &t.columns[i]
		if !more {
			return Arrival{}, t.wrongNumber(line)
		}
		var cell string
		cell, rest, more = strings.Cut(rest, ",")
		if c.tag {
			tags[texts] = cell
			texts++
			continue
		}
		if c.name == "start_ns" {
			var err error
			if cell, pico, err = splitDecimals(cell); err != nil {
				return Arrival{}, fmt.Errorf("column start_ns: %w", err)
			}
		}
		n, err := strconv.ParseUint(cell, 10, 64)
		if err != nil || n < c.low || n > c.high {
			return Arrival{}, fmt.Errorf("column %s: %q: want a whole number from %d to %d", c.name, cell, c.low, c.high)
		}
		v[numbers] = n
		numbers++
	}
	if more {
		return Arrival{}, t.wrongNumber(line)
	}
	a := Arrival{
		At:   quantity.Picoseconds(v[4])*quantity.Nanosecond + quantity.Picoseconds(pico),
		Flow: int64(v[0]), Src: int32(v[1]), Dst: int32(v[2]), Bytes: int64(v[3]), Label: Label{Tenant: int32(v[5])},
	}
	switch {
	case a.Src == a.Dst:
		return Arrival{}, fmt.Errorf("column dst: %d is also the source: want a different host", a.Dst)
	case a.At > maxSpan:
		return Arrival{}, fmt.Errorf("column start_ns: %d.%03d: want at most %d", v[4], pico, maxTraceStart)
	case a.At < t.last:
		return Arrival{}, fmt.Errorf("column start_ns: %d.%03d is earlier than the line above: want starts in order of time", v[4], pico)
	case t.seen[a.Flow>>6]>>(a.Flow&63)&1 != 0:
		return Arrival{}, fmt.Errorf("column flow_id: %d repeats an earlier number: want each number once", a.Flow)
	}
	t.seen[a.Flow>>6] |= 1 << (a.Flow & 63)
	var err error
	a.Tags, err = t.set(tags[:texts])
	return a, err
}

// set returns the number of a combination of tags.
func (t *Trace) set(tags []string) (int32, error) {
	if len(tags) == 0 {
		return 0, nil
	}
	key := make([]byte, 0, 128) // stays on the stack
	for _, tag := range tags {
		key = append(append(key, tag...), ',')
	}
	if set, ok := t.known[string(key)]; ok {
		return set, nil
	}
	kept := make([]string, len(tags))
	for i, tag := range tags {
		if !tagText.MatchString(tag) {
			return 0, fmt.Errorf("column %s: %q: want at most %d letters, digits, spaces and ._:/+-", t.tags[i], tag, MaxTagLength)
		}
		kept[i] = strings.Clone(tag)
	}
	if len(t.sets) == MaxTagSets {
		return 0, fmt.Errorf("column %s: %q: want at most %d different combinations of tags", t.tags[0], tags[0], MaxTagSets)
	}
	set := int32(len(t.sets))
	t.sets = append(t.sets, kept)
	t.known[string(key)] = set
	return set, nil
}

func (t *Trace) wrongNumber(line string) error {
	return fmt.Errorf("%d columns: want %d", strings.Count(line, ",")+1, len(t.columns))
}

// splitDecimals splits off up to three decimals and returns them as thousandths.
func splitDecimals(cell string) (whole string, thousandths uint64, err error) {
	whole, frac, found := strings.Cut(cell, ".")
	if !found {
		return cell, 0, nil
	}
	n, err := strconv.ParseUint(frac, 10, 16)
	if err != nil || len(frac) > 3 {
		return "", 0, fmt.Errorf("%q: want one to three digits after the point", cell)
	}
	for range 3 - len(frac) {
		n *= 10
	}
	return whole, n, nil
}
