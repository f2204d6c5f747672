package remote

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/quantity"
	"fairlane/internal/texttable"
)

// Limits of the output without --all, so that it fits a screen.
const (
	admitTenants    = 8
	admitGuarantees = 5
	admitNames      = 3
)

// showAdmission prints first the verdict, then the reasons, then every tenant's share.
func (c *cli) showAdmission(cmd *cobra.Command, a *gen.Admission) error {
	w, all := cmd.OutOrStdout(), c.rows.all
	for _, line := range c.admitLines(a) {
		if _, err := fmt.Fprintln(w, clean(line)); err != nil {
			return err
		}
	}
	if t := c.admitGuarantees(a, all); t != nil {
		if err := c.printBelow(w, "", t); err != nil {
			return err
		}
	}
	if err := c.printBelow(w, c.t("admit.shares"), c.admitShares(a, all)); err != nil {
		return err
	}
	if more := len(a.Tenants) - admitTenants; more > 0 && !all {
		if _, err := fmt.Fprintln(w, c.t("admit.more-tenants", "n", more)); err != nil {
			return err
		}
	}
	if all {
		c.findings(cmd, a.Appeared, offAdmitted(a))
	}
	return nil
}

// offAdmitted returns a function for the predicted share error of a tenant after the admission.
func offAdmitted(a *gen.Admission) func(tenant string) float64 {
	off := map[string]float64{}
	for _, x := range a.Tenants {
		if x.After != nil {
			off[x.Tenant] = offShare(x.After.PredictedBps, x.After.EntitledBps)
		}
	}
	return func(tenant string) float64 { return off[tenant] }
}

// printBelow prints a table after an empty line, and a line about it.
func (c *cli) printBelow(w io.Writer, about string, t *table) error {
	if about != "" {
		about += "\n"
	}
	if _, err := io.WriteString(w, "\n"+about); err != nil {
		return err
	}
	return t.write(w, texttable.Columns(w, c.getenv))
}

// admitLines returns the verdict and its basis.
func (c *cli) admitLines(a *gen.Admission) []string {
	broken, risky, old := c.admitTroubles(a)
	out := []string{c.admitVerdict(a, len(broken), len(risky))}
	if len(broken) > 0 {
		g := broken[0]
		out = append(out, c.t("admit.booked", "link", first(g.Links.Names), "booked", quantity.BitRate(cmdline.OrZero(g.BookedBps)), "bookable", quantity.BitRate(cmdline.OrZero(g.BookableBps))))
	}
	out = append(out, c.admitFit(a)...)
	tr := a.Traffic
	values := []any{"ports", tr.Ports, "to", cmdline.OrZero(tr.To), "flows", tr.Flows, "qps", tr.QPS}
	switch tr.Kind {
	case gen.AdmissionTrafficKindMesh:
		out = append(out, c.t("admit.traffic.mesh", values...))
	case gen.AdmissionTrafficKindTo:
		out = append(out, c.t("admit.traffic.to", values...))
	default:
		out = append(out, c.t("admit.traffic.declared", values...))
	}
	if tr.Idle != nil {
		out = append(out, c.t("admit.traffic.idle", "n", tr.Idle.Count, "tenants", listedFew(tr.Idle.Names, tr.Idle.Count)))
	}
	out = append(out, c.t("admit.devices", "ports", a.Devices.Ports, "switches", a.Devices.Switches))
	if codes := admitCodes(a.Appeared); codes != "" {
		out = append(out, c.t("admit.findings", "list", codes))
	}
	if codes := admitCodes(a.Vanished); codes != "" {
		out = append(out, c.t("admit.findings-gone", "list", codes))
	}
	if len(old) > 0 {
		names := make([]string, len(old))
		for i := range old {
			names[i] = old[i].Tenant
		}
		out = append(out, c.t("admit.before-already", "n", len(old), "tenants", listedFew(names, len(names))))
	}
	return out
}

// admitTroubles returns the guarantees that are not kept, the worst first: those that the admission breaks, those that
// it puts at risk, and those that were not kept before.
func (c *cli) admitTroubles(a *gen.Admission) (broken, risky, old []gen.GuaranteeCheck) {
	for _, g := range a.Guarantees {
		switch {
		case g.Status == gen.GuaranteeCheckStatusKept:
		case !g.New:
			old = append(old, g)
		case g.Status == gen.GuaranteeCheckStatusBroken:
			broken = append(broken, g)
		default:
			risky = append(risky, g)
		}
	}
	for _, list := range [][]gen.GuaranteeCheck{broken, risky, old} {
		slices.SortStableFunc(list, func(x, y gen.GuaranteeCheck) int {
			return cmp.Compare(y.GuaranteeBps-y.LeftBps, x.GuaranteeBps-x.LeftBps)
		})
	}
	return broken, risky, old
}

func (c *cli) admitVerdict(a *gen.Admission, broken, risky int) string {
	switch a.Verdict {
	case gen.AdmissionVerdictNo:
		return c.t("admit.no", "tenant", a.Tenant, "n", broken)
	case gen.AdmissionVerdictReservations:
		if risky == 0 {
			return c.t("admit.reservations", "tenant", a.Tenant, "n", len(a.Appeared))
		}
		return c.t("admit.at-risk", "tenant", a.Tenant, "n", risky)
	}
	return c.t("admit.yes", "tenant", a.Tenant)
}

// admitFit describes the largest request that would be admitted.
func (c *cli) admitFit(a *gen.Admission) (out []string) {
	f := a.Fits
	rate, link := quantity.BitRate(f.GuaranteeBps), cmdline.OrZero(f.Link)
	switch {
	case f.GuaranteeBps == 0 && link == "":
		// Without traffic there is nothing to reserve.
	case f.GuaranteeBps == 0:
		out = append(out, c.t("admit.fits.none", "link", link))
	case link == "":
		out = append(out, c.t("admit.fits.cap", "rate", rate))
	default:
		out = append(out, c.t("admit.fits", "rate", rate, "link", link))
	}
	if len(f.Without) > 0 {
		out = append(out, c.t("admit.without", "ports", listedFew(f.Without, len(f.Without))))
	}
	return out
}

// admitCodes counts findings by code, such as "sl-split, 2 share-uncertain". Findings of guarantees are printed
// separately.
func admitCodes(list []gen.Finding) string {
	count := map[string]int{}
	for _, f := range list {
		if f.Code != codeOverbooked {
			count[f.Code]++
		}
	}
	var out []string
	for _, code := range slices.Sorted(maps.Keys(count)) {
		if n := count[code]; n > 1 {
			code = fmt.Sprintf("%d %s", n, code)
		}
		out = append(out, code)
	}
	return listedFew(out, len(out))
}

// codeOverbooked is the code of the finding for guarantees that exceed a link.
const codeOverbooked = "guarantee-overbooked"

// listedFew returns the first few names of a list and the number of others.
func listedFew(names []string, count int) string {
	shown := names[:min(len(names), admitNames)]
	out := strings.Join(shown, ", ")
	if more := count - len(shown); more > 0 {
		out += fmt.Sprintf(" +%d", more)
	}
	return out
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// admitGuarantees lists the guarantees that are not kept; nil if all are kept.
func (c *cli) admitGuarantees(a *gen.Admission, all bool) *table {
	broken, risky, old := c.admitTroubles(a)
	list := slices.Concat(broken, risky, old)
	if len(list) == 0 {
		return nil
	}
	if !all {
		list = list[:min(len(list), admitGuarantees)]
	}
	t := c.newTable("tenant", "guarantee>", "short-by>", "state", "links>", "worst-link")
	for _, g := range list {
		state := c.t("admit.state." + string(g.Status))
		if !g.New {
			state = c.t("admit.state.before", "state", state)
		}
		t.add(g.Tenant, threeDigits(g.GuaranteeBps), threeDigits(g.GuaranteeBps-g.LeftBps), state, g.Links.Count, first(g.Links.Names))
	}
	return t
}

// admitShares lists the tenants' shares: that of the requesting tenant first, then those with the largest losses.
func (c *cli) admitShares(a *gen.Admission, all bool) *table {
	list := slices.Clone(a.Tenants)
	if len(list) > 1 {
		slices.SortStableFunc(list[1:], func(x, y gen.AdmissionShare) int { return cmp.Compare(admitLoss(&y), admitLoss(&x)) })
	}
	if !all {
		list = list[:min(len(list), admitTenants)]
	}
	t := c.newTable("tenant", "weight>", "before>", "after>", "least-before>", "least-after>")
	for _, s := range list {
		before, leastBefore := admitRate(s.Before)
		after, leastAfter := admitRate(s.After)
		t.add(s.Tenant, s.Weight, before, after, leastBefore, leastAfter)
	}
	return t
}

// admitLoss returns the largest relative loss of a tenant, of its total rate or of its smallest share.
func admitLoss(s *gen.AdmissionShare) float64 {
	if s.Before == nil || s.After == nil {
		return 0
	}
	loss := func(before, after int64) float64 {
		if before == 0 || after == 0 {
			return 0
		}
		return float64(before-after) / float64(before)
	}
	return max(loss(s.Before.PredictedBps, s.After.PredictedBps), loss(s.Before.LeastBps, s.After.LeastBps))
}

// admitRate returns the rate of all flows and the smallest on a link; "-" if there is none.
func admitRate(r *gen.AdmissionRate) (all, least string) {
	if r == nil {
		return "-", "-"
	}
	all, least = threeDigits(r.PredictedBps), "-"
	if r.Link != nil {
		least = threeDigits(r.LeastBps)
	}
	return all, least
}

// threeDigits returns a rate with three significant digits.
func threeDigits(bps int64) string {
	unit := int64(1)
	for n := bps; n >= 1000; n /= 10 {
		unit *= 10
	}
	return quantity.BitRate((bps + unit/2) / unit * unit).String()
}
