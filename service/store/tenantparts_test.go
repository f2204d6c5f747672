package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/migrations"
	"fairlane/service/control"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// TestCachedPartsMatchTheDatabase changes tenants at random, in committed and rolled-back transactions, with a clock
// that stands still, and compares each answer with that of a store without a cache.
func TestCachedPartsMatchTheDatabase(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		database := fresh(t, d)
		s := openAt(t, database, Options{})
		ctx := t.Context()
		if err := write(ctx, s, "lab"); err != nil {
			t.Fatal(err)
		}
		undo := errors.New("rolled back")
		round := 0
		rapid.Check(t, func(rt *rapid.T) {
			round++
			name := func() string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "tenant") }
			change := func(r control.Repos) error {
				n := name()
				switch rapid.IntRange(0, 3).Draw(rt, "change") {
				case 0:
					return ignore(r.DeleteTenant(ctx, "lab", n, 0), control.ErrNotFound)
				default:
					tn := control.Tenant{Fabric: "lab", CreatedAt: at(), UpdatedAt: at(), Tenant: tenants.Tenant{Name: n, Weight: 1000}}
					for i := range rapid.IntRange(0, 3).Draw(rt, "attachments") {
						tn.Attachments = append(tn.Attachments, tenants.Attachment{Port: ident.PortID{Node: ident.GUID(rapid.IntRange(1, 9).Draw(rt, "node")*10 + i), Port: 1}})
					}
					for i := range rapid.IntRange(0, 2).Draw(rt, "classes") {
						tn.Classes = append(tn.Classes, tenants.Class{Name: fmt.Sprintf("c%d", i), Weight: 1000})
					}
					_, err := r.UpdateTenant(ctx, tn)
					if errors.Is(err, control.ErrNotFound) {
						_, err = r.CreateTenant(ctx, tn)
					}
					return err
				}
			}
			for range rapid.IntRange(1, 4).Draw(rt, "transactions") {
				keep := rapid.Bool().Draw(rt, "keep")
				err := s.Tx(ctx, func(r control.Repos) error {
					for range rapid.IntRange(1, 3).Draw(rt, "changes") {
						if err := change(r); err != nil {
							return err
						}
						if _, err := r.AllTenants(ctx, "lab"); err != nil {
							return err
						}
					}
					if !keep {
						return undo
					}
					return nil
				})
				if keep && err != nil || !keep && !errors.Is(err, undo) {
					rt.Fatal(err)
				}
				if diff := cmp.Diff(listed(rt, s, true), listed(rt, s, false)); diff != "" {
					rt.Fatalf("what is kept differs from the database (-database +kept):\n%s", diff)
				}
			}
		})
		if round == 0 || len(s.parts.by) == 0 && len(listed(t, s, false)) > 0 {
			t.Errorf("after %d rounds the cache is empty", round)
		}
	})
}

func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// listed reads all tenants; with anew, without the cache.
func listed(t rapid.TB, s *Store, anew bool) (list []control.Tenant) {
	t.Helper()
	with := s
	if anew {
		with = &Store{dialect: s.dialect, write: s.write, read: s.read}
	}
	ctx := s.read.Statement.Context
	err := with.View(ctx, func(r control.Repos) (err error) { list, err = r.AllTenants(ctx, "lab"); return err })
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestCachedPartsAreBoundedAndNotShared(t *testing.T) {
	t.Parallel()
	var k keptParts
	big := parts{attachments: make([]tenants.Attachment, maxParts/8)}
	for i := range int64(20) {
		k.keep(map[partsKey]parts{{id: i}: big})
	}
	sum := 0
	for _, p := range k.by {
		sum += p.size()
	}
	if k.size > maxParts || sum != k.size || len(k.by) != 7 {
		t.Errorf("%d of %d parts are kept in %d tenants, counted %d", sum, maxParts, len(k.by), k.size)
	}
	k.keep(map[partsKey]parts{{id: 99}: {attachments: make([]tenants.Attachment, maxParts)}})
	if _, ok := k.by[partsKey{id: 99}]; ok {
		t.Error("one tenant took all the room")
	}
	var got tenants.Tenant
	for key := range k.by {
		row := tenantRow{ID: key.id, CreatedAtUS: key.created}
		if !k.find(&row, &got) {
			t.Fatal("not found")
		}
		got.Attachments[0].Port.Port = 7
		if k.find(&row, &got); got.Attachments[0].Port.Port == 7 {
			t.Error("a reader changed what is kept")
		}
		break
	}
}
