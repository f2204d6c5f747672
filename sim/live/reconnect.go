package live

import (
	"context"
	"errors"
	"time"

	"fairlane/sim/fabric"
	"fairlane/subnet/ibsim"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/saquery"
)

// reconnectPeriod is how often the applications of a simulated fabric connect anew.
const reconnectPeriod = time.Second

// keepReconnecting gives simulated applications the habit of real ones, whose connection manager asks subnet administration for
// a path at every connection: it makes all flows that belong to a partition connect anew every so often, and
// each takes the service level of the answer. It asks as any client of the fabric does. A fabric without a subnet manager
// has a stand-in, which needs no asking; a flow whose partition has no path stays as it is, as a connection does.
// It returns nil when the context ends.
func (l *InfiniBand) keepReconnecting(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var c *ibsim.Client
	defer func() {
		if c != nil {
			_ = c.Close() // the fabric goes too
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if !l.Devices.Managed() {
			continue
		}
		if c == nil {
			var err error
			if c, err = ibsim.Dial(ctx, l.Server.Addr(), ibsim.Options{}); err != nil {
				c = nil // all slots are taken; next time
				continue
			}
		}
		if err := l.reconnectOnce(ctx, c); errors.Is(err, ibsim.ErrClosed) {
			_ = c.Close()
			c = nil // its slot was given away
		}
	}
}

// connection is what flows with the same path have in common.
type connection struct {
	from, to ident.LID
	pkey     ident.PKey
}

// reconnectOnce asks for the path of each connection once, and moves the flows of those that have one.
func (l *InfiniBand) reconnectOnce(ctx context.Context, t mad.Transport) error {
	flows := map[connection][]fabric.FlowID{}
	var order []connection
	l.Devices.With(func(n *fabric.Network) {
		for id := range fabric.FlowID(n.Flows()) {
			s := n.Flow(id).Spec
			if s.PKey.Base() == 0 {
				continue // its application chooses the service level itself
			}
			from, _ := n.LID(s.Src.Node, s.Src.Port)
			to, _ := n.LID(s.Dst.Node, s.Dst.Port)
			c := connection{from, to, s.PKey}
			if flows[c] == nil {
				order = append(order, c)
			}
			flows[c] = append(flows[c], id)
		}
	})
	own, err := saquery.OwnPort(ctx, t)
	if err != nil || !own.MasterSMLID.IsUnicast() {
		return err
	}
	for _, c := range order {
		if c.from == 0 || c.to == 0 {
			continue // not yet given LIDs
		}
		sl, err := saquery.PathSL(ctx, t, own.MasterSMLID, c.from, c.to, c.pkey)
		if errors.Is(err, ibsim.ErrClosed) || ctx.Err() != nil {
			return err
		}
		if err != nil {
			continue // no path, or the subnet manager is away
		}
		l.Devices.With(func(n *fabric.Network) {
			for _, id := range flows[c] {
				n.SetFlowSL(id, sl)
			}
		})
	}
	return nil
}
