package cc

import "fairlane/internal/quantity"

// none always sends at line rate: a fabric with priority flow control only.
type none struct{}

func noneSpec() Spec {
	return Spec{
		Name: "none", Title: "no congestion control: line rate, flow control only", Source: "IEEE 802.1Qbb",
		New: func(Values) (Algorithm, error) { return none{}, nil },
	}
}

func (none) Traits() Traits { return Traits{Quiet: true} }
func (none) Reserve(int)    {}

func (none) Start(_ int32, _ quantity.Picoseconds, f *Flow) Control {
	return Control{Rate: float64(f.LineRate)}
}

func (none) Settle(int32, quantity.Picoseconds, *Control)    {}
func (none) Sent(int32, quantity.Picoseconds, int, *Control) {}
func (none) Ack(int32, *Ack, *Control)                       {}
func (none) Notify(int32, *Notification, *Control)           {}
func (none) Gauges() []string                                { return nil }
func (none) Read(int32, []float64)                           {}
