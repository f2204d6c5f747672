package record

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"fairlane/internal/quantity"
)

// MaxSeriesRows is the largest number of rows in each file of a series. Later rows are omitted, and a comment reports it.
const MaxSeriesRows = 10_000_000

// series is a file with a limited number of rows.
type series struct {
	file *File
	most uint64
	cut  quantity.Picoseconds // time of the first omitted row; 0 means none
}

func (d *Dir) newSeries(name, columns string) (series, error) {
	f, err := d.createCSV(name, columns)
	return series{file: f, most: MaxSeriesRows}, err
}

// File returns the file of the rows.
func (s *series) File() *File { return s.file }

// Cut returns the time from which rows are omitted because of MaxSeriesRows; false means no omitted rows.
func (s *series) Cut() (quantity.Picoseconds, bool) { return s.cut, s.cut > 0 }

// end writes the row buffer, a row with the time at; above the limit it omits the row.
func (s *series) end(at quantity.Picoseconds) error {
	if s.file.rows < s.most {
		return s.file.endRow()
	}
	if s.cut == 0 {
		s.cut = at
		s.file.writeComment("cut off", fmt.Sprintf("%d rows; those from %s on are missing", s.most, at))
	}
	return s.file.Err()
}

// FlowSeries writes values of flows over time.
type FlowSeries struct{ series }

// FlowSeries creates series-flows.csv with the columns t_us, id, flow_id and the additional columns, whose values may be
// unknown.
func (d *Dir) FlowSeries(columns ...string) (*FlowSeries, error) {
	s, err := d.newSeries("series-flows.csv", strings.Join(append([]string{"t_us,id,flow_id"}, columns...), ","))
	return &FlowSeries{s}, err
}

// Write writes a sample of a flow; traceFlow is its number in its trace, or negative. NaN becomes an empty field.
func (w *FlowSeries) Write(at quantity.Picoseconds, id, traceFlow int64, values []float64) error {
	b := appendMicros(w.file.row[:0], at)
	b = strconv.AppendInt(append(b, ','), id, 10)
	b = append(b, ',')
	if traceFlow >= 0 {
		b = strconv.AppendInt(b, traceFlow, 10)
	}
	for _, v := range values {
		b = append(b, ',')
		switch {
		case math.IsNaN(v):
		case v == math.Trunc(v) && math.Abs(v) < 1<<53:
			b = strconv.AppendInt(b, int64(v), 10)
		default:
			b = strconv.AppendFloat(b, v, 'g', 12, 64)
		}
	}
	w.file.row = b
	return w.end(at)
}

// QueueSeries writes queue lengths over time.
type QueueSeries struct{ series }

// QueueSeries creates series-queues.csv with the columns t_us, port and bytes.
func (d *Dir) QueueSeries() (*QueueSeries, error) {
	s, err := d.newSeries("series-queues.csv", "t_us,port,bytes")
	return &QueueSeries{s}, err
}

// Write writes the bytes queued at a port.
func (w *QueueSeries) Write(at quantity.Picoseconds, port string, bytes int64) error {
	b := appendField(append(appendMicros(w.file.row[:0], at), ','), port)
	w.file.row = strconv.AppendInt(append(b, ','), bytes, 10)
	return w.end(at)
}

// Pauses writes the pauses of ports.
type Pauses struct{ series }

// Pauses creates pauses.csv with the columns t_us, port, class and event, which is pause or resume.
func (d *Dir) Pauses() (*Pauses, error) {
	s, err := d.newSeries("pauses.csv", "t_us,port,class,event")
	return &Pauses{s}, err
}

// Write writes the start or the end of a pause of a transmitting port.
func (w *Pauses) Write(at quantity.Picoseconds, port string, class uint8, begin bool) error {
	b := appendField(append(appendMicros(w.file.row[:0], at), ','), port)
	b = strconv.AppendUint(append(b, ','), uint64(class), 10)
	event := ",resume"
	if begin {
		event = ",pause"
	}
	w.file.row = append(b, event...)
	return w.end(at)
}
