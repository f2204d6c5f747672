package remote

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
)

// rolloutFlags are the limits of a rollout, as flags.
type rolloutFlags struct {
	plan   string
	stages []string
	wait   bool

	domain                                          string
	canary, wave, shard, parallel, budget, attempts int
	confirm, measure                                time.Duration
	verify                                          bool
	maxShareError, minUtilisation                   float64
}

// add defines the flags.
func (f *rolloutFlags) add(c *cli, cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.plan, "plan", "", c.t("flag.plan"))
	fl.StringSliceVar(&f.stages, "stage", nil, c.t("flag.stage"))
	fl.BoolVar(&f.wait, "wait", false, c.t("flag.wait"))
	fl.StringVar(&f.domain, "domain", "", c.t("flag.rollout-domain"))
	fl.IntVar(&f.canary, "canary", 0, c.t("flag.rollout-canary"))
	fl.IntVar(&f.wave, "wave", 0, c.t("flag.rollout-wave"))
	fl.IntVar(&f.shard, "shard", 0, c.t("flag.rollout-shard"))
	fl.IntVar(&f.parallel, "parallel", 0, c.t("flag.rollout-parallel"))
	fl.IntVar(&f.budget, "failure-budget", 0, c.t("flag.rollout-failure-budget"))
	fl.IntVar(&f.attempts, "attempts", 0, c.t("flag.rollout-attempts"))
	fl.DurationVar(&f.confirm, "confirm-within", 0, c.t("flag.rollout-confirm-within"))
	fl.BoolVar(&f.verify, "verify-shares", false, c.t("flag.rollout-verify-shares"))
	fl.Float64Var(&f.maxShareError, "max-share-error", 0, c.t("flag.rollout-max-share-error"))
	fl.Float64Var(&f.minUtilisation, "min-utilisation", 0, c.t("flag.rollout-min-utilisation"))
	fl.DurationVar(&f.measure, "measure", 0, c.t("flag.rollout-measure"))
}

// check rejects durations that the request would round to zero: the requested safeguard would be silently missing.
func (f *rolloutFlags) check(c *cli) error {
	switch {
	case f.confirm%time.Second != 0:
		return c.usage("err.rollout-confirm", "found", f.confirm)
	case f.measure%time.Millisecond != 0:
		return c.usage("err.window", "flag", "measure", "found", f.measure)
	case f.verify && f.confirm == 0:
		return c.usage("err.rollout-verify")
	}
	return nil
}

// body builds the request from the flags.
func (f *rolloutFlags) body() gen.RolloutCreate {
	body := gen.RolloutCreate{Plan: f.plan}
	for _, s := range f.stages {
		body.Stages = append(body.Stages, gen.Stage(s))
	}
	o := gen.RolloutOptions{
		Canary: given(f.canary), Wave: given(f.wave), Shard: given(f.shard), Parallel: given(f.parallel),
		FailureBudget: given(f.budget), Attempts: given(f.attempts), Domain: given(gen.RolloutOptionsDomain(f.domain)),
		ConfirmWindowS: given(int(f.confirm / time.Second)), VerifyShares: given(f.verify),
		MaxShareError: given(f.maxShareError), MinUtilisation: given(f.minUtilisation), MeasureWindowMs: given(int(f.measure / time.Millisecond)),
	}
	if o != (gen.RolloutOptions{}) {
		body.Options = &o
	}
	return body
}

// printPreview shows the waves of a rollout that was not started.
func (c *cli) printPreview(cmd *cobra.Command, p *gen.RolloutPreview) error {
	c.say(cmd, "msg.rollout-preview", "devices", p.Devices, "waves", len(p.Waves))
	return c.print(cmd, p, func() *table {
		t := c.newTable("wave>", "kind", "count>", "devices")
		for i, w := range p.Waves {
			kind := c.t("wave.wave")
			if w.Canary {
				kind = c.t("wave.canary")
			}
			t.add(i+1, kind, len(w.Devices), some(w.Devices))
		}
		return t
	})
}

// some returns the first few names of a list.
func some(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, " ")
	}
	return strings.Join(names[:most], " ") + " … +" + strconv.Itoa(len(names)-most)
}

// steered reports a request to a rollout and shows the rollout; it returns an error unchanged.
func (c *cli) steered(cmd *cobra.Command, key string, ro *gen.Rollout, err error) error {
	if err != nil {
		return err
	}
	c.say(cmd, key, "id", ro.ID)
	return shown(c, cmd, ro, c.rolloutTable)
}

func (c *cli) rolloutPause(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, id int64) error {
	ro, err := accepted[gen.Rollout](c)(client.PauseRolloutWithResponse(cmd.Context(), fabric, id, nil))
	return c.steered(cmd, "msg.rollout-pausing", ro, err)
}

func (c *cli) rolloutResume(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, id int64) error {
	ro, err := accepted[gen.Rollout](c)(client.ResumeRolloutWithResponse(cmd.Context(), fabric, id, nil))
	return c.steered(cmd, "msg.rollout-resumed", ro, err)
}

func (c *cli) rolloutConfirm(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, id int64) error {
	ro, err := accepted[gen.Rollout](c)(client.ConfirmRolloutWithResponse(cmd.Context(), fabric, id, nil))
	if err != nil {
		return err
	}
	c.say(cmd, "msg.rollout-confirmed", "id", id)
	return shown(c, cmd, c.ended(cmd.Context(), client, fabric, ro), c.rolloutTable)
}

// ended waits briefly, because a confirmed rollout ends at once: the next command can then use the plan in force. It
// returns the last state that it read.
func (c *cli) ended(ctx context.Context, client *apiclient.ClientWithResponses, fabric string, ro *gen.Rollout) *gen.Rollout {
	for range int(endsWithin / pollEvery) {
		if ro.State != gen.RolloutStateRunning || pause(ctx, pollEvery) != nil {
			return ro
		}
		next, err := c.getRollout(ctx, client, fabric, ro.ID)
		if err != nil {
			return ro
		}
		ro = next
	}
	return ro
}

// rolloutBack rolls back to the state before a rollout, or to the named plan.
func (c *cli) rolloutBack(plan *string, wait *bool) func(*cobra.Command, *apiclient.ClientWithResponses, string, int64) error {
	return func(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, id int64) error {
		body, started := gen.RolloutBack{Plan: given(*plan)}, "msg.rollout-back"
		if *plan == string(gen.RolloutBackToBaseline) {
			body, started = gen.RolloutBack{To: new(gen.RolloutBackToBaseline)}, "msg.rollout-back-baseline"
		}
		r, err := client.RollBackRolloutWithResponse(cmd.Context(), fabric, id, &gen.RollBackRolloutParams{DryRun: given(c.dry)}, body)
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
		c.say(cmd, started, "id", ro.ID, "plan", short(ro.Plan))
		if *wait {
			return c.follow(cmd, client, fabric, ro.ID)
		}
		return shown(c, cmd, ro, c.rolloutTable)
	}
}
