package reproduce

import (
	"fmt"

	"fairlane/sim/fabric"
)

// shortWindow is the alternative averaging time of link utilization for thresholds that are utilizations. It is the time of a
// dozen packets. The simulator's default is the period of S1's CCTI_Timer. S1 gives no averaging time.
const shortWindow = 10 * us

// mostThreshold is the highest threshold code. It stands for the lowest queue length and utilization.
const mostThreshold = 15

// useReadingsOfS1 returns the variants in which a threshold is a link utilization, as in the text of S1 (4.1), for each form
// of the timer, both windows and both thresholds of readingsOfS1.
func useReadingsOfS1(seed uint64) []variant {
	var out []variant
	for _, v := range readingsOfS1(seed) {
		v.by = fabric.MarkByUse
		out = append(out, v)
		v.window = shortWindow
		out = append(out, v)
	}
	return out
}

// useLabel returns the marking part of the label of a variant of useReadingsOfS1.
func (v variant) useLabel() string {
	if v.window == 0 {
		return fmt.Sprintf("use-threshold%d", v.threshold)
	}
	return fmt.Sprintf("use-threshold%d.window%dus", v.threshold, v.window/us)
}

// useLegend returns the text of useLabel for display.
func (v variant) useLegend() string {
	s := fmt.Sprintf("threshold %d", v.threshold)
	if v.window != 0 {
		s += " over " + v.window.String()
	}
	return s
}

// tenant1ByUse returns the payload rate of C->A in bit/s if two tenants share a link equally and use it up to a threshold.
func tenant1ByUse(threshold uint8) float64 {
	return fabric.ThresholdUse(threshold) * float64(linkRate) / 2 * payloadBytes / (payloadBytes + fabric.DataHeader)
}

// useChoices returns all thresholds by utilization, in each form of the timer.
func useChoices(seed uint64) []*open {
	var out []*open
	for _, restart := range []bool{false, true} {
		for t := uint8(mostThreshold); t > 0; t-- {
			v := base(seed, restart)
			v.by, v.threshold = fabric.MarkByUse, t
			out = append(out, &open{label: v.useLabel() + "." + v.timerForm(), v: v})
		}
	}
	return out
}

// useClosedFormRows returns the rates of C->A that follow from the thresholds alone.
func useClosedFormRows() []Row {
	var rows []Row
	for t := uint8(mostThreshold); t > 0; t-- {
		rows = append(rows, published(fmt.Sprintf("closed-form-tenant1-rate.use-threshold%d", t), publishedTenant1, gbit(tenant1ByUse(t)), "Gbit/s",
			fmt.Sprintf("half of a link used to %.1f %%", 100*fabric.ThresholdUse(t))))
	}
	return rows
}

// useBars returns the charts of tenantFigures for the variants of useReadingsOfS1, one for each form of the timer.
func useBars(f Figure, rows []Row, metrics []string) []Figure {
	var out []Figure
	for _, form := range timerForms() {
		var variants []variant
		for _, v := range useReadingsOfS1(0) {
			if v.timerForm() == form[0] {
				variants = append(variants, v)
			}
		}
		bars := f
		bars.Name += ".by-use." + form[0]
		bars.Title += ", marks by use, timer " + form[1]
		out = append(out, barsOf(bars, rows, variants, variant.useLegend, metrics))
	}
	return out
}

// useFigures returns charts of a metric of E3 over the threshold, by queue and by utilization.
func useFigures(rows []Row) []Figure {
	rate := overThreshold(rows, "tenant1-rate", Figure{Name: "s1-sensitivity.use-rate",
		Title: "S1, E3: rate of C->A by threshold", Y: Axis{Label: "payload", Unit: "Gbit/s"}})
	s := Series{Name: "half of the use", Dashed: true}
	for t := 1; t <= mostThreshold; t++ {
		if r, ok := metric(rows, fmt.Sprintf("closed-form-tenant1-rate.use-threshold%d", t)); ok {
			s.Points = append(s.Points, Point{float64(t), r.Ours})
		}
	}
	rate.Series = append(rate.Series, s)
	return []Figure{rate, overThreshold(rows, "tenant1-share-3flows", Figure{Name: "s1-sensitivity.use-share",
		Title: "S1, E3: tenant 1's part against three flows by threshold", Y: Axis{Label: "part"}})}
}

// overThreshold fills a figure with the published value, and with the values by utilization and by queue for each form of the
// timer, over the threshold.
func overThreshold(rows []Row, key string, f Figure) Figure {
	f.X = Axis{Label: "threshold"}
	paper := Series{Name: "published", Published: true, Dashed: true}
	for _, form := range timerForms() {
		byUse, byQueue := Series{Name: "by use, " + form[1]}, Series{Name: "by queue, " + form[1]}
		for t := 1; t <= mostThreshold; t++ {
			if r, ok := metric(rows, fmt.Sprintf("%s.use-threshold%d.%s", key, t, form[0])); ok {
				byUse.Points = append(byUse.Points, Point{float64(t), r.Ours})
				if form == timerForms()[0] && r.Published != nil {
					paper.Points = append(paper.Points, Point{float64(t), *r.Published})
				}
			}
			choice := fmt.Sprintf("threshold%d", t)
			if t == openThreshold {
				choice = fmt.Sprintf("marking%d", openMarking) // the base variant
			}
			if r, ok := metric(rows, fmt.Sprintf("%s.%s.%s", key, choice, form[0])); ok {
				byQueue.Points = append(byQueue.Points, Point{float64(t), r.Ours})
			}
		}
		f.Series = append(f.Series, byUse, byQueue)
	}
	f.Series = append([]Series{paper}, f.Series...)
	return f
}
