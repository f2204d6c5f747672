package store

import (
	"testing"
	"time"

	"fairlane/service/control"
	"fairlane/subnet/ident"
)

func checkPortChanges(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.fabric("prod")
	change := func(p ident.PortID, s control.PortState, minute int) control.PortChange {
		return control.PortChange{Port: p, State: s, Since: at().Add(time.Duration(minute) * time.Minute), Seen: at()}
	}
	put := func(fabric string, list ...control.PortChange) {
		f.tx(func(r control.Repos) error { return r.PutPortChanges(ctx, fabric, list) })
	}
	put("lab")
	put("lab", change(port(1, 1), control.PortDown, 1), change(port(1, 2), control.PortUnknown, 1), change(port(2, 1), control.PortUp, 1))
	put("prod", change(port(1, 1), control.PortUp, 2))
	put("lab", change(port(1, 1), control.PortUp, 3)) // replaces
	f.view(func(r control.Repos) error {
		got, err := r.PortChanges(ctx, "lab", []ident.PortID{port(1, 1), port(2, 1), port(9, 1)})
		f.equal("changes of three ports", []control.PortChange{change(port(1, 1), control.PortUp, 3), change(port(2, 1), control.PortUp, 1)}, got)
		return err
	})
	f.want(f.s.Tx(ctx, func(r control.Repos) error { return r.PutPortChanges(ctx, "none", nil) }), control.ErrNotFound)
	f.tx(func(r control.Repos) error { return r.DeleteFabric(ctx, "lab", 0) })
	f.fabric("lab")
	f.view(func(r control.Repos) error {
		got, err := r.PortChanges(ctx, "lab", []ident.PortID{port(1, 1)})
		f.equal("changes of a new fabric of the name", 0, len(got))
		return err
	})
}
