package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
)

func (c *cli) rollout() *cobra.Command {
	var f rolloutFlags
	start := c.verb("rollout", "start", "  fairlane rollout start --plan 3f9a61c2 --wait\n  fairlane rollout start --plan 3f9a61c2 --dry-run\n"+
		"  fairlane rollout start --plan 3f9a61c2 --confirm-within 10m --min-utilisation 0.9", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.rolloutStart(cmd, &f) })
	f.add(c, start)
	c.writes(start)
	one := cobra.ExactArgs(1)
	onRollout := func(run func(*cobra.Command, *gen.ClientWithResponses, string, int64) error) func(*cobra.Command, []string) error {
		return c.onNumber(c.pick, "err.rollout-id", run)
	}
	var to string
	var wait bool
	back := c.verb("rollout", "roll-back ID", "  fairlane rollout roll-back 7\n  fairlane rollout roll-back 7 --to 3f9a61c2 --wait\n  fairlane rollout roll-back 7 --to baseline", one, onRollout(c.rolloutBack(&to, &wait)))
	back.Flags().StringVar(&to, "to", "", c.t("flag.rollout-to"))
	back.Flags().BoolVar(&wait, "wait", false, c.t("flag.wait"))
	return c.noun("rollout", start,
		c.verb("rollout", "list", "  fairlane rollout list", cobra.NoArgs, listed(c, c.pick, c.rolloutPage, c.rolloutTable)),
		c.verb("rollout", "show ID", "  fairlane rollout show 7", one, onRollout(c.rolloutShow)),
		c.verb("rollout", "watch ID", "  fairlane rollout watch 7", one, onRollout(c.follow)),
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
	ro := r.JSON202
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
		t.add(r.ID, short(r.Plan), state, r.Actor, r.CreatedAt.Format(timeFormat), r.Result)
	}
	return t
}

func (c *cli) rolloutPage(cmd *cobra.Command, client *gen.ClientWithResponses, fabric string, cursor *string) (*page[gen.Rollout], error) {
	list, err := found[gen.RolloutList](c)(client.ListRolloutsWithResponse(cmd.Context(), fabric, &gen.ListRolloutsParams{Limit: pageSize(), Cursor: cursor}))
	return (*page[gen.Rollout])(list), err
}

func (c *cli) getRollout(ctx context.Context, client *gen.ClientWithResponses, fabric string, id int64) (*gen.Rollout, error) {
	return found[gen.Rollout](c)(client.GetRolloutWithResponse(ctx, fabric, id, &gen.GetRolloutParams{}))
}

func (c *cli) rolloutShow(cmd *cobra.Command, client *gen.ClientWithResponses, fabric string, id int64) error {
	ro, err := c.getRollout(cmd.Context(), client, fabric, id)
	if err != nil {
		return err
	}
	return c.showRollout(cmd, ro)
}

func (c *cli) showRollout(cmd *cobra.Command, ro *gen.Rollout) error {
	return c.print(cmd, ro, func() *table { return c.rolloutTable([]gen.Rollout{*ro}) }, func() *table {
		if len(ro.Devices) == 0 {
			return nil
		}
		t := c.newTable("device", "kind", "state", "fault")
		for _, d := range ro.Devices {
			t.add(d.Name, c.t("kind."+string(d.Kind)), c.t(deviceStateKey(ro.State, d.State)), orZero(d.Error))
		}
		return t
	})
}

// deviceStateKey is the phrase for a device of a rollout. One that waits in a rollout that has ended waits for nothing.
func deviceStateKey(ro gen.RolloutState, device string) string {
	if device == "pending" && ro != gen.RolloutStateRunning {
		return "state.not-written"
	}
	return "state." + device
}

func (c *cli) rolloutCancel(cmd *cobra.Command, client *gen.ClientWithResponses, fabric string, id int64) error {
	if err := c.judge(client.CancelRolloutWithResponse(cmd.Context(), fabric, id, nil)); err != nil {
		return err
	}
	c.say(cmd, "msg.rollout-canceling", "id", id)
	return nil
}

// pollEvery is the pause between looks at a running rollout.
const pollEvery = 250 * time.Millisecond

// endsWithin is how long a confirmed rollout is waited for.
const endsWithin = 5 * time.Second

// follow prints a rollout's events as they come, on standard error, and the rollout at its end. It
// outlives a service that does not answer for a while, and fails when the rollout did not succeed.
func (c *cli) follow(cmd *cobra.Command, client *gen.ClientWithResponses, fabric string, id int64) error {
	var cursor *string
	if _, err := c.getRollout(cmd.Context(), client, fabric, id); err != nil {
		return err // patience is for a watch that has begun
	}
	for {
		// The state is read before the events: when it is final no event can be missed.
		var ro *gen.Rollout
		err := c.patiently(cmd, func() (err error) { ro, err = c.getRollout(cmd.Context(), client, fabric, id); return err })
		if err != nil {
			return err
		}
		err = c.patiently(cmd, func() (err error) { cursor, err = c.news(cmd, client, fabric, id, cursor); return err })
		if err != nil {
			return err
		}
		if ro.State != gen.RolloutStateRunning {
			c.say(cmd, "msg.rollout-ended", "id", id, "state", c.t("state."+string(ro.State)), "result", clean(ro.Result))
			if ro.State == gen.RolloutStateRefused {
				c.say(cmd, "msg.rollout-refused-hint", "fabric", fabric, "plan", short(ro.Plan))
			}
			if err := c.showRollout(cmd, ro); err != nil {
				return err
			}
			if ro.State != gen.RolloutStateSucceeded {
				return errors.New(c.t("err.not-succeeded", "id", id))
			}
			return nil
		}
		if err := pause(cmd.Context(), pollEvery); err != nil {
			c.say(cmd, "msg.rollout-goes-on", "id", id)
			return err
		}
	}
}

// news prints the events after cursor and returns the new cursor, with an error too.
func (c *cli) news(cmd *cobra.Command, client *gen.ClientWithResponses, fabric string, id int64, cursor *string) (*string, error) {
	for {
		list, err := found[gen.EventList](c)(client.ListRolloutEventsWithResponse(cmd.Context(), fabric, id, &gen.ListRolloutEventsParams{Limit: pageSize(), Cursor: cursor}))
		if err != nil {
			return cursor, err
		}
		for _, e := range list.Items {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s  %s\n", e.At.Format("15:04:05.000"), clean(e.Message))
			if e.Kind == "rollout.confirming" {
				c.say(cmd, "msg.rollout-confirm-hint", "id", id)
			}
		}
		if cursor = &list.LastCursor; list.NextCursor == nil {
			return cursor, nil
		}
	}
}

// pause waits, or ends early with the context.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
