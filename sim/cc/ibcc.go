// Package cc holds the congestion-control algorithms of the simulator, one file each, as state machines without clock, I/O or
// allocation. The fabric model owns the state of flows, passes the notifications with the current time, and reads the
// permitted rate and window.
package cc

import (
	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
)

// IBParams are the settings of a channel adapter's (port, SL) for the reaction point: CACongestionSetting in simulator units
// (IBTA vol. 1, annex A10, CACongestionSetting and CongestionControlTable).
type IBParams struct {
	Period   quantity.Picoseconds // period of CCTI_Timer; 0 means no decay
	Phase    quantity.Picoseconds // offset of a free-running timer, which expires at Phase + k·Period
	Increase uint16               // CCTI_Increase per BECN; 0 means no reaction
	Min      uint16               // CCTI_Min, the minimum CCTI
	Limit    uint16               // CCTI_Limit, the maximum CCTI
	Trigger  uint16               // Trigger_Threshold; 0 means off
	Restart  bool                 // a BECN restarts the timer (Algorithm 1 of the differentiated-bandwidth paper, S1)
}

// NewIBParams converts wire settings of a device whose CCTI_Timer counts in the given unit (ibcc.TimerUnitPicoseconds in the
// standard). phase shifts the free-running timer, modulo its period, so that ports configured at the same time do not decay at
// the same time.
func NewIBParams(s ibcc.SLParams, limit uint16, unit quantity.Picoseconds, restart bool, phase uint64) IBParams {
	p := IBParams{
		Period:   quantity.Picoseconds(s.Timer) * unit,
		Increase: uint16(s.Increase), Min: uint16(s.Min), Limit: limit,
		Trigger: uint16(s.Trigger), Restart: restart,
	}
	if p.Period > 0 {
		p.Phase = quantity.Picoseconds(phase % uint64(p.Period))
	}
	return p
}

// floor returns CCTI_Min, limited to CCTI_Limit.
func (p *IBParams) floor() uint16 { return min(p.Min, p.Limit) }

// nextTick returns the first timer expiry after now.
func (p *IBParams) nextTick(now quantity.Picoseconds) quantity.Picoseconds {
	if p.Period == 0 {
		return 0
	}
	if p.Restart {
		return now + p.Period
	}
	since := (now - p.Phase) % p.Period
	if since < 0 {
		since += p.Period
	}
	return now + p.Period - since
}

// IBState is one CCTI with its timer: one per queue pair in QP mode, one per (port, SL) in SL mode. Decay needs no events: the
// index at any time follows from the last known index and the timer expiries since.
type IBState struct {
	next  quantity.Picoseconds // first expiry not yet applied
	index uint16
}

// Adopt makes the state use p from now on and preserves the index. Call it for a new state, and after a change of parameters
// once Index has settled the state with the old ones.
func (s *IBState) Adopt(now quantity.Picoseconds, p *IBParams) { s.next = p.nextTick(now) }

// Index returns the CCTI at now, between CCTI_Min and CCTI_Limit: each expiry of CCTI_Timer since the last call lowers it by
// one.
func (s *IBState) Index(now quantity.Picoseconds, p *IBParams) uint16 {
	if p.Period > 0 && now >= s.next {
		k := 1 + (now-s.next)/p.Period
		s.next += k * p.Period
		s.index -= uint16(min(k, quantity.Picoseconds(s.index)))
	}
	s.index = max(min(s.index, p.Limit), p.floor())
	return s.index
}

// BECN handles one BECN: CCTI = min(CCTI + Increase, Limit), and a restarting timer next expires one period from now. BECN
// reports whether the index has just reached Trigger_Threshold.
func (s *IBState) BECN(now quantity.Picoseconds, p *IBParams) (triggered bool) {
	before := s.Index(now, p)
	if p.Increase == 0 {
		return false
	}
	s.index = min(before+p.Increase, p.Limit)
	if p.Restart && p.Period > 0 {
		s.next = now + p.Period
	}
	return p.Trigger > 0 && before < p.Trigger && s.index >= p.Trigger
}

// IRD is a congestion control table prepared for the data path: entry i is an injection rate delay in eighths of a packet's
// transmission time.
type IRD []uint32

// NewIRD prepares entries 0 to limit of a table. Missing entries mean no delay.
func NewIRD(table []ibcc.Entry, limit uint16) IRD {
	ird := make(IRD, int(limit)+1)
	for i := range ird {
		if i < len(table) {
			e := table[i]
			ird[i] = uint32(e.Multiplier) << (ibcc.MaxShift - min(e.Shift, ibcc.MaxShift))
		}
	}
	return ird
}

// Delay returns the delay after a packet of transmission time t at a CCTI:
// t · multiplier / 2^shift (IBTA annex A10, CongestionControlTable).
func (d IRD) Delay(index uint16, t quantity.Picoseconds) quantity.Picoseconds {
	if int(index) >= len(d) {
		return 0
	}
	return t * quantity.Picoseconds(d[index]) >> ibcc.MaxShift
}

// ReadyAt returns the earliest time at or after end at which the injection rate delay after a burst has passed, unless a BECN
// arrives before. The burst ended at end and took t to transmit. The delay is that of the CCTI at the time of the check, not
// at the time of the burst (as in S1, Algorithm 2), and timer expiries in between are taken into account.
func (s *IBState) ReadyAt(now quantity.Picoseconds, p *IBParams, d IRD, end, t quantity.Picoseconds) quantity.Picoseconds {
	i := s.Index(now, p)
	at := end + d.Delay(i, t)
	if p.Period == 0 {
		return at
	}
	floor := p.floor()
	for tick := s.next; tick < at && i > floor; tick += p.Period {
		i--
		at = max(tick, end+d.Delay(i, t))
	}
	return at
}
