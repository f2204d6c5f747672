package app

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/sim/lab/evaluate"
)

const timerUnit = quantity.Picoseconds(ibcc.TimerUnitPicoseconds)

// planeReport is one element of what `demo --once --json` prints.
type planeReport struct {
	Plane             string           `json:"plane"`
	Tenants           []tenantReport   `json:"tenants"`
	UtilisationBefore *float64         `json:"utilisation_before,omitempty"` // nil when it was not measured, as all figures of the fabric
	Utilisation       *float64         `json:"utilisation,omitempty"`
	MaxShareError     *float64         `json:"max_share_error,omitempty"`
	Plan              string           `json:"plan"`
	Rollout           rolloutReport    `json:"rollout"`
	Findings          []policy.Finding `json:"findings"`
	WallS             float64          `json:"wall_s"`

	problems []string // of measurements
	links    int      // contended ones of the plan
}

type tenantReport struct {
	Name       string            `json:"name"`
	Weight     float64           `json:"weight"`
	Flows      int               `json:"flows"`
	Entitled   quantity.BitRate  `json:"entitled_bps"`
	Before     *quantity.BitRate `json:"before_bps,omitempty"`
	Delivered  *quantity.BitRate `json:"delivered_bps,omitempty"`
	ShareError *float64          `json:"share_error,omitempty"`
	// What the tenant gets from DCQCN in place of WRCC: with the vendor's registers, and with those for its weight.
	DCQCN         quantity.BitRate `json:"dcqcn_bps,omitempty"`
	DCQCNWeighted quantity.BitRate `json:"dcqcn_weighted_bps,omitempty"`
}

type rolloutReport struct {
	ID      int64                `json:"id"`
	State   control.RolloutState `json:"state"`
	Result  string               `json:"result"`
	Devices int                  `json:"devices"`
}

func (r *demoResult) report() planeReport {
	out := planeReport{
		Plane:             r.plan.Plane,
		UtilisationBefore: utilisation(r.before.Links), Utilisation: utilisation(r.after.Links),
		MaxShareError: r.after.MaxShareError,
		Plan:          r.plan.Name,
		Rollout:       rolloutReport{r.rollout.ID, r.rollout.State, r.rollout.Result.String(), len(r.rollout.Devices)},
		Findings:      r.plan.Findings,
		WallS:         r.elapsed.Seconds(),
		links:         len(r.after.Links),
	}
	if out.Findings == nil {
		out.Findings = []policy.Finding{}
	}
	for i, t := range r.after.Tenants {
		row := tenantReport{
			Name: t.Tenant, Weight: t.Weight.Float(), Flows: r.plan.Tenants[i].QPs, Entitled: t.Entitled,
			Before: r.before.Tenants[i].Delivered, Delivered: t.Delivered, ShareError: t.ShareError,
		}
		if r.rival != nil {
			row.DCQCN, row.DCQCNWeighted = r.rival.vendor[t.Tenant], r.rival.weighted[t.Tenant]
		}
		out.Tenants = append(out.Tenants, row)
		for _, problem := range []string{r.before.Tenants[i].Problem, t.Problem} {
			if problem != "" {
				out.problems = append(out.problems, fmt.Sprintf("tenant %s could not be measured: %s", t.Tenant, problem))
			}
		}
	}
	for _, s := range []control.Shares{r.before, r.after} {
		for _, l := range s.Links {
			if l.Delivered == nil {
				out.problems = append(out.problems, fmt.Sprintf("link %s could not be measured: %s", l.Name, l.Problem))
			}
		}
	}
	return out
}

// missed names the bounds that a run missed, or is nil.
func (r *planeReport) missed() error {
	why := slices.Clone(r.problems)
	if most := evaluate.ErrorBound(policy.Plane(r.Plane)); r.MaxShareError == nil {
		why = append(why, "share error was not measured")
	} else if *r.MaxShareError > most {
		why = append(why, fmt.Sprintf("share error %.1f %% is above %.0f %%", 100**r.MaxShareError, 100*most))
	}
	if r.links > 0 && (r.Utilisation == nil || r.UtilisationBefore == nil) {
		why = append(why, "link use was not measured")
	} else if r.links > 0 && *r.Utilisation < minUtilisation*min(*r.UtilisationBefore, 1) { // a link has no more than its rate; what is beyond is counted late
		why = append(why, fmt.Sprintf("link use %.1f %% is below %.0f %% of the %.1f %% before",
			100**r.Utilisation, 100*minUtilisation, 100**r.UtilisationBefore))
	}
	if why == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", errBoundMissed, r.Plane+": "+strings.Join(why, "; "))
}

// printReport draws the table that people read: what each tenant is entitled to, what it got
// before and after, as bars of the same scale.
func (a *app) printReport(w io.Writer, r planeReport) error {
	var most quantity.BitRate
	for _, t := range r.Tenants {
		most = max(most, t.Entitled, orZero(t.Before), orZero(t.Delivered))
	}
	tw := newTable(w, 0)
	_, _ = fmt.Fprintln(tw, a.t("demo.table.head"))
	for _, t := range r.Tenants {
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", t.Name, weightText(t.Weight), t.Flows,
			bar(t.Entitled, most, '░'), a.barOf(t.Before, most, '▒'), a.barOf(t.Delivered, most, '█'), percentOrDash(t.ShareError))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if err := a.printRival(w, r); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, a.t("demo.summary", "error", percentOrDash(r.MaxShareError), "use", percentOrDash(r.Utilisation),
		"before", percentOrDash(r.UtilisationBefore), "seconds", fmt.Sprintf("%.1f", r.WallS)))
	if err != nil {
		return err
	}
	for i := range r.Findings {
		if _, err := fmt.Fprintln(w, a.finding(&r.Findings[i])); err != nil {
			return err
		}
	}
	return nil
}

// printRival tells what the same traffic gets from DCQCN.
func (a *app) printRival(w io.Writer, r planeReport) error {
	if !slices.ContainsFunc(r.Tenants, func(t tenantReport) bool { return t.DCQCN > 0 }) {
		return nil
	}
	tw := newTable(w, 0)
	_, _ = fmt.Fprintln(tw, a.t("demo.rival.head"))
	for _, t := range r.Tenants {
		delivered := "-"
		if t.Delivered != nil {
			delivered = fmt.Sprintf("%.1f", t.Delivered.Gbit())
		}
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%.1f\t%.1f\n", t.Name, delivered, t.DCQCN.Gbit(), t.DCQCNWeighted.Gbit())
	}
	return tw.Flush()
}

const barWidth = 18

// bar draws a rate as a bar of fixed width with the figure behind it.
func bar(v, most quantity.BitRate, fill rune) string {
	n := 0
	if most > 0 {
		n = int((int64(v)*barWidth + int64(most)/2) / int64(most))
	}
	return strings.Repeat(string(fill), n) + strings.Repeat(" ", barWidth-n) + fmt.Sprintf(" %5.1f", v.Gbit())
}

// orZero is 0 for what is not known.
func orZero(v *quantity.BitRate) quantity.BitRate {
	if v == nil {
		return 0
	}
	return *v
}

// barOf is bar of what may not have been measured.
func (a *app) barOf(v *quantity.BitRate, most quantity.BitRate, fill rune) string {
	if v == nil {
		return a.t("demo.not-measured")
	}
	return bar(*v, most, fill)
}

func weightText(w float64) string { return fmt.Sprintf("%g", w) }

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// percentOrDash is percent of what may not be known.
func percentOrDash(v *float64) string {
	if v == nil {
		return "-"
	}
	return percent(*v)
}
