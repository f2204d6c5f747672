package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"fairlane/internal/quantity"
)

// timerForms returns the forms of the timer by their names in metrics and in figures.
func timerForms() [][2]string {
	return [][2]string{{"free-running", "free-running"}, {"restart-on-becn", "restarted by BECN"}}
}

// metric returns the row of a metric.
func metric(rows []Row, name string) (Row, bool) {
	for _, r := range rows {
		if r.Metric == name {
			return r, true
		}
	}
	return Row{}, false
}

// barsOf returns a bar chart with the published values and one series for each variant, named by legend; metrics are the names
// of the groups without the variant.
func barsOf(f Figure, rows []Row, variants []variant, legend func(variant) string, metrics []string) Figure {
	paper := Series{Name: "published", Published: true}
	f.Series = nil
	for k, v := range variants {
		s := Series{Name: legend(v)}
		for i, m := range metrics {
			r, ok := metric(rows, m+"."+v.label())
			if !ok {
				continue
			}
			s.Points = append(s.Points, Point{float64(i), r.Ours})
			if r.Published != nil && k == 0 {
				paper.Points = append(paper.Points, Point{float64(i), *r.Published})
			}
		}
		f.Series = append(f.Series, s)
	}
	f.Series = append([]Series{paper}, f.Series...)
	return f
}

// tenantFigures returns charts of the BECN ratios, and of tenant 1's share and rate in each phase of E3.
func tenantFigures(rows []Row) []Figure {
	becns := barsOf(Figure{
		Name: "s1-tenants.becns", Title: "S1, E3: BECNs to D, relative to CCTI_Increase 1", Y: Axis{Label: "ratio"},
		Categories: []string{"Increase 2", "Increase 3"},
	}, rows, readingsOfS1(0), variant.legend, []string{"becns-increase2", "becns-increase3"})
	for _, form := range timerForms() {
		s := Series{Name: "closed form, " + form[1]}
		for i := range 2 {
			if r, ok := metric(rows, fmt.Sprintf("closed-form-increase%d.%s", i+2, form[0])); ok {
				s.Points = append(s.Points, Point{float64(i), r.Ours})
			}
		}
		becns.Series = append(becns.Series, s)
	}
	var phases, shares, rates []string
	for i, n := range schedule() {
		phases = append(phases, "with "+strings.Join(joining()[:n], ", "))
		at := fmt.Sprintf("-phase%d-%dflows", i+1, n)
		shares, rates = append(shares, "tenant1-share"+at), append(rates, "tenant1-rate"+at)
	}
	share := Figure{Name: "s1-tenants.share", Title: "S1, E3: tenant 1's part of what both tenants carry", Y: Axis{Label: "part"}, Categories: phases}
	rate := Figure{Name: "s1-tenants.rate", Title: "S1, E3: rate of C->A", Y: Axis{Label: "payload", Unit: "Gbit/s"}, Categories: phases}
	return slices.Concat([]Figure{
		becns, barsOf(share, rows, readingsOfS1(0), variant.legend, shares), barsOf(rate, rows, readingsOfS1(0), variant.legend, rates),
	}, useBars(share, rows, shares), useBars(rate, rows, rates))
}

// rateLimitFigures returns a chart of the rates by delay, for each reading of the delay.
func rateLimitFigures(rows []Row) []Figure {
	f := Figure{
		Name: "s1-ratelimit", Title: "S1, E2: rate of one flow held at an injection rate delay",
		X: Axis{Label: "injection rate delay", Unit: "us", Log: true}, Y: Axis{Label: "payload", Unit: "Mbit/s", Log: true},
	}
	printed := Series{Name: "published", Published: true}
	names := map[reading]string{readS1: "S1's formula", readIBTA: "IBTA: after every packet", readAggregate: "S1's algorithm: per 4 packets"}
	for _, by := range []reading{readS1, readIBTA, readAggregate} {
		s := Series{Name: names[by]}
		for _, l := range s1Limits() {
			x := float64(l.ird) / float64(quantity.Microsecond)
			r, ok := metric(rows, fmt.Sprintf("rate-%gus.%s", x, by))
			if !ok {
				continue
			}
			s.Points = append(s.Points, Point{x, r.Ours})
			if by == readS1 {
				printed.Points = append(printed.Points, Point{x, l.printed / 1e6})
			}
		}
		f.Series = append(f.Series, s)
	}
	f.Series = append(f.Series, printed) // drawn on top of the line that it coincides with
	return []Figure{f}
}

// sensitivityFigures returns charts of the BECN ratio and the rate of C->A over the marking rate, and the charts of useFigures.
func sensitivityFigures(rows []Row) []Figure {
	over := func(name, title string, y Axis, key string) Figure {
		f := Figure{Name: name, Title: title, X: Axis{Label: "packets for each mark", Log: true}, Y: y,
			Series: []Series{{Name: "published", Published: true, Dashed: true}}}
		for _, form := range timerForms() {
			s := Series{Name: form[1]}
			for _, m := range openMarkings() {
				r, ok := metric(rows, fmt.Sprintf("%s.marking%d.%s", key, m, form[0]))
				if !ok {
					continue
				}
				s.Points = append(s.Points, Point{float64(m), r.Ours})
				if form == timerForms()[0] && r.Published != nil {
					f.Series[0].Points = append(f.Series[0].Points, Point{float64(m), *r.Published})
				}
			}
			f.Series = append(f.Series, s)
		}
		return f
	}
	return append([]Figure{
		over("s1-sensitivity.becns", "S1, E3: BECNs to D at Increase 2, relative to Increase 1", Axis{Label: "ratio"}, "becns-increase2"),
		over("s1-sensitivity.rate", "S1, E3: rate of C->A", Axis{Label: "payload", Unit: "Gbit/s"}, "tenant1-rate"),
		over("s1-sensitivity.far", "S1, E1: far flows (A+B) by near flows (D+E)", Axis{Label: "ratio"}, "a+b-over-d+e"),
	}, useFigures(rows)...)
}
