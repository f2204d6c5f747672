package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlane/migrations"
	"fairlane/service/audit"
	"fairlane/service/control"
)

// auditEntry returns the i-th entry of the suite, one second after the previous one.
func auditEntry(i int) audit.Entry {
	return audit.Entry{
		At: at().Add(time.Duration(i) * time.Second), Actor: []string{"ada", "grace"}[i%2], ActorKind: "user", Token: []string{"", "laptop"}[i%2], Addr: "192.0.2.1", RequestID: "r" + strconv.Itoa(i),
		Fabric: []string{"lab", "hall"}[i/2%2], Action: []string{"tenant.updated", "tenant.created", "tenants.x"}[i%3], Object: "red", Outcome: audit.Done,
		Before: json.RawMessage(`{"weight": 1}`), After: json.RawMessage(`{"name":"<\u4e2d>"}`),
	}
}

func (f *fixture) audit(e audit.Entry) (out audit.Entry) {
	f.t.Helper()
	f.tx(func(r control.Repos) (err error) { out, err = r.AppendAudit(f.t.Context(), e); return err })
	return out
}

// verified verifies the whole chain through the repositories and returns the report.
func verified(ctx context.Context, s control.Store) (rep audit.Report, err error) {
	err = s.View(ctx, func(r control.Repos) error {
		list, err := paged(control.MaxPageLimit, func(p control.Page) ([]audit.Entry, string, error) {
			return r.ListAudit(ctx, control.AuditFilter{Oldest: true}, p)
		})
		if err != nil {
			return err
		}
		var v audit.Verifier
		for _, e := range list {
			if err := v.Add(e); err != nil {
				return err
			}
		}
		tail, err := r.AuditTail(ctx)
		if err == nil {
			rep, err = v.Finish(tail)
		}
		return err
	})
	return rep, err
}

func checkAudit(t *testing.T, f *fixture) {
	ctx := t.Context()
	var want []audit.Entry
	for i := range 12 {
		want = append(want, f.audit(auditEntry(i)))
	}
	if want[0].Seq != 1 || want[0].Prev != (audit.Hash{}) || want[1].Prev != want[0].Hash {
		t.Errorf("the chain begins with %+v", want[:2])
	}
	list := func(filter control.AuditFilter, size int) (seqs []int64) {
		f.view(func(r control.Repos) error {
			list, err := paged(size, func(p control.Page) ([]audit.Entry, string, error) { return r.ListAudit(ctx, filter, p) })
			for _, e := range list {
				f.equal("entry "+strconv.FormatInt(e.Seq, 10), want[e.Seq-1], e)
				seqs = append(seqs, e.Seq)
			}
			return err
		})
		return seqs
	}
	since, until := at().Add(3*time.Second), at().Add(6*time.Second)
	for name, c := range map[string]struct {
		filter control.AuditFilter
		want   []int64
	}{
		"all, newest first":   {control.AuditFilter{}, []int64{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}},
		"oldest first":        {control.AuditFilter{Oldest: true}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		"by number":           {control.AuditFilter{Seq: 5}, []int64{5}},
		"by another's number": {control.AuditFilter{Seq: 5, Actor: "grace"}, nil},
		"by a number to come": {control.AuditFilter{Seq: 13, Oldest: true}, nil},
		"by actor":            {control.AuditFilter{Actor: "grace"}, []int64{12, 10, 8, 6, 4, 2}},
		"by fabric":           {control.AuditFilter{Fabric: "hall", Oldest: true}, []int64{3, 4, 7, 8, 11, 12}},
		"by action":           {control.AuditFilter{Action: "tenant.created"}, []int64{11, 8, 5, 2}},
		"by kind of action":   {control.AuditFilter{Action: "tenant.", Oldest: true}, []int64{1, 2, 4, 5, 7, 8, 10, 11}},
		"by time":             {control.AuditFilter{Since: since, Until: until}, []int64{6, 5, 4}},
		"by object":           {control.AuditFilter{Object: "blue"}, nil},
		"by outcome":          {control.AuditFilter{Outcome: audit.Refused}, nil},
		"by what cannot be":   {control.AuditFilter{Actor: "a\x00\xff"}, nil},
		"by several together": {control.AuditFilter{Actor: "ada", Fabric: "lab", Since: since}, []int64{9, 5}},
	} {
		for _, size := range []int{1, 5, 100} {
			f.equal(fmt.Sprintf("%s, %d a page", name, size), c.want, list(c.filter, size))
		}
	}
}

func checkAuditText(t *testing.T, f *fixture) {
	e := f.audit(audit.Entry{At: at(), Action: "x", Object: "a\x00b\xff", Detail: "中\xf0"})
	if e.Object != "a\uFFFDb\uFFFD" || e.Detail != "中\uFFFD" {
		t.Errorf("stored %q and %q", e.Object, e.Detail)
	}
	if _, err := verified(t.Context(), f.s); err != nil {
		t.Error(err)
	}
}

func checkAuditRollback(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.audit(auditEntry(0))
	stop := fmt.Errorf("stop")
	f.want(f.s.Tx(ctx, func(r control.Repos) error {
		if _, err := r.AppendAudit(ctx, auditEntry(1)); err != nil {
			return err
		}
		return stop
	}), stop)
	f.audit(auditEntry(2))
	if rep, err := verified(ctx, f.s); err != nil || rep.Entries != 2 {
		t.Errorf("the chain has %d entries, %v: want the two that were committed", rep.Entries, err)
	}
}

// TestManyManagersKeepOneChain writes concurrently through two stores on one database.
func TestManyManagersKeepOneChain(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		const writers, each = 4, 15
		database := fresh(t, d)
		stores := []*Store{openAt(t, database, Options{BusyTimeout: time.Minute}), openAt(t, database, Options{BusyTimeout: time.Minute})}
		g, ctx := errgroup.WithContext(t.Context())
		for w := range writers {
			g.Go(func() error {
				for i := range each {
					err := changeWithEntry(ctx, stores[w%2], fmt.Sprintf("f-%d-%d", w, i))
					if err != nil {
						return fmt.Errorf("writer %d, change %d: %w", w, i, err)
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		rep, err := verified(t.Context(), stores[0])
		if err != nil || rep.Entries != writers*each {
			t.Errorf("the chain has %d entries, %v: want %d", rep.Entries, err, writers*each)
		}
	})
}

// TestTamperingIsFoundInTheDatabase changes the tables directly, as anyone with the database's password can.
func TestTamperingIsFoundInTheDatabase(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		unlock := "DROP TRIGGER audit_is_never_changed"
		if d == migrations.Postgres {
			unlock = "ALTER TABLE audit DISABLE TRIGGER audit_is_never_changed"
		}
		for name, c := range map[string]struct {
			statement string
			seq       int64
		}{
			"a changed actor":    {"UPDATE audit SET actor = 'nobody' WHERE seq = 3", 3},
			"a changed time":     {"UPDATE audit SET at_us = at_us + 1 WHERE seq = 3", 3},
			"a changed content":  {"UPDATE audit SET after = before WHERE seq = 4", 4},
			"a changed hash":     {"UPDATE audit SET hash = '" + fmt.Sprintf("%064d", 7) + "' WHERE seq = 4", 4},
			"a hash that is not": {"UPDATE audit SET prev = '" + fmt.Sprintf("%064d", 0)[:63] + "x' WHERE seq = 4", 4},
			"a missing entry":    {"DELETE FROM audit WHERE seq = 2", 2},
			"a missing first":    {"DELETE FROM audit WHERE seq = 1", 1},
			"a missing last":     {"DELETE FROM audit WHERE seq = 5", 5},
			"nothing left":       {"DELETE FROM audit", 1},
			"a moved end":        {"UPDATE audit_tail SET seq = 4", 5},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := openAt(t, fresh(t, d), Options{})
				f := &fixture{t: t, s: s}
				for i := range 5 {
					f.audit(auditEntry(i))
				}
				for _, statement := range []string{unlock, c.statement} {
					if _, err := s.Writer().ExecContext(t.Context(), statement); err != nil {
						t.Fatalf("%s: %v", statement, err)
					}
				}
				_, err := verified(t.Context(), s)
				bad, ok := err.(*audit.BadError) //nolint:errorlint // the store passes it as it is
				if !ok || bad.Seq != c.seq {
					t.Errorf("the check says %v, want it to name entry %d", err, c.seq)
				}
			})
		}
	})
}

func checkAuditPruning(t *testing.T, f *fixture) {
	ctx := t.Context()
	var all []audit.Entry
	for i := range 10 {
		all = append(all, f.audit(auditEntry(i)))
	}
	f.tx(func(r control.Repos) error {
		n, last, err := r.PruneAudit(ctx, 7, 4)
		if n != 4 || last != (audit.Tail{Seq: 4, Hash: all[3].Hash}) {
			t.Errorf("the first batch took %d entries to %v", n, last)
		}
		if err != nil {
			return err
		}
		n, last, err = r.PruneAudit(ctx, 7, 4)
		if n != 3 || last.Seq != 7 {
			t.Errorf("the second batch took %d entries to %v", n, last)
		}
		if err != nil {
			return err
		}
		after, err := json.Marshal(audit.Pruned{Through: last, Removed: 7})
		if err != nil {
			return err
		}
		_, err = r.AppendAudit(ctx, audit.Entry{At: at(), Action: audit.ActionPruned, After: after})
		return err
	})
	if rep, err := verified(ctx, f.s); err != nil || rep.First != 8 || rep.Entries != 4 {
		t.Errorf("after pruning: %+v, %v", rep, err)
	}
	f.tx(func(r control.Repos) error {
		n, _, err := r.PruneAudit(ctx, 7, 4)
		if n != 0 {
			t.Errorf("%d entries went again", n)
		}
		return err
	})
}
