package store

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"testing"

	"fairlane/service/audit"
	"fairlane/service/control"
	"fairlane/service/store/pgtest"
)

// benchStores opens an empty store on each engine; both wait for the disk at each commit.
func benchStores(b *testing.B, f func(b *testing.B, s *Store)) {
	for name, database := range map[string]func() string{
		"sqlite": func() string { return filepath.Join(b.TempDir(), "f.db") },
		"postgres": func() string {
			return pgtest.Start(b, pgtest.Options{Durable: true}).Database(b)
		},
	} {
		b.Run(name, func(b *testing.B) {
			s, err := Open(b.Context(), database(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close() })
			b.ReportAllocs()
			f(b, s)
		})
	}
}

// BenchmarkChange measures one change of a tenant with its event and its audit entry, committed to the disk.
func BenchmarkChange(b *testing.B) {
	benchStores(b, func(b *testing.B, s *Store) {
		ctx := b.Context()
		f := &fixture{t: b, s: s}
		f.fabric("lab")
		tn := red()
		f.tenant(tn)
		for i := 0; b.Loop(); i++ {
			err := s.Tx(ctx, func(r control.Repos) error {
				if _, err := r.UpdateTenant(ctx, tn); err != nil {
					return err
				}
				if err := r.AddEvent(ctx, control.Event{At: at(), Fabric: "lab", Kind: "tenant.updated", Subject: strconv.Itoa(i)}); err != nil {
					return err
				}
				_, err := r.AppendAudit(ctx, audit.Entry{At: at(), Action: "tenant.updated", Object: "red", Before: json.RawMessage(`{"weight":1}`), After: json.RawMessage(`{"weight":2}`)})
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkVerify verifies a chain of 10,000 entries.
func BenchmarkVerify(b *testing.B) {
	benchStores(b, func(b *testing.B, s *Store) {
		ctx := b.Context()
		(&fixture{t: b, s: s}).tx(func(r control.Repos) error {
			for i := range 10_000 {
				if _, err := r.AppendAudit(ctx, auditEntry(i)); err != nil {
					return err
				}
			}
			return nil
		})
		for b.Loop() {
			if _, err := verified(ctx, s); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkDirtyDevices searches for what earlier rollouts left, after twenty rollouts of 10,000 devices each. The first
// one left 100 devices, which the next one settled.
func BenchmarkDirtyDevices(b *testing.B) {
	benchStores(b, func(b *testing.B, s *Store) {
		ctx := b.Context()
		f := &fixture{t: b, s: s}
		f.fabric("lab")
		f.plan(planName("a"))
		for i := range 20 {
			ds := workDevices(10_000)
			for k := range ds {
				ds[k].State, ds[k].Touched = "in-sync", true
				if i == 0 && k < 100 {
					ds[k].State = "failed"
				}
			}
			ro := f.rollout()
			f.tx(func(r control.Repos) error {
				return errors.Join(r.AddRolloutWork(ctx, ro.ID, ds), r.FinishRollout(ctx, ro.ID, control.RolloutSucceeded, "", at()))
			})
		}
		for b.Loop() {
			f.view(func(r control.Repos) error {
				list, err := r.DirtyDevices(ctx, "lab")
				if len(list) > 0 {
					b.Errorf("%d devices are dirty", len(list))
				}
				return err
			})
		}
	})
}
