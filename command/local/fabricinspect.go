package local

import (
	"context"
	"time"

	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/progress"
	"fairlane/internal/usage"
	"fairlane/policy"
	"fairlane/service/site"
	"fairlane/subnet"
	"fairlane/subnet/check"
	"fairlane/subnet/discover"
	"fairlane/subnet/mad"
)

// scanFlags select the fabric and the depth of the check.
type scanFlags struct {
	from        string
	mKey, ccKey string // files
	quick       bool
	tenants     string
}

// fabricScan is everything that can be read of a fabric without the service.
type fabricScan struct {
	fabric *subnet.Fabric
	extra  check.Extra
	notes  []phrase.Text // parts that were not checked
	mads   int
	wall   time.Duration
}

// scanFabric reads a fabric file, or sweeps a live InfiniBand fabric with its tables.
func (a *app) scanFabric(ctx context.Context, f scanFlags) (*fabricScan, error) {
	src, err := site.ParseSourceOf(f.from, site.InfiniBandForms)
	if err != nil {
		return nil, err
	}
	if src.Ethernet != "" {
		return nil, usage.Of(phrase.Of("source.want-infiniband", "source", f.from))
	}
	if src.File != "" {
		if err := f.forFile(); err != nil {
			return nil, err
		}
	}
	start := time.Now()
	l := &fabricScan{}
	if src.File != "" {
		l.fabric, err = site.ReadFabric(src.File)
	} else {
		err = a.sweepAll(ctx, src, f, l)
	}
	if err != nil {
		return nil, err
	}
	l.wall = time.Since(start)
	if f.tenants != "" {
		err = l.addTenants(f.tenants)
	}
	return l, err
}

// forFile rejects flags that have no effect on a fabric file.
func (f *scanFlags) forFile() error {
	for _, x := range []struct {
		flag  string
		given bool
	}{{"m-key-file", f.mKey != ""}, {"cc-key-file", f.ccKey != ""}, {"quick", f.quick}} {
		if x.given {
			return usage.Of(phrase.Of("usage.flag-live", "flag", x.flag))
		}
	}
	return nil
}

// sweepAll sweeps a live fabric.
func (a *app) sweepAll(ctx context.Context, src site.Source, f scanFlags, l *fabricScan) error {
	o := discover.Options{Tables: !f.quick}
	var err error
	if src.MKey, err = site.MKey(f.mKey); err != nil {
		return err
	}
	if o.CCKey, err = site.CCKey(f.ccKey); err != nil {
		return err
	}
	c, err := src.Dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // the slot is released in any case
	r, err := a.sweep(ctx, f.from, c, o)
	if err != nil {
		return err
	}
	l.fabric, l.mads, l.extra.Details = r.Fabric, r.MADs, r.Details
	for _, w := range r.Warnings {
		l.extra.Notes = append(l.extra.Notes, check.Note{Code: check.Code(w.Kind), Node: w.Node, Port: w.Port, Said: w.At(r.Fabric)})
	}
	return nil
}

// sweep discovers the fabric of a transport, and shows the progress.
func (a *app) sweep(ctx context.Context, from string, t mad.Transport, o discover.Options) (*discover.Result, error) {
	line := progress.On(a.Stderr)
	defer line.Clear()
	o.Parallel = site.SweepParallel
	o.Progress = func(p discover.Progress) { line.Show(a.T("discover.progress", "nodes", p.Nodes, "mads", p.MADs)) }
	r, err := discover.Sweep(ctx, t, o)
	if err != nil {
		return nil, phrase.Because(err, phrase.Of("source.discover", "fabric", from, "reason", err))
	}
	return r, nil
}

// addTenants reads a tenant file and computes the SLs that its tenants would have.
func (l *fabricScan) addTenants(path string) error {
	ts, flows, err := cmdline.ReadTenants(path, l.fabric)
	if err != nil {
		return err
	}
	plan, err := policy.Compile(policy.Input{Fabric: l.fabric, Tenants: ts, Flows: flows, Options: policy.Options{Plane: policy.PlaneIB}})
	if err != nil {
		l.notes = append(l.notes, phrase.Of("check.sls-unjudged", "reason", err))
		for i := range ts {
			for _, at := range ts[i].Attachments {
				ref, ok := l.fabric.PortByID(at.Port)
				if !ok {
					continue
				}
				u := check.Use{Tenant: ts[i].Name, PKey: ts[i].PKey, Port: ref}
				if u.HasSL = at.SL != nil; u.HasSL {
					u.SL = *at.SL
				}
				l.extra.Uses = append(l.extra.Uses, u)
			}
		}
		return nil
	}
	for _, p := range plan.Placements {
		if ref, ok := l.fabric.PortByID(p.Port); ok {
			l.extra.Uses = append(l.extra.Uses, check.Use{Tenant: p.Tenant, PKey: p.PKey, Port: ref, SL: p.SL, HasSL: true})
		}
	}
	return nil
}
