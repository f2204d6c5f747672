package remote

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/hostset"
	"fairlane/internal/usage"
	"fairlane/subnet"
)

// maxNamed is the maximum number of names in a message.
const maxNamed = 5

// someNames lists the first names of a list.
func someNames(names []string) string {
	out := slices.Clone(names[:min(len(names), maxNamed)])
	if len(names) > maxNamed {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

// expandPorts expands the host sets among ports. cobra splits flag values at commas, so parts of one set are joined
// first.
func expandPorts(ports []string) ([]string, error) {
	names, err := hostset.Expand(strings.Join(ports, ","))
	if err != nil {
		return nil, usage.Wrap(err)
	}
	return names, nil
}

// onPorts is a command on a port, which calls one, or on a host set, which calls many.
func (c *cli) onPorts(one func(*cobra.Command, *apiclient.ClientWithResponses, string, string) error, many func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	single := c.onName(c.inTenant, one)
	return func(cmd *cobra.Command, args []string) error {
		if !hostset.Is(args[0]) {
			return single(cmd, args)
		}
		names, err := expandPorts(args)
		if err != nil {
			return err
		}
		if c.tenantName == "" {
			return c.usage("err.need-flag", "flag", "tenant")
		}
		return many(cmd, names)
	}
}

// resolved returns the identifiers of named ports of a fabric, in the form of API answers.
func (c *cli) resolved(topo *subnet.Fabric, names []string) ([]string, error) {
	ids := make([]string, len(names))
	var unknown []string
	var why error
	for i, name := range names {
		ref, err := topo.ResolvePort(name)
		if err != nil {
			if unknown = append(unknown, name); len(unknown) > maxNamed {
				break
			}
			why = errors.Join(why, err)
			continue
		}
		ids[i] = topo.PortID(ref).String()
	}
	switch len(unknown) {
	case 0:
		return ids, nil
	case 1:
		return nil, usage.Wrap(why)
	}
	return nil, c.usage("err.unknown-ports", "names", someNames(unknown))
}

// editAttachments changes the attachments of a tenant in one request, against the version that was read. edit returns
// the new attachments, given the current ones and the named ports.
func (c *cli) editAttachments(cmd *cobra.Command, names []string, key string, edit func(now []gen.Attachment, ids []string) ([]gen.Attachment, error)) ([]gen.Attachment, error) {
	client, fabric, topo, err := c.onModel(cmd)
	if err != nil {
		return nil, err
	}
	ids, err := c.resolved(topo, names)
	if err != nil {
		return nil, err
	}
	old, err := c.getTenant(cmd, client, fabric, c.tenantName)
	if err != nil {
		return nil, err
	}
	next := gen.TenantCreate{Weight: old.Weight, GuaranteeBps: &old.GuaranteeBps, CapBps: &old.CapBps, Pkey: &old.Pkey, Classes: old.Classes}
	// A feed's ports are neither added nor removed here: the operator may claim one as well, and cannot detach it.
	own := slices.DeleteFunc(old.Attachments, func(a gen.Attachment) bool { return cmdline.OrZero(a.FeedOnly) })
	if next.Attachments, err = edit(own, ids); err != nil {
		return nil, err
	}
	params := &gen.UpdateTenantParams{DryRun: given(c.dry), IfMatch: c.ifMatch(versionTag(old.Version))}
	t, err := found[gen.Tenant](c)(client.UpdateTenantWithResponse(cmd.Context(), fabric, c.tenantName, params, updateOf(&next)))
	if err != nil {
		return nil, err
	}
	c.kept(cmd, key, "tenant", c.tenantName, "count", len(names), "version", t.Version)
	return t.Attachments, nil
}

// clashing names those of the ports that already have an attachment, or that lack one.
func clashing(names, ids []string, now []gen.Attachment, attached bool) []string {
	has := make(map[string]bool, len(now))
	for _, a := range now {
		has[a.Port] = true
	}
	var out []string
	for i, id := range ids {
		if has[id] == attached {
			out = append(out, names[i])
		}
	}
	return out
}

func (c *cli) attachmentAddMany(cmd *cobra.Command, names []string, sl *gen.SL) error {
	var added []string
	list, err := c.editAttachments(cmd, names, "msg.attached-many", func(now []gen.Attachment, ids []string) ([]gen.Attachment, error) {
		if twice := clashing(names, ids, now, true); len(twice) > 0 {
			return nil, errors.New(c.t("err.attached-already", "tenant", c.tenantName, "names", someNames(twice)))
		}
		for _, id := range ids {
			now = append(now, gen.Attachment{Port: id, SL: sl})
		}
		added = ids
		return now, nil
	})
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(a gen.Attachment) bool { return !slices.Contains(added, a.Port) })
	return c.print(cmd, list, func() *table { return c.attachmentTable(list) })
}

func (c *cli) attachmentDeleteMany(cmd *cobra.Command, names []string) error {
	_, err := c.editAttachments(cmd, names, "msg.detached-many", func(now []gen.Attachment, ids []string) ([]gen.Attachment, error) {
		if missing := clashing(names, ids, now, false); len(missing) > 0 {
			return nil, errors.New(c.t("err.not-attached", "tenant", c.tenantName, "names", someNames(missing)))
		}
		return slices.DeleteFunc(now, func(a gen.Attachment) bool { return slices.Contains(ids, a.Port) }), nil
	})
	return err
}
