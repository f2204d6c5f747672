package remote

import (
	"strings"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
)

// objective are the verbs for the objectives of tenants.
func (c *cli) objective() *cobra.Command {
	var bound, target float64
	list := c.verb("objective", "list", "  fairlane objective list", cobra.NoArgs, listed(c, c.pick, c.objectivePage, c.objectiveTable))
	set := c.verb("objective", "set [TENANT]", "  fairlane objective set gold --target 0.999\n  fairlane objective set --bound 0.9", cobra.MaximumNArgs(1), func(cmd *cobra.Command, args []string) error {
		var in gen.ObjectivePut
		t := taker{cmd: cmd}
		take(&t, "bound", &in.Bound, &bound)
		take(&t, "target", &in.Target, &target)
		if !t.any {
			return c.usage("err.objective-nothing")
		}
		return c.objectiveSet(cmd, strings.Join(args, ""), in)
	})
	set.Flags().Float64Var(&bound, "bound", 0.95, c.t("flag.objective-bound"))
	set.Flags().Float64Var(&target, "target", 0.99, c.t("flag.objective-target"))
	del := c.verb("objective", "delete [TENANT]", "  fairlane objective delete gold\n  fairlane objective delete", cobra.MaximumNArgs(1), func(cmd *cobra.Command, args []string) error { return c.objectiveDelete(cmd, strings.Join(args, "")) })
	c.writes(set, del)
	c.destroys(del, "ask.objective-delete")
	return c.noun("objective", list, set, del)
}

// objectivePage returns a page of objectives; the default is at the end of the last one.
func (c *cli) objectivePage(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[gen.Objective], error) {
	list, err := found[gen.ObjectiveList](c)(client.ListObjectivesWithResponse(cmd.Context(), fabric, &gen.ListObjectivesParams{Limit: pageSize(), Cursor: cursor}))
	if err != nil {
		return nil, err
	}
	if list.NextCursor == nil {
		list.Items = append(list.Items, list.Default)
	}
	return &page[gen.Objective]{Items: list.Items, NextCursor: list.NextCursor}, nil
}

func (c *cli) objectiveTable(list []gen.Objective) *table {
	t := c.newTable("tenant", "objective-bound>", "target>", "set-for")
	for _, o := range list {
		name := cmdline.OrZero(o.Tenant)
		if name == "" {
			name = c.t("objective.default")
		}
		t.add(name, phrase.PercentOf(o.Bound, 3), phrase.PercentOf(o.Target, 3), c.known("objective.source.", string(o.Source)))
	}
	return t
}

// objectiveSet sets the objective of a tenant or, for "", the default of the fabric.
func (c *cli) objectiveSet(cmd *cobra.Command, tenant string, in gen.ObjectivePut) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	var o *gen.Objective
	if tenant == "" {
		o, err = found[gen.Objective](c)(client.PutDefaultObjectiveWithResponse(cmd.Context(), fabric, &gen.PutDefaultObjectiveParams{DryRun: given(c.dry)}, in))
	} else {
		o, err = found[gen.Objective](c)(client.PutObjectiveWithResponse(cmd.Context(), fabric, tenant, &gen.PutObjectiveParams{DryRun: given(c.dry)}, in))
	}
	if err != nil {
		return err
	}
	if tenant == "" {
		c.kept(cmd, "msg.objective-default-set", "fabric", fabric)
	} else {
		c.kept(cmd, "msg.objective-set", "tenant", tenant, "fabric", fabric)
	}
	return shown(c, cmd, o, c.objectiveTable)
}

// objectiveDelete removes the objective of a tenant or, for "", the default of the fabric.
func (c *cli) objectiveDelete(cmd *cobra.Command, tenant string) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	if tenant == "" {
		if err := c.judge(client.DeleteDefaultObjectiveWithResponse(cmd.Context(), fabric, &gen.DeleteDefaultObjectiveParams{DryRun: given(c.dry)})); err != nil {
			return err
		}
		c.kept(cmd, "msg.objective-default-deleted", "fabric", fabric)
		return nil
	}
	if err := c.judge(client.DeleteObjectiveWithResponse(cmd.Context(), fabric, tenant, &gen.DeleteObjectiveParams{DryRun: given(c.dry)})); err != nil {
		return err
	}
	c.kept(cmd, "msg.objective-deleted", "tenant", tenant, "fabric", fabric)
	return nil
}
