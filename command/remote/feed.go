package remote

import (
	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
)

// feed are the verbs for feeds: ports that outside systems claim for tenants.
func (c *cli) feed() *cobra.Command {
	list := c.verb("feed", "list", "  fairlane feed list\n  fairlane feed list --tenant red", cobra.NoArgs, listed(c, c.pick, c.feedPage, c.feedTable))
	show := c.verb("feed", "show NAME", "  fairlane feed show kubernetes-lab1 --tenant red", cobra.ExactArgs(1), c.onName(c.inTenant, c.feedShow))
	del := c.verb("feed", "delete NAME", "  fairlane feed delete kubernetes-lab1 --tenant red", cobra.ExactArgs(1), c.onName(c.inTenant, c.feedDelete))
	c.writes(del)
	c.matches(del)
	c.destroys(del, "ask.feed-delete")
	c.ofTenant(c.t("flag.tenant"), list, show, del)
	return c.noun("feed", list, show, del)
}

func (c *cli) feedPage(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[gen.FeedSummary], error) {
	list, err := found[gen.FeedList](c)(client.ListFeedsWithResponse(cmd.Context(), fabric, &gen.ListFeedsParams{Tenant: given(c.tenantName), Limit: pageSize(), Cursor: cursor}))
	return (*page[gen.FeedSummary])(list), err
}

func (c *cli) feedTable(list []gen.FeedSummary) *table {
	t := c.newTable("name", "tenant", "ports>", "changed", "actor", "version>")
	for i := range list {
		f := &list[i]
		t.add(f.Name, f.Tenant, f.Ports, f.UpdatedAt.Format(timeFormat), f.Actor, f.Version)
	}
	return t
}

func (c *cli) feedShow(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, name string) error {
	f, err := found[gen.Feed](c)(client.GetFeedWithResponse(cmd.Context(), fabric, c.tenantName, name))
	if err != nil {
		return err
	}
	summary := gen.FeedSummary{Name: f.Name, Tenant: f.Tenant, Ports: f.Ports, Version: f.Version, Actor: f.Actor, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt}
	return c.print(cmd, f, func() *table { return c.feedTable([]gen.FeedSummary{summary}) }, func() *table {
		t := c.newTable("port", "claimed>")
		for _, a := range f.Attachments {
			t.add(portName(a.Name, a.Port), rateOrDash(cmdline.OrZero(a.ClaimedBps)))
		}
		return t
	})
}

func (c *cli) feedDelete(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, name string) error {
	had, err := client.GetFeedWithResponse(cmd.Context(), fabric, c.tenantName, name)
	if err := c.judge(had, err); err != nil {
		return err
	}
	params := &gen.DeleteFeedParams{DryRun: given(c.dry), IfMatch: c.ifMatch(had.HTTPResponse.Header.Get("ETag"))}
	if err := c.judge(client.DeleteFeedWithResponse(cmd.Context(), fabric, c.tenantName, name, params)); err != nil {
		return err
	}
	c.kept(cmd, "msg.feed-deleted", "name", name, "tenant", c.tenantName)
	return nil
}
