package remote

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
)

// deviceVerbs returns the commands on one device of the plan in force.
func (c *cli) deviceVerbs() []*cobra.Command {
	one := cobra.ExactArgs(1)
	var live, wait bool
	show := c.verb("device", "show DEVICE", "  fairlane device show host-01\n  fairlane device show 0x0200000000010000:1 --live -o yaml", one,
		c.onName(c.pick, func(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, name string) error {
			return c.deviceShow(cmd, client, fabric, name, live)
		}))
	show.Flags().BoolVar(&live, "live", false, c.t("flag.device-live"))
	can := c.verb("device", "capabilities DEVICE", "  fairlane device capabilities host-01", one, c.onName(c.pick, c.deviceCapabilities))
	var policy string
	set := c.verb("device", "set DEVICE", "  fairlane device set host-01 --policy freeze\n  fairlane device set host-01 --policy inherit", one,
		func(cmd *cobra.Command, args []string) error { return c.deviceSet(cmd, args[0], policy) })
	set.Flags().StringVar(&policy, "policy", "", c.t("flag.device-policy"))
	repair := c.verb("device", "repair DEVICE", "  fairlane device repair host-01 --wait", one,
		c.onName(c.pick, func(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, name string) error {
			return c.deviceRepair(cmd, client, fabric, name, wait)
		}))
	repair.Flags().BoolVar(&wait, "wait", false, c.t("flag.wait"))
	release := c.verb("device", "release DEVICE", "  fairlane device release host-01", one, c.onName(c.pick, c.deviceRelease))
	known := c.verb("device", "known", "  fairlane device known\n  fairlane device known --state quarantined", cobra.NoArgs, c.devicesKnown)
	c.ofDevices(known)
	c.long("flag.quiet-devices", known)
	c.long("flag.quiet-watch", repair)
	c.writes(set, repair, release)
	c.matches(set)
	return []*cobra.Command{show, can, set, repair, release, known}
}

// deviceTable lists devices with the action on drift.
func (c *cli) deviceTable(list []gen.Device) *table {
	t := c.newTable("device", "kind", "state", "policy", "read-at", "read-by", "fault")
	for i := range list {
		d := &list[i]
		t.addRanked(stateRank(d.State), d.Name, c.t("kind."+string(d.Kind)), c.t("state."+d.State), string(cmdline.OrZero(d.Policy)), when(d.ReadAt), cmdline.OrZero(d.ReadBy), c.deviceFault(d))
	}
	return t
}

// when returns a time as text; "" for nil.
func when(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(time.RFC3339)
}

func (c *cli) deviceShow(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, name string, live bool) error {
	d, err := found[gen.Device](c)(client.GetDeviceWithResponse(cmd.Context(), fabric, name, &gen.GetDeviceParams{Read: given(live)}))
	if err != nil {
		return err
	}
	return c.print(cmd, d, func() *table { return c.fieldTable(d) })
}

// deviceCapabilities prints what a device can do, read now.
func (c *cli) deviceCapabilities(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, name string) error {
	d, err := found[gen.DeviceCapabilities](c)(client.GetDeviceCapabilitiesWithResponse(cmd.Context(), fabric, name))
	if err != nil {
		return err
	}
	return c.print(cmd, d, func() *table { return c.fieldTable(d) })
}

// devicesKnown prints the latest readings, with the number of devices in each state.
func (c *cli) devicesKnown(cmd *cobra.Command, _ []string) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	all, err := allOf(cmd, client, fabric, c.devicePage)
	if err != nil {
		return err
	}
	if !c.rows.quiet && len(all) > 0 {
		states := make([]string, len(all))
		for i := range all {
			states[i] = "state." + all[i].State
		}
		c.say(cmd, "msg.devices-known", "count", len(all), "states", c.counted(states))
	}
	all = slices.DeleteFunc(all, c.leavesOut)
	return c.print(cmd, all, func() *table { return c.deviceTable(all) })
}

// devicePage lists the latest reading of each device.
func (c *cli) devicePage(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[gen.Device], error) {
	list, err := found[gen.DeviceList](c)(client.ListDevicesWithResponse(cmd.Context(), fabric, &gen.ListDevicesParams{Read: new(false), Limit: pageSize(), Cursor: cursor}))
	if err != nil {
		return nil, err
	}
	return &page[gen.Device]{list.Items, list.NextCursor}, nil
}

func (c *cli) deviceSet(cmd *cobra.Command, name, policy string) error {
	if !slices.Contains([]string{"inherit", "report", "repair", "freeze"}, policy) {
		return c.usage("err.device-policy", "policy", policy)
	}
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	had, err := client.GetDeviceWithResponse(cmd.Context(), fabric, name, nil)
	if err := c.judge(had, err); err != nil {
		return err
	}
	params := &gen.UpdateDeviceParams{DryRun: given(c.dry), IfMatch: c.ifMatch(had.HTTPResponse.Header.Get("ETag"))}
	d, err := found[gen.Device](c)(client.UpdateDeviceWithResponse(cmd.Context(), fabric, name, params, gen.DeviceUpdate{Policy: gen.DeviceUpdatePolicy(policy)}))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.device-policy", "device", d.Name, "policy", policy)
	return shown(c, cmd, d, c.deviceTable)
}

func (c *cli) deviceRepair(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, name string, wait bool) error {
	ro, err := accepted[gen.Rollout](c)(client.RepairDeviceWithResponse(cmd.Context(), fabric, name, &gen.RepairDeviceParams{DryRun: given(c.dry)}))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.device-repair", "device", name, "id", ro.ID)
	if wait && !c.dry {
		return c.follow(cmd, client, fabric, ro.ID)
	}
	return shown(c, cmd, ro, c.rolloutTable)
}

func (c *cli) deviceRelease(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, name string) error {
	d, err := found[gen.Device](c)(client.ReleaseDeviceWithResponse(cmd.Context(), fabric, name, &gen.ReleaseDeviceParams{DryRun: given(c.dry)}))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.device-released", "device", d.Name)
	return shown(c, cmd, d, c.deviceTable)
}

// driftPolicyFlags are a fabric's drift policy as flags. Only given flags have an effect.
type driftPolicyFlags struct {
	policy                           string
	interval, limit, window, release int
}

// fill copies the given flags into the policy and reports whether there were any.
func (f *driftPolicyFlags) fill(cmd *cobra.Command, p *gen.DriftPolicyUpdate) bool {
	t := &taker{cmd: cmd}
	take(t, "policy", &p.Policy, new(gen.DevicePolicy(f.policy)))
	take(t, "interval", &p.IntervalS, &f.interval)
	take(t, "quarantine-after", &p.QuarantineAfter, &f.limit)
	take(t, "window", &p.WindowS, &f.window)
	take(t, "release", &p.ReleaseS, &f.release)
	return t.any
}

func (c *cli) driftPolicy() *cobra.Command {
	var f driftPolicyFlags
	set := c.verb("drift-policy", "set", "  fairlane drift-policy set --policy repair --interval 60", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.driftPolicySet(cmd, &f) })
	fl := set.Flags()
	fl.StringVar(&f.policy, "policy", "report", c.t("flag.drift-policy"))
	fl.IntVar(&f.interval, "interval", 300, c.t("flag.drift-interval"))
	fl.IntVar(&f.limit, "quarantine-after", 3, c.t("flag.drift-limit"))
	fl.IntVar(&f.window, "window", 3600, c.t("flag.drift-window"))
	fl.IntVar(&f.release, "release", 1800, c.t("flag.drift-release"))
	c.writes(set)
	c.matches(set)
	return c.noun("drift-policy", set, c.verb("drift-policy", "show", "  fairlane drift-policy show", cobra.NoArgs, c.driftPolicyShow))
}

func (c *cli) driftPolicyShow(cmd *cobra.Command, _ []string) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	p, err := found[gen.DriftPolicy](c)(client.GetDriftPolicyWithResponse(cmd.Context(), fabric))
	if err != nil {
		return err
	}
	return c.print(cmd, p, func() *table { return c.fieldTable(p) })
}

// driftPolicySet changes the given fields against the version that it read.
func (c *cli) driftPolicySet(cmd *cobra.Command, f *driftPolicyFlags) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	r, err := client.GetDriftPolicyWithResponse(cmd.Context(), fabric)
	now, err := found[gen.DriftPolicy](c)(r, err)
	if err != nil {
		return err
	}
	next := gen.DriftPolicyUpdate{Policy: &now.Policy, IntervalS: &now.IntervalS, QuarantineAfter: &now.QuarantineAfter, WindowS: &now.WindowS, ReleaseS: &now.ReleaseS}
	if !f.fill(cmd, &next) {
		return c.usage("err.no-change")
	}
	params := &gen.PutDriftPolicyParams{DryRun: given(c.dry), IfMatch: c.ifMatch(r.HTTPResponse.Header.Get("ETag"))}
	p, err := found[gen.DriftPolicy](c)(client.PutDriftPolicyWithResponse(cmd.Context(), fabric, params, next))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.drift-policy", "fabric", fabric, "policy", p.Policy)
	return c.print(cmd, p, func() *table { return c.fieldTable(p) })
}
