package doctor

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"syscall"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/placement"
	"fairlane/service/placement/smfile"
	"fairlane/service/store"
	"fairlane/subnet/mad"
	"fairlane/subnet/opensm/osmfile"
)

// subnetManagers checks the files about subnet managers of fabrics as far as possible without a fabric. The
// configuration check has already reported faults of the files themselves.
func (d *doctor) subnetManagers(ctx context.Context, fabrics []store.FabricSource) {
	for _, name := range slices.Sorted(maps.Keys(d.managers)) {
		if !slices.ContainsFunc(fabrics, func(f store.FabricSource) bool { return f.Name == name }) {
			d.note("sm", name, control.DoctorWarning, phrase.Of("doctor.sm-no-fabric", "fabric", name), phrase.Of("doctor.sm-no-fabric.do", "fabric", name))
		}
		if f := d.managers[name]; f.UFM != nil {
			d.ufm(ctx, name, f.UFM)
		}
	}
}

// ufm requests UFM's partitions, which needs the same rights as rollouts and changes nothing.
func (d *doctor) ufm(ctx context.Context, fabric string, u *smfile.UFM) {
	client, err := placement.UFMClient(u)
	if err != nil {
		return // the configuration check has reported it
	}
	list, err := client.Partitions(ctx)
	if err != nil {
		d.note("sm", fabric, control.DoctorFault, phrase.Of("doctor.sm-ufm-away", "url", u.URL, "error", err), phrase.Of("doctor.sm-ufm-away.do", "url", u.URL))
		return
	}
	d.note("sm", fabric, control.DoctorOK, phrase.Of("doctor.sm-ufm-right", "url", u.URL, "n", len(list)))
}

// files checks an OpenSM's files: which process reads them, whether the current user may write them, and their
// problems.
func (d *doctor) files(ctx context.Context, fabric string, o *smfile.OpenSM, t mad.Transport) {
	m, err := placement.OpenSM(o, t)
	if err != nil {
		return // the configuration check has reported it
	}
	state, err := m.Read(ctx)
	if err != nil {
		d.note("sm", fabric, control.DoctorFault, phrase.Of("doctor.sm-files-away", "error", err), phrase.Of("doctor.sm-files-away.do"))
		return
	}
	d.writable(fabric, o)
	switch seen := state.Observation; {
	case seen.Foreign:
		d.note("sm", fabric, control.DoctorWarning, phrase.Of("doctor.sm-files-not-master", "guid", seen.GUID), phrase.Of("doctor.sm-files-not-master.do"))
	case seen.Process == "":
		d.note("sm", fabric, control.DoctorFault, phrase.Of("doctor.sm-process-away", "how", reloadedBy(o), "error", seen.NoProcess), phrase.Of("doctor.sm-process-away.do"))
	}
	if why := state.Observation.UnknownMaster; why != "" {
		d.note("sm", fabric, control.DoctorWarning, phrase.Of("doctor.sm-master-unknown", "guid", state.Observation.GUID, "why", why), phrase.Of("doctor.sm-master-unknown.do"))
	}
	for _, p := range state.Problems {
		status := control.DoctorFault
		if p.Warning || len(osmfile.Blocking([]osmfile.Problem{p}, o.Accept)) == 0 {
			status = control.DoctorWarning
		}
		d.note("sm", fabric, status, phrase.Of("doctor.sm-files-problem", "code", p.Code, "problem", phrase.Quoted(p.Located())), phrase.Of("doctor.sm-files-problem.do", "remedy", phrase.Quoted(p.Remedy)))
	}
	if len(state.Problems) == 0 {
		d.note("sm", fabric, control.DoctorOK, phrase.Of("doctor.sm-files-right", "n", len(state.Partitions), "path", o.Partitions))
	}
}

// writable checks whether the current user can replace the files.
func (d *doctor) writable(fabric string, o *smfile.OpenSM) {
	const write = 2 // W_OK of access(2)
	paths := []string{o.Partitions}
	if !o.LeaveOptions {
		paths = append(paths, o.Options)
	}
	for _, path := range paths {
		if err := syscall.Access(filepath.Dir(path), write); err != nil {
			d.note("sm", fabric, control.DoctorWarning, phrase.Of("doctor.sm-files-closed", "directory", filepath.Dir(path), "error", err), phrase.Of("doctor.sm-files-closed.do", "directory", filepath.Dir(path)))
			return
		}
	}
}

// reloadedBy returns the unit or file that identifies OpenSM's process.
func reloadedBy(o *smfile.OpenSM) string {
	if o.Unit != "" {
		return "unit " + o.Unit
	}
	return "pid_file " + o.PIDFile
}
