package remote

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/texttable"
)

const (
	// whyWindow is the length of the time around the given one that share history --why explains.
	whyWindow = 5 * time.Minute
	// whyEvents is how long before that time events may have influenced shares.
	whyEvents = 30 * time.Minute
)

// shareWhy is the JSON output of share history --why.
type shareWhy struct {
	Fabric   string             `json:"fabric"`
	Since    time.Time          `json:"since"`
	Until    time.Time          `json:"until"`
	Coverage *float64           `json:"coverage,omitempty"`
	Tenants  []whyTenant        `json:"tenants"`
	Links    []whyLink          `json:"links"` // that limited a tenant; none for callers who may not see links
	Events   []gen.Event        `json:"events"`
	before   map[string]was     // by tenant
	caps     map[string]int64   // by tenant, bit/s; as declared now
	bounds   map[string]float64 // by tenant; of "" for the others
}

// whyTenant explains what one tenant received.
type whyTenant struct {
	keptStep

	Weight       *float64 `json:"weight,omitempty"`
	WeightBefore *float64 `json:"weight_before,omitempty"` // whyEvents earlier; if not known, at the beginning
	Explanation  []string `json:"explanation"`             // sentences, in the language of the command

	made float64 // number of measurements with a rate
}

// whyLink is a link that limited a tenant.
type whyLink struct {
	Link    string          `json:"link"`
	Use     *float64        `json:"use,omitempty"`
	Tenants []whyLinkTenant `json:"tenants"`
}

// whyLinkTenant is a tenant on a link.
type whyLinkTenant struct {
	Tenant       string `json:"tenant"`
	EntitledBps  *int64 `json:"entitled_bps,omitempty"`
	DeliveredBps *int64 `json:"delivered_bps,omitempty"`
	State        string `json:"state,omitempty"`
}

// was holds a tenant's entitlement whyEvents earlier, and at the beginning and the end of the time.
type was struct{ entitled, begin, end *float64 }

// moment parses what instant parses, and times of day: the latest one in the past, in UTC. A minute stands for its middle.
func (c *cli) moment(text string, now time.Time) (time.Time, error) {
	for layout, middle := range map[string]time.Duration{"15:04": 30 * time.Second, "15:04:05": 0} {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		t := now.UTC().Truncate(day).Add(at.Sub(at.Truncate(day)))
		if t.After(now) {
			t = t.Add(-day)
		}
		return t.Add(middle), nil
	}
	at, err := c.instant("why", text)
	if err != nil || at == nil {
		return time.Time{}, c.usage("err.why", "found", fmt.Sprintf("%q", text))
	}
	if at.After(now) {
		return time.Time{}, c.usage("err.why-future", "found", stamp(*at))
	}
	return at.UTC(), nil
}

// explainShares explains the share of each tenant around a time.
func (c *cli) explainShares(cmd *cobra.Command, f *historyFlags) error {
	now := time.Now().UTC()
	at, err := c.moment(f.why, now)
	if err != nil {
		return err
	}
	window, err := c.stepOf(f.step)
	if err != nil {
		return err
	}
	k, err := c.pickSeries(cmd)
	if err != nil {
		return err
	}
	if window == 0 {
		window = max(whyWindow, 3*k.period)
	}
	if at = at.Add(window / 2); at.After(now) {
		at = now
	}
	w, err := k.why(at.Add(-window), window, f.tenant)
	if err != nil {
		return err
	}
	if w.Events, err = k.events(w.Since.Add(-whyEvents), w.Until); err != nil {
		return err
	}
	if err := k.bounds(w); err != nil {
		return err
	}
	if err := k.caps(w); err != nil {
		return err
	}
	for i := range w.Tenants {
		w.Tenants[i].Explanation = c.sentences(w, &w.Tenants[i], k.period)
	}
	if len(w.Tenants) == 0 {
		c.say(cmd, "msg.nothing-kept", "since", stamp(w.Since), "until", stamp(w.Until))
	}
	if c.output != "table" {
		return c.print(cmd, w)
	}
	return c.printWhy(cmd, w)
}

// why gathers what is known of a time.
func (k *keptSeries) why(from time.Time, long time.Duration, tenant string) (*shareWhy, error) {
	s, err := k.steps(from, long, 1, tenant)
	if err != nil {
		return nil, err
	}
	w := &shareWhy{Fabric: k.fabric, Since: from, Until: s.begin(1), Coverage: s.coverage[0], Tenants: []whyTenant{}, Links: []whyLink{}, before: map[string]was{}}
	for _, name := range s.names() {
		w.Tenants = append(w.Tenants, whyTenant{keptStep: keptStepOf(s, name, 0), made: s.tenants[name][0].measured})
	}
	if err := k.weights(w, tenant); err != nil {
		return nil, err
	}
	return w, k.links(w, s)
}

// weights reads the tenants' weights and entitlements, and earlier ones.
func (k *keptSeries) weights(w *shareWhy, tenant string) error {
	tenants := map[string]*whyTenant{}
	for i := range w.Tenants {
		tenants[w.Tenants[i].Tenant] = &w.Tenants[i]
	}
	last := func(family string, long time.Duration) string {
		return "last_over_time(" + k.selector(family, tenant) + "[" + duration(long) + "])"
	}
	const weight, entitled = "fairlane_tenant_weight", "fairlane_tenant_entitled_bits_per_second"
	whole, first := w.Until.Sub(w.Since), 2*k.period
	for _, q := range []struct {
		family string
		at     time.Time
		long   time.Duration
		put    func(x *whyTenant, before *was, v float64)
	}{
		{weight, w.Until, whole, func(x *whyTenant, _ *was, v float64) { x.Weight = &v }},
		{weight, w.Since.Add(first), first, func(x *whyTenant, _ *was, v float64) { x.WeightBefore = &v }},
		{weight, w.Until.Add(-whyEvents), whole, func(x *whyTenant, _ *was, v float64) { x.WeightBefore = &v }},
		{entitled, w.Until.Add(-whyEvents), whole, func(_ *whyTenant, before *was, v float64) { before.entitled = &v }},
		{entitled, w.Since.Add(first), first, func(_ *whyTenant, before *was, v float64) { before.begin = &v }},
		{entitled, w.Until, whole, func(_ *whyTenant, before *was, v float64) { before.end = &v }},
	} {
		list, err := k.at(last(q.family, q.long), q.at)
		if err != nil {
			return err
		}
		for _, r := range list {
			name := r.Metric["tenant"]
			if x, v := tenants[name], r.Value.number(); x != nil && !math.IsNaN(v) {
				before := w.before[name]
				q.put(x, &before, v)
				w.before[name] = before
			}
		}
	}
	return nil
}

// bounds reads the bounds of the objectives: below them a tenant has not received its share.
func (k *keptSeries) bounds(w *shareWhy) error {
	w.bounds = map[string]float64{}
	return eachPage(func(cursor *string) (*page[gen.Objective], error) {
		list, err := found[gen.ObjectiveList](k.c)(k.client.ListObjectivesWithResponse(k.cmd.Context(), k.fabric, &gen.ListObjectivesParams{Limit: pageSize(), Cursor: cursor}))
		if err != nil {
			return nil, err
		}
		w.bounds[""] = list.Default.Bound
		return &page[gen.Objective]{Items: list.Items, NextCursor: list.NextCursor}, nil
	}, func(items []gen.Objective) error {
		for _, o := range items {
			w.bounds[cmdline.OrZero(o.Tenant)] = o.Bound
		}
		return nil
	})
}

// caps reads the tenants' caps. Callers who may not see links are tenants, and read each tenant of theirs.
func (k *keptSeries) caps(w *shareWhy) error {
	w.caps = map[string]int64{}
	if len(w.Links) == 0 {
		for i := range w.Tenants {
			t, err := k.c.getTenant(k.cmd, k.client, k.fabric, w.Tenants[i].Tenant)
			if err != nil {
				return err
			}
			w.caps[t.Name] = t.CapBps
		}
		return nil
	}
	return eachPage(func(cursor *string) (*page[gen.Tenant], error) {
		return k.c.tenantPage(k.cmd, k.client, k.fabric, cursor)
	}, func(items []gen.Tenant) error {
		for _, t := range items {
			w.caps[t.Name] = t.CapBps
		}
		return nil
	})
}

// links reads who used the links that limited tenants.
func (k *keptSeries) links(w *shareWhy, all *shareSteps) error {
	names := map[string]bool{}
	for _, cells := range all.tenants {
		for link := range cells[0].links {
			names[link] = true
		}
	}
	if len(names) == 0 {
		return nil
	}
	links := map[string]*whyLink{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		w.Links = append(w.Links, whyLink{Link: name, Tenants: []whyLinkTenant{}})
	}
	for i := range w.Links {
		links[w.Links[i].Link] = &w.Links[i]
	}
	span := "[" + duration(w.Until.Sub(w.Since)) + "]"
	for _, family := range []string{"fairlane_link_use_ratio", "fairlane_link_tenant_entitled_bits_per_second", "fairlane_link_tenant_delivered_bits_per_second"} {
		list, err := k.at("avg_over_time("+k.selector(family, "")+span+")", w.Until)
		if err != nil {
			return err
		}
		for _, r := range list {
			l, v := links[r.Metric["link"]], r.Value.number()
			if l == nil || math.IsNaN(v) {
				continue
			}
			switch family {
			case "fairlane_link_use_ratio":
				l.Use = &v
			case "fairlane_link_tenant_entitled_bits_per_second":
				l.tenant(r.Metric["tenant"]).EntitledBps = roundedBps(&v)
			default:
				l.tenant(r.Metric["tenant"]).DeliveredBps = roundedBps(&v)
			}
		}
	}
	for i := range w.Links {
		l := &w.Links[i]
		for n := range l.Tenants {
			if cells := all.tenants[l.Tenants[n].Tenant]; cells != nil {
				l.Tenants[n].State = most(cells[0].states)
			}
		}
		slices.SortStableFunc(l.Tenants, func(a, b whyLinkTenant) int { return strings.Compare(a.Tenant, b.Tenant) })
	}
	return nil
}

// tenant returns a tenant on the link, which it adds if necessary.
func (l *whyLink) tenant(name string) *whyLinkTenant {
	if i := slices.IndexFunc(l.Tenants, func(t whyLinkTenant) bool { return t.Tenant == name }); i >= 0 {
		return &l.Tenants[i]
	}
	l.Tenants = append(l.Tenants, whyLinkTenant{Tenant: name})
	return &l.Tenants[len(l.Tenants)-1]
}

// events lists the events of the fabric in a time range, without measurements and the steps of rollouts: they would hide causes.
func (k *keptSeries) events(from, to time.Time) ([]gen.Event, error) {
	out := []gen.Event{}
	err := eachPage(func(cursor *string) (*page[gen.Event], error) {
		list, err := found[gen.EventList](k.c)(k.client.ListEventsWithResponse(k.cmd.Context(), k.fabric, &gen.ListEventsParams{Since: &from, Limit: pageSize(), Cursor: cursor}))
		if err != nil {
			return nil, err
		}
		return &page[gen.Event]{list.Items, list.NextCursor}, nil
	}, func(items []gen.Event) error {
		for _, e := range items {
			if e.At.After(to) {
				return errEnough
			}
			switch e.Kind {
			case "shares.measured", "rollout.progress":
				continue
			case "device.state":
				if !reportsFault(&e) {
					continue
				}
			}
			out = append(out, e)
		}
		return nil
	})
	return out, err
}

// sentences explain what a tenant received, in a few sentences.
func (c *cli) sentences(w *shareWhy, x *whyTenant, period time.Duration) []string {
	if x.DeliveredBps == nil && len(x.States) == 0 {
		return []string{c.t("why.unmeasured", "entitled", measuredRate(x.EntitledBps))}
	}
	out := []string{c.t("why.received", "delivered", measuredRate(x.DeliveredBps), "entitled", measuredRate(x.EntitledBps), "part", partOf(x.DeliveredBps, x.EntitledBps))}
	before := w.before[x.Tenant]
	if before.begin != nil && before.end != nil && differ(*before.begin, *before.end) {
		out = append(out, c.t("why.entitled-changed", "before", rateOr(before.begin), "after", rateOr(before.end)))
	}
	if limit := float64(w.caps[x.Tenant]); limit > 0 && before.end != nil && !differ(limit, *before.end) {
		out = append(out, c.t("why.by-cap", "cap", rateOr(&limit)))
	}
	out = append(out, c.whyState(w, x)...)
	if rest := c.otherStates(x); rest != "" {
		out = append(out, c.t("why.rest", "states", rest))
	}
	if x.EntitledBps != nil && before.entitled != nil && differ(*before.entitled, float64(*x.EntitledBps)) {
		out = append(out, c.t("why.entitled-before", "before", rateOr(before.entitled), "minutes", int(whyEvents.Minutes())))
	}
	if x.Weight != nil && x.WeightBefore != nil && *x.Weight != *x.WeightBefore {
		out = append(out, c.t("why.weight-before", "weight", shortFloat(*x.Weight), "before", shortFloat(*x.WeightBefore)))
	}
	if due := math.Round(w.Until.Sub(w.Since).Seconds() / period.Seconds()); x.Measured < fullCoverage {
		out = append(out, c.t("why.measured", "measured", int(x.made), "due", int(due)))
	}
	return out
}

// differ reports whether two rates differ by more than 1 % of the second.
func differ(a, b float64) bool { return math.Abs(a-b) > 0.01*b }

// whyState explains the state that held longest.
func (c *cli) whyState(w *shareWhy, x *whyTenant) []string {
	part := fmt.Sprintf("%.0f %%", 100*x.States[x.State])
	switch {
	case x.State == "", !c.texts.Has("why." + x.State): // nothing, or a state of a later release
		return nil
	case x.State != "contending":
		return []string{c.t("why."+x.State, "part", part)}
	case x.LimitingLink == "":
		return []string{c.t("why.contending", "part", part)}
	}
	out := []string{c.t("why.contending-link", "link", clean(x.LimitingLink), "part", part, "received", cmdline.PercentOrDash(x.Received))}
	if x.Received != nil && *x.Received < cmp.Or(w.bounds[x.Tenant], w.bounds[""]) {
		out = append(out, c.t("why.less"))
	} else {
		out = append(out, c.t("why.share"))
	}
	if i := slices.IndexFunc(w.Links, func(l whyLink) bool { return l.Link == x.LimitingLink }); i >= 0 {
		if others := c.othersOn(&w.Links[i], x.Tenant); others != "" {
			out = append(out, c.t("why.others", "others", others, "use", cmdline.PercentOrDash(w.Links[i].Use)))
		}
	}
	return out
}

// mostOthers is the number of other tenants on a link that a sentence names.
const mostOthers = 5

// othersOn lists the other tenants of a link: those that contend first, and of them those with the highest rates.
func (c *cli) othersOn(l *whyLink, tenant string) string {
	others := slices.DeleteFunc(slices.Clone(l.Tenants), func(t whyLinkTenant) bool { return t.Tenant == tenant })
	slices.SortStableFunc(others, func(a, b whyLinkTenant) int {
		if x, y := a.State == "contending", b.State == "contending"; x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Compare(cmdline.OrZero(b.DeliveredBps), cmdline.OrZero(a.DeliveredBps))
	})
	var out []string
	for i, t := range others {
		if i == mostOthers && !c.rows.all {
			out = append(out, c.t("why.more", "count", len(others)-i))
			break
		}
		out = append(out, c.t("why.other", "tenant", t.Tenant, "delivered", measuredRate(t.DeliveredBps), "entitled", measuredRate(t.EntitledBps), "state", c.known("tenant-state.", cmp.Or(t.State, "not-measured"))))
	}
	return strings.Join(out, c.t("list.separator"))
}

// otherStates lists all states except the longest one.
func (c *cli) otherStates(x *whyTenant) string {
	var out []string
	for _, state := range slices.Sorted(maps.Keys(x.States)) {
		if state != x.State {
			out = append(out, fmt.Sprintf("%s %.0f %%", c.known("tenant-state.", state), 100*x.States[state]))
		}
	}
	return strings.Join(out, c.t("list.separator"))
}

// partOf writes part as a percentage of whole; a dash if one of them is unknown.
func partOf(part, whole *int64) string {
	if part == nil || whole == nil || *whole == 0 {
		return "-"
	}
	return cmdline.Percent(float64(*part) / float64(*whole))
}

// paragraph joins sentences; after a Chinese full stop there is no space.
func paragraph(sentences []string) string {
	return strings.ReplaceAll(strings.Join(sentences, " "), "。 ", "。")
}

// printWhy prints the explanations, and then the events.
func (c *cli) printWhy(cmd *cobra.Command, w *shareWhy) error {
	out := cmd.OutOrStdout()
	columns := texttable.Columns(out, c.getenv)
	var b strings.Builder
	about := []string{c.t("why.time", "since", stamp(w.Since), "until", stamp(w.Until))}
	if w.Coverage != nil {
		about = append(about, c.t("why.coverage", "coverage", cmdline.Percent(*w.Coverage)))
	}
	b.WriteString(paragraph(about) + "\n")
	for i := range w.Tenants {
		x := &w.Tenants[i]
		text := c.t("why.tenant", "tenant", x.Tenant, "text", paragraph(x.Explanation))
		b.WriteString("\n" + texttable.Wrap(text, "  ", columns, 0) + "\n")
	}
	from := stamp(w.Since.Add(-whyEvents))
	if len(w.Events) == 0 {
		b.WriteString("\n" + c.t("why.no-events", "since", from, "until", stamp(w.Until)) + "\n")
	} else {
		b.WriteString("\n" + c.t("why.events", "since", from, "until", stamp(w.Until)) + "\n")
	}
	if _, err := fmt.Fprint(out, b.String()); err != nil {
		return err
	}
	return c.printTables(cmd, []func() *table{func() *table {
		if len(w.Events) == 0 {
			return nil
		}
		t := c.newTable("time", "actor", "event", "message")
		t.latest = true
		for _, e := range w.Events {
			t.add(e.At.Format(timeFormat), e.Actor, e.Kind, c.texts.Either(e.Message, e.Said))
		}
		return t
	}})
}
