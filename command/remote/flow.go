package remote

import (
	"cmp"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/quantity"
	"fairlane/internal/usage"
	"fairlane/tenants/tenantfile"
)

func (c *cli) flow() *cobra.Command {
	var file string
	set := c.verb("flow", "set", "  fairlane flow set -f flows.yaml", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.flowSet(cmd, file) })
	set.Flags().StringVarP(&file, "file", "f", "", c.t("flag.file"))
	c.writes(set)
	c.long("", set)
	c.matches(set)
	return c.noun("flow", set,
		c.verb("flow", "list", "  fairlane flow list", cobra.NoArgs, c.flowList),
	)
}

func (c *cli) flows(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string) (*gen.FlowSet, error) {
	set, err := found[gen.FlowSet](c)(client.GetFlowsWithResponse(cmd.Context(), fabric))
	if err != nil {
		return nil, err
	}
	return set, nil
}

func (c *cli) flowTable(list []gen.Flow) *table {
	t := c.newTable("tenant", "class", "from", "to", "qps>", "demand>")
	for _, f := range list {
		class, demand := cmdline.OrZero(f.Class), c.t("word.greedy")
		if class == "" {
			class = c.t("word.default")
		}
		if d := cmdline.OrZero(f.DemandBps); d > 0 {
			demand = quantity.BitRate(d).String()
		}
		t.add(f.Tenant, class, portName(f.SrcName, f.Src), portName(f.DstName, f.Dst), cmdline.OrZero(f.QPS), demand)
	}
	return t
}

// portName returns the display name of a port; its identifier if the topology has no name.
func portName(name *gen.PortName, id string) string { return cmp.Or(cmdline.OrZero(name), id) }

func (c *cli) flowList(cmd *cobra.Command, _ []string) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	set, err := c.flows(cmd, client, fabric)
	if err != nil {
		return err
	}
	return c.print(cmd, set, func() *table { return c.flowTable(set.Flows) })
}

func (c *cli) flowSet(cmd *cobra.Command, file string) error {
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
	list, err := allOf(cmd, client, fabric, c.tenantPage)
	if err != nil {
		return err
	}
	known, err := tenantsIn(list)
	if err != nil {
		return err
	}
	flows, err := tenantfile.ReadFlows(name, in, topo, known)
	if err != nil {
		return usage.Wrap(err)
	}
	now, err := c.flows(cmd, client, fabric)
	if err != nil {
		return err
	}
	match := c.ifMatch(versionTag(now.Version))
	set, err := found[gen.FlowSet](c)(client.PutFlowsWithResponse(cmd.Context(), fabric, &gen.PutFlowsParams{DryRun: given(c.dry), IfMatch: match}, gen.FlowSetUpdate{Flows: flowsOut(flows)}))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.flows-set", "count", len(set.Flows), "version", set.Version)
	return c.print(cmd, set, func() *table { return c.flowTable(set.Flows) })
}
