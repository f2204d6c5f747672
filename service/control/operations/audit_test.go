package operations_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlane/internal/quantity"
	"fairlane/service/audit"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/operations"
	"fairlane/service/control/usecases"
)

func TestChangeIsAuditedWithActorOriginAndBothSides(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	ctx := control.WithOrigin(t.Context(), control.Origin{Addr: "192.0.2.7:4711", RequestID: "r-1"})
	ctx = control.WithPrincipal(ctx, control.Principal{Kind: control.PrincipalSystem, Name: "ada"})
	before, err := r.Service.Tenant(ctx, "lab", "red")
	if err != nil {
		t.Fatal(err)
	}
	in := controltest.Tenants().Tenants[0]
	in.Weight = 9000
	if _, err := r.Service.UpdateTenant(ctx, "lab", before.Version, in); err != nil {
		t.Fatal(err)
	}
	e := controltest.LastAuditEntry(t, r.Service)
	if e.Actor != "ada" || e.Addr != "192.0.2.7:4711" || e.RequestID != "r-1" || e.Fabric != "lab" || e.Action != "tenant.updated" || e.Object != "red" || e.Outcome != audit.Done {
		t.Errorf("entry is %+v", e)
	}
	var was, is map[string]any
	if err := errors.Join(json.Unmarshal(e.Before, &was), json.Unmarshal(e.After, &is)); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(was) == fmt.Sprint(is) || len(was) == 0 || len(is) == 0 {
		t.Errorf("before is %s, after %s", e.Before, e.After)
	}
}

func TestRefusedChangeAndDryRunAreNotAudited(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	n := len(controltest.AuditEntries(t, r.Service))
	in := controltest.Tenants().Tenants[0]
	if _, err := r.Service.UpdateTenant(t.Context(), "lab", 99, in); !errors.Is(err, control.ErrPrecondition) {
		t.Errorf("a stale update gave %v", err)
	}
	set := controltest.Tenants()
	set.Tenants[0].Weight = 5000
	if _, err := r.Service.ApplyTenants(t.Context(), "lab", set, true); err != nil {
		t.Fatal(err)
	}
	if now := len(controltest.AuditEntries(t, r.Service)); now != n {
		t.Errorf("%d entries came of changes that were not made", now-n)
	}
}

func TestRolloutChangesAreAuditedButNotProgress(t *testing.T) {
	t.Parallel()
	r, plan := controltest.LabWithPlan(t)
	controltest.Start(t, r.Service, plan)
	r.Wait()
	actions := map[string]int{}
	for _, e := range controltest.AuditEntries(t, r.Service) {
		actions[e.Action]++
	}
	if actions["rollout.started"] != 1 || actions["rollout.progress"] != 0 || actions["device.state"] != 0 {
		t.Errorf("the log has %v", actions)
	}
	ended := 0
	for action, n := range actions {
		if strings.HasPrefix(action, "rollout.") && action != "rollout.started" {
			ended += n
		}
	}
	if ended == 0 {
		t.Errorf("the end of the rollout is not in the log: %v", actions)
	}
}

func TestSecretsNeverStayInTheLog(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	type nested struct {
		Token    string          `json:"token"`
		CCKey    string          `json:"cc_key"`
		Password string          `json:"Pass-Word"`
		Deep     []any           `json:"deep"`
		Weight   quantity.Weight `json:"weight"`
		Keys     int             `json:"token_count"`
	}
	secret := "hunter2-canary"
	v := nested{Token: secret, CCKey: secret, Password: secret, Weight: 7, Keys: 3,
		Deep: []any{map[string]any{"client_secret": secret, "name": "n<>&", "big": json.Number("12345678901234567890")}}}
	err := r.Service.Audit(t.Context(), control.AuditRecord{Action: "x", Object: "y", Outcome: audit.Refused, Before: v, After: map[string]any{"dsn": secret, "authorization": secret}})
	if err != nil {
		t.Fatal(err)
	}
	e := controltest.LastAuditEntry(t, r.Service)
	text := string(e.Before) + string(e.After)
	if strings.Contains(text, secret) || !strings.Contains(text, `"redacted"`) {
		t.Errorf("the log holds %s", text)
	}
	for _, kept := range []string{`"weight":7`, `"token_count":3`, "12345678901234567890"} {
		if !strings.Contains(text, kept) {
			t.Errorf("%s is not in %s", kept, text)
		}
	}
	if e.Outcome != audit.Refused {
		t.Errorf("outcome is %q", e.Outcome)
	}
}

func TestHugeChangeIsAuditedBySizeOnly(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	err := r.Service.Audit(t.Context(), control.AuditRecord{Action: "x", Object: "y", Outcome: audit.Done, After: strings.Repeat("x", 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	if e := controltest.LastAuditEntry(t, r.Service); string(e.After) != `{"left_out_bytes":1048578}` {
		t.Errorf("after is %.100s", e.After)
	}
}

func TestVerifyNamesFirstBadEntryAndChecksExpectedTail(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	list := controltest.AuditEntries(t, r.Service)
	second := audit.Tail{Seq: list[1].Seq, Hash: list[1].Hash}
	if report, err := r.Service.VerifyAudit(t.Context(), second); err != nil || report.Bad != nil {
		t.Errorf("with a true memory: %+v, %v", report, err)
	}
	second.Hash[0]++
	if report, err := r.Service.VerifyAudit(t.Context(), second); err != nil || report.Bad == nil || report.Bad.Seq != 2 {
		t.Errorf("with another memory: %+v, %v", report, err)
	}
}

func TestEmptyTimeRangeIsRejected(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	_, _, err := r.Service.ListAudit(t.Context(), control.AuditFilter{Since: now, Until: now}, control.Page{})
	controltest.MustFail(t, "since equal to until", err, control.ErrInvalid)
}

func TestPruningKeepsAChainThatVerifies(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	err := r.Store.Tx(t.Context(), func(repos control.Repos) error {
		for i := range 1200 { // more than two batches
			if _, err := repos.AppendAudit(t.Context(), audit.Entry{At: start.Add(time.Duration(i) * time.Second), Action: "x"}); err != nil {
				return err
			}
			if err := repos.AddEvent(t.Context(), control.Event{At: start, Fabric: "gone", Kind: "k"}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	had := int64(len(entriesPaged(t, r.Service)))
	day := 24 * time.Hour
	out, err := operations.Prune(t.Context(), r.Store, func() time.Time { return start.Add(30 * day) }, operations.Retention{Events: day, Audit: day})
	if err != nil {
		t.Fatal(err)
	}
	if out.Events != 1200 || out.Audit < 1200 {
		t.Errorf("pruned %+v", out)
	}
	list := controltest.AuditEntries(t, r.Service)
	if int64(len(list)) >= had || list[len(list)-1].Action != audit.ActionPruned {
		t.Errorf("%d entries are left of %d", len(list), had)
	}
	again, err := operations.Prune(t.Context(), r.Store, func() time.Time { return start.Add(30 * day) }, operations.Retention{Events: day, Audit: day})
	if err != nil || again != (operations.Pruned{}) {
		t.Errorf("pruning again took %+v, %v", again, err)
	}
}

func entriesPaged(t *testing.T, s *usecases.Services) (all []audit.Entry) {
	t.Helper()
	p := control.Page{Limit: control.MaxPageLimit}
	for {
		list, next, err := s.ListAudit(t.Context(), control.AuditFilter{Oldest: true}, p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
		if p.After = next; next == "" {
			return all
		}
	}
}

func TestRetentionThatIsTooShortIsRefused(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	for _, bad := range []operations.Retention{{Audit: time.Second}, {Events: -time.Hour}, {Plans: 23 * time.Hour}} {
		if _, err := r.Service.Prune(context.Background(), bad); err == nil || !strings.Contains(err.Error(), "want 0 (for ever) or at least") {
			t.Errorf("%+v gave %v", bad, err)
		}
	}
	if out, err := r.Service.Prune(t.Context(), operations.Retention{}); err != nil || out != (operations.Pruned{}) {
		t.Errorf("keeping for ever took %+v, %v", out, err)
	}
}

func TestChangedBootstrapTokenIsAuditedButNotTheSameOne(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	list := controltest.AuditEntries(t, r.Service)
	if len(list) != 1 || list[0].Action != "token.bootstrap" || list[0].Object != control.BootstrapName || !strings.Contains(string(list[0].After), control.BootstrapName) {
		t.Fatalf("the first start left %+v", list)
	}
	for _, given := range []string{controltest.Token, "", controltest.Token} { // restarts that change nothing
		if _, err := r.Service.Bootstrap(t.Context(), given); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(controltest.AuditEntries(t, r.Service)); n != 1 {
		t.Errorf("starts that changed nothing left %d entries", n-1)
	}
	if _, err := r.Service.Bootstrap(t.Context(), controltest.Token+"-the-next"); err != nil {
		t.Fatal(err)
	}
	if n := len(controltest.AuditEntries(t, r.Service)); n != 2 {
		t.Errorf("another token left %d entries, want 1", n-1)
	}
	_, err := r.Service.Authenticate(t.Context(), controltest.Token)
	controltest.MustFail(t, "the token before", err, control.ErrUnauthorized)
}
