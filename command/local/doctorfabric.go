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

// fabric attaches to a fabric as the service does and queries the local port.
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
	defer func() { _ = c.Close() }() // the slot is released in any case
	d.attached(ctx, f, c, key)
}

// port checks the port of this machine that attaches to a fabric, and its device file. It reports whether the port can
// be used.
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

// ethernet queries every device in an inventory for its identity.
func (d *doctor) ethernet(ctx context.Context, f store.FabricSource, s site.Source) {
	const most = 3 // maximum number of devices named
	o, err := site.DiscoverSource(ctx, s, nil)
	switch {
	case err != nil:
		d.note("fabric", f.Name, statusFail, "fabric-away", "source", f.Source, "error", err)
	case len(o.Warnings) > 0:
		status, code := statusFail, "fabric-strangers"
		if len(o.Warnings) == o.Settings { // all answered with the expected identity
			status, code = statusWarn, "fabric-settings"
		}
		d.note("fabric", f.Name, status, code, "source", f.Source, "answered", o.Answered, "asked", o.Asked,
			"first", d.app.Texts.Say(phrase.Of("verbatim", "text", o.Warnings[:min(most, len(o.Warnings))])))
	default:
		d.note("fabric", f.Name, statusOK, "fabric-devices", "source", f.Source, "answered", o.Answered)
	}
}

// attached queries the local port, and the subnet manager that it names.
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

// manager reports the subnet manager, and whether it also writes congestion control. The fabric does not reveal that
// option of OpenSM. If its options file is on this machine, manager reads the file.
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

// opensmCongestionControl reads the option congestion_control from OpenSM's options file; without the option, OpenSM's
// default is off. known is false if there is no file.
func opensmCongestionControl(path string) (on, known bool) {
	text, err := opensm.Disk{}.Read(path)
	return osmfile.ReadOptions(text.Data).Bool("congestion_control"), err == nil && text.Present
}
