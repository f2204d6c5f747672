package remote

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
)

// completeWithin is how long a shell waits for names: a late completion is worse than none.
const completeWithin = 3 * time.Second

// completed completes with the names on the first page of a list, as many as a shell can show. An error completes
// nothing.
func completed[T any](at home, list lister[T], name func(*T) string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		cmd.SetContext(ctx)
		client, fabric, err := at(cmd)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		first, err := list(cmd, client, fabric, nil)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		for i := range first.Items {
			if n := name(&first.Items[i]); strings.HasPrefix(n, begun) {
				out = append(out, clean(n))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// completions list the names of objects of a kind, from the service.
func (c *cli) completions() map[string]cobra.CompletionFunc {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	fabrics := completed(c.anywhere, c.fabricPage, func(x *gen.Fabric) string { return x.Name })
	tenants := completed(c.pick, c.tenantPage, func(x *gen.Tenant) string { return x.Name })
	users := completed(c.anywhere, c.userPage, func(x *gen.User) string { return x.Name })
	plans := completed(c.pick, c.planPage, func(x *gen.PlanSummary) string { return short(x.Name) })
	revisions := completed(c.pick, c.policyPage, func(x *gen.Policy) string { return number(x.Revision) })
	accounts := completed(c.accountHome, c.accountPage, func(x *gen.ServiceAccount) string { return x.Name })
	return map[string]cobra.CompletionFunc{
		"fabric": fabrics, "tenant": tenants, "user": users, "member": users, "plan": plans, "policy": revisions, "service-account": accounts,
		"rollout":     completed(c.pick, c.rolloutPage, func(x *gen.Rollout) string { return number(x.ID) }),
		"simulation":  completed(c.anywhere, c.simulationPage, func(x *gen.Simulation) string { return number(x.ID) }),
		"calibration": completed(c.anywhere, c.calibrationPage, func(x *gen.Calibration) string { return number(x.ID) }),
		"class":       completed(c.inTenant, c.classPage, func(x *gen.Class) string { return x.Name }),
		"attachment":  completed(c.inTenant, c.attachmentPage, func(x *gen.Attachment) string { return x.Port }),
		"feed":        completed(c.inTenant, c.feedPage, func(x *gen.FeedSummary) string { return x.Name }),
		"device":      completed(c.pick, c.devicePage, func(x *gen.Device) string { return x.Name }),
	}
}

// completes adds completions to the verbs and flags of a noun.
func (c *cli) completes(noun *cobra.Command) {
	byNoun := c.completions()
	fabrics, tenants, plans, revisions, accounts := byNoun["fabric"], byNoun["tenant"], byNoun["plan"], byNoun["policy"], byNoun["service-account"]
	fixed := func(words ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	flags := map[string]cobra.CompletionFunc{
		"fabric": fabrics, "tenant": tenants, "plan": plans, "against": plans, "to": plans,
		"output": fixed("table", "json", "yaml"), "lang": fixed("en", "zh"), "plane": fixed("ib", "roce", "wrcc"), "mode": fixed("product", "theorem1"),
		"per-qp": fixed("auto", "qp", "sl"), "cct-law": fixed("geometric", "quadratic"), "stage": fixed("placement", "settings"), "service-account": accounts,
	}
	if noun.Name() == "policy" {
		flags["against"] = revisions
	}
	for _, cmd := range append(noun.Commands(), noun) {
		for name, f := range flags {
			flag := cmd.Flags().Lookup(name)
			if flag == nil {
				flag = cmd.PersistentFlags().Lookup(name)
			}
			if flag != nil && flag.Value.Type() != "bool" {
				_ = cmd.RegisterFlagCompletionFunc(name, f) // fails only for flags that do not exist or are registered twice
			}
		}
		complete := byNoun[noun.Name()]
		_, argument, _ := strings.Cut(cmd.Use, " ")
		if complete == nil || cmd == noun || argument == "" || cmd.Name() == "create" || cmd.Name() == "add" {
			continue
		}
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return complete(cmd, args, begun)
		}
	}
}
