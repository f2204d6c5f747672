package attack

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// rollout is a rollout as the API returns it.
type rollout struct {
	ID                         int64
	Plan, State, Result, Phase string
	To                         string
}

// longestRollout is the maximum duration of a rollout: its manager may be frozen or killed several times, each of which
// costs a lease of 6 s, and congestion control is watched for 5 s.
const longestRollout = 2 * time.Minute

// operate works on a fabric as an operator does, with tenants, plans, rollouts and roll-backs, and checks that the
// devices hold what the rollouts report.
func (a *attack) operate(r *rand.Rand, fabric string) {
	for a.pause(time.Duration(r.IntN(1000)) * time.Millisecond) {
		a.operation(a.ctx, r, fabric)
	}
}

func (a *attack) operation(ctx context.Context, r *rand.Rand, fabric string) {
	at := "/fabrics/" + fabric
	if err := a.do(ctx, a.operator, "PUT", at+"/tenants", tenantsOf(1+r.IntN(9), 1+r.IntN(9)), nil); err != nil {
		a.refused(ctx, fabric, err)
		return
	}
	var plan struct{ Name string }
	if err := a.do(ctx, a.operator, "POST", at+"/plans", object{"options": object{}}, &plan); err != nil {
		a.refused(ctx, fabric, err)
		return
	}
	a.watch.setPlan(fabric, plan.Name)
	ro, err := a.start(ctx, fabric, "/rollouts", object{"plan": plan.Name, "options": object{"attempts": 30, "confirm_window_s": pick(r, 0, 0, 0, 2)}})
	if err != nil {
		a.refused(ctx, fabric, err)
		return
	}
	ro = a.steerOwn(ctx, r, fabric, ro)
	if ro = a.final(ctx, fabric, ro.ID); ro.State == "" {
		return
	}
	a.holds(ctx, fabric, ro)
	for _, path := range []string{"/devices?read=false", "/baseline?against=observed", "/shares?window_ms=1", "/shares/history", "/plans/" + plan.Name + "/explain", "/links", "/rollouts?limit=3", "/events?limit=50"} {
		if err := a.do(ctx, a.operator, "GET", at+path, nil, nil); err != nil {
			a.refused(ctx, fabric, err)
		}
	}
	switch r.IntN(6) {
	case 0:
		a.goBack(ctx, fabric, ro)
	case 1:
		a.release(ctx, r, fabric)
	}
}

// steerOwn sometimes pauses, cancels, rolls back or confirms a rollout. It returns the resulting rollout: a roll-back
// of an ended rollout is a rollout of its own.
func (a *attack) steerOwn(ctx context.Context, r *rand.Rand, fabric string, ro rollout) rollout {
	of := func(what string) string { return fmt.Sprintf("/fabrics/%s/rollouts/%d/%s", fabric, ro.ID, what) }
	for _, what := range []string{"pause", "cancel", "roll-back", "confirm"} {
		if r.IntN(6) > 0 || !a.pause(time.Duration(r.IntN(1500))*time.Millisecond) {
			continue
		}
		now := rollout{ID: ro.ID}
		if what == "roll-back" {
			now, _ = a.start(ctx, fabric, strings.TrimPrefix(of(what), "/fabrics/"+fabric), nil) // there may be nothing to roll back to
		} else {
			_ = a.do(ctx, a.operator, "POST", of(what), nil, nil) // it may have ended
		}
		switch {
		case what == "pause":
			a.pause(time.Duration(r.IntN(1000)) * time.Millisecond)
			_ = a.do(ctx, a.operator, "POST", of("resume"), nil, nil) // it may have ended
		case now.ID > ro.ID:
			if was := a.final(ctx, fabric, ro.ID); was.State == "canceled" {
				a.watch.canceled(fabric, "?plan="+was.Plan)
			}
			return now
		}
	}
	return ro
}

// refused checks why a legitimate request on a fabric was rejected: nothing else changes the fabric, so few reasons are
// valid.
func (a *attack) refused(ctx context.Context, fabric string, err error) {
	code := codeOf(err)
	if ctx.Err() != nil || code == "" {
		return // already reported
	}
	a.book.tally("honest work refused: " + code)
	switch code {
	case "no-plan", "discovery-failed", "devices-unreachable", "measurement-failed", "not-running", "not-paused", "rollout-ending":
	default:
		a.book.violation("honest work is refused", "on %s: %v", fabric, err)
	}
}

// start starts a rollout or a release. If its answer is lost, it is the newest rollout, since nothing else starts one.
func (a *attack) start(ctx context.Context, fabric, path string, body any) (ro rollout, err error) {
	err = a.do(ctx, a.operator, "POST", "/fabrics/"+fabric+path, body, &ro)
	if codeOf(err) == "idempotency-answer-lost" {
		var list struct{ Items []rollout }
		if err = a.do(ctx, a.operator, "GET", "/fabrics/"+fabric+"/rollouts?limit=1", nil, &list); err == nil && len(list.Items) == 1 {
			ro = list.Items[0]
		}
	}
	if err == nil {
		a.book.tally("rollouts started on " + fabric)
	}
	return ro, err
}

// final waits for the end of a rollout; its state is "" if the attack ends first.
func (a *attack) final(ctx context.Context, fabric string, id int64) (ro rollout) {
	for begun := time.Now(); ; {
		if err := a.do(ctx, a.operator, "GET", fmt.Sprintf("/fabrics/%s/rollouts/%d", fabric, id), nil, &ro); err != nil {
			a.refused(ctx, fabric, err)
			return rollout{}
		}
		if ro.State != "running" {
			a.book.tally("rollouts ended as " + ro.State)
			a.book.high("s of a rollout", time.Since(begun).Seconds())
			return ro
		}
		if time.Since(begun) > longestRollout {
			a.book.violation("a rollout is stuck", "on %s: %+v", fabric, ro)
			return rollout{}
		}
		if !pause(ctx, 200*time.Millisecond) {
			return rollout{}
		}
	}
}

// holds checks that devices hold what an ended rollout reports. After success all hold its plan or, after a release,
// the baseline. Otherwise each holds its earlier settings, which may come from a canceled rollout, or, if this rollout
// was canceled, those of its plan.
func (a *attack) holds(ctx context.Context, fabric string, ro rollout) {
	if ro.State == "succeeded" {
		a.watch.settled(fabric)
	}
	plans := []string{""} // the plan in force
	switch {
	case ro.State == "succeeded" && ro.To == "":
		plans = []string{"?plan=" + ro.Plan}
	case ro.State == "succeeded":
	case ro.State == "canceled":
		a.watch.canceled(fabric, "?plan="+ro.Plan)
		plans = append(plans, a.watch.canceled(fabric)...)
	case ro.State == "rolled-back", ro.State == "refused":
		plans = append(plans, a.watch.canceled(fabric)...)
	default:
		a.book.violation("a rollout ended badly", "on %s: %+v", fabric, ro)
		return
	}
	states := map[string][]string{} // by device, for each plan that it may hold
	for _, query := range plans {
		var list struct {
			Items []struct{ Name, State string }
		}
		err := a.do(ctx, a.operator, "GET", "/fabrics/"+fabric+"/devices"+query, nil, &list)
		if err != nil && (codeOf(err) != "no-plan" || query != "") {
			a.refused(ctx, fabric, err)
			return
		}
		for _, d := range list.Items {
			if _, known := states[d.Name]; known || query == plans[0] {
				states[d.Name] = append(states[d.Name], d.State)
			}
		}
		if query == "" && ro.To != "factory" {
			a.atBaseline(ctx, fabric, states)
		}
	}
	for name, list := range states {
		if !slices.Contains(list, "in-sync") && !slices.Contains(list, "clean-up-pending") {
			a.book.violation("a mixture", "on %s after rollout %d ended as %s (%s), %s is %v by the plans %v", fabric, ro.ID, ro.State, ro.Result, name, list, plans)
		}
	}
	a.book.tally("times that devices were held against plans")
}

// atBaseline records, for each device that was ever written and is in no plan in force, whether it holds its baseline.
func (a *attack) atBaseline(ctx context.Context, fabric string, states map[string][]string) {
	for _, d := range a.baseline(ctx, fabric) {
		if _, planned := states[d.Name]; planned {
			continue
		}
		state := "in-sync"
		if len(d.Differences) > 0 || d.Error != "" {
			state = fmt.Sprintf("not at its baseline: %v %s", d.Differences, d.Error)
		}
		states[d.Name] = append(states[d.Name], state)
	}
	a.book.tally("times that devices were held against the baseline")
}

// baselineDevice is the comparison of a device with its baseline.
type baselineDevice struct {
	Name, Error string
	Differences []struct{ Field, Desired, Observed string }
}

func (a *attack) baseline(ctx context.Context, fabric string) []baselineDevice {
	var list struct{ Items []baselineDevice }
	if err := a.do(ctx, a.operator, "GET", "/fabrics/"+fabric+"/baseline?against=observed", nil, &list); err != nil {
		a.refused(ctx, fabric, err)
	}
	return list.Items
}

// isBaseline checks that all devices hold their settings before the first rollout.
func (a *attack) isBaseline(ctx context.Context, fabric string, ro rollout) {
	for _, d := range a.baseline(ctx, fabric) {
		if len(d.Differences) > 0 || d.Error != "" {
			a.book.violation("a mixture", "on %s after rollout %d ended as %s, %s is not at its baseline: %+v", fabric, ro.ID, ro.State, d.Name, d)
		}
	}
	a.book.tally("times that devices were held against the baseline")
}

// goBack rolls back an ended rollout, to the plan before it or to the baseline.
func (a *attack) goBack(ctx context.Context, fabric string, ro rollout) {
	back, err := a.start(ctx, fabric, fmt.Sprintf("/rollouts/%d/roll-back", ro.ID), object{})
	if err != nil {
		if !slices.Contains([]string{"no-plan", "not-running"}, codeOf(err)) {
			a.refused(ctx, fabric, err)
		}
		return
	}
	if back = a.final(ctx, fabric, back.ID); back.State != "" {
		a.holds(ctx, fabric, back)
		a.book.tally("roll-backs")
	}
}

// release releases the fabric and puts it under management again.
func (a *attack) release(ctx context.Context, r *rand.Rand, fabric string) {
	to := pick(r, "baseline", "factory")
	ro, err := a.start(ctx, fabric, "/release", object{"to": to, "options": object{"attempts": 30}})
	if err != nil {
		a.refused(ctx, fabric, err)
		return
	}
	if ro = a.final(ctx, fabric, ro.ID); ro.State == "" {
		return
	}
	var f struct{ Management string }
	if err := a.do(ctx, a.operator, "GET", "/fabrics/"+fabric, nil, &f); err != nil {
		a.refused(ctx, fabric, err)
		return
	}
	if ro.State == "partial" && f.Management == "releasing" && strings.Contains(ro.Result, "unreachable") { // the machine is busy; a repeated request has no further effect
		a.book.tally("releases that did not reach all devices")
		a.release(ctx, r, fabric)
		return
	}
	if ro.State != "succeeded" || f.Management != "released" {
		a.book.violation("a release ended badly", "on %s, which is %s: %+v", fabric, f.Management, ro)
	}
	a.watch.settled(fabric)
	if to == "baseline" && ro.State == "succeeded" {
		a.isBaseline(ctx, fabric, ro)
	}
	a.book.tally("releases to " + to)
	if err := a.do(ctx, a.operator, "POST", "/fabrics/"+fabric+"/manage", nil, nil); err != nil && !strings.Contains(err.Error(), "idempotency") {
		a.refused(ctx, fabric, err)
	}
}

// race makes conflicting requests on one fabric at both managers concurrently: rollouts, releases, deleting and
// creating it. Requests may be rejected, but none may fail; the end of the attack checks that all rollouts end.
func (a *attack) race(r *rand.Rand) {
	const at = "/fabrics/race"
	for a.turn() {
		var plan object
		switch name := a.watch.plan("race"); r.IntN(12) {
		case 0:
			plan = object{"plan": strings.Repeat("0", 64)}
		default:
			plan = object{"plan": name, "stages": []string{"settings"}, "options": object{"confirm_window_s": pick(r, 0, 0, 1)}}
		}
		var q request
		switch n := r.IntN(20); {
		case n < 5:
			q = jsonRequest("POST", at+"/rollouts", plan)
		case n < 8:
			q = jsonRequest("POST", at+"/release", object{"to": pick(r, "baseline", "factory")})
		case n < 11:
			q = jsonRequest("POST", at+"/manage", nil)
		case n == 11:
			q = jsonRequest("DELETE", at+pick(r, "", "?keep_settings=true"), nil)
		case n == 12:
			q = jsonRequest("PUT", at, object{"source": "ibsim:" + a.socket("race"), "time_scale": timeScale})
		case n == 13:
			q = jsonRequest("PUT", at+"/tenants", tenantsOf(1+r.IntN(9), 1+r.IntN(9)))
		case n < 16:
			q = jsonRequest("POST", at+"/plans", object{"options": object{}})
		default:
			a.revive(at)
			a.steer(r, at)
			continue
		}
		q.header.Set("If-Match", "*")
		got := a.send(a.ctx, a.operator, a.serving(), q)
		a.book.tally("races")
		var made struct{ Name string }
		if strings.HasSuffix(q.path, "/plans") && decode(got, &made) {
			a.watch.setPlan("race", made.Name)
		}
	}
}

// revive puts the fabric under management again if it was deleted.
func (a *attack) revive(at string) {
	q := jsonRequest("POST", "/fabrics", object{"name": "race", "source": "ibsim:" + a.socket("race"), "time_scale": timeScale})
	if got := a.send(a.ctx, a.admin, a.serving(), q); got.status != 201 {
		return
	}
	a.send(a.ctx, a.operator, a.serving(), jsonRequest("POST", at+"/discover", nil))
	a.send(a.ctx, a.operator, a.serving(), jsonRequest("PUT", at+"/tenants", tenantsOf(3, 2)))
	var made struct{ Name string }
	if decode(a.send(a.ctx, a.operator, a.serving(), jsonRequest("POST", at+"/plans", object{"options": object{}})), &made) {
		a.watch.setPlan("race", made.Name)
	}
}

// steer makes a random request to the newest rollout.
func (a *attack) steer(r *rand.Rand, at string) {
	var list struct{ Items []rollout }
	if decode(a.send(a.ctx, a.operator, a.serving(), jsonRequest("GET", at+"/rollouts?limit=1", nil)), &list) && len(list.Items) > 0 {
		a.send(a.ctx, a.operator, a.serving(), jsonRequest("POST", fmt.Sprintf("%s/rollouts/%d/%s", at, list.Items[0].ID, pick(r, "pause", "resume", "cancel", "roll-back", "confirm")), nil))
	}
}
