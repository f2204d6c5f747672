package telemetry

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// agents asks the management agents of a fabric's devices, as the options say.
type agents struct {
	t     mad.Transport
	o     Options
	begun time.Time // of the wall clock, for devices without TimeStamp
}

func newAgents(t mad.Transport, o Options) (agents, error) {
	err := o.complete()
	return agents{t: t, o: o, begun: time.Now()}, err
}

// elapsed is the device time that has passed by the wall clock.
func (x *agents) elapsed() quantity.Picoseconds {
	return quantity.Picoseconds(float64(time.Since(x.begun)) * 1000 * x.o.TimeScale)
}

// perf exchanges one attribute of class 0x04: a is sent and becomes the answer.
func (x *agents) perf(ctx context.Context, lid ident.LID, m mad.Method, id mad.AttrID, a mad.Attribute) error {
	req := mad.NewPerf(m, id, 0)
	if err := a.Encode(req.Data()); err != nil {
		return err
	}
	return x.call(ctx, lid, &req, a)
}

// congestion gets one attribute of class 0x21, which a becomes.
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

// each reads devices, so many at the same time; each carries its own error. It fails only when the context ends.
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
