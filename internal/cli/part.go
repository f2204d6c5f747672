package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/internal/quantity"
)

func (c *cli) attachment() *cobra.Command {
	var tenant string
	var sl int
	one := cobra.ExactArgs(1)
	add := c.verb("attachment", "add PORT", "  fairlane attachment add host-01 --tenant red --sl 2", one,
		func(cmd *cobra.Command, args []string) error { return c.attachmentAdd(cmd, tenant, args[0], sl) })
	change := c.verb("attachment", "set PORT", "  fairlane attachment set host-01 --tenant red --sl 3", one,
		func(cmd *cobra.Command, args []string) error { return c.attachmentSet(cmd, tenant, args[0], sl) })
	del := c.verb("attachment", "delete PORT", "  fairlane attachment delete host-01 --tenant red", one,
		func(cmd *cobra.Command, args []string) error { return c.attachmentDelete(cmd, tenant, args[0]) })
	list := c.verb("attachment", "list", "  fairlane attachment list --tenant red", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.attachmentList(cmd, tenant) })
	show := c.verb("attachment", "show PORT", "  fairlane attachment show host-01 --tenant red", one,
		func(cmd *cobra.Command, args []string) error { return c.attachmentShow(cmd, tenant, args[0]) })
	for _, cmd := range []*cobra.Command{add, change} {
		cmd.Flags().IntVar(&sl, "sl", -1, c.t("flag.sl"))
	}
	c.writes(add, change, del)
	c.matches(change, del)
	c.ofTenant(&tenant, add, change, del, list, show)
	return c.noun("attachment", add, change, del, list, show)
}

// ofTenant gives commands the flag --tenant.
func (c *cli) ofTenant(tenant *string, cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		cmd.Flags().StringVar(tenant, "tenant", "", c.t("flag.tenant"))
	}
}

// slGiven is the service level that was given; none without the flag.
func slGiven(sl int) *gen.SL {
	if sl < 0 {
		return nil
	}
	return &sl
}

func (c *cli) attachmentTable(list []gen.Attachment) *table {
	t := c.newTable("port", "sl>")
	for _, a := range list {
		sl := "-"
		if a.SL != nil {
			sl = fmt.Sprint(*a.SL)
		}
		t.add(a.Port, sl)
	}
	return t
}

func (c *cli) attachmentList(cmd *cobra.Command, tenant string) error {
	client, fabric, err := c.inTenant(cmd, tenant)
	if err != nil {
		return err
	}
	all, err := pages(func(cursor *string) ([]gen.Attachment, *string, error) {
		list, err := found[gen.AttachmentList](c)(client.ListAttachmentsWithResponse(cmd.Context(), fabric, tenant, &gen.ListAttachmentsParams{Limit: pageSize(), Cursor: cursor}))
		if err != nil {
			return nil, nil, err
		}
		return list.Items, list.NextCursor, nil
	})
	if err != nil {
		return err
	}
	return c.print(cmd, all, func() *table { return c.attachmentTable(all) })
}

func (c *cli) attachmentShow(cmd *cobra.Command, tenant, port string) error {
	client, fabric, err := c.inTenant(cmd, tenant)
	if err != nil {
		return err
	}
	a, err := found[gen.Attachment](c)(client.GetAttachmentWithResponse(cmd.Context(), fabric, tenant, port))
	if err != nil {
		return err
	}
	return c.print(cmd, a, func() *table { return c.attachmentTable([]gen.Attachment{*a}) })
}

func (c *cli) attachmentAdd(cmd *cobra.Command, tenant, port string, sl int) error {
	client, fabric, err := c.inTenant(cmd, tenant)
	if err != nil {
		return err
	}
	a, err := created[gen.Attachment](c)(client.AddAttachmentWithResponse(cmd.Context(), fabric, tenant, &gen.AddAttachmentParams{DryRun: given(c.dry)}, gen.Attachment{Port: port, SL: slGiven(sl)}))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.attached", "tenant", tenant, "port", a.Port)
	return c.print(cmd, a, func() *table { return c.attachmentTable([]gen.Attachment{*a}) })
}

func (c *cli) attachmentSet(cmd *cobra.Command, tenant, port string, sl int) error {
	client, fabric, err := c.inTenant(cmd, tenant)
	if err != nil {
		return err
	}
	had, err := client.GetAttachmentWithResponse(cmd.Context(), fabric, tenant, port)
	if _, err = found[gen.Attachment](c)(had, err); err != nil {
		return err
	}
	params := &gen.PutAttachmentParams{DryRun: given(c.dry), IfMatch: c.ifMatch(had.HTTPResponse.Header.Get("ETag"))}
	a, err := found[gen.Attachment](c)(client.PutAttachmentWithResponse(cmd.Context(), fabric, tenant, port, params, gen.AttachmentUpdate{SL: slGiven(sl)}))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.attachment-set", "tenant", tenant, "port", a.Port)
	return c.print(cmd, a, func() *table { return c.attachmentTable([]gen.Attachment{*a}) })
}

func (c *cli) attachmentDelete(cmd *cobra.Command, tenant, port string) error {
	client, fabric, err := c.inTenant(cmd, tenant)
	if err != nil {
		return err
	}
	match := c.ifMatch("*")
	if err := c.done(client.DeleteAttachmentWithResponse(cmd.Context(), fabric, tenant, port, &gen.DeleteAttachmentParams{DryRun: given(c.dry), IfMatch: match})); err != nil {
		return err
	}
	c.kept(cmd, "msg.detached", "tenant", tenant, "port", port)
	return nil
}

func (c *cli) class() *cobra.Command {
	var tenant, weight string
	one := cobra.ExactArgs(1)
	add := c.verb("class", "add NAME", "  fairlane class add bulk --tenant red --weight 1", one,
		func(cmd *cobra.Command, args []string) error { return c.classAdd(cmd, tenant, args[0], weight) })
	change := c.verb("class", "set NAME", "  fairlane class set bulk --tenant red --weight 2", one,
		func(cmd *cobra.Command, args []string) error { return c.classSet(cmd, tenant, args[0], weight) })
	del := c.verb("class", "delete NAME", "  fairlane class delete bulk --tenant red", one,
		func(cmd *cobra.Command, args []string) error { return c.classDelete(cmd, tenant, args[0]) })
	list := c.verb("class", "list", "  fairlane class list --tenant red", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.classList(cmd, tenant) })
	show := c.verb("class", "show NAME", "  fairlane class show bulk --tenant red", one,
		func(cmd *cobra.Command, args []string) error { return c.classShow(cmd, tenant, args[0]) })
	for _, cmd := range []*cobra.Command{add, change} {
		cmd.Flags().StringVar(&weight, "weight", "", c.t("flag.weight"))
	}
	c.writes(add, change, del)
	c.matches(change, del)
	c.ofTenant(&tenant, add, change, del, list, show)
	return c.noun("class", add, change, del, list, show)
}

func (c *cli) classTable(list []gen.Class) *table {
	t := c.newTable("name", "weight>")
	for _, k := range list {
		t.add(k.Name, k.Weight)
	}
	return t
}

// classWeight reads --weight, which is needed.
func (c *cli) classWeight(text string) (float64, error) {
	if text == "" {
		return 0, c.usage("err.need-flag", "flag", "weight")
	}
	w, err := quantity.ParseWeight(text)
	if err != nil {
		return 0, c.usage("err.weight", "error", err)
	}
	return w.Float(), nil
}

func (c *cli) classList(cmd *cobra.Command, tenant string) error {
	client, fabric, err := c.inTenant(cmd, tenant)
	if err != nil {
		return err
	}
	all, err := pages(func(cursor *string) ([]gen.Class, *string, error) {
		list, err := found[gen.ClassList](c)(client.ListClassesWithResponse(cmd.Context(), fabric, tenant, &gen.ListClassesParams{Limit: pageSize(), Cursor: cursor}))
		if err != nil {
			return nil, nil, err
		}
		return list.Items, list.NextCursor, nil
	})
	if err != nil {
		return err
	}
	return c.print(cmd, all, func() *table { return c.classTable(all) })
}

func (c *cli) classShow(cmd *cobra.Command, tenant, name string) error {
	client, fabric, err := c.inTenant(cmd, tenant)
	if err != nil {
		return err
	}
	k, err := found[gen.Class](c)(client.GetClassWithResponse(cmd.Context(), fabric, tenant, name))
	if err != nil {
		return err
	}
	return c.print(cmd, k, func() *table { return c.classTable([]gen.Class{*k}) })
}

func (c *cli) classAdd(cmd *cobra.Command, tenant, name, weight string) error {
	w, err := c.classWeight(weight)
	if err != nil {
		return err
	}
	client, fabric, err := c.inTenant(cmd, tenant)
	if err != nil {
		return err
	}
	k, err := created[gen.Class](c)(client.AddClassWithResponse(cmd.Context(), fabric, tenant, &gen.AddClassParams{DryRun: given(c.dry)}, gen.Class{Name: name, Weight: w}))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.class-set", "tenant", tenant, "class", k.Name, "weight", k.Weight)
	return c.print(cmd, k, func() *table { return c.classTable([]gen.Class{*k}) })
}

func (c *cli) classSet(cmd *cobra.Command, tenant, name, weight string) error {
	w, err := c.classWeight(weight)
	if err != nil {
		return err
	}
	client, fabric, err := c.inTenant(cmd, tenant)
	if err != nil {
		return err
	}
	had, err := client.GetClassWithResponse(cmd.Context(), fabric, tenant, name)
	if _, err = found[gen.Class](c)(had, err); err != nil {
		return err
	}
	params := &gen.PutClassParams{DryRun: given(c.dry), IfMatch: c.ifMatch(had.HTTPResponse.Header.Get("ETag"))}
	k, err := found[gen.Class](c)(client.PutClassWithResponse(cmd.Context(), fabric, tenant, name, params, gen.ClassUpdate{Weight: w}))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.class-set", "tenant", tenant, "class", k.Name, "weight", k.Weight)
	return c.print(cmd, k, func() *table { return c.classTable([]gen.Class{*k}) })
}

func (c *cli) classDelete(cmd *cobra.Command, tenant, name string) error {
	client, fabric, err := c.inTenant(cmd, tenant)
	if err != nil {
		return err
	}
	match := c.ifMatch("*")
	if err := c.done(client.DeleteClassWithResponse(cmd.Context(), fabric, tenant, name, &gen.DeleteClassParams{DryRun: given(c.dry), IfMatch: match})); err != nil {
		return err
	}
	c.kept(cmd, "msg.class-deleted", "tenant", tenant, "class", name)
	return nil
}
