package record

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"fairlane/internal/quantity"
)

// Flow is one flow of a run.
type Flow struct {
	ID       uint64
	Tenant   string // empty if the scenario has no tenants
	Src, Dst string
	Size     int64 // bytes
	Start    quantity.Picoseconds
	FCT      quantity.Picoseconds // completion time after Start; 0 if the flow has not ended
	Ideal    quantity.Picoseconds // completion time on an idle path; 0 if unknown
	Extra    []string             // values of the additional columns; empty if they do not apply
}

// Slowdown returns FCT / Ideal; false if the flow has not ended or Ideal is unknown.
func (f *Flow) Slowdown() (float64, bool) {
	if f.FCT <= 0 || f.Ideal <= 0 {
		return 0, false
	}
	return float64(f.FCT) / float64(f.Ideal), true
}

func (f *Flow) validate() error {
	if f.Size < 0 || f.Start < 0 || f.FCT < 0 || f.Ideal < 0 {
		return fmt.Errorf("flow %d: size %d, start %s, completion %s, ideal %s: want none below zero", f.ID, f.Size, f.Start, f.FCT, f.Ideal)
	}
	return nil
}

// Flows writes flows as CSV or as one JSON object per line.
type Flows struct {
	file  *File
	json  bool
	extra []string // additional columns
}

// flowColumns are the columns of flows.csv and, with the same names, the fields of flows.jsonl. Times are in microseconds with
// six decimals, exact to the picosecond.
const flowColumns = "id,tenant,src,dst,size_bytes,start_us,fct_us,ideal_us,slowdown"

// FlowsCSV creates flows.csv: comments that start with # and give scenario, seed and version, then the column names, then a row
// for each flow. Completion time, ideal time and slowdown are empty if unknown. Additional columns take Flow.Extra.
func (d *Dir) FlowsCSV(extra ...string) (*Flows, error) {
	f, err := d.createCSV("flows.csv", strings.Join(append([]string{flowColumns}, extra...), ","))
	if err != nil {
		return nil, err
	}
	return &Flows{file: f, extra: extra}, nil
}

// FlowsJSONL creates flows.jsonl: the Header as an object on the first line, then an object for each flow with the known fields
// of flows.csv.
func (d *Dir) FlowsJSONL() (*Flows, error) {
	f, err := d.Create("flows.jsonl")
	if err != nil {
		return nil, err
	}
	if f.row, err = json.Marshal(d.header); err != nil {
		return nil, fmt.Errorf("write %s: header: %w", f.name, err)
	}
	if err := f.endRow(); err != nil {
		return nil, err
	}
	f.rows = 0
	return &Flows{file: f, json: true}, nil
}

// File returns the file of the rows.
func (w *Flows) File() *File { return w.file }

// Write writes one flow. For a negative size or time it returns an error and writes nothing. A write error names the file.
func (w *Flows) Write(fl Flow) error {
	if err := fl.validate(); err != nil {
		return fmt.Errorf("write %s: %w", w.file.name, err)
	}
	if w.json {
		w.file.row = appendFlowJSON(w.file.row[:0], &fl)
	} else {
		w.file.row = appendFlowCSV(w.file.row[:0], &fl)
		for i := range w.extra {
			w.file.row = append(w.file.row, ',')
			if i < len(fl.Extra) {
				w.file.row = appendField(w.file.row, fl.Extra[i])
			}
		}
	}
	return w.file.endRow()
}

func appendFlowCSV(b []byte, fl *Flow) []byte {
	b = strconv.AppendUint(b, fl.ID, 10)
	for _, s := range []string{fl.Tenant, fl.Src, fl.Dst} {
		b = appendField(append(b, ','), s)
	}
	b = strconv.AppendInt(append(b, ','), fl.Size, 10)
	b = appendMicros(append(b, ','), fl.Start)
	b = append(b, ',')
	if fl.FCT > 0 {
		b = appendMicros(b, fl.FCT)
	}
	b = append(b, ',')
	if fl.Ideal > 0 {
		b = appendMicros(b, fl.Ideal)
	}
	b = append(b, ',')
	if s, ok := fl.Slowdown(); ok {
		b = strconv.AppendFloat(b, s, 'g', 8, 64)
	}
	return b
}

func appendFlowJSON(b []byte, fl *Flow) []byte {
	b = strconv.AppendUint(append(b, `{"id":`...), fl.ID, 10)
	if fl.Tenant != "" {
		b = appendString(append(b, `,"tenant":`...), fl.Tenant)
	}
	b = appendString(append(b, `,"src":`...), fl.Src)
	b = appendString(append(b, `,"dst":`...), fl.Dst)
	b = strconv.AppendInt(append(b, `,"size_bytes":`...), fl.Size, 10)
	b = appendMicros(append(b, `,"start_us":`...), fl.Start)
	if fl.FCT > 0 {
		b = appendMicros(append(b, `,"fct_us":`...), fl.FCT)
	}
	if fl.Ideal > 0 {
		b = appendMicros(append(b, `,"ideal_us":`...), fl.Ideal)
	}
	if s, ok := fl.Slowdown(); ok {
		b = strconv.AppendFloat(append(b, `,"slowdown":`...), s, 'g', 8, 64)
	}
	return append(b, '}')
}

// Rates writes rates over time.
type Rates struct{ file *File }

// Rates creates rates.csv with the columns t_us, tenant, flow and bps. A row with an empty flow is for the whole tenant.
func (d *Dir) Rates() (*Rates, error) {
	f, err := d.createCSV("rates.csv", "t_us,tenant,flow,bps")
	if err != nil {
		return nil, err
	}
	return &Rates{file: f}, nil
}

// File returns the file of the rows.
func (w *Rates) File() *File { return w.file }

// Write writes the rate of a tenant, or of one of its flows, in the interval that ends at t. For a negative time or rate it
// returns an error and writes nothing. A write error names the file.
func (w *Rates) Write(t quantity.Picoseconds, tenant, flow string, rate quantity.BitRate) error {
	if t < 0 || rate < 0 {
		return fmt.Errorf("write %s: rate %s at %s: want none below zero", w.file.name, rate, t)
	}
	b := appendMicros(w.file.row[:0], t)
	b = appendField(append(b, ','), tenant)
	b = appendField(append(b, ','), flow)
	w.file.row = strconv.AppendInt(append(b, ','), int64(rate), 10)
	return w.file.endRow()
}

// Queues writes queue lengths over time.
type Queues struct{ file *File }

// Queues creates queues.csv with the columns t_us, port, queue and bytes. The queue is the virtual lane or
// the priority.
func (d *Dir) Queues() (*Queues, error) {
	f, err := d.createCSV("queues.csv", "t_us,port,queue,bytes")
	if err != nil {
		return nil, err
	}
	return &Queues{file: f}, nil
}

// File returns the file of the rows.
func (w *Queues) File() *File { return w.file }

// Write writes the bytes queued at a port in a queue, 0 to 255, at t. For a negative time or length it returns an error and
// writes nothing. A write error names the file.
func (w *Queues) Write(t quantity.Picoseconds, port string, queue uint8, bytes int64) error {
	if t < 0 || bytes < 0 {
		return fmt.Errorf("write %s: %d bytes at %s: want none below zero", w.file.name, bytes, t)
	}
	b := appendMicros(w.file.row[:0], t)
	b = appendField(append(b, ','), port)
	b = strconv.AppendUint(append(b, ','), uint64(queue), 10)
	w.file.row = strconv.AppendInt(append(b, ','), bytes, 10)
	return w.file.endRow()
}

// appendMicros appends a non-negative time in microseconds, exactly.
func appendMicros(b []byte, t quantity.Picoseconds) []byte {
	b = strconv.AppendInt(b, int64(t/quantity.Microsecond), 10)
	b = append(b, '.')
	rest := t % quantity.Microsecond
	for unit := quantity.Microsecond / 10; unit > 0; unit /= 10 {
		b = append(b, '0'+byte(rest/unit%10))
	}
	return b
}

// appendField appends a CSV field, quoted if RFC 4180 or a comment sign requires it.
func appendField(b []byte, s string) []byte {
	if !strings.ContainsAny(s, ",\"\r\n#") && s == strings.TrimSpace(s) {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}

// appendString appends a JSON string. Invalid UTF-8 becomes the replacement character.
func appendString(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // encoding a string cannot fail
		text = []byte(`""`)
	}
	return append(b, text...)
}
