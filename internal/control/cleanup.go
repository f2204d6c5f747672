package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/reconcile"
	"fairlane/subnet/ident"
)

// SweepEvery is how often every manager looks for drift, and for a clean-up that is due.
const SweepEvery = 5 * time.Second

// ReadingCleanup is the reading of a device that holds exactly what the plan in force wants and what the plan before needs until
// it is taken back. Devices are recorded as in sync then: neither drift nor an incident.
const ReadingCleanup reconcile.Reading = "clean-up-pending"

// cleanup is what the last rollout of a fabric left on purpose, while the rollout that takes it back is due or runs.
type cleanup struct {
	held    map[ident.PortID]driver.Settings // what devices hold until then, of those that keep something
	left    bool                             // the subnet manager may have placements of the plan before
	rollout int64                            // that takes it back now; 0 while it is due
	waits   string                           // why it does not start; empty when it may
}

// pendingCleanup returns what is left on the devices of a plan in force for a clean-up to come; nil when none is due.
func (s *Service) pendingCleanup(ctx context.Context, k *known) (*cleanup, error) {
	fabric := k.target.Fabric.Name
	var last Rollout
	c := cleanup{waits: k.target.Fabric.WaitingText()}
	err := s.d.Store.View(ctx, func(r Repos) error {
		list, _, err := r.ListRollouts(ctx, fabric, Page{Limit: clearUpLooks})
		if err != nil {
			return err
		}
		if len(list) > 0 && list[0].State == RolloutRunning && list[0].Options.Repair {
			if list[0].clearsUp() {
				c.rollout = list[0].ID
			}
			list = list[1:]
		}
		last, _ = lastPlacing(list)
		return nil
	})
	if err != nil || !last.leaves() {
		return nil, err
	}
	of, back, err := s.heldOver(ctx, last)
	if err != nil || of == nil || of.target.Plan.Name != k.target.Plan.Name {
		return nil, err
	}
	c.left, c.held = true, make(map[ident.PortID]driver.Settings, len(back))
	devices := []RolloutDevice{{Device: reconcile.Manager()}}
	for i := range back {
		if devices = append(devices, RolloutDevice{Device: back[i].Device}); back[i].held != nil {
			c.held[back[i].Device.ID] = *back[i].held
		}
	}
	// A frozen device keeps the clean-up from starting: what it holds is drift like any other.
	err = s.d.Store.View(ctx, func(r Repos) error { return frozen(ctx, r, fabric, devices) })
	if errors.Is(err, ErrConflict) {
		return nil, nil
	}
	return &c, err
}

// note says when what is left is taken back.
func (c *cleanup) note() string {
	if c.rollout != 0 {
		return fmt.Sprintf("keeps what the plan before needs; rollout %d, which runs, takes it back", c.rollout)
	}
	if c.waits != "" {
		return "keeps what the plan before needs; " + c.waits
	}
	return fmt.Sprintf("keeps what the plan before needs; a clean-up, which starts within %s, takes it back", SweepEvery)
}

// tell notes in the reports of devices that differ which of them hold what a clean-up takes back, and nothing else.
func (c *cleanup) tell(reports []DeviceReport) {
	if c == nil {
		return
	}
	for i := range reports {
		x := &reports[i]
		held, ok := c.held[x.Device.ID]
		switch {
		case x.State != string(reconcile.Drifted):
		case IsManager(x.Device) && c.left && x.Leftover,
			ok && x.Observed != nil && len(held.Diff(*x.Observed)) == 0:
			x.State, x.Pending, x.Error = string(reconcile.InSync), c.note(), ""
		}
	}
}

// show notes on devices of which nothing is read now which of those that were left in sync keep something of the plan before.
func (c *cleanup) show(list []DeviceView) {
	if c == nil {
		return
	}
	for i := range list {
		v := &list[i]
		if held, ok := c.held[v.Device.ID]; ok && v.Watch.Reading == reconcile.ReadingInSync {
			v.Watch.Reading, v.Observed = ReadingCleanup, &held
			v.Note = cmp.Or(v.Note, c.note())
			v.judge()
		}
	}
}

// clearsUp reports whether a rollout takes back what the one before it left.
func (ro *Rollout) clearsUp() bool {
	return ro.Options.Repair && slices.Contains(ro.Stages, StagePlacement) && !ro.Options.Manager
}
