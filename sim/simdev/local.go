package simdev

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Retransmission of Local, in wall time; messages are lost only by injected faults.
const (
	localTries   = 3
	localTimeout = 20 * time.Millisecond
)

// Local is a mad.Transport within the process, attached to one port of the fabric. It is safe for concurrent use and needs no
// Close.
type Local struct {
	dev  *Devices
	from subnet.PortRef
	tid  atomic.Uint32
}

// Local attaches to an end port: a channel adapter's port or a switch's port 0.
func (d *Devices) Local(from subnet.PortRef) (*Local, error) {
	if !d.topo.Valid(from) || !d.endPort(from) {
		return nil, fmt.Errorf("node %d port %d: want a channel adapter's port or port 0 of a switch", from.Node, from.Port)
	}
	return &Local{dev: d, from: from}, nil
}

// Exchange implements mad.Transport. An undeliverable message returns an error immediately, a lost message after three
// attempts.
func (l *Local) Exchange(ctx context.Context, to mad.Target, request *mad.Packet) (mad.Packet, error) {
	if directed := request.Class() == mad.ClassSubnDR; directed != (to.LID == 0) {
		return mad.Packet{}, fmt.Errorf("%s: %s: want a LID, or a directed-route packet and a path", to, request.Class())
	}
	req := *request
	req.SetTID(uint64(l.tid.Add(1)))
	base := Message{DLID: to.LID, DQP: ident.QPN(req.Class().QPN()), SQP: ident.QPN(req.Class().QPN())}
	if to.LID == 0 {
		if err := req.SetRoute(to.Path); err != nil {
			return mad.Packet{}, err
		}
		base.DLID, base.SLID = ident.PermissiveLID, ident.PermissiveLID
	}
	base.MAD = req
	for range localTries {
		m := base
		v := l.dev.Handle(l.from, &m)
		wait := localTimeout
		switch v.Outcome {
		case Replied:
			if v.Delay < localTimeout {
				if err := sleep(ctx, v.Delay); err != nil {
					return mad.Packet{}, err
				}
				return m.MAD, nil
			}
		case Undeliverable, Forwarded:
			return mad.Packet{}, fmt.Errorf("%s: %s: %w", to, v.Outcome, mad.ErrTimeout)
		}
		if err := sleep(ctx, wait); err != nil {
			return mad.Packet{}, err
		}
	}
	return mad.Packet{}, fmt.Errorf("%s: %d tries: %w", to, localTries, mad.ErrTimeout)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
