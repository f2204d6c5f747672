package remote

import (
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/quantity"
)

// historyFlags are the flags of share history.
type historyFlags struct {
	since, until, tenant string
	limit                int
	step, why            string
}

// defaultHistory is the default period of share history --step.
const defaultHistory = 24 * time.Hour

// fewSteps is the number of steps that --step auto aims at.
const fewSteps = 24

// roundSteps are the steps that --step auto chooses from.
var roundSteps = []time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour,
}

// autoStep returns the shortest round step, at least a period, with which a time range has few steps.
func autoStep(long, period time.Duration) time.Duration {
	for _, s := range roundSteps {
		if s >= period && long <= fewSteps*s {
			return s
		}
	}
	return max(roundSteps[len(roundSteps)-1], period)
}

// keptHistory is the JSON output of share history --step.
type keptHistory struct {
	Fabric        string     `json:"fabric"`
	Since         time.Time  `json:"since"`
	Until         time.Time  `json:"until"`
	StepSeconds   float64    `json:"step_seconds"`
	PeriodSeconds float64    `json:"period_seconds"`
	Steps         []keptStep `json:"steps"`
}

// keptStep holds the measurements of one tenant in one step. Fields without a measurement are absent.
type keptStep struct {
	At           time.Time `json:"at"` // its beginning
	Tenant       string    `json:"tenant"`
	EntitledBps  *int64    `json:"entitled_bps,omitempty"`
	DeliveredBps *int64    `json:"delivered_bps,omitempty"`
	// Received is the delivered rate relative to the tenant's entitlement while it contended.
	Received     *float64 `json:"received,omitempty"`
	LimitingLink string   `json:"limiting_link,omitempty"`
	State        string   `json:"state,omitempty"` // the one that held longest
	// States has the part of the measurements in each state.
	States   map[string]float64 `json:"states,omitempty"`
	Measured float64            `json:"measured"`           // part of the measurements that gave a rate
	Coverage *float64           `json:"coverage,omitempty"` // part of the time in which counters were read
}

// keptStepOf returns the measurements of a tenant in step i.
func keptStepOf(s *shareSteps, tenant string, i int) keptStep {
	x := &s.tenants[tenant][i]
	out := keptStep{At: s.begin(i), Tenant: tenant, EntitledBps: roundedBps(x.entitled), DeliveredBps: roundedBps(x.delivered), Received: x.receivedRatio(), Coverage: s.coverage[i]}
	out.Measured = min(x.measured/s.due(i), 1)
	out.State = most(x.states)
	out.LimitingLink = most(x.links)
	sum := 0.0
	for _, n := range x.states {
		sum += n
	}
	for state, n := range x.states {
		add(&out.States, state, n/sum)
	}
	return out
}

func roundedBps(v *float64) *int64 {
	if v == nil {
		return nil
	}
	return new(int64(math.Round(*v)))
}

// shareStepsHistory prints what tenants received in steps of time.
func (c *cli) shareStepsHistory(cmd *cobra.Command, f *historyFlags) error {
	from, to, err := c.span(f)
	if err != nil {
		return err
	}
	step, err := c.stepOf(f.step)
	if err != nil {
		return err
	}
	k, err := c.pickSeries(cmd)
	if err != nil {
		return err
	}
	switch {
	case step == 0:
		step = autoStep(to.Sub(from), k.period)
	case step < k.period:
		return c.usage("err.step-period", "found", step, "period", k.period)
	}
	begin := from.Truncate(step)
	s, err := k.steps(begin, step, int((to.Sub(begin)+step-1)/step), f.tenant)
	if err != nil {
		return err
	}
	out := &keptHistory{Fabric: k.fabric, Since: begin, Until: s.begin(s.n), StepSeconds: step.Seconds(), PeriodSeconds: k.period.Seconds(), Steps: []keptStep{}}
	for i := range s.n {
		for _, name := range s.names() {
			out.Steps = append(out.Steps, keptStepOf(s, name, i))
		}
	}
	if len(out.Steps) == 0 {
		c.say(cmd, "msg.nothing-kept", "since", stamp(begin), "until", stamp(out.Until))
	}
	return c.print(cmd, out, func() *table { return c.stepTable(out.Steps) })
}

// span returns the time range of share history --step.
func (c *cli) span(f *historyFlags) (from, to time.Time, err error) {
	since, err := c.instant("since", f.since)
	if err != nil {
		return from, to, err
	}
	until, err := c.instant("until", f.until)
	if err != nil {
		return from, to, err
	}
	if to = time.Now().UTC(); until != nil && until.Before(to) { // nothing is measured in the future
		to = until.UTC()
	}
	if from = to.Add(-defaultHistory); since != nil {
		from = since.UTC()
	}
	if !from.Before(to) {
		return from, to, c.usage("err.span", "since", stamp(from), "until", stamp(to))
	}
	return from, to, nil
}

// stepOf parses --step; 0 is auto.
func (c *cli) stepOf(text string) (time.Duration, error) {
	if text == "" || text == "auto" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second {
		return 0, c.usage("err.history-step", "found", fmt.Sprintf("%q", text))
	}
	return d, nil
}

// stamp writes a time for people, in UTC.
func stamp(t time.Time) string { return t.UTC().Format(timeFormat) + " UTC" }

func (c *cli) stepTable(steps []keptStep) *table {
	if len(steps) == 0 {
		return nil
	}
	t := c.newTable("time", "tenant", "entitled>", "delivered>", "received?>", "state", "limited-by", "measured>", "coverage?>")
	t.latest = true
	for i := range steps {
		x := &steps[i]
		t.add(x.At.Format(timeFormat), x.Tenant, measuredRate(x.EntitledBps), measuredRate(x.DeliveredBps), cmdline.PercentOrDash(x.Received), c.prevailing(x.State, x.States[x.State]),
			c.stepLimit(x), cmdline.Percent(x.Measured), cmdline.PercentOrDash(x.Coverage))
	}
	return t
}

// prevailing names the state that held longest, and its part unless it held all the time.
func (c *cli) prevailing(state string, part float64) string {
	switch {
	case state == "":
		return "-"
	case part > 0.995:
		return c.known("tenant-state.", state)
	}
	return fmt.Sprintf("%s %.0f %%", c.known("tenant-state.", state), 100*part)
}

// stepLimit says what limited a tenant most of the time.
func (c *cli) stepLimit(x *keptStep) string {
	switch {
	case x.State == "" || x.State == "not-measured":
		return "-"
	case x.State == "contending" && x.LimitingLink != "":
		return clean(x.LimitingLink)
	}
	return c.known("contention.", x.State)
}

// rateOr writes a rate, or a dash if there is none.
func rateOr(v *float64) string {
	if v == nil {
		return "-"
	}
	return quantity.BitRate(math.Round(*v)).String()
}
