package manager_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"fairlane/api"
	"fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/kube/controller"
	"fairlane/kube/manager"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/store"
)

// serve starts a real service with fake devices: fabric lab with hosts h1 to h4, tenant red on h1 and h4, blue on h2 and h4. It
// returns the rig, an administrator's client and the Manager of an account with the role feeder.
func serve(t *testing.T) (*controltest.Rig, *client.ClientWithResponses, *manager.Manager) {
	t.Helper()
	r := controltest.New(t, func(ctx context.Context, path string) (control.Store, io.Closer, error) {
		s, err := store.OpenSQLite(ctx, path, store.Options{})
		return s, s, err
	})
	r.Lab(t)
	h, err := api.New(r.Service, api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	admin, err := client.New(s.URL, controltest.Token, nil)
	if err != nil {
		t.Fatal(err)
	}
	account, err := admin.CreateServiceAccountWithResponse(t.Context(), &gen.CreateServiceAccountParams{}, gen.ServiceAccountCreate{
		Name: "lab1", Role: gen.Role("feeder"), Fabric: new("lab"),
	})
	if err != nil || account.StatusCode() != http.StatusCreated {
		t.Fatal(err, string(account.Body))
	}
	token, err := admin.CreateServiceAccountTokenWithResponse(t.Context(), "lab1", gen.TokenCreate{Name: "kubernetes"})
	if err != nil || token.StatusCode() != http.StatusCreated {
		t.Fatal(err, string(token.Body))
	}
	feeder, err := client.New(s.URL, token.JSON201.Secret, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, admin, manager.New(feeder)
}

func attachments(t *testing.T, m *manager.Manager, tenant string) []string {
	t.Helper()
	got, err := m.Tenant(t.Context(), "lab", tenant)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range got.Ports {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

func TestAFeederNeedsNoMoreThanItsRole(t *testing.T) {
	t.Parallel()
	r, admin, m := serve(t)
	ctx := t.Context()
	const feed = "kubernetes-lab1"
	if p, err := m.InForce(ctx, "lab"); err != nil || p.Name != "" {
		t.Fatalf("%+v, %v", p, err)
	}
	if last, err := m.LastRollout(ctx, "lab"); err != nil || last.ID != 0 {
		t.Fatalf("%+v, %v", last, err)
	}
	if s, err := m.Shares(ctx, "lab"); err != nil || !s.MeasuredAt.IsZero() {
		t.Fatalf("%+v, %v", s, err)
	}
	first, err := m.Plan(ctx, "lab")
	if err != nil {
		t.Fatal(err)
	}
	refused := (*controller.RefusedError)(nil)
	if _, err := m.Rollout(ctx, "lab", first, 1000); !errors.As(err, &refused) || refused.Code != controller.NeedsOperator {
		t.Fatalf("the first plan: %v, want it refused", err)
	}
	if a, err := admin.StartRolloutWithResponse(ctx, "lab", &gen.StartRolloutParams{}, gen.RolloutCreate{Plan: first}); err != nil || a.StatusCode() != http.StatusAccepted {
		t.Fatal(err, string(a.Body))
	}
	r.Wait()
	p, err := m.InForce(ctx, "lab")
	if err != nil || p.Name != first || p.Revision == 0 || !slices.ContainsFunc(p.Placements, func(p controller.Placement) bool { return p.Tenant == "red" && p.SL != nil }) {
		t.Fatalf("%+v, %v", p, err)
	}

	bad := (*controller.BadPortsError)(nil)
	if err := m.PutFeed(ctx, "lab", "red", feed, []controller.FeedPort{{Port: "h2:1"}, {Port: "h9:1"}}); !errors.As(err, &bad) || len(bad.Ports) != 1 || bad.Ports[0].Port != "h9:1" || !strings.Contains(bad.Ports[0].Reason, "h9") {
		t.Fatalf("an unknown port: %v", err)
	}
	for range 2 {
		if err := m.PutFeed(ctx, "lab", "red", feed, []controller.FeedPort{{Port: "h2:1", ClaimedBps: 40_000_000_000}, {Port: "h3:1"}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := attachments(t, m, "red"); !slices.Equal(got, []string{"h1/P1", "h2/P1", "h3/P1", "h4/P1"}) {
		t.Fatalf("red is attached to %v", got)
	}
	next, err := m.Plan(ctx, "lab")
	if err != nil || next == first {
		t.Fatalf("plan %s, before %s: %v", next, first, err)
	}
	if _, err := m.Rollout(ctx, "lab", next, 0); !errors.As(err, &refused) || refused.Code != controller.TooManySettings {
		t.Fatalf("a limit of 0: %v", err)
	}
	started, err := m.Rollout(ctx, "lab", next, 10000)
	if err != nil || started.Plan != next {
		t.Fatalf("%+v, %v", started, err)
	}
	r.Wait()
	if last, err := m.LastRollout(ctx, "lab"); err != nil || last.ID != started.ID || last.State != "succeeded" {
		t.Fatalf("%+v, %v", last, err)
	}
	if p, err := m.InForce(ctx, "lab"); err != nil || p.Name != next {
		t.Fatalf("%s, %v", p.Name, err)
	}

	for range 2 { // without ports the feed is removed, if there is one
		if err := m.PutFeed(ctx, "lab", "red", feed, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := attachments(t, m, "red"); !slices.Equal(got, []string{"h1/P1", "h4/P1"}) {
		t.Fatalf("red is attached to %v", got)
	}
}

func TestTenantsAndMeasurements(t *testing.T) {
	t.Parallel()
	r, admin, m := serve(t)
	ctx := t.Context()
	red, err := m.Tenant(ctx, "lab", "red")
	if err != nil || red.Weight != "3" || len(red.Ports) != 2 || red.DeliveredBps != nil {
		t.Errorf("%+v, %v", red, err)
	}
	for _, names := range [][2]string{{"lab", "green"}, {"other", "red"}} {
		if _, err := m.Tenant(ctx, names[0], names[1]); !errors.Is(err, controller.ErrNotFound) {
			t.Errorf("%v: %v", names, err)
		}
	}
	plan, err := m.Plan(ctx, "lab")
	if err != nil {
		t.Fatal(err)
	}
	if a, err := admin.StartRolloutWithResponse(ctx, "lab", &gen.StartRolloutParams{}, gen.RolloutCreate{Plan: plan}); err != nil || a.StatusCode() != http.StatusAccepted {
		t.Fatal(err, string(a.Body))
	}
	r.Wait()
	if a, err := admin.MeasureSharesWithResponse(ctx, "lab", &gen.MeasureSharesParams{}); err != nil || a.StatusCode() >= 300 {
		t.Fatal(err, string(a.Body))
	}
	s, err := m.Shares(ctx, "lab")
	if err != nil || s.MeasuredAt.IsZero() || s.Tolerance != 0.05 || len(s.Tenants) != 2 || len(s.Links) == 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestAServiceThatIsAwayOrBrokenIsNoRefusal(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		"a proxy's page":         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"a page that is missing": http.NotFound,
		"a sign-in page":         func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"overload": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"code":"too-many-requests","title":"Too many requests"}`))
		},
		"a fault": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"code":"internal","title":"Internal error"}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(h)
			defer s.Close()
			c, err := client.New(s.URL, "x", nil)
			if err != nil {
				t.Fatal(err)
			}
			m := manager.New(c)
			_, err = m.Tenant(t.Context(), "lab", "red")
			for _, err := range []error{err, m.PutFeed(t.Context(), "lab", "red", "kubernetes-lab1", nil)} {
				if err == nil || errors.As(err, new(*controller.RefusedError)) || errors.Is(err, controller.ErrNotFound) {
					t.Errorf("%v", err)
				}
			}
		})
	}
}
