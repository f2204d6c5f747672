package telemetry

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// agents queries the management agents of a fabric's devices, as the options say.
type agents struct {
	t     mad.Transport
	o     Options
	begun time.Time // by the wall clock, for devices without TimeStamp
}

func newAgents(t mad.Transport, o Options) (agents, error) {
	err := o.complete()
	return agents{t: t, o: o, begun: time.Now()}, err
}

// elapsed returns the elapsed device time by the wall clock.
func (x *agents) elapsed() quantity.Picoseconds {
	return quantity.Picoseconds(float64(time.Since(x.begun)) * 1000 * x.o.TimeScale)
}

// perf exchanges one attribute of class 0x04: it sends a and decodes the answer into a.
func (x *agents) perf(ctx context.Context, lid ident.LID, m mad.Method, id mad.AttrID, a mad.Attribute) error {
	req := mad.NewPerf(m, id, 0)
	if err := a.Encode(req.Data()); err != nil {
		return err
	}
	return x.call(ctx, lid, &req, a)
}

// congestion gets one attribute of class 0x21 and decodes it into a.
func (x *agents) congestion(ctx context.Context, lid ident.LID, id mad.AttrID, a mad.Attribute) error {
	req := mad.NewCC(mad.MethodGet, id, 0, x.o.CCKey)
	return x.call(ctx, lid, &req, a)
}

func (x *agents) call(ctx context.Context, lid ident.LID, req *mad.Packet, a mad.Attribute) error {
	resp, err := mad.Call(ctx, x.t, mad.Target{LID: lid, SL: x.o.SL}, req)
	if err != nil {
		return err
	}
	return a.Decode(resp.Data())
}

// each reads devices, up to parallel concurrently; each device records its own error. It fails only when the context
// ends.
func each[D any](ctx context.Context, devices []D, parallel int, read func(D)) error {
	var g errgroup.Group
	g.SetLimit(parallel)
	for _, d := range devices {
		g.Go(func() error {
			read(d)
			return nil
		})
	}
	_ = g.Wait()
	return ctx.Err()
}
