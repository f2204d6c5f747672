package remote

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/internal/phrase"
)

// alert are the verbs for alerts; those that need no service are in package local.
func (c *cli) alert() *cobra.Command {
	return c.noun("alert", c.silence(), c.verb("alert", "list", "  fairlane alert list\n  fairlane alert list --json", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return c.alertList(cmd) }))
}

// activeAlert is an alert in the form of Prometheus's HTTP API.
type activeAlert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	State       string            `json:"state"`
	ActiveAt    time.Time         `json:"activeAt"`
	Value       string            `json:"value"`
}

// compare orders alerts: those that page first, then firing before pending, then by name, fabric and tenant.
func (a *activeAlert) compare(b *activeAlert) int {
	first := func(yes, other bool) int {
		switch {
		case yes == other:
			return 0
		case yes:
			return -1
		}
		return 1
	}
	of := func(label string) int { return cmp.Compare(a.Labels[label], b.Labels[label]) }
	return cmp.Or(first(a.Labels["severity"] == "page", b.Labels["severity"] == "page"), first(a.State == "firing", b.State == "firing"),
		of("alertname"), of("fabric"), of("tenant"), a.ActiveAt.Compare(b.ActiveAt))
}

// alertList shows the pending and firing alerts.
func (c *cli) alertList(cmd *cobra.Command) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	r, err := client.ListAlertsWithResponse(cmd.Context())
	if err == nil {
		err = c.refusedQuery(r.StatusCode(), r.GetBody())
	}
	a, err := found[gen.PrometheusAnswer](c)(r, err)
	if err != nil {
		return err
	}
	var data struct {
		Alerts []activeAlert `json:"alerts"`
	}
	if err := decodeData(a, &data); err != nil {
		return err
	}
	slices.SortFunc(data.Alerts, func(a, b activeAlert) int { return a.compare(&b) })
	return c.print(cmd, data.Alerts, func() *table {
		t := c.newTable("severity", "state", "alert", "fabric", "tenant", "alert-since", "value>", "summary")
		for i := range data.Alerts {
			a := &data.Alerts[i]
			t.add(c.known("severity.", a.Labels["severity"]), c.known("alert-state.", a.State), a.Labels["alertname"], a.Labels["fabric"], a.Labels["tenant"],
				when(&a.ActiveAt), shortValue(a.Value), c.summary(a))
		}
		return t
	})
}

// known returns the word for a value, and the value itself when there is none.
func (c *cli) known(prefix, value string) string {
	if c.texts.Has(prefix + value) {
		return c.t(prefix + value)
	}
	return value
}

// summary returns the summary of an alert in the user's language; alerts of a newer service have one only in English.
func (c *cli) summary(a *activeAlert) string {
	id := "alert." + a.Labels["alertname"] + ".summary"
	if !c.texts.Has(id) {
		return a.Annotations["summary"]
	}
	values := []any{"value", shortValue(a.Value)}
	if v, err := strconv.ParseFloat(a.Value, 64); err == nil {
		values = append(values, "percent", phrase.PercentOf(v, 1))
	}
	for name, v := range a.Labels {
		values = append(values, name, v)
	}
	return c.t(id, values...)
}
