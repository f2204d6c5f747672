package api

import (
	"context"
	"runtime"
	"testing"

	"fairlane/api/gen"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/rollouts"
	"fairlane/service/control/usecases"
)

// watched is a store that records the work in write transactions, which exclude all others.
type watched struct {
	control.Store

	most  uint64 // bytes allocated in one of them
	plans int    // loaded in all of them
}

func (s *watched) Tx(ctx context.Context, f func(control.Repos) error) error {
	return s.Store.Tx(ctx, func(r control.Repos) error {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		defer func() {
			runtime.ReadMemStats(&after)
			s.most = max(s.most, after.TotalAlloc-before.TotalAlloc)
		}()
		return f(&watchedRepos{r, s})
	})
}

type watchedRepos struct {
	control.Repos

	s *watched
}

func (r *watchedRepos) Plan(ctx context.Context, fabric, name string) (control.Plan, error) {
	r.s.plans++
	return r.Repos.Plan(ctx, fabric, name)
}

// again replaces the rig's service by one with empty caches, over a watched store.
func (r *rig) again() *watched {
	r.t.Helper()
	w := &watched{Store: r.Store}
	var err error
	d := r.deps()
	d.Store = w
	if r.Service, err = usecases.New(d); err == nil {
		r.server, err = New(r.Service, Options{})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return w
}

// Hashing a password takes 19 MiB, so the bytes allocated in a transaction show whether it was done there. Nothing else
// may run meanwhile: this test is not parallel.
func TestPasswordsAreHashedOutsideOfTransactions(t *testing.T) {
	r := newRig(t)
	w := r.again()
	const body = `{"password":"a long word for rob","roles":[]}`
	for _, once := range [][]string{nil, {idempotencyHeader, "key-of-this-request"}} {
		name := "rob"
		if once != nil {
			name = "eve"
		}
		r.call("POST", "/users", `{"name":"`+name+`","password":"staple in the hay","roles":[]}`, once...).want(201)
		r.call("PUT", "/users/"+name, body, append([]string{"If-Match", "*"}, once...)...).want(200)
	}
	r.call("POST", "/users?dry_run=true", `{"name":"dry","password":"staple in the hay","roles":[]}`).want(201)
	if w.most > 16<<20 {
		t.Errorf("a write transaction allocated %d bytes: a password was hashed in it", w.most)
	}
	if _, err := r.Service.SignIn(t.Context(), "rob", "a long word for rob"); err != nil {
		t.Errorf("rob with his new password: %v", err)
	}
	if _, err := r.Service.SignIn(t.Context(), "eve", "staple in the hay"); err == nil {
		t.Error("eve has her former password")
	}
}

func TestPlansAreLoadedOutsideOfTransactions(t *testing.T) {
	t.Parallel()
	r := managed(t)
	p, _, err := r.Service.CreatePlan(t.Context(), "lab", policy.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Service.StartRollout(t.Context(), "lab", rollouts.RolloutInput{Plan: p.Plan.Name}); err != nil {
		t.Fatal(err)
	}
	r.Wait()
	path := "/fabrics/lab/devices/" + decode[gen.DeviceList](r.call("GET", "/fabrics/lab/devices?read=false", "").want(200)).Items[0].ID
	for what, ask := range map[string]func(){
		"a policy":  func() { r.call("PUT", path, `{"policy":"report"}`, "If-Match", "*").want(200) },
		"a release": func() { r.call("POST", path+"/release", "").want(409, "not-quarantined") },
		"a repair":  func() { r.call("POST", path+"/repair?dry_run=true", "").want(202) },
	} {
		w := r.again()
		if ask(); w.plans > 0 {
			t.Errorf("%s: %d plans were loaded in write transactions", what, w.plans)
		}
	}
}
