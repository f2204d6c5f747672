package remote

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
)

// timeFormat is the format of times in tables.
const timeFormat = "2006-01-02 15:04:05"

func (c *cli) fabric() *cobra.Command {
	var source, plane, counters, prerequisites string
	var scale float64
	var keep bool
	create := c.verb("fabric", "create NAME", "  fairlane fabric create lab --source ibsim:unix:fairlane", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error {
			return c.fabricCreate(cmd, gen.FabricCreate{Name: args[0], Source: source, TimeScale: &scale, Plane: given(gen.Plane(plane)), Counters: given(gen.Counters(counters)), Prerequisites: given(gen.Prerequisites(prerequisites))})
		})
	create.Flags().StringVar(&plane, "plane", "", c.t("flag.plane"))
	change := c.verb("fabric", "set NAME", "  fairlane fabric set lab --source ibsim:udp:10.0.0.7:5000", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error {
			return c.fabricSet(cmd, args[0], gen.FabricUpdate{Source: source, TimeScale: &scale, Counters: given(gen.Counters(counters)), Prerequisites: given(gen.Prerequisites(prerequisites))})
		})
	for _, cmd := range []*cobra.Command{create, change} {
		cmd.Flags().StringVar(&source, "source", "", c.t("flag.source"))
		cmd.Flags().Float64Var(&scale, "time-scale", 1, c.t("flag.time-scale"))
		cmd.Flags().StringVar(&counters, "counters", "", c.t("flag.counters"))
		cmd.Flags().StringVar(&prerequisites, "prerequisites", "", c.t("flag.prerequisites"))
	}
	del := c.verb("fabric", "delete NAME", "  fairlane fabric delete lab --yes\n  fairlane fabric delete lab --keep-settings", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.fabricDelete(cmd, args[0], keep) })
	del.Flags().BoolVar(&keep, "keep-settings", false, c.t("flag.keep-settings"))
	c.destroys(del, "ask.fabric-delete")
	discover := c.verb("fabric", "discover [NAME]", "  fairlane fabric discover lab", cobra.MaximumNArgs(1), c.fabricDiscover)
	c.writes(create, change, del, discover)
	c.matches(change, del)
	snapshots := c.verb("fabric", "snapshots [NAME]", "  fairlane fabric snapshots lab", cobra.MaximumNArgs(1), listed(c, c.pick, c.snapshotPage, c.snapshotTable))
	c.long("", snapshots)
	return c.noun("fabric", append(c.fabricReleaseVerbs(), create, change, del, discover,
		c.verb("fabric", "list", "  fairlane fabric list -o json", cobra.NoArgs, listed(c, c.anywhere, c.fabricPage, c.fabricTable)),
		c.verb("fabric", "show [NAME]", "  fairlane fabric show lab", cobra.MaximumNArgs(1), c.fabricShow),
		snapshots,
		c.fabricEvents(),
	)...)
}

// pick connects and finds the fabric to use: the argument, --fabric, FAIRLANE_FABRIC, or the only one.
func (c *cli) pick(cmd *cobra.Command, args ...string) (*apiclient.ClientWithResponses, string, error) {
	client, err := c.client()
	if err != nil {
		return nil, "", err
	}
	for _, name := range append(args, c.fabricName, c.getenv("FAIRLANE_FABRIC")) {
		if name != "" {
			return client, name, nil
		}
	}
	list, err := found[gen.FabricList](c)(client.ListFabricsWithResponse(cmd.Context(), &gen.ListFabricsParams{Limit: new(20)}))
	if err != nil {
		return nil, "", err
	}
	switch items := list.Items; len(items) {
	case 0:
		return nil, "", c.usage("err.no-fabric")
	case 1:
		return client, items[0].Name, nil
	default:
		names := make([]string, len(items))
		for i, f := range items {
			names[i] = f.Name
		}
		return nil, "", c.usage("err.which-fabric", "names", strings.Join(names, ", "))
	}
}

func (c *cli) fabricCreate(cmd *cobra.Command, body gen.FabricCreate) error {
	if body.Source == "" {
		return c.usage("err.need-flag", "flag", "source")
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	f, err := created[gen.Fabric](c)(client.CreateFabricWithResponse(cmd.Context(), &gen.CreateFabricParams{DryRun: given(c.dry)}, body))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.fabric-created", "name", f.Name)
	return shown(c, cmd, f, c.fabricTable)
}

// fabricSet changes the given fields against the version that it read.
func (c *cli) fabricSet(cmd *cobra.Command, name string, want gen.FabricUpdate) error {
	if !cmd.Flags().Changed("source") && !cmd.Flags().Changed("time-scale") && !cmd.Flags().Changed("counters") && !cmd.Flags().Changed("prerequisites") {
		return c.usage("err.no-change")
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	had, err := found[gen.Fabric](c)(client.GetFabricWithResponse(cmd.Context(), name))
	if err != nil {
		return err
	}
	body := gen.FabricUpdate{Source: had.Source, TimeScale: &had.TimeScale, Counters: had.Counters, Prerequisites: had.Prerequisites}
	t := &taker{cmd: cmd}
	take(t, "source", &body.Source, want.Source)
	take(t, "time-scale", &body.TimeScale, want.TimeScale)
	take(t, "counters", &body.Counters, want.Counters)
	take(t, "prerequisites", &body.Prerequisites, want.Prerequisites)
	match := c.ifMatch(versionTag(had.Version))
	f, err := found[gen.Fabric](c)(client.UpdateFabricWithResponse(cmd.Context(), name, &gen.UpdateFabricParams{DryRun: given(c.dry), IfMatch: match}, body))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.fabric-set", "name", name, "version", f.Version)
	return shown(c, cmd, f, c.fabricTable)
}

func (c *cli) snapshotPage(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[gen.Snapshot], error) {
	list, err := found[gen.SnapshotList](c)(client.ListSnapshotsWithResponse(cmd.Context(), fabric, &gen.ListSnapshotsParams{Limit: pageSize(), Cursor: cursor}))
	return (*page[gen.Snapshot])(list), err
}

func (c *cli) snapshotTable(list []gen.Snapshot) *table {
	t := c.newTable("snapshot", "switches>", "hosts>", "links>", "taken", "seen")
	for _, s := range list {
		t.add(short(s.Sha256), s.Switches, s.Hosts, s.Links, s.TakenAt.Format(timeFormat), s.SeenAt.Format(timeFormat))
	}
	return t
}

func (c *cli) fabricTable(list []gen.Fabric) *table {
	t := c.newTable("name", "plane", "management", "source", "switches>", "hosts>", "links>", "seen")
	for _, f := range list {
		state := "-" // hidden from callers who do not manage the fabric
		if f.Management != nil {
			state = c.t("management." + string(*f.Management))
		}
		if f.Snapshot == nil {
			t.add(f.Name, f.Plane, state, f.Source, "-", "-", "-", c.t("word.never"))
			continue
		}
		t.add(f.Name, f.Plane, state, f.Source, f.Snapshot.Switches, f.Snapshot.Hosts, f.Snapshot.Links, f.Snapshot.SeenAt.Format(timeFormat))
	}
	return t
}

func (c *cli) fabricPage(cmd *cobra.Command, client *apiclient.ClientWithResponses, _ string, cursor *string) (*page[gen.Fabric], error) {
	list, err := found[gen.FabricList](c)(client.ListFabricsWithResponse(cmd.Context(), &gen.ListFabricsParams{Limit: pageSize(), Cursor: cursor}))
	return (*page[gen.Fabric])(list), err
}

func (c *cli) fabricShow(cmd *cobra.Command, args []string) error {
	client, name, err := c.pick(cmd, args...)
	if err != nil {
		return err
	}
	f, err := found[gen.Fabric](c)(client.GetFabricWithResponse(cmd.Context(), name))
	if err != nil {
		return err
	}
	if s := f.Snapshot; s != nil {
		c.say(cmd, "msg.snapshot", "sha", s.Sha256)
	} else {
		c.say(cmd, "msg.never-discovered")
	}
	if cmdline.OrZero(f.RepairsWait) && f.RestoredAt != nil {
		c.say(cmd, "msg.repairs-wait", "at", f.RestoredAt.Format(timeFormat))
	}
	return shown(c, cmd, f, c.fabricTable)
}

func (c *cli) fabricDiscover(cmd *cobra.Command, args []string) error {
	client, name, err := c.pick(cmd, args...)
	if err != nil {
		return err
	}
	s, err := found[gen.Snapshot](c)(client.DiscoverFabricWithResponse(cmd.Context(), name, &gen.DiscoverFabricParams{DryRun: given(c.dry)}))
	if err != nil {
		return err
	}
	if c.dry {
		c.say(cmd, "msg.dry-run")
	}
	wall := time.Duration(s.WallMs * float64(time.Millisecond)).Round(time.Microsecond)
	for i, text := range s.Warnings {
		if i < len(s.WarningsSaid) { // earlier managers have none
			text = c.texts.Either(text, &s.WarningsSaid[i])
		}
		c.say(cmd, "warning", "text", text)
	}
	c.say(cmd, "msg.discovered", "switches", s.Switches, "hosts", s.Hosts, "links", s.Links, "wall", wall, "snapshot", short(s.Sha256))
	return c.print(cmd, s, func() *table {
		t := c.newTable("name", "switches>", "hosts>", "links>", "seen")
		t.add(name, s.Switches, s.Hosts, s.Links, s.SeenAt.Format(timeFormat))
		return t
	})
}

func (c *cli) fabricDelete(cmd *cobra.Command, name string, keep bool) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	had, err := found[gen.Fabric](c)(client.GetFabricWithResponse(cmd.Context(), name))
	if err != nil {
		return err
	}
	match := c.ifMatch(versionTag(had.Version))
	if err := c.judge(client.DeleteFabricWithResponse(cmd.Context(), name, &gen.DeleteFabricParams{DryRun: given(c.dry), IfMatch: match, KeepSettings: given(keep)})); err != nil {
		return err
	}
	c.kept(cmd, "msg.fabric-deleted", "name", name)
	return nil
}
