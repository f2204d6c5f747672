package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
)

func (c *cli) policy() *cobra.Command {
	one := cobra.ExactArgs(1)
	onRevision := func(run func(*cobra.Command, *apiclient.ClientWithResponses, string, int64) error) func(*cobra.Command, []string) error {
		return c.onNumber(c.pick, "err.revision", run)
	}
	var against int64
	ofOne := onRevision(func(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, n int64) error {
		return c.policyDiff(cmd, client, fabric, n, against)
	})
	diff := c.verb("policy", "diff [REVISION]", "  fairlane policy diff\n  fairlane policy diff 7\n  fairlane policy diff 7 --against 3", cobra.MaximumNArgs(1),
		func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return ofOne(cmd, args)
			}
			return c.policyDiffLatest(cmd, against)
		})
	diff.Flags().Int64Var(&against, "against", 0, c.t("flag.against-revision"))
	restore := c.verb("policy", "restore REVISION", "  fairlane policy restore 3 --dry-run\n  fairlane policy restore 3 --if-match 7", one, onRevision(c.policyRestore))
	var text string
	label := c.verb("policy", "label REVISION", "  fairlane policy label 3 --label 'before the move'", one,
		onRevision(func(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, n int64) error {
			return c.policyLabel(cmd, client, fabric, n, text)
		}))
	label.Flags().StringVar(&text, "label", "", c.t("flag.label"))
	c.writes(restore, label)
	c.matches(restore)
	c.destroys(restore, "ask.policy-restore")
	show := c.verb("policy", "show REVISION", "  fairlane policy show 3 -o yaml", one, onRevision(c.policyShow))
	c.long("", diff, show)
	return c.noun("policy", diff, restore, label, show,
		c.verb("policy", "list", "  fairlane policy list", cobra.NoArgs, listed(c, c.pick, c.policyPage, c.policyTable)),
	)
}

func (c *cli) policyTable(list []gen.Policy) *table {
	t := c.newTable("revision>", "tenants>", "flows>", "label", "actor", "created", "message")
	for _, p := range list {
		t.add(p.Revision, p.Tenants, p.Flows, cmdline.OrZero(p.Label), p.Actor, p.CreatedAt.Format(timeFormat), c.texts.Either(p.Message, p.Said))
	}
	return t
}

func (c *cli) policyPage(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[gen.Policy], error) {
	list, err := found[gen.PolicyList](c)(client.ListPoliciesWithResponse(cmd.Context(), fabric, &gen.ListPoliciesParams{Limit: pageSize(), Cursor: cursor}))
	return (*page[gen.Policy])(list), err
}

func (c *cli) policyShow(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, n int64) error {
	p, err := found[gen.PolicyContent](c)(client.GetPolicyWithResponse(cmd.Context(), fabric, n))
	if err != nil {
		return err
	}
	list := make([]gen.Tenant, len(p.Tenants))
	for i, t := range p.Tenants {
		list[i] = gen.Tenant{Name: t.Name, Weight: t.Weight, GuaranteeBps: cmdline.OrZero(t.GuaranteeBps), CapBps: cmdline.OrZero(t.CapBps), Pkey: cmdline.OrZero(t.Pkey), Classes: t.Classes, Attachments: t.Attachments, Version: p.Policy.Revision}
	}
	return c.print(cmd, p, func() *table { return c.policyTable([]gen.Policy{p.Policy}) }, func() *table { return c.tenantTable(list) }, func() *table {
		if len(p.Flows) == 0 {
			return nil
		}
		return c.flowTable(p.Flows)
	})
}

// policyDiffLatest compares the latest revision with another, or with the one before.
func (c *cli) policyDiffLatest(cmd *cobra.Command, against int64) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	list, err := found[gen.PolicyList](c)(client.ListPoliciesWithResponse(cmd.Context(), fabric, &gen.ListPoliciesParams{Limit: new(1)}))
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return errors.New(c.t("err.no-revision", "fabric", fabric))
	}
	return c.policyDiff(cmd, client, fabric, list.Items[0].Revision, against)
}

// policyDiff compares a revision with another; 0 means the one before it.
func (c *cli) policyDiff(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, n, against int64) error {
	if against == 0 && !cmd.Flags().Changed("against") {
		if against = n - 1; against == 0 {
			return c.usage("err.first-revision")
		}
	}
	if against < 1 {
		return c.usage("err.revision", "found", strconv.FormatInt(against, 10))
	}
	d, err := found[gen.PolicyDifference](c)(client.DiffPoliciesWithResponse(cmd.Context(), fabric, n, &gen.DiffPoliciesParams{Against: given(against)}))
	if err != nil {
		return err
	}
	c.say(cmd, "msg.policy-diff", "from", d.From, "to", d.To)
	return c.print(cmd, d, func() *table {
		t := c.newTable("change", "object", "field", "before", "after")
		for _, x := range d.Added {
			t.add("+", "tenant/"+x.Name, "", "", "")
		}
		for _, x := range d.Removed {
			t.add("-", "tenant/"+x.Name, "", "", "")
		}
		for _, x := range d.Changed {
			for _, f := range x.Fields {
				t.add("~", "tenant/"+x.Tenant, f.Field, inline(f.Before), inline(f.After))
			}
		}
		flows := func(sign string, f gen.FlowDifference) {
			for _, x := range f.First {
				t.add(sign, "flow", "", "", x.Tenant+" "+portName(x.SrcName, x.Src)+" → "+portName(x.DstName, x.Dst))
			}
			if more := f.Count - len(f.First); more > 0 {
				t.add(sign, "flow", "", "", "… +"+strconv.Itoa(more))
			}
		}
		flows("+", d.FlowsAdded)
		flows("-", d.FlowsRemoved)
		for _, f := range d.Options {
			t.add("~", "options", f.Field, inline(f.Before), inline(f.After))
		}
		return t
	})
}

// inline returns a value of the contract on one line; "" for nil.
func inline(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func (c *cli) policyRestore(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, n int64) error {
	params := &gen.RestorePolicyParams{DryRun: given(c.dry)}
	if c.match != "" {
		params.IfMatch = new(tagged(c.match))
	}
	p, err := found[gen.Policy](c)(client.RestorePolicyWithResponse(cmd.Context(), fabric, n, params))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.policy-restored", "revision", n, "next", p.Revision)
	return shown(c, cmd, p, c.policyTable)
}

func (c *cli) policyLabel(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, n int64, text string) error {
	if !cmd.Flags().Changed("label") {
		return c.usage("err.need-flag", "flag", "label")
	}
	p, err := found[gen.Policy](c)(client.LabelPolicyWithResponse(cmd.Context(), fabric, n, &gen.LabelPolicyParams{DryRun: given(c.dry)}, gen.PolicyLabel{Label: text}))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.policy-labelled", "revision", n)
	return shown(c, cmd, p, c.policyTable)
}
