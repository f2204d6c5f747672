package notify

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlane/service/series"
)

// group holds the alerts with one name on one fabric.
type group struct {
	labels []series.Label       // alertname, and fabric if the alerts have one
	alerts map[string]*member   // by identity
	due    time.Time            // of the next flush
	firing map[string]time.Time // alerts that the latest notification reported as firing, and since when
	sent   time.Time            // of the latest notification; zero before the first
}

// member is an alert of a group.
type member struct {
	alert series.Alert
	seen  time.Time // the latest Send
	late  bool      // its first state here is resolved: it was reported as firing before it was removed as stale, or by an earlier process
}

// join adds an alert to its group; false when there are too many alerts.
func (n *Notifier) join(id string, a series.Alert, now time.Time) bool {
	by := []series.Label{{Name: labelAlertname, Value: a.Name}}
	if fabric := a.Label(series.LabelFabric); fabric != "" {
		by = append(by, series.Label{Name: series.LabelFabric, Value: fabric})
	}
	key := groupKey(by)
	g := n.groups[key]
	if g == nil {
		if len(n.groups) >= maxAlerts {
			return false
		}
		g = &group{labels: by, alerts: map[string]*member{}, due: now.Add(max(n.o.GroupWait, 0))}
		n.groups[key] = g
	}
	m := g.alerts[id]
	if m == nil {
		if len(g.alerts) >= maxAlerts {
			return false
		}
		m = &member{late: a.State == series.AlertResolved}
		g.alerts[id] = m
	}
	m.alert, m.seen = a, now
	return true
}

// groupKey names a group as Alertmanager does.
func groupKey(by []series.Label) string {
	parts := make([]string, len(by))
	for i, l := range by {
		parts[i] = l.Name + "=" + strconv.Quote(l.Value)
	}
	return "{}:{" + strings.Join(parts, ", ") + "}"
}

// flush returns the notification that is due, nil for none, and removes the alerts that were resolved. It follows Alertmanager: a
// notification is due when an alert fires of which the last one did not say so, when one was resolved of which it did, and when the repeat
// interval has passed with an alert that fires.
func (g *group) flush(now time.Time, o *Options) *Notification {
	g.due = now.Add(o.GroupInterval)
	var list []series.Alert
	firing := map[string]time.Time{}
	due := false
	for _, id := range slices.Sorted(maps.Keys(g.alerts)) {
		m := g.alerts[id]
		resolved := m.alert.State == series.AlertResolved
		since, reported := g.firing[id]
		switch {
		case !resolved && now.Sub(m.seen) >= o.Stale:
			delete(g.alerts, id)
			continue
		case resolved:
			delete(g.alerts, id)
		}
		switch {
		case o.Silenced(m.alert):
		case resolved && (reported || m.late):
			list, due = append(list, m.alert), true
		case !resolved:
			list = append(list, m.alert)
			firing[id] = m.alert.FiredAt
			due = due || !reported || !since.Equal(m.alert.FiredAt)
		}
	}
	repeat := len(firing) > 0 && !g.sent.IsZero() && now.Sub(g.sent) >= o.RepeatInterval
	g.firing = firing
	if !due && !repeat {
		return nil
	}
	g.sent = now
	return newNotification(g.labels, list, now, o.ExternalURL)
}

// Notification is what webhooks and mail receive about a group.
type Notification struct {
	Key    string
	Labels []series.Label // of the group
	Alerts []series.Alert // at most maxListed
	Left   int            // alerts that are left out
	Firing int            // of all alerts
	Total  int
	At     time.Time
	// External is the address of the service; empty: none.
	External string
}

// maxListed bounds the alerts of a notification.
const maxListed = 500

func newNotification(by []series.Label, list []series.Alert, now time.Time, external string) *Notification {
	n := &Notification{Key: groupKey(by), Labels: by, Total: len(list), At: now, External: external}
	for i := range list {
		if list[i].State == series.AlertFiring {
			n.Firing++
		}
	}
	n.Alerts = list[:min(len(list), maxListed)]
	n.Left = len(list) - len(n.Alerts)
	return n
}

// common returns the labels, or annotations, that all alerts have alike.
func common(alerts []series.Alert, of func(*series.Alert) []series.Label) map[string]string {
	if len(alerts) == 0 {
		return map[string]string{}
	}
	out := series.Map(of(&alerts[0]))
	for i := range alerts[1:] {
		other := series.Map(of(&alerts[i+1]))
		maps.DeleteFunc(out, func(name, value string) bool { v, ok := other[name]; return !ok || v != value })
	}
	return out
}
