package app

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"fairlane/ccconfig/driver"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// read exchanges a request for one attribute.
func read(ctx context.Context, t mad.Transport, to mad.Target, req *mad.Packet, a mad.Attribute) error {
	resp, err := mad.Call(ctx, t, to, req)
	if err != nil {
		return err
	}
	return a.Decode(resp.Data())
}

// ownPort reads PortInfo of the port that the transport is attached at.
func ownPort(ctx context.Context, t mad.Transport) (p mad.PortInfo, err error) {
	req := mad.NewDirected(mad.MethodGet, mad.AttrPortInfo, 0)
	err = read(ctx, t, mad.Target{}, &req, &p)
	return p, err
}

// othersAmong refuses to go on when one of the devices is not who it was.
func othersAmong(devices []driver.Device, wrong map[ident.PortID]error) error {
	var list faults
	for i := range devices {
		if err := wrong[devices[i].ID]; err != nil {
			list = append(list, err)
		}
	}
	return list.err()
}

// identities asks the node behind each device's LID who it is, and returns an error for each device that is not the one
// meant. LIDs come from the snapshot the plan was made for; a subnet manager may have given them to others since, and
// settings must not reach the wrong device. A node that does not answer is left to whoever reads it next, who reports it.
func identities(ctx context.Context, t mad.Transport, devices []driver.Device) map[ident.PortID]error {
	var mu sync.Mutex
	wrong := map[ident.PortID]error{}
	var g errgroup.Group
	g.SetLimit(64)
	for i := range devices {
		d := &devices[i]
		g.Go(func() error {
			req := mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)
			var info mad.NodeInfo
			if read(ctx, t, mad.Target{LID: d.LID}, &req, &info) != nil || info.NodeGUID == d.ID.Node {
				return nil // silence is reported by the reading
			}
			mu.Lock()
			defer mu.Unlock()
			wrong[d.ID] = fmt.Errorf("LID %d of %s now belongs to node %s: discover the fabric again and make a new plan", d.LID, d.Name, info.NodeGUID)
			return nil
		})
	}
	_ = g.Wait() // the goroutines return no errors
	return wrong
}
