package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"fairlane/test/servetest"
)

// calm checks the state after the attack.
func (w *world) calm() {
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Minute)
	defer cancel()
	a := &attack{world: w, ctx: ctx}
	w.book.judgeWrites()
	for _, c := range []*caller{w.nobody, w.red, w.blue, w.redViewer, w.neighbour, w.decoy, w.auditor} {
		c.http.CloseIdleConnections()
	}
	var wg sync.WaitGroup
	for _, fabric := range []string{"lab", "eth", "race"} {
		wg.Go(func() { a.settle(ctx, fabric) })
	}
	wg.Wait()
	var report struct {
		OK      bool
		Entries int
	}
	if err := w.do(ctx, w.auditor, "GET", "/audit/verify", nil, &report); err != nil || !report.OK {
		w.book.violation("the audit chain is broken", "%+v %v", report, err)
	}
	w.t.Logf("audit chain of %d entries verifies: %v", report.Entries, report.OK)
	a.doctor(ctx)
	w.operator.http.CloseIdleConnections()
	w.admin.http.CloseIdleConnections()
	w.auditor.http.CloseIdleConnections()
	w.watch.atRest()
	w.watch.end()
}

// settle waits until nothing runs on a fabric, and then makes one undisturbed round: a plan, which must come into
// force, and its release, which must leave the baseline.
func (a *attack) settle(ctx context.Context, fabric string) {
	at := "/fabrics/" + fabric
	if err := a.do(ctx, a.operator, "GET", at, nil, nil); codeOf(err) == "not-found" && fabric == "race" {
		a.revive(at)
	}
	for begun := time.Now(); ; {
		var list struct{ Items []rollout }
		if err := a.do(ctx, a.operator, "GET", at+"/rollouts?limit=1", nil, &list); err != nil {
			a.book.violation("no peace", "on %s: %v", fabric, err)
			return
		}
		if len(list.Items) == 0 || list.Items[0].State != "running" {
			break
		}
		if time.Since(begun) > longestRollout {
			a.book.violation("a rollout is stuck", "on %s after the attack: %+v", fabric, list.Items[0])
			return
		}
		// The attack may have left it paused, or awaiting confirmation.
		a.send(ctx, a.operator, a.serving(), jsonRequest("POST", at+"/rollouts/"+itoa(list.Items[0].ID)+"/resume", nil))
		pause(ctx, 500*time.Millisecond)
	}
	a.send(ctx, a.operator, a.serving(), jsonRequest("POST", at+"/manage", nil)) // it may be under management
	var f struct{ Management string }
	if err := a.do(ctx, a.operator, "GET", at, nil, &f); err != nil {
		a.book.violation("no peace", "on %s: %v", fabric, err)
		return
	}
	if f.Management == "releasing" { // the attack rolled back or canceled a release
		a.release(ctx, rand.New(rand.NewPCG(1, 1)), fabric)
	}
	a.peace(ctx, fabric)
}

func itoa(n int64) string {
	b, _ := json.Marshal(n) // a number
	return string(b)
}

// peace is the undisturbed round.
func (a *attack) peace(ctx context.Context, fabric string) {
	at := "/fabrics/" + fabric
	var plan struct{ Name string }
	for _, step := range []struct {
		method, path string
		body, out    any
	}{
		{"PUT", "/tenants", tenantsOf(3, 2), nil},
		{"POST", "/plans", object{"options": object{}}, &plan},
	} {
		if err := a.do(ctx, a.operator, step.method, at+step.path, step.body, step.out); err != nil {
			a.book.violation("no peace", "%v", err)
			return
		}
	}
	ro, err := a.start(ctx, fabric, "/rollouts", object{"plan": plan.Name, "options": object{"attempts": 30}})
	if err != nil {
		a.book.violation("no peace", "%v", err)
		return
	}
	if ro = a.final(ctx, fabric, ro.ID); ro.State != "succeeded" {
		a.book.violation("no peace", "on %s the rollout ends as %+v", fabric, ro)
		return
	}
	a.holds(ctx, fabric, ro)
	if fabric == "race" {
		if ro, err = a.start(ctx, fabric, "/release", object{"to": "baseline", "options": object{"attempts": 30}}); err != nil {
			a.book.violation("no peace", "%v", err)
			return
		}
		if ro = a.final(ctx, fabric, ro.ID); ro.State != "succeeded" {
			a.book.violation("no peace", "on %s the release ends as %+v", fabric, ro)
		}
	}
}

// doctor runs the program's doctor, which must find no fault.
func (a *attack) doctor(ctx context.Context) {
	cmd := servetest.Command(ctx, "doctor", "--config", a.managers[0].Config, "--json")
	cmd.Dir = a.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // exit code 1 means faults, which are checked below
	var list []struct{ Check, Subject, Status, Code, Found string }
	if err := json.Unmarshal(out.Bytes(), &list); err != nil || len(list) < 5 {
		a.book.violation("doctor does not answer", "%v: %s %s", err, out.Bytes(), errs.Bytes())
		return
	}
	for _, c := range list {
		if strings.EqualFold(c.Status, "fault") {
			a.book.violation("doctor finds a fault", "%+v", c)
		}
	}
}
