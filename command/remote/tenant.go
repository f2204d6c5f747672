package remote

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/quantity"
	"fairlane/internal/usage"
	"fairlane/subnet/ident"
	"fairlane/tenants"
	"fairlane/tenants/tenantfile"
)

// tenantFlags are the properties of a tenant as flags.
type tenantFlags struct {
	name, weight, pkey string
	guarantee, limit   string
	attach, class      []string
}

func (c *cli) tenant() *cobra.Command {
	var in, change tenantFlags
	create := c.verb("tenant", "create [NAME]", "  fairlane tenant create --name red --weight 4 --attach host-01,host-02 --pkey 0x8001", cobra.MaximumNArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.tenantCreate(cmd, in.named(args)) })
	create.Flags().StringVar(&in.name, "name", "", c.t("flag.name"))
	c.tenantFlags(create, &in)
	set := c.verb("tenant", "set NAME", "  fairlane tenant set red --weight 2", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.tenantSet(cmd, change.named(args)) })
	c.tenantFlags(set, &change)
	del := c.verb("tenant", "delete NAME", "  fairlane tenant delete red", cobra.ExactArgs(1), c.onName(c.pick, c.tenantDelete))
	var file string
	var prune bool
	apply := c.verb("tenant", "apply", "  fairlane tenant apply -f tenants.yaml --dry-run", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.tenantApply(cmd, file, prune) })
	apply.Flags().StringVarP(&file, "file", "f", "", c.t("flag.file"))
	apply.Flags().BoolVar(&prune, "prune", false, c.t("flag.prune"))
	c.writes(create, set, del, apply)
	c.matches(set, del)
	c.destroys(del, "ask.tenant-delete")
	c.destroys(apply, "ask.tenant-prune", "prune")
	show := c.verb("tenant", "show NAME", "  fairlane tenant show red", cobra.ExactArgs(1), c.onName(c.pick, c.tenantShow))
	c.long("", show)
	return c.noun("tenant", create, set, del, apply, show,
		c.verb("tenant", "list", "  fairlane tenant list", cobra.NoArgs, listed(c, c.pick, c.tenantPage, c.tenantTable)),
		c.endpoints(),
		c.verb("tenant", "export", "  fairlane tenant export > tenants.yaml", cobra.NoArgs, c.tenantExport),
	)
}

func (c *cli) tenantFlags(cmd *cobra.Command, f *tenantFlags) {
	cmd.Flags().StringVar(&f.weight, "weight", "", c.t("flag.weight"))
	cmd.Flags().StringVar(&f.guarantee, "guarantee", "", c.t("flag.guarantee"))
	cmd.Flags().StringVar(&f.limit, "cap", "", c.t("flag.cap"))
	cmd.Flags().StringVar(&f.pkey, "pkey", "", c.t("flag.pkey"))
	cmd.Flags().StringSliceVar(&f.attach, "attach", nil, c.t("flag.attach"))
	cmd.Flags().StringSliceVar(&f.class, "class", nil, c.t("flag.class"))
}

func (f tenantFlags) named(args []string) tenantFlags {
	if len(args) > 0 {
		f.name = args[0]
	}
	return f
}

// fill copies the given flags into a tenant and keeps its other fields.
func (c *cli) fill(f tenantFlags, t *gen.TenantCreate) error {
	if f.weight != "" {
		w, err := quantity.ParseWeight(f.weight)
		if err != nil {
			return c.badFlag("weight", err)
		}
		t.Weight = w.Float()
	}
	for _, x := range []struct {
		flag, text string
		to         **int64
	}{{"guarantee", f.guarantee, &t.GuaranteeBps}, {"cap", f.limit, &t.CapBps}} {
		if x.text == "" {
			continue
		}
		r, err := quantity.ParseBitRate(x.text)
		if err != nil {
			return c.badFlag(x.flag, err)
		}
		*x.to = new(int64(r))
	}
	if f.pkey != "" {
		k, err := ident.ParsePKey(f.pkey)
		if err != nil {
			return c.badFlag("pkey", err)
		}
		t.Pkey = new(k.String())
	}
	if f.attach != nil {
		t.Attachments = nil
		ports, err := expandPorts(f.attach)
		if err != nil {
			return err
		}
		for _, port := range ports {
			t.Attachments = append(t.Attachments, gen.Attachment{Port: port})
		}
	}
	if f.class != nil {
		t.Classes = nil
		for _, text := range f.class {
			name, weight, ok := strings.Cut(text, "=")
			w, err := quantity.ParseWeight(weight)
			if !ok || err != nil {
				return c.usage("err.class", "found", fmt.Sprintf("%q", text))
			}
			t.Classes = append(t.Classes, gen.Class{Name: name, Weight: w.Float()})
		}
	}
	return nil
}

func (c *cli) tenantCreate(cmd *cobra.Command, f tenantFlags) error {
	switch "" {
	case f.name:
		return c.usage("err.need-flag", "flag", "name")
	case f.weight:
		return c.usage("err.need-flag", "flag", "weight")
	}
	body := gen.TenantCreate{Name: f.name}
	if err := c.fill(f, &body); err != nil {
		return err
	}
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	t, err := created[gen.Tenant](c)(client.CreateTenantWithResponse(cmd.Context(), fabric, &gen.CreateTenantParams{DryRun: given(c.dry)}, body))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.tenant-created", "name", f.name, "weight", f.weight)
	return shown(c, cmd, t, c.tenantTable)
}

func (c *cli) tenantTable(list []gen.Tenant) *table {
	t := c.newTable("name", "weight>", "guarantee>", "cap>", "pkey", "classes", "attached>", "version>")
	for _, x := range list {
		classes := make([]string, len(x.Classes))
		for i, k := range x.Classes {
			classes[i] = fmt.Sprintf("%s=%v", k.Name, k.Weight)
		}
		if len(classes) == 0 {
			classes = []string{c.t("word.default")}
		}
		pkey := x.Pkey
		if pkey == ident.PKey(0).String() {
			pkey = c.t("word.default")
		}
		t.add(x.Name, x.Weight, rateOrDash(x.GuaranteeBps), rateOrDash(x.CapBps), pkey, strings.Join(classes, ","), len(x.Attachments), x.Version)
	}
	return t
}

// slOrDash returns the service level that a tenant requests, "-" if the plan chooses it.
func slOrDash(sl *gen.SL) string {
	if sl == nil {
		return "-"
	}
	return fmt.Sprint(*sl)
}

// rateOrDash returns a limit, "-" if there is none.
func rateOrDash(bps int64) string {
	if bps == 0 {
		return "-"
	}
	return quantity.BitRate(bps).String()
}

func (c *cli) tenantPage(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[gen.Tenant], error) {
	list, err := found[gen.TenantList](c)(client.ListTenantsWithResponse(cmd.Context(), fabric, &gen.ListTenantsParams{Limit: pageSize(), Cursor: cursor}))
	return (*page[gen.Tenant])(list), err
}

func (c *cli) getTenant(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, name string) (*gen.Tenant, error) {
	return found[gen.Tenant](c)(client.GetTenantWithResponse(cmd.Context(), fabric, name))
}

func (c *cli) tenantShow(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, name string) error {
	t, err := c.getTenant(cmd, client, fabric, name)
	if err != nil {
		return err
	}
	return c.print(cmd, t, func() *table { return c.tenantTable([]gen.Tenant{*t}) }, func() *table {
		if len(t.Attachments) == 0 {
			return nil
		}
		tab := c.newTable("attached", "sl")
		for _, a := range t.Attachments {
			tab.add(portName(a.Name, a.Port), slOrDash(a.SL))
		}
		return tab
	})
}

func (c *cli) tenantSet(cmd *cobra.Command, f tenantFlags) error {
	if f.weight == "" && f.guarantee == "" && f.limit == "" && f.pkey == "" && f.attach == nil && f.class == nil {
		return c.usage("err.nothing-to-change")
	}
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	old, err := c.getTenant(cmd, client, fabric, f.name)
	if err != nil {
		return err
	}
	next := gen.TenantCreate{Name: old.Name, Weight: old.Weight, GuaranteeBps: &old.GuaranteeBps, CapBps: &old.CapBps, Pkey: &old.Pkey, Classes: old.Classes, Attachments: old.Attachments}
	if err := c.fill(f, &next); err != nil {
		return err
	}
	match := c.ifMatch(versionTag(old.Version))
	t, err := found[gen.Tenant](c)(client.UpdateTenantWithResponse(cmd.Context(), fabric, f.name, &gen.UpdateTenantParams{DryRun: given(c.dry), IfMatch: match}, updateOf(&next)))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.tenant-updated", "name", f.name, "version", t.Version, "weight", t.Weight)
	return shown(c, cmd, t, c.tenantTable)
}

// updateOf returns the update to a desired tenant.
func updateOf(t *gen.TenantCreate) gen.TenantUpdate {
	return gen.TenantUpdate{Weight: t.Weight, GuaranteeBps: t.GuaranteeBps, CapBps: t.CapBps, Pkey: t.Pkey, Classes: t.Classes, Attachments: t.Attachments}
}

func (c *cli) tenantDelete(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, name string) error {
	old, err := c.getTenant(cmd, client, fabric, name)
	if err != nil {
		return err
	}
	match := c.ifMatch(versionTag(old.Version))
	if err := c.judge(client.DeleteTenantWithResponse(cmd.Context(), fabric, name, &gen.DeleteTenantParams{DryRun: given(c.dry), IfMatch: match})); err != nil {
		return err
	}
	c.kept(cmd, "msg.tenant-deleted", "name", name)
	return nil
}

func (c *cli) tenantApply(cmd *cobra.Command, file string, prune bool) error {
	if file == "" {
		return c.usage("err.need-flag", "flag", "file")
	}
	in, name, err := c.open(cmd, file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	client, fabric, topo, err := c.onModel(cmd)
	if err != nil {
		return err
	}
	ts, flows, err := tenantfile.Read(name, in, topo)
	if err != nil {
		return usage.Wrap(err)
	}
	set := gen.TenantSet{Tenants: []gen.TenantCreate{}, Flows: flowsOut(flows)}
	for _, t := range ts {
		set.Tenants = append(set.Tenants, tenantOut(t))
	}
	res, err := found[gen.TenantSetResult](c)(client.ApplyTenantsWithResponse(cmd.Context(), fabric, &gen.ApplyTenantsParams{DryRun: &c.dry, Prune: &prune}, set))
	if err != nil {
		return err
	}
	if c.dry {
		c.say(cmd, "msg.apply-dry")
	}
	word := c.t("msg.flows-same")
	if res.FlowsChanged {
		word = c.t("msg.flows-changed")
	}
	c.say(cmd, "msg.applied", "created", len(res.Created), "updated", len(res.Updated), "unchanged", len(res.Unchanged), "deleted", len(res.Deleted), "flows", word)
	return c.print(cmd, res)
}

func tenantOut(t tenants.Tenant) gen.TenantCreate {
	pkey, guarantee, limit := t.PKey.String(), int64(t.Guarantee), int64(t.Cap)
	out := gen.TenantCreate{Name: t.Name, Weight: t.Weight.Float(), GuaranteeBps: &guarantee, CapBps: &limit, Pkey: &pkey}
	for _, k := range t.Classes {
		out.Classes = append(out.Classes, gen.Class{Name: k.Name, Weight: k.Weight.Float()})
	}
	for _, a := range t.Attachments {
		att := gen.Attachment{Port: a.Port.String()}
		if a.SL != nil {
			sl := gen.SL(*a.SL)
			att.SL = &sl
		}
		out.Attachments = append(out.Attachments, att)
	}
	return out
}

// flowsOut never returns nil: a file without flows declares that there are none.
func flowsOut(flows []tenants.Flow) []gen.Flow {
	out := make([]gen.Flow, len(flows))
	for i, f := range flows {
		out[i] = gen.Flow{Tenant: f.Tenant, Class: given(f.Class), Src: f.Src.String(), Dst: f.Dst.String(), QPS: new(f.QPs), DemandBps: new(int64(f.Demand))}
	}
	return out
}

func (c *cli) tenantExport(cmd *cobra.Command, _ []string) error {
	client, fabric, topo, err := c.onModel(cmd)
	if err != nil {
		return err
	}
	list, err := allOf(cmd, client, fabric, c.tenantPage)
	if err != nil {
		return err
	}
	ts, err := tenantsIn(list)
	if err != nil {
		return err
	}
	set, err := c.flows(cmd, client, fabric)
	if err != nil {
		return err
	}
	flows, err := flowsIn(set.Flows)
	if err != nil {
		return err
	}
	return tenantfile.Write(cmd.OutOrStdout(), topo, ts, flows)
}

// tenantsIn converts answers of the API to the pure model.
func tenantsIn(list []gen.Tenant) ([]tenants.Tenant, error) {
	out := make([]tenants.Tenant, len(list))
	for i, t := range list {
		w, err := quantity.WeightFromFloat(t.Weight)
		if err != nil {
			return nil, err
		}
		out[i] = tenants.Tenant{Name: t.Name, Weight: w, Guarantee: quantity.BitRate(t.GuaranteeBps), Cap: quantity.BitRate(t.CapBps)}
		if out[i].PKey, err = ident.ParsePKey(t.Pkey); err != nil {
			return nil, err
		}
		for _, k := range t.Classes {
			if w, err = quantity.WeightFromFloat(k.Weight); err != nil {
				return nil, err
			}
			out[i].Classes = append(out[i].Classes, tenants.Class{Name: k.Name, Weight: w})
		}
		for _, a := range t.Attachments {
			if cmdline.OrZero(a.FeedOnly) { // a file has what the operator declares
				continue
			}
			port, err := ident.ParsePortID(a.Port)
			if err != nil {
				return nil, err
			}
			att := tenants.Attachment{Port: port}
			if a.SL != nil {
				sl := ident.SL(*a.SL)
				att.SL = &sl
			}
			out[i].Attachments = append(out[i].Attachments, att)
		}
	}
	return out, nil
}

func flowsIn(list []gen.Flow) ([]tenants.Flow, error) {
	out := make([]tenants.Flow, len(list))
	for i, f := range list {
		src, err := ident.ParsePortID(f.Src)
		if err != nil {
			return nil, err
		}
		dst, err := ident.ParsePortID(f.Dst)
		if err != nil {
			return nil, err
		}
		out[i] = tenants.Flow{Tenant: f.Tenant, Class: cmdline.OrZero(f.Class), Src: src, Dst: dst, QPs: cmdline.OrZero(f.QPS), Demand: quantity.BitRate(cmdline.OrZero(f.DemandBps))}
	}
	return out, nil
}
