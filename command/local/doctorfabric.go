package local

import (
	"context"

	"fairlane/internal/phrase"
	"fairlane/service/config"
	"fairlane/service/site"
	"fairlane/service/store"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/opensm"
	"fairlane/subnet/opensm/osmfile"
	"fairlane/subnet/saquery"
	"fairlane/subnet/umad"
)

// fabric attaches to a fabric as the service does and asks the port it attached at.
func (d *doctor) fabric(ctx context.Context, f store.FabricSource, key, owner mad.Key) {
	s, err := site.ParseSource(f.Source)
	if err != nil {
		d.note("fabric", f.Name, statusFail, "fabric-source", "source", f.Source, "error", err)
		return
	}
	rules, err := config.NewSourceRules(d.config.Discovery.Sources)
	if err == nil {
		_, err = rules.Resolve(f.Source)
	}
	if err != nil {
		d.note("fabric", f.Name, statusFail, "fabric-forbidden", "source", f.Source, "error", err)
		return
	}
	s.MKey = owner
	if s.File != "" {
		if _, err := site.ReadFabric(s.File); err != nil {
			d.note("fabric", f.Name, statusFail, "fabric-away", "source", f.Source, "error", err)
			return
		}
		d.note("fabric", f.Name, statusOK, "fabric-file", "source", f.Source)
		return
	}
	if s.Ethernet != "" {
		d.ethernet(ctx, f, s)
		return
	}
	if s.UMAD != (umad.Name{}) && !d.port(f, s.UMAD) {
		return
	}
	c, err := s.DialBy(ctx, d.umad)
	if err != nil {
		d.note("fabric", f.Name, statusFail, "fabric-away", "source", f.Source, "error", err)
		return
	}
	defer func() { _ = c.Close() }() // the slot is gone either way
	d.attached(ctx, f, c, key)
}

// port checks the port of this machine by which a fabric is reached, and at its device file. It reports whether the
// fabric can be reached by it.
func (d *doctor) port(f store.FabricSource, n umad.Name) bool {
	p, err := umad.Inspect(n, d.umad)
	if err == nil {
		err = p.Usable(0)
	}
	if err != nil {
		d.note("port", f.Name, statusFail, "port-away", "error", err)
		return false
	}
	if err := umad.Access(p, d.umad); err != nil {
		d.note("port", f.Name, statusFail, "port-closed", "device", p.Device, "error", err)
		return false
	}
	values := []any{"port", n, "device", p.Device, "state", p.State, "rate", p.Rate, "lid", p.LID, "sm", p.SMLID, "sl", p.SMSL}
	if p.State != "ACTIVE" || p.SMLID == 0 {
		d.note("port", f.Name, statusWarn, "port-waits", values...)
	} else {
		d.note("port", f.Name, statusOK, "port-right", values...)
	}
	return true
}

// ethernet asks every device of an inventory who it is.
func (d *doctor) ethernet(ctx context.Context, f store.FabricSource, s site.Source) {
	const most = 3 // devices that are named
	o, err := site.DiscoverSource(ctx, s, nil)
	switch {
	case err != nil:
		d.note("fabric", f.Name, statusFail, "fabric-away", "source", f.Source, "error", err)
	case len(o.Warnings) > 0:
		status, code := statusFail, "fabric-strangers"
		if len(o.Warnings) == o.Settings { // all answer and are who they should be
			status, code = statusWarn, "fabric-settings"
		}
		d.note("fabric", f.Name, status, code, "source", f.Source, "answered", o.Answered, "asked", o.Asked,
			"first", d.app.Texts.Say(phrase.Of("verbatim", "text", o.Warnings[:min(most, len(o.Warnings))])))
	default:
		d.note("fabric", f.Name, statusOK, "fabric-devices", "source", f.Source, "answered", o.Answered)
	}
}

// attached asks the port that we are attached at, and the subnet manager that it names.
func (d *doctor) attached(ctx context.Context, f store.FabricSource, c mad.Transport, key mad.Key) {
	port, err := saquery.OwnPort(ctx, c)
	if err != nil {
		d.note("fabric", f.Name, statusFail, "fabric-silent", "source", f.Source, "error", err)
		return
	}
	d.note("fabric", f.Name, statusOK, "fabric-right", "source", f.Source, "lid", port.LID)
	if key == 0 {
		d.note("keys", f.Name, statusWarn, "cc-key-none", "source", f.Source)
	}
	d.manager(ctx, f.Name, c, port.MasterSMLID)
	if m := d.managers[f.Name]; m != nil && m.OpenSM != nil && port.MasterSMLID != 0 {
		d.files(ctx, f.Name, m.OpenSM, c)
	}
}

// manager says who manages the subnet, and whether it writes congestion control too. That cannot be read over the
// fabric: OpenSM keeps the option to itself. Where its file is on this machine, the file is read.
func (d *doctor) manager(ctx context.Context, fabric string, t mad.Transport, lid ident.LID) {
	if lid == 0 {
		d.note("sm", fabric, statusOK, "sm-none")
		return
	}
	req := mad.NewSMP(mad.MethodGet, mad.AttrSMInfo, 0)
	var info mad.SMInfo
	if err := saquery.Read(ctx, t, mad.Target{LID: lid}, &req, &info); err != nil {
		d.note("sm", fabric, statusSkip, "sm-silent", "lid", lid, "error", err)
	} else {
		state := "sm-other"
		if info.State == mad.SMStateMaster {
			state = "sm-master"
		}
		d.note("sm", fabric, statusOK, state, "guid", info.GUID, "lid", lid, "state", info.State, "priority", info.Priority)
	}
	path := d.opensm
	if m := d.managers[fabric]; m != nil && m.OpenSM != nil {
		path = m.OpenSM.Options
	}
	switch on, known := opensmCongestionControl(path); {
	case known && on:
		d.note("sm", fabric, statusFail, "sm-congestion-on", "path", path)
	case known:
		d.note("sm", fabric, statusOK, "sm-congestion-off", "path", path)
	default:
		d.note("sm", fabric, statusSkip, "sm-congestion-unknown")
	}
}

// opensmCongestionControl reads the option congestion_control of an OpenSM options file; a file that does not say is
// at OpenSM's default, which is off. known is false when there is no file.
func opensmCongestionControl(path string) (on, known bool) {
	text, err := opensm.Disk{}.Read(path)
	return osmfile.ReadOptions(text.Data).Bool("congestion_control"), err == nil && text.Present
}
