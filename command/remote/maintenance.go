package remote

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
)

// maintenanceFlags are the period, texts and scope of a maintenance.
type maintenanceFlags struct {
	start, until, text, textZH string
	length                     time.Duration
	tenants, places            []string
}

// maintenance are the verbs about announced maintenance.
func (c *cli) maintenance() *cobra.Command {
	var ended bool
	list := c.verb("maintenance", "list", "  fairlane maintenance list\n  fairlane maintenance list --tenant red", cobra.NoArgs, func(cmd *cobra.Command, args []string) error {
		if c.tenantName != "" {
			return listed(c, c.pick, c.noticePage, c.noticeTable)(cmd, args)
		}
		return listed(c, c.pick, func(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[gen.Maintenance], error) {
			list, err := found[gen.MaintenanceList](c)(client.ListMaintenanceWithResponse(cmd.Context(), fabric, &gen.ListMaintenanceParams{Ended: given(ended), Limit: pageSize(), Cursor: cursor}))
			return (*page[gen.Maintenance])(list), err
		}, c.maintenanceTable)(cmd, args)
	})
	list.Flags().BoolVar(&ended, "ended", false, c.t("flag.maintenance-ended"))
	c.ofTenant(c.t("flag.maintenance-tenant"), list)
	show := c.verb("maintenance", "show ID", "  fairlane maintenance show m-0a1b2c3d4e5f", cobra.ExactArgs(1), c.onName(c.pick, c.maintenanceShow))
	var in, change maintenanceFlags
	add := c.verb("maintenance", "add", "  fairlane maintenance add --start 2026-12-01T20:00:00Z --for 2h --places sw1 --text 'Switch firmware is updated' --dry-run\n"+
		"  fairlane maintenance add --start 2026-12-01T20:00:00Z --until 2026-12-02T06:00:00Z --text 'Power is tested' --text-zh '测试供电'", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.maintenanceAdd(cmd, in) })
	set := c.verb("maintenance", "set ID", "  fairlane maintenance set m-0a1b2c3d4e5f --until 2026-12-02T08:00:00Z", cobra.ExactArgs(1),
		c.onName(c.pick, func(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, id string) error {
			return c.maintenanceSet(cmd, client, fabric, id, change)
		}))
	cancel := c.verb("maintenance", "cancel ID", "  fairlane maintenance cancel m-0a1b2c3d4e5f", cobra.ExactArgs(1), c.onName(c.pick, c.maintenanceCancel))
	c.maintenanceFlags(add, &in)
	c.maintenanceFlags(set, &change)
	c.writes(add, set, cancel)
	c.matches(set, cancel)
	c.destroys(cancel, "ask.maintenance-cancel")
	return c.noun("maintenance", list, show, add, set, cancel)
}

func (c *cli) maintenanceFlags(cmd *cobra.Command, f *maintenanceFlags) {
	cmd.Flags().StringVar(&f.start, "start", "", c.t("flag.maintenance-start"))
	cmd.Flags().StringVar(&f.until, "until", "", c.t("flag.maintenance-until"))
	cmd.Flags().DurationVar(&f.length, "for", 0, c.t("flag.maintenance-for"))
	cmd.Flags().StringVar(&f.text, "text", "", c.t("flag.maintenance-text"))
	cmd.Flags().StringVar(&f.textZH, "text-zh", "", c.t("flag.maintenance-text-zh"))
	cmd.Flags().StringSliceVar(&f.tenants, "tenants", nil, c.t("flag.maintenance-tenants"))
	cmd.Flags().StringSliceVar(&f.places, "places", nil, c.t("flag.maintenance-places"))
}

// fillMaintenance copies the given flags into a request and keeps its other fields.
func (c *cli) fillMaintenance(cmd *cobra.Command, f maintenanceFlags, to *gen.MaintenancePut) error {
	if f.until != "" && f.length != 0 {
		return c.usage("err.maintenance-end")
	}
	if f.length < 0 {
		return c.usage("err.silence-for", "found", f.length)
	}
	for _, at := range []struct {
		flag, text string
		to         *time.Time
	}{{"start", f.start, &to.StartsAt}, {"until", f.until, &to.EndsAt}} {
		if at.text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, at.text)
		if err != nil {
			return c.usage("err.silence-time", "flag", at.flag, "found", fmt.Sprintf("%q", at.text))
		}
		*at.to = t
	}
	if f.length > 0 {
		to.EndsAt = to.StartsAt.Add(f.length)
	}
	t := taker{cmd: cmd}
	take(&t, "text", &to.Text.En, given(f.text))
	take(&t, "text-zh", &to.Text.Zh, given(f.textZH))
	scope := cmdline.OrZero(to.Scope)
	take(&t, "tenants", &scope.Tenants, f.tenants)
	take(&t, "places", &scope.Places, f.places)
	to.Scope = &scope
	return nil
}

func (c *cli) maintenanceAdd(cmd *cobra.Command, f maintenanceFlags) error {
	var body gen.MaintenancePut
	if f.start == "" {
		return c.usage("err.need-flag", "flag", "start")
	}
	if err := c.fillMaintenance(cmd, f, &body); err != nil {
		return err
	}
	if body.EndsAt.IsZero() {
		return c.usage("err.maintenance-end")
	}
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	m, err := created[gen.Maintenance](c)(client.AddMaintenanceWithResponse(cmd.Context(), fabric, &gen.AddMaintenanceParams{DryRun: given(c.dry)}, body))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.maintenance-added", "id", m.ID, "n", len(m.Touches))
	return shown(c, cmd, m, c.maintenanceTable)
}

func (c *cli) maintenanceSet(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, id string, f maintenanceFlags) error {
	had, err := found[gen.Maintenance](c)(client.GetMaintenanceWithResponse(cmd.Context(), fabric, id))
	if err != nil {
		return err
	}
	body := gen.MaintenancePut{StartsAt: had.StartsAt, EndsAt: had.EndsAt, Text: had.Text, Scope: &had.Scope}
	if err := c.fillMaintenance(cmd, f, &body); err != nil {
		return err
	}
	params := &gen.PutMaintenanceParams{DryRun: given(c.dry), IfMatch: c.ifMatch(versionTag(had.Version))}
	m, err := found[gen.Maintenance](c)(client.PutMaintenanceWithResponse(cmd.Context(), fabric, id, params, body))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.maintenance-set", "id", m.ID, "n", len(m.Touches))
	return shown(c, cmd, m, c.maintenanceTable)
}

func (c *cli) maintenanceShow(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, id string) error {
	m, err := found[gen.Maintenance](c)(client.GetMaintenanceWithResponse(cmd.Context(), fabric, id))
	if err != nil {
		return err
	}
	return shown(c, cmd, m, c.maintenanceTable)
}

func (c *cli) maintenanceCancel(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, id string) error {
	params := &gen.CancelMaintenanceParams{DryRun: given(c.dry), IfMatch: c.ifMatch("*")}
	if err := c.judge(client.CancelMaintenanceWithResponse(cmd.Context(), fabric, id, params)); err != nil {
		return err
	}
	c.kept(cmd, "msg.maintenance-canceled", "id", id)
	return nil
}

func (c *cli) maintenanceTable(list []gen.Maintenance) *table {
	t := c.newTable("id", "state", "starts", "ends", "scope", "touches", "text", "version>")
	for i := range list {
		m := &list[i]
		scope := strings.Join(append(append([]string{}, m.Scope.Tenants...), m.Scope.Places...), ",")
		if scope == "" {
			scope = c.t("maintenance.whole")
		}
		t.add(m.ID, c.known("maintenance-state.", string(m.State)), m.StartsAt.Format(timeFormat), m.EndsAt.Format(timeFormat), scope, strings.Join(m.Touches, ","), c.textOf(m.Text), m.Version)
	}
	return t
}

// noticePage lists the maintenance that touches the tenant of --tenant, as the tenant sees it.
func (c *cli) noticePage(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[gen.MaintenanceNotice], error) {
	params := &gen.ListTenantMaintenanceParams{Limit: pageSize(), Cursor: cursor}
	list, err := found[gen.MaintenanceNoticeList](c)(client.ListTenantMaintenanceWithResponse(cmd.Context(), fabric, c.tenantName, params))
	return (*page[gen.MaintenanceNotice])(list), err
}

func (c *cli) noticeTable(list []gen.MaintenanceNotice) *table {
	t := c.newTable("state", "starts", "ends", "text")
	for i := range list {
		n := &list[i]
		t.add(c.known("maintenance-state.", string(n.State)), n.StartsAt.Format(timeFormat), n.EndsAt.Format(timeFormat), c.textOf(n.Text))
	}
	return t
}

// textOf returns a text in the reader's language, or else in the other one.
func (c *cli) textOf(t gen.MaintenanceText) string {
	en, zh := cmdline.OrZero(t.En), cmdline.OrZero(t.Zh)
	if zh != "" && (en == "" || strings.HasPrefix(c.texts.Lang(), "zh")) {
		return zh
	}
	return en
}
