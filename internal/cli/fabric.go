package cli

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/topofile"
)

// timeFormat is how tables show times.
const timeFormat = "2006-01-02 15:04:05"

func (c *cli) fabric() *cobra.Command {
	var source string
	var scale float64
	create := c.verb("fabric", "create NAME", "  fairlane fabric create lab --source ibsim:unix:fairlane", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.fabricCreate(cmd, args[0], source, scale) })
	create.Flags().StringVar(&source, "source", "", c.t("flag.source"))
	create.Flags().Float64Var(&scale, "time-scale", 1, c.t("flag.time-scale"))
	var match string
	del := c.verb("fabric", "delete NAME", "  fairlane fabric delete lab", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.fabricDelete(cmd, args[0], match) })
	del.Flags().StringVar(&match, "if-match", "", c.t("flag.if-match"))
	return c.noun("fabric", create, del,
		c.verb("fabric", "list", "  fairlane fabric list -o json", cobra.NoArgs, c.fabricList),
		c.verb("fabric", "show [NAME]", "  fairlane fabric show lab", cobra.MaximumNArgs(1), c.fabricShow),
		c.verb("fabric", "discover [NAME]", "  fairlane fabric discover lab", cobra.MaximumNArgs(1), c.fabricDiscover),
		c.verb("fabric", "events", "  fairlane fabric events --fabric lab", cobra.NoArgs, c.fabricEvents),
	)
}

// pick connects and finds the fabric to work on: the argument, --fabric, FAIRLANE_FABRIC, or
// the only one there is.
func (c *cli) pick(cmd *cobra.Command, args ...string) (*gen.ClientWithResponses, string, error) {
	client, err := c.client()
	if err != nil {
		return nil, "", err
	}
	for _, name := range append(args, c.fabricName, c.getenv("FAIRLANE_FABRIC")) {
		if name != "" {
			return client, name, nil
		}
	}
	limit := 20
	r, err := client.ListFabricsWithResponse(cmd.Context(), &gen.ListFabricsParams{Limit: &limit})
	if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
		return nil, "", err
	}
	switch items := r.JSON200.Items; len(items) {
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

func (c *cli) fabricCreate(cmd *cobra.Command, name, source string, scale float64) error {
	if source == "" {
		return c.usage("err.need-flag", "flag", "source")
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	r, err := client.CreateFabricWithResponse(cmd.Context(), nil, gen.FabricCreate{Name: name, Source: source, TimeScale: &scale})
	if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
		return err
	}
	c.say(cmd, "msg.fabric-created", "name", name)
	return c.print(cmd, r.JSON201, func() *table { return c.fabricTable([]gen.Fabric{*r.JSON201}) })
}

func (c *cli) fabricTable(list []gen.Fabric) *table {
	t := c.newTable("name", "plane", "source", "switches>", "hosts>", "links>", "seen")
	for _, f := range list {
		if f.Snapshot == nil {
			t.add(f.Name, f.Plane, f.Source, "-", "-", "-", c.t("word.never"))
			continue
		}
		t.add(f.Name, f.Plane, f.Source, f.Snapshot.Switches, f.Snapshot.Hosts, f.Snapshot.Links, f.Snapshot.SeenAt.Format(timeFormat))
	}
	return t
}

func (c *cli) fabricList(cmd *cobra.Command, _ []string) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	all, err := pages(func(cursor *string) ([]gen.Fabric, *string, error) {
		r, err := client.ListFabricsWithResponse(cmd.Context(), &gen.ListFabricsParams{Limit: pageSize(), Cursor: cursor})
		if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
			return nil, nil, err
		}
		return r.JSON200.Items, r.JSON200.NextCursor, nil
	})
	if err != nil {
		return err
	}
	return c.print(cmd, all, func() *table { return c.fabricTable(all) })
}

// pageSize is the largest page the contract allows: the command line wants all rows anyway.
func pageSize() *int { n := 1000; return &n }

// pages reads a list to its end; the result is never nil.
func pages[T any](get func(cursor *string) ([]T, *string, error)) ([]T, error) {
	all := []T{}
	var cursor *string
	for {
		items, next, err := get(cursor)
		if err != nil {
			return nil, err
		}
		if all = append(all, items...); next == nil {
			return all, nil
		}
		cursor = next
	}
}

func (c *cli) fabricShow(cmd *cobra.Command, args []string) error {
	client, name, err := c.pick(cmd, args...)
	if err != nil {
		return err
	}
	r, err := client.GetFabricWithResponse(cmd.Context(), name)
	if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
		return err
	}
	if s := r.JSON200.Snapshot; s != nil {
		c.say(cmd, "msg.snapshot", "sha", s.Sha256)
	} else {
		c.say(cmd, "msg.never-discovered")
	}
	return c.print(cmd, r.JSON200, func() *table { return c.fabricTable([]gen.Fabric{*r.JSON200}) })
}

func (c *cli) fabricDiscover(cmd *cobra.Command, args []string) error {
	client, name, err := c.pick(cmd, args...)
	if err != nil {
		return err
	}
	r, err := client.DiscoverFabricWithResponse(cmd.Context(), name, nil)
	if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
		return err
	}
	s := r.JSON200
	wall := time.Duration(s.WallMs * float64(time.Millisecond)).Round(time.Microsecond)
	c.say(cmd, "msg.discovered", "switches", s.Switches, "hosts", s.Hosts, "links", s.Links, "wall", wall, "snapshot", short(s.Sha256))
	return c.print(cmd, s, func() *table {
		t := c.newTable("name", "switches>", "hosts>", "links>", "seen")
		t.add(name, s.Switches, s.Hosts, s.Links, s.SeenAt.Format(timeFormat))
		return t
	})
}

func (c *cli) fabricDelete(cmd *cobra.Command, name, match string) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	if match == "" {
		r, err := client.GetFabricWithResponse(cmd.Context(), name)
		if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
			return err
		}
		match = fmt.Sprint(r.JSON200.Version)
	}
	r, err := client.DeleteFabricWithResponse(cmd.Context(), name, &gen.DeleteFabricParams{IfMatch: quoted(match)})
	if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
		return err
	}
	c.say(cmd, "msg.fabric-deleted", "name", name)
	return nil
}

// quoted is the If-Match of a version.
func quoted(version string) *string {
	v := version
	if v != "*" {
		v = `"` + strings.Trim(version, `"`) + `"`
	}
	return &v
}

func (c *cli) fabricEvents(cmd *cobra.Command, _ []string) error {
	client, name, err := c.pick(cmd)
	if err != nil {
		return err
	}
	all, err := pages(func(cursor *string) ([]gen.Event, *string, error) {
		r, err := client.ListEventsWithResponse(cmd.Context(), name, &gen.ListEventsParams{Limit: pageSize(), Cursor: cursor})
		if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
			return nil, nil, err
		}
		return r.JSON200.Items, r.JSON200.NextCursor, nil
	})
	if err != nil {
		return err
	}
	return c.print(cmd, all, func() *table {
		t := c.newTable("time", "actor", "event", "message")
		for _, e := range all {
			t.add(e.At.Format(timeFormat), e.Actor, e.Kind, e.Message)
		}
		return t
	})
}

func (c *cli) topology() *cobra.Command {
	return c.noun("topology",
		c.verb("topology", "show", "  fairlane topology show --fabric lab", cobra.NoArgs, c.topologyShow),
		c.verb("topology", "links", "  fairlane topology links -o json", cobra.NoArgs, c.topologyLinks),
		c.verb("topology", "export", "  fairlane topology export > lab.yaml", cobra.NoArgs, c.topologyExport),
	)
}

func (c *cli) getTopology(cmd *cobra.Command) (*gen.Topology, error) {
	client, name, err := c.pick(cmd)
	if err != nil {
		return nil, err
	}
	r, err := client.GetTopologyWithResponse(cmd.Context(), name, &gen.GetTopologyParams{})
	if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
		return nil, err
	}
	return r.JSON200, nil
}

func (c *cli) topologyShow(cmd *cobra.Command, _ []string) error {
	topo, err := c.getTopology(cmd)
	if err != nil {
		return err
	}
	return c.print(cmd, topo, func() *table {
		t := c.newTable("guid", "kind", "name", "ports>", "lids")
		for _, n := range topo.Nodes {
			lids := strings.Trim(fmt.Sprint(n.Lids), "[]")
			t.add(n.GUID, c.t("kind."+string(n.Kind)), n.Name, n.Ports, lids)
		}
		return t
	})
}

func (c *cli) topologyLinks(cmd *cobra.Command, _ []string) error {
	topo, err := c.getTopology(cmd)
	if err != nil {
		return err
	}
	names := make(map[string]string, len(topo.Nodes))
	for _, n := range topo.Nodes {
		names[n.GUID] = n.Name
	}
	end := func(p string) string {
		guid, num, _ := strings.Cut(p, ":")
		return names[guid] + "/P" + num
	}
	return c.print(cmd, topo.Links, func() *table {
		t := c.newTable("a", "b", "rate>", "delay>")
		for _, l := range topo.Links {
			t.add(end(l.A), end(l.B), quantity.BitRate(l.RateBps), quantity.Picoseconds(l.DelayPs))
		}
		return t
	})
}

func (c *cli) topologyExport(cmd *cobra.Command, _ []string) error {
	client, name, err := c.pick(cmd)
	if err != nil {
		return err
	}
	text, err := c.topologyFile(cmd, client, name)
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

func (c *cli) topologyFile(cmd *cobra.Command, client *gen.ClientWithResponses, fabric string) ([]byte, error) {
	r, err := client.GetTopologyFileWithResponse(cmd.Context(), fabric, &gen.GetTopologyFileParams{})
	if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
		return nil, err
	}
	return r.Body, nil
}

// model is the fabric's topology as the pure model, for files that name hosts.
func (c *cli) model(cmd *cobra.Command, client *gen.ClientWithResponses, fabric string) (*subnet.Fabric, error) {
	text, err := c.topologyFile(cmd, client, fabric)
	if err != nil {
		return nil, err
	}
	return topofile.Read("topology of "+fabric, bytes.NewReader(text))
}
