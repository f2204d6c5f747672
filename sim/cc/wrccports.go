package cc

import (
	"fmt"
	"math"

	"fairlane/internal/quantity"
	"fairlane/wrcc"
)

// Reweigher is an Algorithm that can change the weights of running flows.
type Reweigher interface {
	Algorithm
	// Reweigh sets the weight of a flow; it must be positive and finite.
	Reweigh(slot int32, weight float64)
}

// WRCCPorts is "wrcc-weighted" for NIC ports with separate settings that may change while flows run. A flow keeps its rate and
// uses the new settings immediately; a timer whose period has changed restarts. Without changes of settings, WRCCPorts behaves
// as "wrcc-weighted".
type WRCCPorts struct {
	ports epochs[WRCCPort]
	flows slots[wrccPortFlow]
}

// WRCCPort holds the settings of a NIC port's senders.
type WRCCPort struct {
	wrcc.SenderParams
	Domain uint16 // number of the data centre
}

type wrccPortFlow struct {
	wrccFlow
	era *epoch[WRCCPort]
}

// NewWRCCPorts returns the congestion control of a number of ports, all with the same settings. It returns an error for a
// number outside 1 to MaxPorts and for settings out of range.
func NewWRCCPorts(ports int, p WRCCPort) (*WRCCPorts, error) {
	if ports < 1 || ports > MaxPorts {
		return nil, fmt.Errorf("%d ports with settings of their own: want 1 to %d", ports, MaxPorts)
	}
	if err := p.Validate(wrcc.MinPeriod); err != nil {
		return nil, err
	}
	return &WRCCPorts{ports: newEpochs(ports, &p)}, nil
}

// Set changes the settings of a port at now, which must not be before the last change. It returns an error for a port that does
// not exist and for settings out of range.
func (w *WRCCPorts) Set(port int, now quantity.Picoseconds, p WRCCPort) error {
	if port < 0 || port >= len(w.ports.current) {
		return fmt.Errorf("port %d: want 0 to %d", port, len(w.ports.current)-1)
	}
	if err := p.Validate(wrcc.MinPeriod); err != nil {
		return err
	}
	if *w.ports.current[port].p != p {
		w.ports.change(port, now, &p)
	}
	return nil
}

var _ Algorithm = (*WRCCPorts)(nil)

func (w *WRCCPorts) Traits() Traits {
	return Traits{DataHeader: wrcc.HeaderSize, AckHeader: wrcc.HeaderSize}
}

func (w *WRCCPorts) Reserve(n int) { w.flows.reserve(n) }

// Start implements Algorithm: the flow uses the settings of its host.
func (w *WRCCPorts) Start(slot int32, now quantity.Picoseconds, f *Flow) Control {
	s := w.flows.at(slot)
	s.era = w.ports.current[f.Host]
	flow := *f
	flow.Domain = s.era.p.Domain
	return s.begin(&s.era.p.SenderParams, now, &flow)
}

// at returns a flow and its settings, both up to date.
func (w *WRCCPorts) at(slot int32) (*wrccFlow, *wrcc.SenderParams) {
	f := w.flows.at(slot)
	for f.era.next != nil {
		was := f.era.p
		f.era = f.era.next
		f.Sender.Settle(&was.SenderParams, f.era.since)
		f.Adopt(&was.SenderParams, &f.era.p.SenderParams, f.era.since)
		f.Move(f.era.p.Domain)
	}
	return &f.wrccFlow, &f.era.p.SenderParams
}

func (w *WRCCPorts) Settle(slot int32, now quantity.Picoseconds, c *Control) {
	s, p := w.at(slot)
	s.Settle(p, now)
	c.Rate = s.Rate()
}

func (w *WRCCPorts) Sent(int32, quantity.Picoseconds, int, *Control) {}

func (w *WRCCPorts) Ack(slot int32, a *Ack, c *Control) {
	s, p := w.at(slot)
	s.acknowledged(p, a, c)
}

func (w *WRCCPorts) Notify(slot int32, n *Notification, c *Control) {
	s, p := w.at(slot)
	s.notified(p, n, c)
}

var _ Stamper = (*WRCCPorts)(nil)

func (w *WRCCPorts) Stamp(slot int32, _ quantity.Picoseconds) Stamp {
	s, p := w.at(slot)
	return s.stamp(p)
}

var _ Reweigher = (*WRCCPorts)(nil)

func (w *WRCCPorts) Reweigh(slot int32, weight float64) {
	s, _ := w.at(slot)
	s.Reweigh(weight)
}

func (w *WRCCPorts) Gauges() []string { return wrccGauges() }

func (w *WRCCPorts) Read(slot int32, dst []float64) {
	s, p := w.at(slot)
	s.gauges(p, dst)
}

// begin initializes a flow.
func (s *wrccFlow) begin(p *wrcc.SenderParams, now quantity.Picoseconds, f *Flow) Control {
	weight := 1.0
	if f.Weight > 0 && !math.IsInf(f.Weight, 0) {
		weight = f.Weight
	}
	s.payload = int32(f.Payload)
	s.Sender = wrcc.NewSender(p, wrcc.SenderFlow{
		Line: float64(f.LineRate), Weight: weight, RTT: f.BaseRTT, Packet: f.Wire, Domain: f.Domain,
	}, now)
	return Control{Rate: s.Rate()}
}

// acknowledged handles an acknowledgement. Sequence numbers are byte positions: the number of an acknowledgement is the end of
// the acknowledged data, so a later one is greater.
func (s *wrccFlow) acknowledged(p *wrcc.SenderParams, a *Ack, c *Control) {
	s.Ack(p, a.Now, a.Seq, a.FairRate, a.Domain)
	c.Rate = s.Rate()
}

// notified handles an FCNP. It identifies the packet by its first byte; the acknowledgement of the same packet is one payload
// later, and is also outdated.
func (s *wrccFlow) notified(p *wrcc.SenderParams, n *Notification, c *Control) {
	if n.Kind != NotifyFCNP {
		return
	}
	s.FCNP(p, n.Now, n.Seq+int64(s.payload), n.FairRate)
	c.Rate = s.Rate()
}

func (s *wrccFlow) stamp(p *wrcc.SenderParams) Stamp {
	h := s.Header(p)
	return Stamp{FairRate: h.FairRate, RTT: h.RTT, Domain: h.Domain, Burst: h.Burst()}
}

func wrccGauges() []string { return []string{"fair_bps", "burst"} }

func (s *wrccFlow) gauges(p *wrcc.SenderParams, dst []float64) {
	dst[0], dst[1] = s.FairRate(), 0
	if h := s.Header(p); h.Burst() {
		dst[1] = 1
	}
}
