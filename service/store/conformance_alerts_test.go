package store

import (
	"testing"
	"time"

	"fairlane/service/audit"
	"fairlane/service/control"
	"fairlane/service/silence"
)

func checkSilences(t *testing.T, f *fixture) {
	ctx := t.Context()
	matchers, err := silence.ParseAll([]string{`alertname=~"Share.*"`, `tenant!="a\nb"`})
	if err != nil {
		t.Fatal(err)
	}
	hour := func(i int) time.Time { return at().Add(time.Duration(i) * time.Hour) }
	var made []silence.Silence
	f.tx(func(r control.Repos) error {
		for i := range 4 {
			s, err := r.CreateSilence(ctx, silence.Silence{Matchers: matchers, StartsAt: hour(0), EndsAt: hour(i + 1), Author: "ada", Comment: "维护", CreatedAt: at()})
			if err != nil {
				return err
			}
			made = append(made, s)
		}
		return nil
	})
	var got silence.Silence
	f.view(func(r control.Repos) (err error) { got, err = r.Silence(ctx, made[1].ID); return err })
	f.equal("read back", []any{matchers.Texts(), hour(0), hour(2), "ada", "维护", at()}, []any{got.Matchers.Texts(), got.StartsAt, got.EndsAt, got.Author, got.Comment, got.CreatedAt})
	list := func(after time.Time) (ids []int64) {
		f.view(func(r control.Repos) error {
			list, err := paged(2, func(p control.Page) ([]silence.Silence, string, error) { return r.ListSilences(ctx, after, p) })
			for i := range list {
				ids = append(ids, list[i].ID)
			}
			return err
		})
		return ids
	}
	id := func(i int) int64 { return made[i].ID }
	f.equal("all", []int64{id(3), id(2), id(1), id(0)}, list(time.Time{}))
	f.equal("those that end later", []int64{id(3), id(2)}, list(hour(2)))
	f.tx(func(r control.Repos) error { return r.SetSilencePeriod(ctx, id(3), hour(0), hour(1)) })
	f.equal("after one was ended", []int64{id(2)}, list(hour(2)))
	f.view(func(r control.Repos) error {
		n, err := r.CountSilences(ctx, hour(1))
		f.equal("number of those that end later", int64(2), n)
		return err
	})
	f.tx(func(r control.Repos) error { return r.PruneSilences(ctx, hour(2)) })
	f.equal("after pruning", []int64{id(2), id(1)}, list(time.Time{}))
	f.want(f.s.Tx(ctx, func(r control.Repos) error { return r.SetSilencePeriod(ctx, id(0), hour(0), hour(1)) }), control.ErrNotFound)
	f.want(f.s.View(ctx, func(r control.Repos) error { _, err := r.Silence(ctx, id(0)); return err }), control.ErrNotFound)
}

func checkAuditSinks(t *testing.T, f *fixture) {
	ctx := t.Context()
	minute := func(i int) time.Time { return at().Add(time.Duration(i) * time.Minute) }
	tail := func(i int64) audit.Tail { return audit.Tail{Seq: i, Hash: audit.Hash{byte(i)}} }
	var got control.AuditSink
	f.view(func(r control.Repos) (err error) { got, err = r.AuditSink(ctx, "siem"); return err })
	f.equal("before the first claim", control.AuditSink{Name: "siem"}, got)
	claim := func(owner string, now, until time.Time) string {
		f.tx(func(r control.Repos) (err error) {
			got, err = r.ClaimAuditSink(ctx, "siem", owner, now, until)
			return err
		})
		return got.Owner
	}
	move := func(owner string, i int64) (ok bool) {
		f.tx(func(r control.Repos) (err error) {
			ok, err = r.MoveAuditSink(ctx, "siem", owner, tail(i), minute(4))
			return err
		})
		return ok
	}
	f.equal("owners: taken, held by another, extended", []string{"m1", "m1", "m1"}, []string{
		claim("m1", minute(0), minute(2)), claim("m2", minute(1), minute(3)), claim("m1", minute(1), minute(3)),
	})
	f.equal("moves of the owner and of another", []bool{true, false}, []bool{move("m1", 7), move("m2", 9)})
	f.equal("owners: held after the move, ended and taken over", []string{"m1", "m2"}, []string{claim("m2", minute(3), minute(5)), claim("m2", minute(4), minute(6))})
	f.equal("the position stays", control.AuditSink{Name: "siem", Position: tail(7), Owner: "m2", Until: minute(6)}, got)
	f.equal("a move of the owner before", false, move("m1", 8))
}
