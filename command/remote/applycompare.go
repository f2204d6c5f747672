package remote

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/command/manifest"
)

// place is the state of a fabric while the steps are computed.
type place struct {
	isNew      bool // an earlier step creates it
	discovered bool
	made       map[string]bool // tenants that an earlier step creates
}

// compare computes the steps. It reads the service's current state, and gets the result of the files by dry runs. So an
// invalid file is reported before anything is changed, and the service decides what is unchanged.
func (a *applying) compare(list []manifest.Resource) error {
	groups := map[string]*group{}
	for i := range list {
		r := &list[i]
		var err error
		switch spec := r.Spec.(type) {
		case *manifest.SettingsSpec:
			err = a.settings(r, spec)
		case *manifest.FabricSpec:
			a.fabrics[r.Name], err = a.fabric(r, spec)
		case *manifest.OptionsSpec:
			err = a.options(r, spec)
		case *manifest.DriftPolicySpec:
			err = a.driftPolicy(r, spec)
		case *manifest.TenantSpec, *manifest.FlowsSpec:
			if err = a.known(r.Fabric); err == nil {
				err = collect(groups, r)
			}
		}
		if err != nil {
			return a.refused(r, err)
		}
	}
	if a.prune && groups[a.c.fabricName] == nil {
		return a.c.usage("err.prune-nothing", "fabric", a.c.fabricName)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if err := a.tenants(name, groups[name], a.fabrics[name]); err != nil {
			return err
		}
	}
	for i := range list {
		r := &list[i]
		var err error
		switch spec := r.Spec.(type) {
		case *manifest.UserSpec:
			err = a.user(r, spec)
		case *manifest.AccountSpec:
			err = a.account(r, spec)
		}
		if err != nil {
			return a.refused(r, err)
		}
	}
	return nil
}

// refused adds the resource that caused an error to it.
func (a *applying) refused(r *manifest.Resource, err error) error {
	return &refusedError{r.At.String() + ": " + r.ID(), err}
}

// known looks up a fabric that no file declares.
func (a *applying) known(name string) error {
	if a.fabrics[name] != nil {
		return nil
	}
	f, err := found[gen.Fabric](a.c)(a.client.GetFabricWithResponse(a.cmd.Context(), name))
	if err != nil {
		return err
	}
	a.fabrics[name] = &place{discovered: f.Snapshot != nil, made: map[string]bool{}}
	return nil
}

// missing reports whether the service returned "not found".
func missing(err error) bool {
	var p *apiclient.ProblemError
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}

// volatile lists the fields with times and counts, which are never declared.
func volatile() []string {
	return []string{"version", "created_at", "updated_at", "signed_in_at", "flows_version"}
}

// fieldsOf lists the fields of a value of the contract by name, with dots for nested objects.
func fieldsOf(v any) map[string]any {
	b, err := json.Marshal(v)
	var in map[string]any
	if err == nil {
		err = json.Unmarshal(b, &in)
	}
	if err != nil {
		return nil // the types of the contract are objects
	}
	out := map[string]any{}
	var walk func(prefix string, in map[string]any)
	walk = func(prefix string, in map[string]any) {
		for k, v := range in {
			if inner, ok := v.(map[string]any); ok {
				walk(prefix+k+".", inner)
			} else if !slices.Contains(volatile(), k) {
				out[prefix+k] = v
			}
		}
	}
	walk("", in)
	return out
}

// differences lists the fields in which two values of the contract differ, by name.
func differences(id string, before, after any) []change {
	a, b := fieldsOf(before), fieldsOf(after)
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	var out []change
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if !reflect.DeepEqual(a[k], b[k]) {
			out = append(out, change{"~", id, k, a[k], b[k]})
		}
	}
	return out
}

// add adds a step, or counts the resource as unchanged.
func (a *applying) add(r *manifest.Resource, changes []change, later bool, run func() error) {
	if len(changes) == 0 {
		a.same++
		return
	}
	a.steps = append(a.steps, step{id: r.ID(), at: r.At, changes: changes, later: later, run: run})
}

// settle compares the service's current value, with its version tag, with the result of a declaration, both reduced by
// view, and adds the step that makes the change.
func settle[T any](a *applying, r *manifest.Resource, now *T, tag string, view func(*T) any, put func(dry bool, tag string) (*T, error)) error {
	next, err := put(true, tag)
	if err != nil {
		return err
	}
	a.add(r, differences(r.ID(), view(now), view(next)), false, func() error { _, err := put(false, tag); return err })
	return nil
}

// whole is the view with all declared fields.
func whole[T any](v *T) any { return v }

// settleNew adds the step that declares body for a fabric that an earlier step creates; it returns false if the fabric
// exists.
func settleNew[T any](a *applying, r *manifest.Resource, body any, put func(dry bool, tag string) (*T, error)) bool {
	p := a.fabrics[r.Fabric]
	if p == nil || !p.isNew {
		return false
	}
	a.add(r, differences(r.ID(), nil, body), true, func() error { _, err := put(false, "*"); return err })
	return true
}

func (a *applying) settings(r *manifest.Resource, spec *manifest.SettingsSpec) error {
	ctx, c := a.cmd.Context(), a.c
	had, err := a.client.GetSettingsWithResponse(ctx)
	now, err := found[gen.Settings](c)(had, err)
	if err != nil {
		return err
	}
	body := gen.SettingsUpdate{
		Shares: &gen.ShareSettings{IntervalS: spec.Shares.IntervalS, WindowMs: spec.Shares.WindowMs, Keep: spec.Shares.Keep},
		Tasks:  &gen.TaskSettings{Keep: spec.Tasks.Keep, Limit: spec.Tasks.Limit},
	}
	return settle(a, r, now, had.HTTPResponse.Header.Get("ETag"), whole, func(dry bool, tag string) (*gen.Settings, error) {
		return found[gen.Settings](c)(a.client.PutSettingsWithResponse(ctx, &gen.PutSettingsParams{DryRun: &dry, IfMatch: &tag}, body))
	})
}

func (a *applying) fabric(r *manifest.Resource, spec *manifest.FabricSpec) (*place, error) {
	ctx, c := a.cmd.Context(), a.c
	scale := 1.0
	if spec.TimeScale != nil {
		scale = *spec.TimeScale
	}
	counters := gen.Counters(cmp.Or(cmdline.OrZero(spec.Counters), string(gen.CountersClear)))
	prerequisites := gen.Prerequisites(cmp.Or(cmdline.OrZero(spec.Prerequisites), string(gen.PrerequisitesReport)))
	now, err := found[gen.Fabric](c)(a.client.GetFabricWithResponse(ctx, r.Name))
	if missing(err) {
		body := gen.FabricCreate{Name: r.Name, Source: spec.Source, TimeScale: &scale, Counters: &counters, Prerequisites: &prerequisites, Plane: given(gen.Plane(cmdline.OrZero(spec.Plane)))}
		post := func(dry bool) (*gen.Fabric, error) {
			return created[gen.Fabric](c)(a.client.CreateFabricWithResponse(ctx, &gen.CreateFabricParams{DryRun: &dry}, body))
		}
		if _, err := post(true); err != nil {
			return nil, err
		}
		a.add(r, []change{{Change: "+", Object: r.ID(), Field: "source", After: spec.Source}}, false, func() error { _, err := post(false); return err })
		return &place{isNew: true, made: map[string]bool{}}, nil
	}
	if err != nil {
		return nil, err
	}
	if want := cmdline.OrZero(spec.Plane); want != "" && want != string(now.Plane) {
		return nil, c.usage("err.plane-fixed", "found", want, "want", now.Plane)
	}
	view := func(f *gen.Fabric) any {
		return gen.FabricUpdate{Source: f.Source, TimeScale: &f.TimeScale, Counters: f.Counters, Prerequisites: f.Prerequisites}
	}
	body := gen.FabricUpdate{Source: spec.Source, TimeScale: &scale, Counters: &counters, Prerequisites: &prerequisites}
	err = settle(a, r, now, versionTag(now.Version), view, func(dry bool, tag string) (*gen.Fabric, error) {
		return found[gen.Fabric](c)(a.client.UpdateFabricWithResponse(ctx, r.Name, &gen.UpdateFabricParams{DryRun: &dry, IfMatch: &tag}, body))
	})
	if err != nil {
		return nil, err
	}
	return &place{discovered: now.Snapshot != nil, made: map[string]bool{}}, nil
}

func (a *applying) options(r *manifest.Resource, spec *manifest.OptionsSpec) error {
	ctx, c := a.cmd.Context(), a.c
	body := gen.CompileOptions{
		Mode: (*gen.CompileOptionsMode)(spec.Mode), CCTLaw: (*gen.CompileOptionsCCTLaw)(spec.CCTLaw), PerQP: (*gen.CompileOptionsPerQP)(spec.PerQP),
		Plane: (*gen.CompileOptionsPlane)(spec.Plane), Profile: spec.Profile, ReservedSls: spec.ReservedSLs, TableEntries: spec.TableEntries,
		TimerRestart: spec.TimerRestart, VlArbitration: spec.VLArbitration, Lever: (*gen.CompileOptionsLever)(spec.Lever),
	}
	for _, class := range spec.Classes {
		body.Classes = append(body.Classes, gen.TrafficClass{Dscp: class.DSCP, Queue: class.Queue})
	}
	put := func(dry bool, tag string) (*gen.CompileOptions, error) {
		return found[gen.CompileOptions](c)(a.client.PutOptionsWithResponse(ctx, r.Fabric, &gen.PutOptionsParams{DryRun: &dry, IfMatch: &tag}, body))
	}
	if settleNew(a, r, body, put) {
		return nil
	}
	had, err := a.client.GetOptionsWithResponse(ctx, r.Fabric)
	now, err := found[gen.CompileOptions](c)(had, err)
	if err != nil {
		return err
	}
	return settle(a, r, now, had.HTTPResponse.Header.Get("ETag"), whole, put)
}

func (a *applying) driftPolicy(r *manifest.Resource, spec *manifest.DriftPolicySpec) error {
	ctx, c := a.cmd.Context(), a.c
	body := gen.DriftPolicyUpdate{
		Policy: (*gen.DevicePolicy)(spec.Policy), IntervalS: spec.IntervalS, QuarantineAfter: spec.QuarantineAfter, WindowS: spec.WindowS, ReleaseS: spec.ReleaseS,
	}
	put := func(dry bool, tag string) (*gen.DriftPolicy, error) {
		return found[gen.DriftPolicy](c)(a.client.PutDriftPolicyWithResponse(ctx, r.Fabric, &gen.PutDriftPolicyParams{DryRun: &dry, IfMatch: &tag}, body))
	}
	if settleNew(a, r, body, put) {
		return nil
	}
	had, err := a.client.GetDriftPolicyWithResponse(ctx, r.Fabric)
	now, err := found[gen.DriftPolicy](c)(had, err)
	if err != nil {
		return err
	}
	return settle(a, r, now, had.HTTPResponse.Header.Get("ETag"), whole, put)
}

// dependsOnNew reports whether a domain belongs to a fabric or a tenant that an earlier step creates.
func (a *applying) dependsOnNew(fabric, tenant string) bool {
	p := a.fabrics[fabric]
	return p != nil && (p.isNew || p.made[tenant])
}

func (a *applying) user(r *manifest.Resource, spec *manifest.UserSpec) error {
	ctx, c := a.cmd.Context(), a.c
	roles, later := []gen.Grant{}, false
	for _, g := range spec.Roles {
		roles = append(roles, grantOut(g.Grant))
		later = later || a.dependsOnNew(g.Domain.Fabric, g.Domain.Tenant)
	}
	body := gen.UserUpdate{DisplayName: &spec.DisplayName, Disabled: &spec.Disabled, Roles: roles}
	put := func(dry bool, tag string) (*gen.User, error) {
		return found[gen.User](c)(a.client.UpdateUserWithResponse(ctx, r.Name, &gen.UpdateUserParams{DryRun: &dry, IfMatch: &tag}, body))
	}
	had, err := a.client.GetUserWithResponse(ctx, r.Name)
	now, err := found[gen.User](c)(had, err)
	if missing(err) {
		return a.newUser(r, spec, roles, later, put)
	}
	if err != nil {
		return err
	}
	tag := had.HTTPResponse.Header.Get("ETag")
	if later {
		a.add(r, []change{{Change: "~", Object: r.ID(), Field: "roles", After: grantTexts(spec.Roles)}}, true, func() error { _, err := put(false, tag); return err })
		return nil
	}
	return settle(a, r, now, tag, declaredUser, put)
}

// newUser adds the step that creates a user; put changes an existing one.
func (a *applying) newUser(r *manifest.Resource, spec *manifest.UserSpec, roles []gen.Grant, later bool, put func(dry bool, tag string) (*gen.User, error)) error {
	post := func(dry bool) (*gen.User, error) {
		body := gen.UserCreate{Name: r.Name, DisplayName: &spec.DisplayName, Roles: roles}
		return created[gen.User](a.c)(a.client.CreateUserWithResponse(a.cmd.Context(), &gen.CreateUserParams{DryRun: &dry}, body))
	}
	if !later {
		if _, err := post(true); err != nil {
			return err
		}
	}
	changes := []change{{Change: "+", Object: r.ID(), Field: "roles", After: grantTexts(spec.Roles)}}
	if spec.Disabled {
		changes = append(changes, change{Change: "+", Object: r.ID(), Field: "disabled", After: true})
	}
	a.add(r, changes, later, func() error {
		made, err := post(false)
		if err == nil && spec.Disabled { // a user cannot be created disabled
			_, err = put(false, versionTag(made.Version))
		}
		return err
	})
	return nil
}

func grantTexts(list []manifest.Grant) []string {
	out := make([]string, len(list))
	for i, g := range list {
		out[i] = g.String()
	}
	return out
}

// declaredUser returns the fields of a user that a file can declare; roles from a provider are not among them.
func declaredUser(u *gen.User) any {
	roles := []string{}
	for i := range u.Memberships {
		if m := &u.Memberships[i]; m.Source == gen.MembershipSourceLocal {
			roles = append(roles, grantOf(m).String())
		}
	}
	slices.Sort(roles)
	return map[string]any{"display_name": u.DisplayName, "disabled": u.Disabled, "roles": roles}
}

func (a *applying) account(r *manifest.Resource, spec *manifest.AccountSpec) error {
	c := a.c
	body := gen.ServiceAccountCreate{Name: r.Name, DisplayName: &spec.DisplayName, Role: gen.Role(spec.Role)}
	post := func(dry bool) error {
		_, err := c.newAccount(a.cmd, a.client, r.Fabric, spec.Tenant, &dry, body)
		return err
	}
	if spec.Tenant == "" {
		body.Fabric = given(r.Fabric)
	}
	later := a.dependsOnNew(r.Fabric, spec.Tenant)
	if !later {
		list, err := pages(func(cursor *string) (*page[gen.ServiceAccount], error) {
			return c.accountPageOf(a.cmd, a.client, r.Fabric, spec.Tenant, cursor)
		})
		if err != nil {
			return err
		}
		for _, x := range list {
			if x.Name != r.Name {
				continue
			}
			if string(x.Role) != spec.Role || x.DisplayName != spec.DisplayName || cmdline.OrZero(x.Fabric) != cmdline.OrZero(body.Fabric) {
				return c.usage("err.account-fixed", "role", accountRoleOf(&x), "name", fmt.Sprintf("%q", x.DisplayName))
			}
			a.add(r, nil, false, nil)
			return nil
		}
		if err := post(true); err != nil {
			return err
		}
	}
	a.add(r, []change{{Change: "+", Object: r.ID(), Field: "role", After: strings.TrimSpace(spec.Role)}}, later, func() error { return post(false) })
	return nil
}
