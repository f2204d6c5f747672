package remote

import (
	"strings"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/internal/quantity"
)

// ofTenant adds the flag --tenant, described by text, to commands.
func (c *cli) ofTenant(text string, cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		cmd.Flags().StringVar(&c.tenantName, "tenant", "", text)
	}
}

// inTenant is the home of a tenant's attachments and classes: it requires --tenant.
func (c *cli) inTenant(cmd *cobra.Command, _ ...string) (*apiclient.ClientWithResponses, string, error) {
	if c.tenantName == "" {
		return nil, "", c.usage("err.need-flag", "flag", "tenant")
	}
	return c.pick(cmd)
}

// partNoun builds the commands of a repeatable part of a tenant: attachment or class. argument, example and flags are those of its verbs;
// option defines the flags of add and set.
func (c *cli) partNoun(noun, argument, example, flags string, option func(*cobra.Command), list, show, add, set, remove func(*cobra.Command, []string) error) *cobra.Command {
	verb := func(name, flags string, run func(*cobra.Command, []string) error) *cobra.Command {
		return c.verb(noun, name+" "+argument, "  fairlane "+noun+" "+name+" "+example+" --tenant red"+flags, cobra.ExactArgs(1), run)
	}
	adds, sets, removes, shows := verb("add", flags, add), verb("set", flags, set), verb("delete", "", remove), verb("show", "", show)
	removes.Aliases = []string{"remove"}
	lists := c.verb(noun, "list", "  fairlane "+noun+" list --tenant red", cobra.NoArgs, list)
	option(adds)
	option(sets)
	c.writes(adds, sets, removes)
	c.matches(sets, removes)
	c.destroys(removes, "ask."+noun+"-delete")
	c.ofTenant(c.t("flag.tenant"), adds, sets, removes, lists, shows)
	return c.noun(noun, adds, sets, removes, lists, shows)
}

func (c *cli) attachment() *cobra.Command {
	var sl int
	pinned := func() *gen.SL {
		if sl < 0 {
			return nil
		}
		return &sl
	}
	with := func(run func(*cobra.Command, *apiclient.ClientWithResponses, string, gen.Attachment) error) func(*cobra.Command, *apiclient.ClientWithResponses, string, string) error {
		return func(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, port string) error {
			return run(cmd, client, fabric, gen.Attachment{Port: port, SL: pinned()})
		}
	}
	return c.partNoun("attachment", "PORT", "host-01", " --sl 2", func(cmd *cobra.Command) { cmd.Flags().IntVar(&sl, "sl", -1, c.t("flag.sl")) },
		listed(c, c.inTenant, c.attachmentPage, c.attachmentTable), c.onName(c.inTenant, c.attachmentShow),
		c.onPorts(with(c.attachmentAdd), func(cmd *cobra.Command, names []string) error { return c.attachmentAddMany(cmd, names, pinned()) }),
		c.onName(c.inTenant, with(c.attachmentSet)), c.onPorts(c.attachmentDelete, c.attachmentDeleteMany))
}

func (c *cli) attachmentTable(list []gen.Attachment) *table {
	t := c.newTable("port", "sl>", "feeds")
	for _, a := range list {
		t.add(portName(a.Name, a.Port), slOrDash(a.SL), strings.Join(a.Feeds, ","))
	}
	return t
}

func (c *cli) attachmentPage(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[gen.Attachment], error) {
	list, err := found[gen.AttachmentList](c)(client.ListAttachmentsWithResponse(cmd.Context(), fabric, c.tenantName, &gen.ListAttachmentsParams{Limit: pageSize(), Cursor: cursor}))
	return (*page[gen.Attachment])(list), err
}

func (c *cli) attachmentShow(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, port string) error {
	a, err := found[gen.Attachment](c)(client.GetAttachmentWithResponse(cmd.Context(), fabric, c.tenantName, port))
	if err != nil {
		return err
	}
	return shown(c, cmd, a, c.attachmentTable)
}

func (c *cli) attachmentAdd(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, want gen.Attachment) error {
	a, err := created[gen.Attachment](c)(client.AddAttachmentWithResponse(cmd.Context(), fabric, c.tenantName, &gen.AddAttachmentParams{DryRun: given(c.dry)}, want))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.attached", "tenant", c.tenantName, "port", a.Port)
	return shown(c, cmd, a, c.attachmentTable)
}

func (c *cli) attachmentSet(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, want gen.Attachment) error {
	had, err := client.GetAttachmentWithResponse(cmd.Context(), fabric, c.tenantName, want.Port)
	if err := c.judge(had, err); err != nil {
		return err
	}
	params := &gen.PutAttachmentParams{DryRun: given(c.dry), IfMatch: c.ifMatch(had.HTTPResponse.Header.Get("ETag"))}
	a, err := found[gen.Attachment](c)(client.PutAttachmentWithResponse(cmd.Context(), fabric, c.tenantName, want.Port, params, gen.AttachmentUpdate{SL: want.SL}))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.attachment-set", "tenant", c.tenantName, "port", a.Port)
	return shown(c, cmd, a, c.attachmentTable)
}

func (c *cli) attachmentDelete(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, port string) error {
	params := &gen.DeleteAttachmentParams{DryRun: given(c.dry), IfMatch: c.ifMatch("*")}
	if err := c.judge(client.DeleteAttachmentWithResponse(cmd.Context(), fabric, c.tenantName, port, params)); err != nil {
		return err
	}
	c.kept(cmd, "msg.detached", "tenant", c.tenantName, "port", port)
	return nil
}

func (c *cli) class() *cobra.Command {
	var text string
	with := func(run func(*cobra.Command, *apiclient.ClientWithResponses, string, gen.Class) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			if text == "" {
				return c.usage("err.need-flag", "flag", "weight")
			}
			w, err := quantity.ParseWeight(text)
			if err != nil {
				return c.badFlag("weight", err)
			}
			client, fabric, err := c.inTenant(cmd)
			if err != nil {
				return err
			}
			return run(cmd, client, fabric, gen.Class{Name: args[0], Weight: w.Float()})
		}
	}
	return c.partNoun("class", "NAME", "bulk", " --weight 2", func(cmd *cobra.Command) { cmd.Flags().StringVar(&text, "weight", "", c.t("flag.weight")) },
		listed(c, c.inTenant, c.classPage, c.classTable), c.onName(c.inTenant, c.classShow), with(c.classAdd), with(c.classSet), c.onName(c.inTenant, c.classDelete))
}

func (c *cli) classTable(list []gen.Class) *table {
	t := c.newTable("name", "weight>")
	for _, k := range list {
		t.add(k.Name, k.Weight)
	}
	return t
}

func (c *cli) classPage(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[gen.Class], error) {
	list, err := found[gen.ClassList](c)(client.ListClassesWithResponse(cmd.Context(), fabric, c.tenantName, &gen.ListClassesParams{Limit: pageSize(), Cursor: cursor}))
	return (*page[gen.Class])(list), err
}

func (c *cli) classShow(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, name string) error {
	k, err := found[gen.Class](c)(client.GetClassWithResponse(cmd.Context(), fabric, c.tenantName, name))
	if err != nil {
		return err
	}
	return shown(c, cmd, k, c.classTable)
}

func (c *cli) classAdd(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, want gen.Class) error {
	k, err := created[gen.Class](c)(client.AddClassWithResponse(cmd.Context(), fabric, c.tenantName, &gen.AddClassParams{DryRun: given(c.dry)}, want))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.class-set", "tenant", c.tenantName, "class", k.Name, "weight", k.Weight)
	return shown(c, cmd, k, c.classTable)
}

func (c *cli) classSet(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, want gen.Class) error {
	had, err := client.GetClassWithResponse(cmd.Context(), fabric, c.tenantName, want.Name)
	if err := c.judge(had, err); err != nil {
		return err
	}
	params := &gen.PutClassParams{DryRun: given(c.dry), IfMatch: c.ifMatch(had.HTTPResponse.Header.Get("ETag"))}
	k, err := found[gen.Class](c)(client.PutClassWithResponse(cmd.Context(), fabric, c.tenantName, want.Name, params, gen.ClassUpdate{Weight: want.Weight}))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.class-set", "tenant", c.tenantName, "class", k.Name, "weight", k.Weight)
	return shown(c, cmd, k, c.classTable)
}

func (c *cli) classDelete(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, name string) error {
	params := &gen.DeleteClassParams{DryRun: given(c.dry), IfMatch: c.ifMatch("*")}
	if err := c.judge(client.DeleteClassWithResponse(cmd.Context(), fabric, c.tenantName, name, params)); err != nil {
		return err
	}
	c.kept(cmd, "msg.class-deleted", "tenant", c.tenantName, "class", name)
	return nil
}
