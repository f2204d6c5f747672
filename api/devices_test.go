package api

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlane/api/gen"
	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/control/drift"
	"fairlane/subnet/ident"
)

// devices walks the operations on the devices of the plan in force, one of which has drifted.
func (r *rig) devices() {
	t := r.t
	t.Helper()
	known := decode[gen.DeviceList](r.call("GET", "/fabrics/lab/devices?read=false&limit=2", "").want(200))
	if len(known.Items) != 2 || known.NextCursor == nil || known.Items[0].State != "unknown" || known.Items[0].ReadAt != nil {
		t.Errorf("before they were read devices are %+v", known)
	}
	rest := decode[gen.DeviceList](r.call("GET", "/fabrics/lab/devices?read=false&cursor="+*known.NextCursor, "").want(200))
	if len(rest.Items) == 0 || rest.NextCursor != nil || rest.Items[0].ID <= known.Items[1].ID {
		t.Errorf("the second page is %+v", rest)
	}
	r.call("GET", "/fabrics/lab/devices?read=false&plan="+known.Plan, "").want(422, "invalid")
	sh := decode[gen.Shares](r.call("GET", "/fabrics/lab/shares?window_ms=250", "").want(200))
	if sh.RequestedWindowMs == nil || *sh.RequestedWindowMs != 250 || sh.WindowMs != 250 {
		t.Errorf("requested 250 ms, measured %d, reported %v", sh.WindowMs, sh.RequestedWindowMs)
	}
	manager := decode[gen.Device](r.call("GET", "/fabrics/lab/devices/subnet-manager", "").want(200))
	if manager.ID != "0x0000000000000000:0" || manager.ID != known.Items[0].ID || manager.Kind != gen.DeviceKindSubnetManager || manager.Desired != nil {
		t.Errorf("the subnet manager is %+v", manager)
	}
	path := "/fabrics/lab/devices/" + known.Items[1].ID
	live := decode[gen.Device](r.call("GET", path+"?read=true", "").want(200))
	if live.State != "drifted" || len(live.Differences) != 1 || live.Desired == nil || *live.Policy != "report" || !*live.PolicyInherited {
		t.Errorf("read now it is %+v", live)
	}
	can := decode[gen.DeviceCapabilities](r.call("GET", path+"/capabilities", "").want(200))
	if can.ID != live.ID || can.Infiniband == nil || can.Infiniband.TableEntries != 128 || !can.Infiniband.PerSL || can.Infiniband.PerQP || can.ReadAt.IsZero() || can.Nic != nil {
		t.Errorf("it can do %+v", can)
	}
	r.call("GET", "/fabrics/lab/devices/subnet-manager/capabilities", "").want(404, "not-found")
	r.call("GET", "/fabrics/lab/devices/nowhere/capabilities", "").want(404, "not-found")
	r.Devices.OnRead(func(context.Context, driver.Device) error { return driver.ErrUnreachable })
	r.call("GET", path+"/capabilities", "").want(502, "devices-unreachable")
	r.Devices.OnRead(nil)
	r.call("GET", "/fabrics/lab/devices/nowhere", "").want(404, "not-found")
	r.call("GET", "/fabrics/lab/devices/0x0000000000000bad:1", "").want(404, "not-found")

	r.call("PUT", path, `{"policy":"freeze"}`).want(428, "precondition-required")
	r.call("PUT", path, `{"policy":"freeze"}`, "If-Match", `"9"`).want(412, "precondition-failed")
	r.call("PUT", path, `{"policy":"shout"}`, "If-Match", "*").want(422, "invalid")
	if d := decode[gen.Device](r.call("PUT", path+"?dry_run=true", `{"policy":"freeze"}`, "If-Match", `"1"`).want(200)); *d.Policy != "freeze" {
		t.Errorf("dry run gives %+v", d)
	}
	a := r.call("PUT", path, `{"policy":"freeze"}`, "If-Match", `"1"`).want(200)
	if d := decode[gen.Device](a); *d.Policy != "freeze" || *d.PolicyInherited || a.header.Get("ETag") != `"2"` {
		t.Errorf("frozen it is %+v with ETag %s", d, a.header.Get("ETag"))
	}
	r.call("POST", path+"/repair", "").want(409, "device-frozen")
	for _, asked := range []string{"", "?dry_run=true"} {
		r.call("POST", "/fabrics/lab/rollouts"+asked, `{"plan":"`+known.Plan+`"}`).want(409, "device-frozen")
		r.call("POST", "/fabrics/lab/release"+asked, "{}").want(409, "device-frozen")
	}
	r.call("POST", path+"/release", "").want(409, "not-quarantined")
	if d := decode[gen.Device](r.call("PUT", path, `{"policy":"inherit"}`, "If-Match", "*").want(200)); !*d.PolicyInherited {
		t.Errorf("inheriting it is %+v", d)
	}
	r.quarantine(known.Items[1].ID)
	if d := decode[gen.Device](r.call("GET", path, "").want(200)); d.State != "quarantined" || d.QuarantinedAt == nil || *d.QuarantineReason != "it flaps" {
		t.Errorf("quarantined it is %+v", d)
	}
	if d := decode[gen.Device](r.call("POST", path+"/release", "").want(200)); d.State != "unknown" || d.QuarantinedAt != nil {
		t.Errorf("released it is %+v", d)
	}
	r.driftPolicy()
	would := decode[gen.Rollout](r.call("POST", path+"/repair?dry_run=true", "").want(202))
	if _, err := r.Service.Rollout(t.Context(), "lab", would.ID); err == nil {
		t.Error("a dry run has repaired")
	}
	made := r.call("POST", path+"/repair", "", "Idempotency-Key", "mend-1").want(202)
	ro := decode[gen.Rollout](made)
	if ro.Repair == nil || !*ro.Repair || !strings.HasSuffix(made.header.Get("Location"), "/rollouts/"+strconv.FormatInt(ro.ID, 10)) {
		t.Errorf("the repair is %+v at %s", ro, made.header.Get("Location"))
	}
	r.Wait()
	if again := decode[gen.Rollout](r.call("POST", path+"/repair", "", "Idempotency-Key", "mend-1").want(202)); again.ID != ro.ID {
		t.Errorf("repeated, the repair is rollout %d, then %d", ro.ID, again.ID)
	}
	done := decode[gen.Rollout](r.call("GET", "/fabrics/lab/rollouts/"+strconv.FormatInt(ro.ID, 10), "").want(200))
	if done.State != "succeeded" || len(done.Devices) != 1 || done.Devices[0].ID != known.Items[1].ID {
		t.Errorf("the repair ended as %+v", done)
	}
	r.call("POST", "/fabrics/lab/rollouts/"+strconv.FormatInt(ro.ID, 10)+"/roll-back", "").want(409, "is-repair")
}

// driftPolicy walks the operations on a fabric's drift policy.
func (r *rig) driftPolicy() {
	t := r.t
	t.Helper()
	a := r.call("GET", "/fabrics/lab/drift-policy", "").want(200)
	if p := decode[gen.DriftPolicy](a); p.Policy != "report" || p.IntervalS != 300 || p.UpdatedAt != nil || a.header.Get("ETag") != `"0"` {
		t.Errorf("the default policy is %+v with ETag %s", p, a.header.Get("ETag"))
	}
	body := `{"policy":"repair","interval_s":60}`
	r.call("PUT", "/fabrics/lab/drift-policy", body).want(428, "precondition-required")
	r.call("PUT", "/fabrics/lab/drift-policy", `{"policy":"repair","interval_s":3}`, "If-Match", "*").want(422, "invalid")
	r.call("PUT", "/fabrics/lab/drift-policy", `{"quarantine_after":0}`, "If-Match", "*").want(422, "invalid")
	a = r.call("PUT", "/fabrics/lab/drift-policy", body, "If-Match", `"0"`).want(200)
	if p := decode[gen.DriftPolicy](a); p.Policy != "repair" || p.IntervalS != 60 || p.QuarantineAfter != 3 || a.header.Get("ETag") != `"1"` {
		t.Errorf("the policy is %+v with ETag %s", p, a.header.Get("ETag"))
	}
	r.call("PUT", "/fabrics/lab/drift-policy", body, "If-Match", `"0"`).want(412, "precondition-failed")
	r.call("GET", "/fabrics/nowhere/drift-policy", "").want(404, "not-found")
}

// quarantine puts a device that has a record into quarantine.
func (r *rig) quarantine(id string) {
	r.t.Helper()
	port, err := ident.ParsePortID(id)
	if err != nil {
		r.t.Fatal(err)
	}
	err = r.Store.Tx(r.t.Context(), func(repos control.Repos) error {
		list, err := repos.DeviceRecords(r.t.Context(), "lab", []ident.PortID{port})
		if err != nil || len(list) != 1 {
			r.t.Fatalf("records of %s: %v, %v", id, list, err)
		}
		list[0].Watch.Quarantined, list[0].Watch.Reason = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), phrase.Verbatim("it flaps")
		return repos.PutDeviceRecords(r.t.Context(), "lab", list)
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func TestCapabilitiesOfEveryPlaneAreShown(t *testing.T) {
	t.Parallel()
	nic := capabilitiesOut(&drift.Abilities{Device: driver.Device{Plane: driver.PlaneRoCE}, Capabilities: driver.Capabilities{
		NIC: &driver.NICCapabilities{Params: make([]string, mostParams+1), VFs: 8, Wide: true, Shares: true, Most: 4},
	}})
	if n := nic.Nic; n == nil || nic.Infiniband != nil || len(n.Params) != mostParams || n.ResetParams == nil || n.Functions != 8 || !n.WideRegisters || !n.ClassShares || n.Senders != 0 {
		t.Errorf("a NIC port: %+v", nic)
	}
	sw := capabilitiesOut(&drift.Abilities{Device: driver.Device{Plane: driver.PlaneRoCE}, Capabilities: driver.Capabilities{
		Queues: &driver.QueueCapabilities{Ports: 32, Queues: 8, Profiles: 2, Marked: []uint8{3, 4}, Weighted: make([]driver.PortQueues, 5)},
	}})
	if q := sw.Queues; q == nil || q.Ports != 32 || q.Queues != 8 || q.Profiles != 2 || !slices.Equal(q.Marked, []int{3, 4}) || q.WeightedPorts != 5 {
		t.Errorf("a switch: %+v", sw)
	}
	w := capabilitiesOut(&drift.Abilities{Device: driver.Device{Plane: driver.PlaneWRCC}, Capabilities: driver.Capabilities{
		WRCC: &driver.WRCCCapabilities{Ports: 64, Weights: 16, Domains: 2}, NIC: &driver.NICCapabilities{WRCC: true, Most: 4},
	}})
	if w.Wrcc == nil || w.Wrcc.Ports != 64 || w.Wrcc.Weights != 16 || w.Wrcc.Domains != 2 || w.Nic.Senders != 4 {
		t.Errorf("WRCC: %+v", w)
	}
}
