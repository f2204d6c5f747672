package site

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/prereq"
	"fairlane/internal/joined"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/saquery"
)

// othersAmong returns an error if another node has taken the place of any device.
func othersAmong(devices []driver.Device, wrong map[ident.PortID]error) error {
	var list joined.Errors
	for i := range devices {
		if err := wrong[devices[i].ID]; err != nil {
			list = append(list, err)
		}
	}
	return list.OrNil()
}

// identityGuard is a driver of devices at LIDs. It verifies the GUID of the node behind a LID before any access: LIDs come from the
// snapshot that the plan was made for, the subnet manager may have assigned them to other nodes since, and settings must not reach
// the wrong device. It is safe for concurrent use.
type identityGuard struct {
	driver.Driver
	transport mad.Transport

	mu    sync.Mutex
	known map[ident.PortID]bool
}

var (
	_ driver.Driver   = (*identityGuard)(nil)
	_ driver.Examiner = (*identityGuard)(nil)
)

// check queries the identity of a device until it was confirmed once.
func (c *identityGuard) check(ctx context.Context, d driver.Device) error {
	c.mu.Lock()
	known := c.known[d.ID]
	c.mu.Unlock()
	if known {
		return nil
	}
	req := mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)
	var info mad.NodeInfo
	if err := saquery.Read(ctx, c.transport, mad.Target{LID: d.LID}, &req, &info); err != nil {
		return fmt.Errorf("%w: the node at LID %d does not say whether it is %s: %w", driver.ErrUnreachable, d.LID, d.Name, err)
	}
	if info.NodeGUID != d.ID.Node {
		return &otherNodeError{device: d, found: info.NodeGUID}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[d.ID] = true
	return nil
}

// others finds those of some devices in whose place another node is. It skips devices that do not answer; they are
// queried again when they are next read or written.
func (c *identityGuard) others(ctx context.Context, devices []driver.Device) map[ident.PortID]error {
	var mu sync.Mutex
	wrong := map[ident.PortID]error{}
	var g errgroup.Group
	g.SetLimit(64)
	for _, d := range devices {
		g.Go(func() error {
			var other *otherNodeError
			if err := c.check(ctx, d); errors.As(err, &other) {
				mu.Lock()
				defer mu.Unlock()
				wrong[d.ID] = err
			}
			return nil
		})
	}
	_ = g.Wait() // the goroutines return no errors
	return wrong
}

// otherNodeError reports another node in the place of a device.
type otherNodeError struct {
	device driver.Device
	found  ident.GUID
}

// Error names the device and the node.
func (e *otherNodeError) Error() string {
	return fmt.Sprintf("LID %d of %s now belongs to node %s: discover the fabric again and make a new plan", e.device.LID, e.device.Name, e.found)
}

func (c *identityGuard) Capabilities(ctx context.Context, d driver.Device) (driver.Capabilities, error) {
	if err := c.check(ctx, d); err != nil {
		return driver.Capabilities{}, err
	}
	return c.Driver.Capabilities(ctx, d)
}

func (c *identityGuard) Read(ctx context.Context, d driver.Device) (driver.Settings, error) {
	if err := c.check(ctx, d); err != nil {
		return driver.Settings{}, err
	}
	return c.Driver.Read(ctx, d)
}

func (c *identityGuard) Apply(ctx context.Context, d driver.Device, want driver.Settings) (driver.Receipt, error) {
	if err := c.check(ctx, d); err != nil {
		return driver.Receipt{}, driver.Unsent(err)
	}
	return c.Driver.Apply(ctx, d, want)
}

func (c *identityGuard) Examine(ctx context.Context, d driver.Device, got driver.Settings, n prereq.Needs) ([]prereq.Item, error) {
	if err := c.check(ctx, d); err != nil {
		return nil, err
	}
	return driver.Examine(ctx, c.Driver, d, got, &n), nil
}
