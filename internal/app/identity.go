package app

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"fairlane/ccconfig/driver"
	"fairlane/subnet/mad"
)

// checkIdentities asks the node behind each device's LID who it is. LIDs come from the snapshot the plan was
// made for; a subnet manager may have given them to others since, and settings must not reach the wrong
// device. A node that does not answer is left to the rollout, which reports it.
func checkIdentities(ctx context.Context, t mad.Transport, devices []driver.Device) error {
	var mu sync.Mutex
	var wrong faults
	var g errgroup.Group
	g.SetLimit(64)
	for i := range devices {
		d := &devices[i]
		g.Go(func() error {
			req := mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)
			resp, err := mad.Call(ctx, t, mad.Target{LID: d.LID}, &req)
			var info mad.NodeInfo
			if err != nil || info.Decode(resp.Data()) != nil || info.NodeGUID == d.ID.Node {
				return nil // silence is the rollout's to report
			}
			mu.Lock()
			defer mu.Unlock()
			wrong = append(wrong, fmt.Errorf("LID %d of %s now belongs to node %s: discover the fabric again and make a new plan", d.LID, d.Name, info.NodeGUID))
			return nil
		})
	}
	_ = g.Wait() // the goroutines return no errors
	return wrong.err()
}
