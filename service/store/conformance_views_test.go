package store

import (
	"encoding/json"
	"testing"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

func checkViewLists(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.fabric("prod")
	for _, name := range []string{"b", "ab", "ba", "c", "bb"} {
		f.plainTenant("lab", name)
	}
	f.plainTenant("prod", "b")
	for _, name := range []string{"a_b", "axb"} {
		f.account(control.Account{Kind: control.PrincipalUser, Name: name})
	}
	f.view(func(r control.Repos) error {
		n, err := r.CountTenants(ctx, "lab")
		f.equal("tenants", 5, n)
		if err != nil {
			return err
		}
		for limit, want := range map[int][]string{10: {"b", "ba", "bb", "ab"}, 2: {"b", "ba"}} {
			list, err := r.TenantsLike(ctx, "lab", "b", limit)
			if err != nil {
				return err
			}
			f.equal("tenants like b", want, each(list, func(t control.NamedTenant) string { return t.Name }))
			f.equal("weight", 1000, int(list[0].Weight))
		}
		for text, want := range map[string][]string{"a_b": {"a_b"}, "%": nil, `\`: nil, "x": {"axb"}, "a": {"a_b", "axb"}} {
			got, err := r.UsersLike(ctx, text, 10)
			if err != nil {
				return err
			}
			f.equal("users like "+text, len(want), len(got))
		}
		_, err = r.LatestChange(ctx, "lab", time.Time{})
		f.want(err, control.ErrNotFound)
		_, err = r.RolloutHead(ctx, "lab", 7)
		f.want(err, control.ErrNotFound)
		_, err = r.TenantsLike(ctx, "nowhere", "b", 1)
		f.want(err, control.ErrNotFound)
		return nil
	})
	f.tx(func(r control.Repos) error {
		for i, kind := range []string{"plan.created", "device.drifted", "shares.measured"} {
			e := control.Event{Fabric: "lab", Kind: kind, Subject: "x", At: at().Add(time.Duration(i) * time.Second), Actor: "x", Said: phrase.Verbatim("x"), Data: json.RawMessage(`{}`)}
			if err := r.AddEvent(ctx, e); err != nil {
				return err
			}
		}
		return nil
	})
	f.view(func(r control.Repos) error {
		e, err := r.LatestChange(ctx, "lab", at())
		f.equal("latest change", "plan.created", e.Kind)
		if err != nil {
			return err
		}
		_, err = r.LatestChange(ctx, "lab", at().Add(time.Second))
		f.want(err, control.ErrNotFound)
		return nil
	})
}
