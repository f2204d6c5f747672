package remote

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/topofile"
)

func (c *cli) topology() *cobra.Command {
	var snapshot, plan, node string
	var tier int
	show := c.verb("topology", "show", "  fairlane topology show --fabric lab", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return c.topologyShow(cmd, snapshot) })
	tiers := c.verb("topology", "tiers", "  fairlane topology tiers", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return c.topologyTiers(cmd, snapshot) })
	links := c.verb("topology", "links", "  fairlane topology links -o json\n  fairlane topology links --node leaf1 --plan 3f9a61c2", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		p := gen.ListLinksParams{Snapshot: given(snapshot), Plan: given(plan), Node: given(node)}
		if tier >= 0 {
			p.Tier = &tier
		}
		return c.topologyLinks(cmd, p)
	})
	links.Flags().StringVar(&plan, "plan", "", c.t("flag.plan-default"))
	links.Flags().StringVar(&node, "node", "", c.t("flag.node"))
	links.Flags().IntVar(&tier, "tier", -1, c.t("flag.tier"))
	export := c.verb("topology", "export", "  fairlane topology export > lab.yaml", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return c.topologyExport(cmd, snapshot) })
	for _, cmd := range []*cobra.Command{show, tiers, links, export} {
		cmd.Flags().StringVar(&snapshot, "snapshot", "", c.t("flag.snapshot"))
	}
	c.long("", show, tiers, links)
	return c.noun("topology", show, tiers, links, export)
}

func (c *cli) getTopology(cmd *cobra.Command, snapshot string) (*gen.Topology, error) {
	client, name, err := c.pick(cmd)
	if err != nil {
		return nil, err
	}
	return found[gen.Topology](c)(client.GetTopologyWithResponse(cmd.Context(), name, &gen.GetTopologyParams{Snapshot: given(snapshot)}))
}

func (c *cli) topologyShow(cmd *cobra.Command, snapshot string) error {
	topo, err := c.getTopology(cmd, snapshot)
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

func (c *cli) topologyLinks(cmd *cobra.Command, params gen.ListLinksParams) error {
	client, name, err := c.pick(cmd)
	if err != nil {
		return err
	}
	all, err := pages(func(cursor *string) (*page[gen.Link], error) {
		params.Limit, params.Cursor = pageSize(), cursor
		list, err := found[gen.LinkList](c)(client.ListLinksWithResponse(cmd.Context(), name, &params))
		if err != nil {
			return nil, err
		}
		return &page[gen.Link]{list.Items, list.NextCursor}, nil
	})
	if err != nil {
		return err
	}
	return c.print(cmd, all, func() *table {
		t := c.newTable("a", "b", "rate>", "delay>", "planned-use>", "use>")
		for _, l := range all {
			var planned, measured []string
			for _, d := range l.Directions {
				planned, measured = append(planned, cmdline.PercentOrDash(d.PredictedUse)), append(measured, cmdline.PercentOrDash(d.Use))
			}
			t.add(l.AName, l.BName, knownOrDash(quantity.BitRate(l.RateBps)), knownOrDash(quantity.Picoseconds(l.DelayPs)), bothWays(planned), bothWays(measured))
		}
		return t
	})
}

// knownOrDash shows a rate or a delay, which is 0 if discovery cannot read it.
func knownOrDash[N ~int64](v N) any {
	if v == 0 {
		return "-"
	}
	return v
}

// bothWays shows the use of a link in both directions.
func bothWays(uses []string) string {
	if len(uses) == 0 {
		return "-"
	}
	return strings.Join(uses, " ⇄ ")
}

func (c *cli) topologyTiers(cmd *cobra.Command, snapshot string) error {
	client, name, err := c.pick(cmd)
	if err != nil {
		return err
	}
	tiers, err := found[gen.Tiers](c)(client.GetTiersWithResponse(cmd.Context(), name, &gen.GetTiersParams{Snapshot: given(snapshot)}))
	if err != nil {
		return err
	}
	return c.print(cmd, tiers, func() *table {
		t := c.newTable("tier>", "switches>", "hosts>", "ports>", "name")
		for _, x := range tiers.Tiers {
			t.add(x.Tier, x.Switches, x.Hosts, x.Ports, some(x.Names))
		}
		return t
	}, func() *table {
		if len(tiers.Bundles) == 0 {
			return nil
		}
		t := c.newTable("lower>", "upper>", "links>", "capacity>")
		for _, x := range tiers.Bundles {
			t.add(x.Lower, x.Upper, x.Links, quantity.BitRate(x.CapacityBps))
		}
		return t
	})
}

func (c *cli) topologyExport(cmd *cobra.Command, snapshot string) error {
	client, name, err := c.pick(cmd)
	if err != nil {
		return err
	}
	text, err := c.topologyFile(cmd, client, name, snapshot)
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

func (c *cli) topologyFile(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, snapshot string) ([]byte, error) {
	r, err := client.GetTopologyFileWithResponse(cmd.Context(), fabric, &gen.GetTopologyFileParams{Snapshot: given(snapshot)})
	if err := c.judge(r, err); err != nil {
		return nil, err
	}
	return r.Body, nil
}

// onModel connects and reads the fabric's topology as the pure model, for files with names of hosts.
func (c *cli) onModel(cmd *cobra.Command) (*apiclient.ClientWithResponses, string, *subnet.Fabric, error) {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return nil, "", nil, err
	}
	text, err := c.topologyFile(cmd, client, fabric, "")
	if err != nil {
		return nil, "", nil, err
	}
	topo, err := topofile.Read("topology of "+fabric, bytes.NewReader(text))
	return client, fabric, topo, err
}
