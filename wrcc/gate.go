package wrcc

import (
	"fmt"

	"fairlane/internal/quantity"
)

// Gate limits a switch to one FCNP per flow and WRCCT (S0, section 3.2). It is a table of flow identifiers, which are hashes of
// the five-tuple, with the time of the last FCNP. Two flows in the same row evict each other, and may each get one FCNP too
// many.
type Gate struct {
	period quantity.Picoseconds
	rows   []gateRow
}

type gateRow struct {
	at   quantity.Picoseconds
	flow uint32
	used bool
}

// MaxGateRows is the largest table of a gate.
const MaxGateRows = 1 << 20

// NewGate returns a gate for a sampling period with a number of rows, a power of two from 1 to
// MaxGateRows, 16 bytes each.
func NewGate(period quantity.Picoseconds, rows int) (*Gate, error) {
	if rows < 1 || rows > MaxGateRows || rows&(rows-1) != 0 {
		return nil, fmt.Errorf("FCNP table of %d rows: want a power of two from 1 to %d", rows, MaxGateRows)
	}
	if err := inRange("sampling period WRCCT", period, MinPeriod, MaxPeriod); err != nil {
		return nil, fmt.Errorf("FCNP table: %w", err)
	}
	return &Gate{period: period, rows: make([]gateRow, rows)}, nil
}

// SetPeriod changes the sampling period and clears the table. A period out of range is limited to the range.
func (g *Gate) SetPeriod(period quantity.Picoseconds) {
	g.period = min(max(period, MinPeriod), MaxPeriod)
	clear(g.rows)
}

// Allow reports whether an FCNP may go to a flow at now, and if so counts it as sent.
func (g *Gate) Allow(flow uint32, now quantity.Picoseconds) bool {
	r := &g.rows[int(flow)&(len(g.rows)-1)]
	if r.used && r.flow == flow && now-r.at < g.period {
		return false
	}
	*r = gateRow{at: now, flow: flow, used: true}
	return true
}
