package api

import (
	"net/url"
	"slices"
	"strings"

	"fairlane/api/gen"
)

// checkNewestEvents compares the filters and the order of the list of events with the whole list.
func checkNewestEvents(r *rig) {
	t := r.t
	t.Helper()
	list := func(query string) []gen.Event {
		return decode[gen.EventList](r.call("GET", "/fabrics/lab/events?limit=1000"+query, "").want(200)).Items
	}
	all := list("")
	chosen := func(wanted func(gen.Event) bool) []int64 {
		var ids []int64
		for _, e := range slices.Backward(all) {
			if wanted(e) {
				ids = append(ids, e.ID)
			}
		}
		return ids
	}
	of := func(events []gen.Event) (ids []int64) {
		for _, e := range events {
			ids = append(ids, e.ID)
		}
		return ids
	}
	i := slices.IndexFunc(all, func(e gen.Event) bool { return e.Kind == "device.state" })
	if i < 0 {
		t.Fatal("no event of a device")
	}
	device, middle := all[i].Subject, all[i].At
	for query, wanted := range map[string]func(gen.Event) bool{
		"":                                    func(gen.Event) bool { return true },
		"&kind=tenant.":                       func(e gen.Event) bool { return strings.HasPrefix(e.Kind, "tenant.") },
		"&subject=" + url.QueryEscape(device): func(e gen.Event) bool { return e.Subject == device },
		"&progress=false":                     func(e gen.Event) bool { return e.Kind != "device.state" && e.Kind != "rollout.progress" },
		"&until=" + url.QueryEscape(middle.Format("2006-01-02T15:04:05.999999999Z07:00")): func(e gen.Event) bool { return e.At.Before(middle) },
	} {
		want, got := chosen(wanted), of(list("&order=newest"+query))
		if len(want) == 0 || !slices.Equal(want, got) {
			t.Errorf("newest events by %q are %v, want %v", query, got, want)
		}
	}
	first := decode[gen.EventList](r.call("GET", "/fabrics/lab/events?order=newest&limit=2", "").want(200))
	next := decode[gen.EventList](r.call("GET", "/fabrics/lab/events?order=newest&limit=2&cursor="+first.LastCursor, "").want(200))
	if got := append(of(first.Items), of(next.Items)...); !slices.Equal(got, chosen(func(gen.Event) bool { return true })[:4]) {
		t.Errorf("two pages of the newest events are %v", got)
	}
	r.call("GET", "/fabrics/lab/events?order=latest", "").want(422, "invalid")
}
