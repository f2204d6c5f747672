package remote

import (
	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
)

// baseline returns the state of devices before Fairlane's first write.
func (c *cli) baseline() *cobra.Command {
	list := c.verb("baseline", "list", "  fairlane baseline list", cobra.NoArgs, listed(c, c.pick, c.baselinePage(gen.ListBaselineParams{}), c.baselineTable))
	show := c.verb("baseline", "show DEVICE", "  fairlane baseline show host-01 -o yaml", cobra.ExactArgs(1), c.onName(c.pick, c.baselineShow))
	var plan string
	diff := c.verb("baseline", "diff", "  fairlane baseline diff\n  fairlane baseline diff --plan 3f9a61c2", cobra.NoArgs,
		func(cmd *cobra.Command, args []string) error {
			against := plan
			if against == "" {
				against = "observed"
			}
			return listed(c, c.pick, c.baselinePage(gen.ListBaselineParams{Against: &against}), c.baselineDiffTable)(cmd, args)
		})
	diff.Flags().StringVar(&plan, "plan", "", c.t("flag.baseline-plan"))
	c.long("", diff)
	return c.noun("baseline", list, show, diff)
}

// baselinePage reads pages of a fabric's baseline.
func (c *cli) baselinePage(q gen.ListBaselineParams) func(*cobra.Command, *apiclient.ClientWithResponses, string, *string) (*page[gen.BaselineDevice], error) {
	return func(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[gen.BaselineDevice], error) {
		q.Limit, q.Cursor = pageSize(), cursor
		list, err := found[gen.BaselineList](c)(client.ListBaselineWithResponse(cmd.Context(), fabric, &q))
		if err != nil {
			return nil, err
		}
		return &page[gen.BaselineDevice]{list.Items, list.NextCursor}, nil
	}
}

func (c *cli) baselineTable(list []gen.BaselineDevice) *table {
	t := c.newTable("device", "kind", "origin", "held", "rollout>", "recorded", "note")
	for i := range list {
		b := &list[i]
		held := "word.no"
		if b.Held {
			held = "word.yes"
		}
		t.add(b.Name, c.t("kind."+string(b.Kind)), c.t("origin."+string(b.Origin)), c.t(held), b.Rollout, b.RecordedAt.Format(timeFormat), c.texts.Either(cmdline.OrZero(b.Note), b.NoteSaid))
	}
	return t
}

// baselineDiffTable has a row for each field that differs from the baseline.
func (c *cli) baselineDiffTable(list []gen.BaselineDevice) *table {
	t := c.newTable("device", "field", "baseline>", "against>", "fault")
	for i := range list {
		b := &list[i]
		if b.Error != nil {
			t.addRanked(1, b.Name, "", "", "", c.texts.Either(*b.Error, b.ErrorSaid))
		}
		for _, d := range groupFields(b.Differences) {
			t.add(b.Name, d.field, d.desired, d.observed, "")
		}
	}
	return t
}

func (c *cli) baselineShow(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, device string) error {
	list, err := found[gen.BaselineList](c)(client.ListBaselineWithResponse(cmd.Context(), fabric, &gen.ListBaselineParams{Device: &device, Settings: new(true)}))
	if err != nil {
		return err
	}
	if len(list.Items) != 1 {
		return c.print(cmd, list, func() *table { return c.baselineTable(list.Items) })
	}
	return c.print(cmd, list.Items[0], func() *table { return c.fieldTable(&list.Items[0]) })
}
