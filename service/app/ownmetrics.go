package app

import (
	"fairlane/service/collect"
	"fairlane/service/obs"
	"fairlane/service/series"
	"fairlane/service/series/rules"
)

// gather gives the metrics of a manager for its rules.
func gather(m *obs.Metrics) collect.Gather {
	return func(wanted func(string) bool, add func(string, []series.Label, float64)) error {
		return m.Gather(wanted, func(name string, labels []obs.Label, v float64) {
			out := make([]series.Label, len(labels))
			for i, l := range labels {
				out[i] = series.Label(l)
			}
			add(name, out, v)
		})
	}
}

// exported returns the measured series that rules read, for another Prometheus that evaluates the same rules.
func exported(latest []series.Sample) (out []obs.Measured) {
	families := map[string]series.Family{}
	for _, f := range series.Families() {
		if rules.Reads(f.Name) {
			families[f.Name] = f
		}
	}
	for _, s := range latest {
		f, ok := families[s.Family]
		if !ok {
			continue
		}
		x := obs.Measured{Name: f.Name, Help: f.Help, Counter: f.Kind == series.Counter, Value: s.Value}
		for _, l := range s.Labels {
			x.Labels = append(x.Labels, obs.Label(l))
		}
		out = append(out, x)
	}
	return out
}
