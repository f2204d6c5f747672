package remote

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/command/cmdline"
)

func (c *cli) device() *cobra.Command {
	var plan, driftPlan string
	list := c.verb("device", "list", "  fairlane device list\n  fairlane device list --state failed --name 'host-1*' --all", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.deviceList(cmd, plan) })
	list.Flags().StringVar(&plan, "plan", "", c.t("flag.plan-default"))
	drift := c.verb("device", "drift", "  fairlane device drift && echo all in sync", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.deviceDrift(cmd, driftPlan) })
	drift.Flags().StringVar(&driftPlan, "plan", "", c.t("flag.plan-default"))
	c.ofDevices(list, drift)
	c.long("flag.quiet-devices", list)
	c.long("flag.quiet-drift", drift)
	return c.noun("device", append(c.deviceVerbs(), list, drift)...)
}

func (c *cli) devices(cmd *cobra.Command, plan string) (*gen.DeviceList, error) {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return nil, err
	}
	d, err := found[gen.DeviceList](c)(client.ListDevicesWithResponse(cmd.Context(), fabric, &gen.ListDevicesParams{Plan: given(plan)}))
	if err != nil {
		return nil, err
	}
	if !c.rows.quiet {
		c.say(cmd, "msg.devices", "in_sync", d.InSync, "drifted", d.Drifted, "failed", d.Failed, "plan", short(d.Plan))
		if n := cmdline.OrZero(d.CleanUpPending); n > 0 {
			c.say(cmd, "msg.devices-pending", "count", n)
		}
	}
	d.Items = slices.DeleteFunc(d.Items, c.leavesOut)
	return d, nil
}

func (c *cli) deviceList(cmd *cobra.Command, plan string) error {
	list, err := c.devices(cmd, plan)
	if err != nil {
		return err
	}
	return c.print(cmd, list, func() *table {
		t := c.newTable("device", "kind", "state", "fault")
		for _, d := range list.Items {
			t.addRanked(stateRank(d.State), d.Name, c.t("kind."+string(d.Kind)), c.t("state."+d.State), c.deviceFault(&d))
		}
		return t
	})
}

// deviceFault returns the fault of a device; for one that has left the plan in force, the reason why it is listed.
func (c *cli) deviceFault(d *gen.Device) string {
	fault := c.texts.Either(cmdline.OrZero(d.Error), cmp.Or(d.ErrorSaid, d.Said))
	if cmdline.OrZero(d.Leaving) {
		return cmp.Or(fault, c.texts.Either(cmdline.OrZero(d.Note), d.Said))
	}
	return fault
}

func (c *cli) deviceDrift(cmd *cobra.Command, plan string) error {
	list, err := c.devices(cmd, plan)
	if err != nil {
		return err
	}
	if !c.rows.quiet {
		err = c.print(cmd, list, func() *table { return c.driftTable(list.Items, c.rows.most(cmd)) })
	}
	switch {
	case err != nil || list.Drifted+list.Failed == 0:
		return err
	case list.Failed > 0:
		return errors.New(c.t("err.drift-unread", "drifted", list.Drifted, "failed", list.Failed))
	}
	return errors.New(c.t("err.drift", "drifted", list.Drifted))
}

// driftTable has a row for each difference or, if these exceed most, for each device.
func (c *cli) driftTable(list []gen.Device, most int) *table {
	rows := 0
	for i := range list {
		rows += len(list[i].Differences)
	}
	t := c.newTable("device", "state", "field", "desired>", "observed>", "fault")
	for i := range list {
		d := &list[i]
		state, shown := c.t("state."+d.State), d.Differences
		if len(shown) == 0 && d.State != "in-sync" {
			t.addRanked(stateRank(d.State), d.Name, state, "", "", "", c.deviceFault(d))
		}
		if rows > most && len(shown) > 1 {
			shown = shown[:1]
		}
		for _, x := range shown {
			field := x.Field
			if more := len(d.Differences) - len(shown); more > 0 {
				field += " +" + strconv.Itoa(more)
			}
			fault := cmp.Or(c.texts.Either(cmdline.OrZero(x.Reason), x.Said), c.texts.Either(cmdline.OrZero(d.Error), cmp.Or(d.ErrorSaid, d.Said)), c.texts.Either(cmdline.OrZero(d.Note), d.Said))
			t.addRanked(stateRank(d.State), d.Name, state, field, x.Desired, x.Observed, fault)
		}
	}
	return t
}

// leavesOut reports whether filters or --quiet omit a device.
func (c *cli) leavesOut(d gen.Device) bool {
	return !c.rows.takes(d.Name, d.State) || c.rows.quiet && stateRank(d.State) == 0
}
