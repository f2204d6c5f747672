package site

import (
	"context"
	"sync"
	"time"

	"fairlane/ccconfig/ibprofile"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/telemetry"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Measure measures the shares of a target's tenants. The window is in the fabric's own time.
func (p *Access) Measure(ctx context.Context, t control.Target, window time.Duration) (control.Shares, error) {
	leave, err := p.measuring.enter(ctx, t.Fabric.Source)
	if err != nil {
		return control.Shares{}, err
	}
	defer leave()
	now := p.Settings()
	s, err := p.open(ctx, &now, t)
	if err != nil {
		return control.Shares{}, err
	}
	defer func() { _ = s.close() }() // the slot is released in any case
	r, err := s.measure(ctx, quantity.Elapsed(window))
	if err != nil {
		return control.Shares{}, err
	}
	sh := sharesOf(t, &r)
	sh.Cost = new(s.cost())
	return sh, nil
}

// turns lets one measurement at a time read the counters of a fabric: two that clear 32-bit counters would disturb each other. The zero
// value is ready.
type turns struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // by source; closed when its measurement ends
}

// enter waits for the turn of a source, or the end of the context.
func (t *turns) enter(ctx context.Context, source string) (leave func(), err error) {
	for {
		t.mu.Lock()
		other, taken := t.busy[source]
		if !taken {
			mine := make(chan struct{})
			if t.busy == nil {
				t.busy = map[string]chan struct{}{}
			}
			t.busy[source] = mine
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.busy, source)
				t.mu.Unlock()
				close(mine)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// measure reads the counters of InfiniBand ports.
func (p *Access) measure(ctx context.Context, now *Settings, transport mad.Transport, t control.Target, window quantity.Picoseconds) (telemetry.Report, error) {
	where, err := telemetry.PortsOf(t.Plan, t.Topology)
	if err != nil {
		return telemetry.Report{}, err
	}
	if len(where) == 0 { // a plan that removes everything has no ports
		return telemetry.Shares(t.Plan, telemetry.Window{}), nil
	}
	c, err := telemetry.New(transport, where, p.counting(now, t))
	if err != nil {
		return telemetry.Report{}, err
	}
	since, err := p.watchCongestion(ctx, now, transport, t)
	if err != nil {
		return telemetry.Report{}, err
	}
	w, err := c.Measure(ctx, window)
	if err != nil {
		return telemetry.Report{}, err
	}
	r := telemetry.Shares(t.Plan, w)
	events := since()
	if events != nil {
		l := telemetry.JudgeBECN(events, r.Links)
		r.Loop = &l
	}
	telemetry.JudgeBECNs(t.Plan, &w, events, &telemetry.Traffic{Flows: t.Flows, Limits: limitsOf(&t), Restarts: restarts(now, t)}, &r)
	return r, nil
}

func limitsOf(t *control.Target) telemetry.Limits {
	return telemetry.Limits{Caps: t.Caps(), Down: t.Down()}
}

// restarts returns whether every BECN restarts the timer of an adapter port, by the profile that its settings were made with.
func restarts(now *Settings, t control.Target) func(*policy.CAPlan) bool {
	return func(c *policy.CAPlan) bool {
		if c.Profile == "" || c.Profile == ibprofile.GenericAdapter {
			return t.Options.TimerRestart
		}
		p, ok := now.models.set.Lookup(c.Profile)
		return ok && p.Adapter.TimerRestart
	}
}

// counting returns the options for reading the counters of a fabric.
func (p *Access) counting(now *Settings, t control.Target) telemetry.Options {
	return telemetry.Options{CCKey: now.CCKey, TimeScale: t.Fabric.TimeScale, Patience: p.Patience, KeepCounters: t.Fabric.Counters == control.CountersKeep, Clears: p.cleared.of(t.Fabric.Source)}
}

// watchCongestion starts counting congestion-control events. The returned function reports the events since to
// p.Congested and returns them: nil if they could not be read.
func (p *Access) watchCongestion(ctx context.Context, now *Settings, transport mad.Transport, t control.Target) (since func() *telemetry.Congestion, err error) {
	w, err := telemetry.NewCongestionWatch(transport, t.Plan, t.Topology, telemetry.CongestionOptions{
		Options: p.counting(now, t),
		Layout:  func(id ident.PortID) mad.CCLayout { return now.models.layout(t.Topology, id) },
	})
	if err != nil {
		return nil, err
	}
	if _, err = w.Read(ctx); err != nil { // the baseline
		return nil, err
	}
	return func() *telemetry.Congestion {
		c, err := w.Read(ctx)
		if err != nil { // the context ended, which the measurement survived
			return nil
		}
		if p.Congested != nil {
			p.Congested(c)
		}
		return c
	}, nil
}

func sharesOf(t control.Target, r *telemetry.Report) control.Shares {
	out := control.Shares{
		Plan: t.Plan.Name, Window: r.Window.Duration(), MeasuredAt: time.Now().UTC(),
		MaxShareError: r.MaxShareError, Jain: r.Jain,
	}
	if r.Coverage > 0 {
		out.Coverage = &r.Coverage
	}
	if l := r.Loop; l != nil {
		out.Loop = &control.CongestionLoop{State: control.LoopState(l.State), Stage: string(l.Stage), Where: l.Where, Text: l.Text.String(), Said: &l.Text}
	}
	for _, x := range r.Tenants {
		out.Tenants = append(out.Tenants, control.TenantShare{
			Tenant: x.Tenant, Weight: x.Weight, Entitled: x.Entitled, Delivered: x.Delivered, ShareError: x.ShareError, Problem: english(x.Problem), Said: x.Problem,
			AtSenders: x.AtSenders, Ambiguous: x.Ambiguous, Contended: contended(x.Contention, x.EntitledNow, x.Received), Limit: x.Limit,
		})
	}
	for i, x := range r.Links {
		out.Links = append(out.Links, control.LinkUse{
			Port: x.Port, Peer: t.Plan.Links[i].Peer, Name: x.Name, Capacity: x.Capacity, Delivered: x.Used, Use: x.Utilisation, Problem: english(x.Problem), Said: x.Problem,
			Tenants: linkTenants(x.Tenants), FairRate: x.FairRate,
		})
	}
	out.Ports = portsOf(r.Ports)
	return out
}

func portsOf(list []telemetry.PortActivity) []control.PortActivity {
	var out []control.PortActivity
	for _, x := range list {
		p := control.PortActivity{Port: x.Port, Name: x.Name, Sent: x.Sent, Counts: countsOf(x.Counts), Senders: x.Senders, Err: x.Err}
		for _, f := range x.Functions {
			p.Functions = append(p.Functions, control.FunctionActivity{Index: f.Index, Tenant: f.Tenant, Sent: f.Sent, Counts: countsOf(f.Counts)})
		}
		out = append(out, p)
	}
	return out
}

func countsOf(list []telemetry.PortCount) []control.PortCount {
	out := make([]control.PortCount, len(list))
	for i, x := range list {
		out[i] = control.PortCount{Kind: string(x.Kind), PerSecond: x.PerSecond}
		if x.Kind.HasLane() {
			out[i].Lane = &list[i].Lane
		}
	}
	return out
}

func linkTenants(list []telemetry.LinkTenant) []control.LinkTenant {
	out := make([]control.LinkTenant, len(list))
	for i, x := range list {
		out[i] = control.LinkTenant{Tenant: x.Tenant, Entitled: x.Entitled, Delivered: x.Delivered, Contended: contended(x.Contention, x.EntitledNow, x.Received)}
	}
	return out
}

func contended(c telemetry.Contention, now *quantity.BitRate, received *float64) control.Contended {
	return control.Contended{Contention: string(c), EntitledNow: now, Received: received}
}

// english returns a sentence in English; "" for nil.
func english(t *phrase.Text) string {
	if t == nil {
		return ""
	}
	return t.String()
}
