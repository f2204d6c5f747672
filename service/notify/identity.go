package notify

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"fairlane/service/series"
)

// labelAlertname is the label that has the name of an alert's rule outside of this service.
const labelAlertname = "alertname"

// labels returns the labels of an alert with its name, sorted by name, without empty values: those that Alertmanager keeps.
func labels(a *series.Alert) []series.Label {
	list := []series.Label{{Name: labelAlertname, Value: a.Name}}
	for _, l := range a.Labels {
		if l.Name != labelAlertname && l.Value != "" {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(x, y series.Label) int { return strings.Compare(x.Name, y.Name) })
	return list
}

// separator stands between names and values of labels; it does not occur in UTF-8.
const separator = "\xff"

// identity returns what is equal for two states of one alert.
func identity(a *series.Alert) string {
	var b strings.Builder
	for _, l := range labels(a) {
		b.WriteString(l.Name + separator + l.Value + separator)
	}
	return b.String()
}

// fingerprint returns the fingerprint that Alertmanager gives an alert: FNV-1a of its identity.
func fingerprint(a *series.Alert) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(identity(a))) // a hash accepts everything
	return fmt.Sprintf("%016x", h.Sum64())
}
