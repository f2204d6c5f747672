package controltest

import (
	"context"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

var _ control.Doctor = (*Devices)(nil)

// Examine implements control.Doctor: one check passes, another is a warning.
func (d *Devices) Examine(ctx context.Context) []control.DoctorFinding {
	d.mu.Lock()
	d.examined++
	on := d.onDoctor
	d.mu.Unlock()
	if on != nil {
		on(ctx)
	}
	return []control.DoctorFinding{
		{Check: "clock", Status: control.DoctorOK, Code: "clock-own", Found: phrase.Of("doctor.clock-own")},
		{
			Check: "store", Subject: "f.db", Status: control.DoctorWarning, Code: "space-little", Found: phrase.Of("doctor.space-little", "mib", 900),
			Do: phrase.Of("doctor.space-little.do"),
		},
	}
}

// OnDoctor calls a function at every examination.
func (d *Devices) OnDoctor(f func(context.Context)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.onDoctor = f
}

// Examined returns how many examinations there were.
func (d *Devices) Examined() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.examined
}
