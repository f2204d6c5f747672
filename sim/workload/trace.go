package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"fairlane/internal/quantity"
)

// TraceHeader is the first line of a trace; it may be followed by ",tenant,tag".
const TraceHeader = "flow_id,src,dst,size_bytes,start_ns"

const (
	traceLabels   = ",tenant,tag"
	maxTraceLine  = 256 // bytes
	maxTraceStart = uint64(maxSpan / quantity.Nanosecond)
)

// Trace is a source of the flows of a CSV file:
//
//	flow_id,src,dst,size_bytes,start_ns
//	0,0,20,200000000,0
//	1,3,20,5000000,1500.25
//
// with the columns tenant and tag after them if the header names them. Numbers are plain decimals
// without signs, spaces or quotes; start_ns may have up to three decimals. Hosts are 0 to hosts-1,
// source and destination differ, sizes are 1 to MaxBytes, starts are at most 10^6 s and never fall
// from line to line. The file is read as flows are asked for; that flow numbers are
// unique is not checked.
type Trace struct {
	in      *bufio.Scanner
	columns []column
	line    int
	last    quantity.Picoseconds
	err     error
}

// column is the name and the range of a column.
type column struct {
	name      string
	low, high uint64
}

// traceColumns lists the columns of a header.
func traceColumns(header string, hosts int) []column {
	top := uint64(hosts - 1)
	ranges := map[string][2]uint64{
		"flow_id": {0, math.MaxInt64}, "src": {0, top}, "dst": {0, top}, "size_bytes": {1, MaxBytes},
		"start_ns": {0, maxTraceStart}, "tenant": {0, math.MaxInt32}, "tag": {0, math.MaxUint8},
	}
	var columns []column
	for name := range strings.SplitSeq(header, ",") {
		columns = append(columns, column{name, ranges[name][0], ranges[name][1]})
	}
	return columns
}

// NewTrace reads the header. The error of a wrong line names the line and the column; it comes from
// NewTrace or ends Next and is told by Err.
func NewTrace(r io.Reader, hosts int) (*Trace, error) {
	if err := checkRange("number of hosts", hosts, 2, MaxHosts); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	t := &Trace{in: bufio.NewScanner(r)}
	t.in.Buffer(make([]byte, 0, maxTraceLine), maxTraceLine)
	line, ok := t.scan()
	if !ok && t.err != nil {
		return nil, t.err
	}
	if line != TraceHeader && line != TraceHeader+traceLabels {
		return nil, fmt.Errorf("trace: line 1: header %q: want %q, or that with %q after it", line, TraceHeader, traceLabels)
	}
	t.columns = traceColumns(line, hosts)
	return t, nil
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
	switch err := t.in.Err(); { // also set when the line found is what a failing reader left of one
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
	var v [7]uint64 // in the order of the columns
	var pico uint64
	rest, more := line, true
	for i, c := range t.columns {
		if !more {
			return Arrival{}, t.wrongNumber(line)
		}
		var cell string
		cell, rest, more = strings.Cut(rest, ",")
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
		v[i] = n
	}
	if more {
		return Arrival{}, t.wrongNumber(line)
	}
	a := Arrival{
		At:   quantity.Picoseconds(v[4])*quantity.Nanosecond + quantity.Picoseconds(pico),
		Flow: int64(v[0]), Src: int32(v[1]), Dst: int32(v[2]), Bytes: int64(v[3]),
		Label: Label{Tenant: int32(v[5]), Tag: uint8(v[6])},
	}
	switch {
	case a.Src == a.Dst:
		return Arrival{}, fmt.Errorf("column dst: %d is the source too: want another host", a.Dst)
	case a.At > maxSpan:
		return Arrival{}, fmt.Errorf("column start_ns: %d.%03d: want at most %d", v[4], pico, maxTraceStart)
	case a.At < t.last:
		return Arrival{}, fmt.Errorf("column start_ns: %d.%03d is before the line above: want starts that never fall", v[4], pico)
	}
	return a, nil
}

func (t *Trace) wrongNumber(line string) error {
	return fmt.Errorf("%d columns: want %d", strings.Count(line, ",")+1, len(t.columns))
}

// splitDecimals cuts up to three decimals off and returns them as thousandths.
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
