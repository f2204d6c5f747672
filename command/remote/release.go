package remote

import (
	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/command/cmdline"
)

// fabricReleaseVerbs are the commands that release a fabric and manage it again.
func (c *cli) fabricReleaseVerbs() []*cobra.Command {
	var to string
	var wait bool
	release := c.verb("fabric", "release NAME", "  fairlane fabric release lab --dry-run\n  fairlane fabric release lab --yes --wait\n  fairlane fabric release lab --to factory", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.fabricRelease(cmd, args[0], to, wait) })
	release.Flags().StringVar(&to, "to", "baseline", c.t("flag.release-to"))
	release.Flags().BoolVar(&wait, "wait", false, c.t("flag.wait"))
	manage := c.verb("fabric", "manage NAME", "  fairlane fabric manage lab", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.fabricManage(cmd, args[0]) })
	c.writes(release, manage)
	c.long("", release)
	c.destroys(release, "ask.fabric-release")
	return []*cobra.Command{release, manage}
}

func (c *cli) fabricRelease(cmd *cobra.Command, name, to string, wait bool) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	r, err := client.ReleaseFabricWithResponse(cmd.Context(), name, &gen.ReleaseFabricParams{DryRun: given(c.dry)}, gen.FabricRelease{To: new(gen.FabricReleaseTo(to))})
	if err := c.judge(r, err); err != nil {
		return err
	}
	if r.JSON200 != nil {
		return c.printRelease(cmd, r.JSON200)
	}
	ro, err := present(c, r, r.JSON202)
	if err != nil {
		return err
	}
	c.say(cmd, "msg.release-started", "id", ro.ID, "name", name)
	if wait {
		return c.follow(cmd, client, name, ro.ID)
	}
	return shown(c, cmd, ro, c.rolloutTable)
}

// printRelease shows the effect of a release: each device's changes, and what is removed from the subnet manager.
func (c *cli) printRelease(cmd *cobra.Command, p *gen.ReleasePreview) error {
	c.say(cmd, "msg.release-preview", "devices", len(p.Devices), "placements", len(p.Placements), "to", p.To)
	return c.print(cmd, p, func() *table {
		t := c.newTable("device", "field", "observed>", "desired>", "fault")
		for i := range p.Devices {
			d := &p.Devices[i]
			switch {
			case d.Missing:
				t.addRanked(1, d.Name, "", "", "", c.t("msg.release-missing"))
			case d.Error != nil:
				t.addRanked(1, d.Name, "", "", "", c.texts.Either(*d.Error, d.ErrorSaid))
			}
			for _, x := range groupFields(d.Changes) {
				t.add(d.Name, x.field, x.observed, x.desired, c.texts.Either(cmdline.OrZero(d.Note), d.NoteSaid))
			}
		}
		return t
	}, func() *table {
		if len(p.Placements) == 0 {
			return nil
		}
		t := c.newTable("tenant", "port", "pkey", "sl>")
		for _, x := range p.Placements {
			t.add(x.Tenant, x.Port, x.Pkey, x.SL)
		}
		return t
	})
}

func (c *cli) fabricManage(cmd *cobra.Command, name string) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	f, err := found[gen.Fabric](c)(client.ManageFabricWithResponse(cmd.Context(), name, &gen.ManageFabricParams{DryRun: given(c.dry)}))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.fabric-managed", "name", name)
	return shown(c, cmd, f, c.fabricTable)
}
