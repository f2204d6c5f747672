package doctor

import (
	"context"

	"fairlane/internal/phrase"
	"fairlane/service/config"
	"fairlane/service/control"
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
	if ctx.Err() != nil { // the fabrics before took all of the time, which says nothing of this one
		d.note("fabric", f.Name, control.DoctorUnknown, phrase.Of("doctor.fabric-unchecked", "seconds", int(checkTimeout.Seconds())))
		return
	}
	s, err := site.ParseSource(f.Source)
	if err != nil {
		d.note("fabric", f.Name, control.DoctorFault, phrase.Of("doctor.fabric-source", "source", f.Source, "error", err), phrase.Of("doctor.fabric-source.do"))
		return
	}
	rules, err := config.NewSourceRules(d.config.Discovery.Sources)
	if err == nil {
		_, err = rules.Resolve(f.Source)
	}
	if err != nil {
		d.note("fabric", f.Name, control.DoctorFault, phrase.Of("doctor.fabric-forbidden", "error", err), phrase.Of("doctor.fabric-forbidden.do", "source", f.Source))
		return
	}
	s.MKey = owner
	if s.File != "" {
		if _, err := site.ReadFabric(s.File); err != nil {
			d.note("fabric", f.Name, control.DoctorFault, phrase.Of("doctor.fabric-away", "source", f.Source, "error", err), phrase.Of("doctor.fabric-away.do"))
			return
		}
		d.note("fabric", f.Name, control.DoctorOK, phrase.Of("doctor.fabric-file", "source", f.Source))
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
		d.note("fabric", f.Name, control.DoctorFault, phrase.Of("doctor.fabric-away", "source", f.Source, "error", err), phrase.Of("doctor.fabric-away.do"))
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
		d.note("port", f.Name, control.DoctorFault, phrase.Of("doctor.port-away", "error", err), phrase.Of("doctor.port-away.do"))
		return false
	}
	if err := umad.Access(p, d.umad); err != nil {
		d.note("port", f.Name, control.DoctorFault, phrase.Of("doctor.port-closed", "device", p.Device, "error", err), phrase.Of("doctor.port-closed.do"))
		return false
	}
	if p.State != "ACTIVE" || p.SMLID == 0 {
		d.note("port", f.Name, control.DoctorWarning, phrase.Of("doctor.port-waits", "port", n, "device", p.Device, "state", p.State, "rate", p.Rate, "lid", p.LID),
			phrase.Of("doctor.port-waits.do"))
	} else {
		d.note("port", f.Name, control.DoctorOK, phrase.Of("doctor.port-right", "port", n, "device", p.Device, "state", p.State, "rate", p.Rate, "lid", p.LID, "sm", p.SMLID, "sl", p.SMSL))
	}
	return true
}

// ethernet queries every device in an inventory for its identity.
func (d *doctor) ethernet(ctx context.Context, f store.FabricSource, s site.Source) {
	const most = 3 // maximum number of devices named
	o, err := site.DiscoverSource(ctx, s, nil)
	switch {
	case err != nil:
		d.note("fabric", f.Name, control.DoctorFault, phrase.Of("doctor.fabric-away", "source", f.Source, "error", err), phrase.Of("doctor.fabric-away.do"))
	case len(o.Warnings) > 0:
		first := o.Warnings[:min(most, len(o.Warnings))]
		if len(o.Warnings) == o.Settings { // all answered with the expected identity
			d.note("fabric", f.Name, control.DoctorWarning, phrase.Of("doctor.fabric-settings", "source", f.Source, "answered", o.Answered, "first", first),
				phrase.Of("doctor.fabric-settings.do", "source", f.Source))
			return
		}
		d.note("fabric", f.Name, control.DoctorFault, phrase.Of("doctor.fabric-strangers", "source", f.Source, "answered", o.Answered, "asked", o.Asked, "first", first),
			phrase.Of("doctor.fabric-strangers.do", "source", f.Source))
	default:
		d.note("fabric", f.Name, control.DoctorOK, phrase.Of("doctor.fabric-devices", "source", f.Source, "answered", o.Answered))
	}
}

// attached queries the local port, and the subnet manager that it names.
func (d *doctor) attached(ctx context.Context, f store.FabricSource, c mad.Transport, key mad.Key) {
	port, err := saquery.OwnPort(ctx, c)
	if err != nil {
		d.note("fabric", f.Name, control.DoctorFault, phrase.Of("doctor.fabric-silent", "source", f.Source, "error", err), phrase.Of("doctor.fabric-silent.do"))
		return
	}
	d.note("fabric", f.Name, control.DoctorOK, phrase.Of("doctor.fabric-right", "source", f.Source, "lid", port.LID))
	if key == 0 {
		d.note("keys", f.Name, control.DoctorWarning, phrase.Of("doctor.cc-key-none"), phrase.Of("doctor.cc-key-none.do", "source", f.Source))
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
		d.note("sm", fabric, control.DoctorOK, phrase.Of("doctor.sm-none"))
		return
	}
	req := mad.NewSMP(mad.MethodGet, mad.AttrSMInfo, 0)
	var info mad.SMInfo
	if err := saquery.Read(ctx, t, mad.Target{LID: lid}, &req, &info); err != nil {
		d.note("sm", fabric, control.DoctorUnknown, phrase.Of("doctor.sm-silent", "lid", lid, "error", err))
	} else {
		if info.State == mad.SMStateMaster {
			d.note("sm", fabric, control.DoctorOK, phrase.Of("doctor.sm-master", "guid", info.GUID, "lid", lid, "priority", info.Priority))
		} else {
			d.note("sm", fabric, control.DoctorOK, phrase.Of("doctor.sm-other", "guid", info.GUID, "lid", lid, "state", info.State))
		}
	}
	path := d.opensm
	if m := d.managers[fabric]; m != nil && m.OpenSM != nil {
		path = m.OpenSM.Options
	}
	switch on, known := opensmCongestionControl(path); {
	case known && on:
		d.note("sm", fabric, control.DoctorFault, phrase.Of("doctor.sm-congestion-on", "path", path), phrase.Of("doctor.sm-congestion-on.do", "path", path))
	case known:
		d.note("sm", fabric, control.DoctorOK, phrase.Of("doctor.sm-congestion-off", "path", path))
	default:
		d.note("sm", fabric, control.DoctorUnknown, phrase.Of("doctor.sm-congestion-unknown"))
	}
}

// opensmCongestionControl reads the option congestion_control from OpenSM's options file; without the option, OpenSM's
// default is off. known is false if there is no file.
func opensmCongestionControl(path string) (on, known bool) {
	text, err := opensm.Disk{}.Read(path)
	return osmfile.ReadOptions(text.Data).Bool("congestion_control"), err == nil && text.Present
}
