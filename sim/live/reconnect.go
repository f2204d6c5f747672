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

// reconnectPeriod is the period of the reconnections of a simulated fabric's applications.
const reconnectPeriod = time.Second

// keepReconnecting makes simulated applications behave like real ones, whose connection manager asks subnet administration for
// a path at every connection. It periodically reconnects all flows that belong to a partition, and each takes the service level
// of the answer. It queries as any client of the fabric does. A fabric without a subnet manager has a built-in stand-in, which
// needs no query. A flow whose partition has no path does not change, as an existing connection would not. keepReconnecting
// returns nil when the context ends.
func (l *InfiniBand) keepReconnecting(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var c *ibsim.Client
	defer func() {
		if c != nil {
			_ = c.Close() // the fabric ends too
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
				c = nil // all slots are in use; try again next time
				continue
			}
		}
		if err := l.reconnectOnce(ctx, c); errors.Is(err, ibsim.ErrClosed) {
			_ = c.Close()
			c = nil // another client now uses the slot of this client
		}
	}
}

// connection holds the common properties of flows with the same path.
type connection struct {
	from, to ident.LID
	pkey     ident.PKey
}

// reconnectOnce queries the path of each connection once. If it gets an answer, it moves the flows of the connection.
func (l *InfiniBand) reconnectOnce(ctx context.Context, t mad.Transport) error {
	flows := map[connection][]fabric.FlowID{}
	var order []connection
	l.Devices.With(func(n *fabric.Network) {
		for id := range fabric.FlowID(n.Flows()) {
			s := n.Flow(id).Spec
			if s.PKey.Base() == 0 {
				continue // the application selects the service level itself
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
			continue // no LIDs yet
		}
		sl, err := saquery.PathSL(ctx, t, own.MasterSMLID, c.from, c.to, c.pkey)
		if errors.Is(err, ibsim.ErrClosed) || ctx.Err() != nil {
			return err
		}
		if err != nil {
			continue // no path, or no subnet manager
		}
		l.Devices.With(func(n *fabric.Network) {
			for _, id := range flows[c] {
				n.SetFlowSL(id, sl)
			}
		})
	}
	return nil
}
