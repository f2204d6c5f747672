package api

import (
	"testing"

	"fairlane/api/gen"
)

func TestTheDoctorsFindingsHaveCodesAndRemedies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := decode[gen.Diagnosis](r.call("GET", "/doctor", "").want(200))
	if len(d.Findings) != 2 || d.CheckedAt.IsZero() {
		t.Fatalf("%+v", d)
	}
	fine, bad := d.Findings[0], d.Findings[1]
	if fine.Code != "clock-own" || fine.Status != gen.DoctorFindingStatusOk || fine.Remedy != nil || fine.RemedySaid != nil || fine.Subject != nil {
		t.Errorf("a check that passed is %+v", fine)
	}
	if bad.Code != "space-little" || bad.Said.ID != "doctor.space-little" || bad.Text != "900 MiB are free for the database" || bad.RemedySaid == nil ||
		deref(bad.Remedy) != "free some space, or shorten the retention" || deref(bad.Subject) != "f.db" {
		t.Errorf("a warning is %+v", bad)
	}
	if again := decode[gen.Diagnosis](r.call("GET", "/doctor", "").want(200)); !again.CheckedAt.Equal(d.CheckedAt) || r.Devices.Examined() != 1 {
		t.Errorf("the checks ran %d times", r.Devices.Examined())
	}
}
