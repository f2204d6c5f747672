package remote

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
)

func (c *cli) rollout() *cobra.Command {
	var f rolloutFlags
	start := c.verb("rollout", "start", "  fairlane rollout start --plan 3f9a61c2 --wait\n  fairlane rollout start --plan 3f9a61c2 --dry-run\n"+
		"  fairlane rollout start --plan 3f9a61c2 --confirm-within 10m --min-utilisation 0.9", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.rolloutStart(cmd, &f) })
	f.add(c, start)
	c.writes(start)
	one := cobra.ExactArgs(1)
	onRollout := func(run func(*cobra.Command, *apiclient.ClientWithResponses, string, int64) error) func(*cobra.Command, []string) error {
		return c.onNumber(c.pick, "err.rollout-id", run)
	}
	var to string
	var wait bool
	back := c.verb("rollout", "roll-back ID", "  fairlane rollout roll-back 7 --dry-run\n  fairlane rollout roll-back 7 --to 3f9a61c2 --wait\n  fairlane rollout roll-back 7 --to baseline", one, onRollout(c.rolloutBack(&to, &wait)))
	c.writes(back)
	back.Flags().StringVar(&to, "to", "", c.t("flag.rollout-to"))
	back.Flags().BoolVar(&wait, "wait", false, c.t("flag.wait"))
	show := c.verb("rollout", "show ID", "  fairlane rollout show 7\n  fairlane rollout show 7 --state failed --all", one, onRollout(c.rolloutShow))
	watch := c.verb("rollout", "watch ID", "  fairlane rollout watch 7\n  fairlane rollout watch 7 --all", one, onRollout(c.follow))
	c.ofDevices(show)
	c.long("flag.quiet-devices", show)
	c.long("flag.quiet-watch", start, watch, back)
	return c.noun("rollout", start, show, watch,
		c.verb("rollout", "list", "  fairlane rollout list", cobra.NoArgs, listed(c, c.pick, c.rolloutPage, c.rolloutTable)),
		c.verb("rollout", "pause ID", "  fairlane rollout pause 7", one, onRollout(c.rolloutPause)),
		c.verb("rollout", "resume ID", "  fairlane rollout resume 7", one, onRollout(c.rolloutResume)),
		c.verb("rollout", "confirm ID", "  fairlane rollout confirm 7", one, onRollout(c.rolloutConfirm)),
		back,
		c.verb("rollout", "cancel ID", "  fairlane rollout cancel 7", one, onRollout(c.rolloutCancel)),
	)
}

func (c *cli) rolloutStart(cmd *cobra.Command, f *rolloutFlags) error {
	if f.plan == "" {
		return c.usage("err.need-flag", "flag", "plan")
	}
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	if err := f.check(c); err != nil {
		return err
	}
	r, err := client.StartRolloutWithResponse(cmd.Context(), fabric, &gen.StartRolloutParams{DryRun: given(c.dry)}, f.body())
	if err := c.judge(r, err); err != nil {
		return err
	}
	if r.JSON200 != nil {
		return c.printPreview(cmd, r.JSON200)
	}
	ro, err := present(c, r, r.JSON202)
	if err != nil {
		return err
	}
	c.say(cmd, "msg.rollout-started", "id", ro.ID, "plan", short(ro.Plan))
	if f.wait {
		return c.follow(cmd, client, fabric, ro.ID)
	}
	return shown(c, cmd, ro, c.rolloutTable)
}

func (c *cli) rolloutTable(list []gen.Rollout) *table {
	t := c.newTable("id>", "plan", "state", "actor", "created", "result")
	for _, r := range list {
		state := c.t("state." + string(r.State))
		if r.State == gen.RolloutStateRunning {
			state = c.t("phase." + string(r.Phase))
			if r.Wish == gen.RolloutWishPause {
				state = c.t("phase.paused")
			}
		}
		t.add(r.ID, short(r.Plan), state, r.Actor, r.CreatedAt.Format(timeFormat), c.texts.Either(r.Result, r.ResultSaid))
	}
	return t
}

func (c *cli) rolloutPage(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[gen.Rollout], error) {
	list, err := found[gen.RolloutList](c)(client.ListRolloutsWithResponse(cmd.Context(), fabric, &gen.ListRolloutsParams{Limit: pageSize(), Cursor: cursor}))
	return (*page[gen.Rollout])(list), err
}

func (c *cli) getRollout(ctx context.Context, client *apiclient.ClientWithResponses, fabric string, id int64) (*gen.Rollout, error) {
	return found[gen.Rollout](c)(client.GetRolloutWithResponse(ctx, fabric, id, &gen.GetRolloutParams{}))
}

func (c *cli) rolloutShow(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, id int64) error {
	ro, err := c.getRollout(cmd.Context(), client, fabric, id)
	if err != nil {
		return err
	}
	return c.showRollout(cmd, ro)
}

// showRollout prints a rollout with its devices, faulty ones first.
func (c *cli) showRollout(cmd *cobra.Command, ro *gen.Rollout) error {
	c.sayStates(cmd, ro)
	ro.Devices = slices.DeleteFunc(ro.Devices, func(d gen.RolloutDevice) bool {
		return !c.rows.takes(d.Name, d.State) || c.rows.quiet && stateRank(d.State) == 0
	})
	return c.print(cmd, ro, func() *table { return c.rolloutTable([]gen.Rollout{*ro}) }, func() *table { return c.rolloutDevices(ro) })
}

func (c *cli) rolloutDevices(ro *gen.Rollout) *table {
	if len(ro.Devices) == 0 {
		return nil
	}
	t := c.newTable("device", "kind", "state", "fault")
	for _, d := range ro.Devices {
		t.addRanked(stateRank(d.State), d.Name, c.t("kind."+string(d.Kind)), c.t(deviceStateKey(ro.State, d.State)), c.texts.Either(cmdline.OrZero(d.Error), d.ErrorSaid))
	}
	return t
}

// sayStates reports the number of a rollout's devices in each state.
func (c *cli) sayStates(cmd *cobra.Command, ro *gen.Rollout) {
	if len(ro.Devices) == 0 || c.rows.quiet {
		return
	}
	states := make([]string, len(ro.Devices))
	for i, d := range ro.Devices {
		states[i] = deviceStateKey(ro.State, d.State)
	}
	c.say(cmd, "msg.rollout-states", "count", len(states), "states", c.counted(states))
}

// deviceStateKey returns the key for the state of a rollout's device. In an ended rollout, a pending device was not
// written.
func deviceStateKey(ro gen.RolloutState, device string) string {
	if device == "pending" && ro != gen.RolloutStateRunning {
		return "state.not-written"
	}
	return "state." + device
}

func (c *cli) rolloutCancel(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, id int64) error {
	if err := c.judge(client.CancelRolloutWithResponse(cmd.Context(), fabric, id, nil)); err != nil {
		return err
	}
	c.say(cmd, "msg.rollout-canceling", "id", id)
	return nil
}
