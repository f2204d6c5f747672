package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
)

// completeWithin bounds what a shell waits for names: a completion that comes late is worse than none.
const completeWithin = 3 * time.Second

// lister asks the service for names to complete with. An error completes nothing.
type lister func(*cobra.Command) ([]string, error)

// completed makes a shell's completion of a lister.
func completed(list lister) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		cmd.SetContext(ctx)
		names, err := list(cmd)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		for _, n := range names {
			if strings.HasPrefix(n, begun) {
				out = append(out, clean(n))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// completes gives a noun's verbs and flags their completions: names come from the service.
func (c *cli) completes(noun *cobra.Command) {
	byNoun := map[string]lister{
		"fabric": c.fabricNames, "tenant": c.tenantNames, "user": c.userNames, "member": c.userNames, "plan": c.planNames, "rollout": c.rolloutNumbers,
		"policy": c.revisionNumbers, "simulation": c.simulationNumbers, "calibration": c.calibrationNumbers, "class": c.classNames,
		"attachment": c.attachedPorts, "device": c.deviceNames, "service-account": c.accountNames,
	}
	fixed := func(words ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	flags := map[string]cobra.CompletionFunc{
		"fabric": completed(c.fabricNames), "tenant": completed(c.tenantNames), "plan": completed(c.planNames), "against": completed(c.planNames), "to": completed(c.planNames),
		"output": fixed("table", "json", "yaml"), "lang": fixed("en", "zh"), "plane": fixed("ib", "roce", "wrcc"), "mode": fixed("product", "theorem1"),
		"per-qp": fixed("auto", "qp", "sl"), "cct-law": fixed("geometric", "quadratic"), "stage": fixed("placement", "settings"), "service-account": completed(c.accountNames),
	}
	if noun.Name() == "policy" {
		flags["against"] = completed(c.revisionNumbers)
	}
	for _, cmd := range append(noun.Commands(), noun) {
		for name, f := range flags {
			flag := cmd.Flags().Lookup(name)
			if flag == nil {
				flag = cmd.PersistentFlags().Lookup(name)
			}
			if flag != nil && flag.Value.Type() != "bool" {
				_ = cmd.RegisterFlagCompletionFunc(name, f) // fails only for flags that are not there, or registered twice
			}
		}
		list := byNoun[noun.Name()]
		_, argument, _ := strings.Cut(cmd.Use, " ")
		if list == nil || cmd == noun || argument == "" || cmd.Name() == "create" || cmd.Name() == "add" {
			continue
		}
		complete := completed(list)
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return complete(cmd, args, begun)
		}
	}
}

// namesOf picks the names out of the first page of a list, which is as much as a shell can show.
func namesOf[T any](list []T, name func(T) string) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = name(x)
	}
	return out
}

func (c *cli) fabricNames(cmd *cobra.Command) ([]string, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	list, err := found[gen.FabricList](c)(client.ListFabricsWithResponse(cmd.Context(), &gen.ListFabricsParams{Limit: pageSize()}))
	if err != nil {
		return nil, err
	}
	return namesOf(list.Items, func(x gen.Fabric) string { return x.Name }), nil
}

func (c *cli) tenantNames(cmd *cobra.Command) ([]string, error) {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return nil, err
	}
	list, err := found[gen.TenantList](c)(client.ListTenantsWithResponse(cmd.Context(), fabric, &gen.ListTenantsParams{Limit: pageSize()}))
	if err != nil {
		return nil, err
	}
	return namesOf(list.Items, func(x gen.Tenant) string { return x.Name }), nil
}

func (c *cli) userNames(cmd *cobra.Command) ([]string, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	list, err := found[gen.UserList](c)(client.ListUsersWithResponse(cmd.Context(), &gen.ListUsersParams{Limit: pageSize()}))
	if err != nil {
		return nil, err
	}
	return namesOf(list.Items, func(x gen.User) string { return x.Name }), nil
}

func (c *cli) planNames(cmd *cobra.Command) ([]string, error) {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return nil, err
	}
	list, err := found[gen.PlanList](c)(client.ListPlansWithResponse(cmd.Context(), fabric, &gen.ListPlansParams{Limit: pageSize()}))
	if err != nil {
		return nil, err
	}
	return namesOf(list.Items, func(x gen.PlanSummary) string { return short(x.Name) }), nil
}

func (c *cli) rolloutNumbers(cmd *cobra.Command) ([]string, error) {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return nil, err
	}
	list, err := found[gen.RolloutList](c)(client.ListRolloutsWithResponse(cmd.Context(), fabric, &gen.ListRolloutsParams{Limit: pageSize()}))
	if err != nil {
		return nil, err
	}
	return namesOf(list.Items, func(x gen.Rollout) string { return strconv.FormatInt(x.ID, 10) }), nil
}

func (c *cli) revisionNumbers(cmd *cobra.Command) ([]string, error) {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return nil, err
	}
	list, err := found[gen.PolicyList](c)(client.ListPoliciesWithResponse(cmd.Context(), fabric, &gen.ListPoliciesParams{Limit: pageSize()}))
	if err != nil {
		return nil, err
	}
	return namesOf(list.Items, func(x gen.Policy) string { return strconv.FormatInt(x.Revision, 10) }), nil
}

func (c *cli) simulationNumbers(cmd *cobra.Command) ([]string, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	list, err := found[gen.SimulationList](c)(client.ListSimulationsWithResponse(cmd.Context(), &gen.ListSimulationsParams{Limit: pageSize()}))
	if err != nil {
		return nil, err
	}
	return namesOf(list.Items, func(x gen.Simulation) string { return strconv.FormatInt(x.ID, 10) }), nil
}

func (c *cli) calibrationNumbers(cmd *cobra.Command) ([]string, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	list, err := found[gen.CalibrationList](c)(client.ListCalibrationsWithResponse(cmd.Context(), &gen.ListCalibrationsParams{Limit: pageSize()}))
	if err != nil {
		return nil, err
	}
	return namesOf(list.Items, func(x gen.Calibration) string { return strconv.FormatInt(x.ID, 10) }), nil
}

// flagValue is the value of a flag that a command may not have.
func flagValue(cmd *cobra.Command, name string) string {
	if f := cmd.Flags().Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

func (c *cli) deviceNames(cmd *cobra.Command) ([]string, error) {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return nil, err
	}
	read := false
	list, err := found[gen.DeviceList](c)(client.ListDevicesWithResponse(cmd.Context(), fabric, &gen.ListDevicesParams{Read: &read, Limit: pageSize()}))
	if err != nil {
		return nil, err
	}
	return namesOf(list.Items, func(x gen.Device) string { return x.Name }), nil
}

func (c *cli) classNames(cmd *cobra.Command) ([]string, error) {
	tenant := flagValue(cmd, "tenant")
	client, fabric, err := c.inTenant(cmd, tenant)
	if err != nil {
		return nil, err
	}
	list, err := found[gen.ClassList](c)(client.ListClassesWithResponse(cmd.Context(), fabric, tenant, &gen.ListClassesParams{Limit: pageSize()}))
	if err != nil {
		return nil, err
	}
	return namesOf(list.Items, func(x gen.Class) string { return x.Name }), nil
}

func (c *cli) attachedPorts(cmd *cobra.Command) ([]string, error) {
	tenant := flagValue(cmd, "tenant")
	client, fabric, err := c.inTenant(cmd, tenant)
	if err != nil {
		return nil, err
	}
	list, err := found[gen.AttachmentList](c)(client.ListAttachmentsWithResponse(cmd.Context(), fabric, tenant, &gen.ListAttachmentsParams{Limit: pageSize()}))
	if err != nil {
		return nil, err
	}
	return namesOf(list.Items, func(x gen.Attachment) string { return x.Port }), nil
}

func (c *cli) accountNames(cmd *cobra.Command) ([]string, error) {
	tenant := flagValue(cmd, "tenant")
	client, fabric, err := c.accountHome(cmd, tenant)
	if err != nil {
		return nil, err
	}
	list, err := c.accounts(cmd, client, fabric, tenant)
	if err != nil {
		return nil, err
	}
	return namesOf(list, func(x gen.ServiceAccount) string { return x.Name }), nil
}
