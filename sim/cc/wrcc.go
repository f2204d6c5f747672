package cc

import (
	"fairlane/internal/quantity"
	"fairlane/wrcc"
)

// wrccControl is WRCC's sender (S0, Algorithm 2) for many flows. The fabric implements the switches and computes the fair rate
// of each port with package wrcc.
type wrccControl struct {
	params   wrcc.SenderParams
	weighted bool
	flows    slots[wrccFlow]
}

type wrccFlow struct {
	wrcc.Sender
	payload int32 // bytes in a full packet
}

// wrccSpec is WRCC as published: one fair rate for all flows of a port.
func wrccSpec() Spec {
	return Spec{
		Name:   "wrcc",
		Title:  "WRCC: switches compute a fair rate, near ones notify senders at once",
		Source: "Congestion control for RDMA with end-network collaboration (S0), Algorithms 1 and 2",
		Params: wrccParams(false, wrcc.IncreaseTimer, wrcc.DefaultFmin),
		New:    newWRCC,
	}
}

// wrccWeightedSpec is WRCC with shares proportional to weights.
func wrccWeightedSpec() Spec {
	return Spec{
		Name:   "wrcc-weighted",
		Title:  "weighted WRCC: shares in proportion to weight, same switches",
		Source: "WRCC (S0) with rates normalised by the flow's weight, and package wrcc, IncreaseAsk",
		Params: wrccParams(true, wrcc.IncreaseAsk, wrcc.MinFairRate),
		New:    newWRCC,
	}
}

func wrccParams(weighted bool, inc wrcc.Increase, least quantity.BitRate) []Param {
	on := 0.0
	if weighted {
		on = 1
	}
	return []Param{
		{
			Name: "t1", Kind: ParamDuration, Default: float64(24 * quantity.Microsecond),
			Min: float64(wrcc.MinPeriod), Max: float64(wrcc.MaxTimer),
			Doc: "period of the increase timer; at least the switches' sampling period WRCCT (S0, section 3.6)",
		},
		{
			Name: "min_rate", Kind: ParamRate, Default: float64(least),
			Min: float64(wrcc.MinFairRate), Max: float64(quantity.MaxBitRate),
			Doc: "rate that a flow always may send, bit/s of wire bytes; S0 has it in the switches' Fmin only",
		},
		{
			Name: "weighted", Kind: ParamFlag, Default: on,
			Doc: "divide stamped rates by the flow's weight and multiply fair rates by it; false treats all flows as weight 1",
		},
		{
			Name: "increase", Kind: ParamWord, Default: float64(inc), Words: []string{"timer", "ask"},
			Doc: "timer: T1 doubles the rate until the next acknowledgement (S0, Algorithm 2); ask: packets carry twice the rate as the rate asked for",
		},
	}
}

func newWRCC(v Values) (Algorithm, error) {
	return &wrccControl{
		params:   wrcc.SenderParams{T1: v.Span("t1"), MinRate: v["min_rate"], Increase: wrcc.Increase(v["increase"])},
		weighted: v.Flag("weighted"),
	}, nil
}

func (w *wrccControl) Traits() Traits {
	return Traits{DataHeader: wrcc.HeaderSize, AckHeader: wrcc.HeaderSize}
}

func (w *wrccControl) Reserve(n int) {
	w.flows.reserve(n)
}

func (w *wrccControl) Start(slot int32, now quantity.Picoseconds, f *Flow) Control {
	flow := *f
	if !w.weighted {
		flow.Weight = 1
	}
	return w.flows.at(slot).begin(&w.params, now, &flow)
}

func (w *wrccControl) Settle(slot int32, now quantity.Picoseconds, c *Control) {
	s := w.flows.at(slot)
	s.Settle(&w.params, now)
	c.Rate = s.Rate()
}

func (w *wrccControl) Sent(int32, quantity.Picoseconds, int, *Control) {}

func (w *wrccControl) Ack(slot int32, a *Ack, c *Control) {
	w.flows.at(slot).acknowledged(&w.params, a, c)
}

func (w *wrccControl) Notify(slot int32, n *Notification, c *Control) {
	w.flows.at(slot).notified(&w.params, n, c)
}

// Stamp returns the INT header of the next data packet.
func (w *wrccControl) Stamp(slot int32, _ quantity.Picoseconds) Stamp {
	return w.flows.at(slot).stamp(&w.params)
}

func (w *wrccControl) Gauges() []string { return wrccGauges() }

func (w *wrccControl) Read(slot int32, dst []float64) { w.flows.at(slot).gauges(&w.params, dst) }
