package demo

import (
	"fmt"
	"io"
	"slices"

	"fairlane/ccconfig/ibcc"
	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/sim/lab/evaluate"
)

const timerUnit = quantity.Picoseconds(ibcc.TimerUnitPicoseconds)

// Report is one element of the output of `demo --once --json`.
type Report struct {
	Plane             string           `json:"plane"`
	Tenants           []tenantReport   `json:"tenants"`
	UtilisationBefore *float64         `json:"utilisation_before,omitempty"` // nil if not measured, like all figures of the fabric
	Utilisation       *float64         `json:"utilisation,omitempty"`
	MaxShareError     *float64         `json:"max_share_error,omitempty"`
	Plan              string           `json:"plan"`
	Rollout           rolloutReport    `json:"rollout"`
	Findings          []policy.Finding `json:"findings"`
	WallS             float64          `json:"wall_s"`

	problems []phrase.Text // of the measurements
	links    int           // number of contended links in the plan
}

type tenantReport struct {
	Name       string            `json:"name"`
	Weight     float64           `json:"weight"`
	Flows      int               `json:"flows"`
	Entitled   quantity.BitRate  `json:"entitled_bps"`
	Before     *quantity.BitRate `json:"before_bps,omitempty"`
	Delivered  *quantity.BitRate `json:"delivered_bps,omitempty"`
	ShareError *float64          `json:"share_error,omitempty"`
	// The tenant's rate with DCQCN instead of WRCC: with the vendor's registers, and with registers for its weight.
	DCQCN         quantity.BitRate `json:"dcqcn_bps,omitempty"`
	DCQCNWeighted quantity.BitRate `json:"dcqcn_weighted_bps,omitempty"`
}

type rolloutReport struct {
	ID      int64                `json:"id"`
	State   control.RolloutState `json:"state"`
	Result  string               `json:"result"`
	Devices int                  `json:"devices"`
}

// Report returns the result for output.
func (r *Result) Report() Report {
	out := Report{
		Plane:             string(r.Plan.Plane),
		UtilisationBefore: control.Utilisation(r.before.Links), Utilisation: control.Utilisation(r.after.Links),
		MaxShareError: r.after.MaxShareError,
		Plan:          r.Plan.Name,
		Rollout:       rolloutReport{r.rollout.ID, r.rollout.State, r.rollout.Result.String(), len(r.rollout.Devices)},
		Findings:      r.Plan.Findings,
		WallS:         r.elapsed.Seconds(),
		links:         len(r.after.Links),
	}
	if out.Findings == nil {
		out.Findings = []policy.Finding{}
	}
	for i, t := range r.after.Tenants {
		row := tenantReport{
			Name: t.Tenant, Weight: t.Weight.Float(), Flows: r.Plan.Tenants[i].QPs, Entitled: t.Entitled,
			Before: r.before.Tenants[i].Delivered, Delivered: t.Delivered, ShareError: t.ShareError,
		}
		if r.rival != nil {
			row.DCQCN, row.DCQCNWeighted = r.rival.vendor[t.Tenant], r.rival.weighted[t.Tenant]
		}
		out.Tenants = append(out.Tenants, row)
		for _, x := range []*control.TenantShare{&r.before.Tenants[i], &r.after.Tenants[i]} {
			if x.Problem != "" {
				out.problems = append(out.problems, phrase.Of("demo.unmeasured-tenant", "tenant", x.Tenant, "reason", phrase.Or(x.Problem, x.Said)))
			}
		}
	}
	for _, s := range []control.Shares{r.before, r.after} {
		for _, l := range s.Links {
			if l.Delivered == nil {
				out.problems = append(out.problems, phrase.Of("demo.unmeasured-link", "link", l.Name, "reason", phrase.Or(l.Problem, l.Said)))
			}
		}
	}
	return out
}

// Missed returns an error that names the bounds that a run missed; nil if there are none.
func (r *Report) Missed() error {
	why := slices.Clone(r.problems)
	if most := evaluate.ErrorBound(policy.Plane(r.Plane)); r.MaxShareError == nil {
		why = append(why, phrase.Of("demo.no-share-error"))
	} else if *r.MaxShareError > most {
		why = append(why, phrase.Of("demo.share-error", "error", phrase.PercentOf(*r.MaxShareError, 1), "bound", phrase.PercentOf(most, 0)))
	}
	if r.links > 0 && (r.Utilisation == nil || r.UtilisationBefore == nil) {
		why = append(why, phrase.Of("demo.no-link-use"))
	} else if r.links > 0 && *r.Utilisation < MinUtilisation*min(*r.UtilisationBefore, 1) { // a link cannot exceed its rate: any excess before was counted late
		why = append(why, phrase.Of("demo.link-use", "use", phrase.PercentOf(*r.Utilisation, 1),
			"part", phrase.PercentOf(MinUtilisation, 0), "before", phrase.PercentOf(*r.UtilisationBefore, 1)))
	}
	if why == nil {
		return nil
	}
	return phrase.Because(cmdline.ErrBoundMissed, phrase.Of("demo.bound-missed", "plane", r.Plane, "reasons", why))
}

// printReport prints the table: each tenant's entitlement, and its rates before and after as bars with the same scale.
func (a *app) printReport(w io.Writer, r Report) error {
	var most quantity.BitRate
	for _, t := range r.Tenants {
		most = max(most, t.Entitled, cmdline.OrZero(t.Before), cmdline.OrZero(t.Delivered))
	}
	tw := cmdline.NewTable(w, 0)
	_, _ = fmt.Fprintln(tw, a.T("demo.table.head"))
	for _, t := range r.Tenants {
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", t.Name, weightText(t.Weight), t.Flows,
			cmdline.RateBar(t.Entitled, most, '░'), a.barOf(t.Before, most, '▒'), a.barOf(t.Delivered, most, '█'), cmdline.PercentOrDash(t.ShareError))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if err := a.printRival(w, r); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, a.T("demo.summary", "error", cmdline.PercentOrDash(r.MaxShareError), "use", cmdline.PercentOrDash(r.Utilisation),
		"before", cmdline.PercentOrDash(r.UtilisationBefore), "seconds", fmt.Sprintf("%.1f", r.WallS)))
	if err != nil {
		return err
	}
	for i := range r.Findings {
		if _, err := fmt.Fprintln(w, a.Finding(&r.Findings[i])); err != nil {
			return err
		}
	}
	return nil
}

// printRival prints the rates of the same traffic with DCQCN.
func (a *app) printRival(w io.Writer, r Report) error {
	if !slices.ContainsFunc(r.Tenants, func(t tenantReport) bool { return t.DCQCN > 0 }) {
		return nil
	}
	tw := cmdline.NewTable(w, 0)
	_, _ = fmt.Fprintln(tw, a.T("demo.rival.head"))
	for _, t := range r.Tenants {
		delivered := "-"
		if t.Delivered != nil {
			delivered = fmt.Sprintf("%.1f", t.Delivered.Gbit())
		}
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%.1f\t%.1f\n", t.Name, delivered, t.DCQCN.Gbit(), t.DCQCNWeighted.Gbit())
	}
	return tw.Flush()
}

// barOf is bar for a rate that may not have been measured.
func (a *app) barOf(v *quantity.BitRate, most quantity.BitRate, fill rune) string {
	if v == nil {
		return a.T("demo.not-measured")
	}
	return cmdline.RateBar(*v, most, fill)
}

func weightText(w float64) string { return fmt.Sprintf("%g", w) }
