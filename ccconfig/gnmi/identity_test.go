package gnmi_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/gnmi"
	"fairlane/sim/gnmidev"
	"fairlane/subnet/ident"
)

// fakes returns constructors of fake switches, by dialect.
func fakes() map[gnmi.Dialect]func(ports int) fake {
	return map[gnmi.Dialect]func(int) fake{
		gnmi.SONiC:      func(ports int) fake { return roceSwitch(ports) },
		gnmi.OpenConfig: func(ports int) fake { return openConfigSwitch(ports) },
	}
}

// everything calls every method of the driver for a switch, and returns the errors by method.
func everything(ctx context.Context, d *gnmi.Driver, dev driver.Device) map[string]error {
	out := map[string]error{}
	_, out["capabilities"] = d.Capabilities(ctx, dev)
	_, out["read"] = d.Read(ctx, dev)
	_, out["apply"] = d.Apply(ctx, dev, marks(1000))
	_, out["preflight"] = d.Preflight(ctx, dev, gnmi.Expectation{DSCP: 26, Queue: 3})
	_, out["counters"] = d.QueueCounters(ctx, dev, 3)
	return out
}

// marks is a marking of queue 3 of port 1.
func marks(least int64) driver.Settings {
	return driver.Settings{Queues: &driver.QueueState{Marking: []ecn.QueueMarking{{Port: 1, Queue: 3, Marking: ecn.Marking{Min: least, Max: 1 << 20, PMaxPct: 7}}}}}
}

// TestTwoSwitchesWhoseAddressesAreSwapped swaps leaves with the same number of ports, which differ only in their
// names.
func TestTwoSwitchesWhoseAddressesAreSwapped(t *testing.T) {
	t.Parallel()
	for dialect, made := range fakes() {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			both := map[string]fake{"leaf-1": made(2), "leaf-2": made(2)}
			for name, s := range both {
				r.add(t, name, s)
			}
			there := map[string]string{"leaf-1": "leaf-2", "leaf-2": "leaf-1"}
			swapped := r.driver(t, dialect, func(o *gnmi.Options) {
				o.Target = func(d driver.Device) (gnmi.Target, error) {
					return gnmi.Target{Address: "10.0.0.7:8080", Name: there[d.Name], Dialect: dialect}, nil
				}
			})
			for name, is := range there {
				before := fmt.Sprint(both[is].marking(2))
				for what, err := range everything(t.Context(), swapped, switchDevice(name, 2)) {
					refused(t, what, err, driver.ErrConflict, fmt.Sprintf("calls itself %q, want %q", is, name), "10.0.0.7:8080", "correct the address in the inventory")
					var other *driver.IdentityError
					if !errors.As(err, &other) || other.Found != is || other.Want != name {
						t.Errorf("%s: %#v", what, other)
					}
				}
				if n := r.sets(is); n != 0 || fmt.Sprint(both[is].marking(2)) != before {
					t.Errorf("%s: %d Sets: %v, want %s", is, n, both[is].marking(2), before)
				}
			}
			right := r.driver(t, dialect)
			for name := range both {
				for what, err := range everything(t.Context(), right, switchDevice(name, 2)) {
					if err != nil {
						t.Errorf("%s of %s at its own address: %v", what, name, err)
					}
				}
				if n := r.sets(name); n != 1 {
					t.Errorf("%s: %d Sets, want 1", name, n)
				}
			}
		})
	}
}

// TestSwitchNameIsVerifiedForEveryOperation gives an address to another switch while the driver runs.
func TestSwitchNameIsVerifiedForEveryOperation(t *testing.T) {
	t.Parallel()
	for dialect, made := range fakes() {
		r, s := newRig(t), made(2)
		r.add(t, "leaf-1", s)
		d, dev := r.driver(t, dialect), switchDevice("leaf-1", 2)
		for i, c := range []struct {
			name  string
			works bool
		}{{"leaf-1", true}, {"leaf-7", false}, {"LEAF-1.dc1.example.net", true}} {
			s.call(c.name)
			_, err := d.Apply(t.Context(), dev, marks(int64(1000+i)))
			if c.works && err != nil {
				t.Errorf("%s, called %s: %v", dialect, c.name, err)
			}
			if !c.works {
				refused(t, c.name, err, driver.ErrConflict, `calls itself "leaf-7"`)
			}
		}
		if n := r.sets("leaf-1"); n != 2 {
			t.Errorf("%s: %d Sets, want 2", dialect, n)
		}
	}
}

// TestTheInventorysNameOfASwitchCounts uses a switch whose name differs from that on the fabric.
func TestTheInventorysNameOfASwitchCounts(t *testing.T) {
	t.Parallel()
	r, s := newRig(t), roceSwitch(2)
	r.add(t, "leaf-1", s)
	s.call("sonic")
	dev := switchDevice("leaf-1", 2)
	named := func(name string) *gnmi.Driver {
		return r.driver(t, gnmi.SONiC, func(o *gnmi.Options) {
			o.Target = func(driver.Device) (gnmi.Target, error) {
				return gnmi.Target{Address: "targets", Name: "leaf-1", Dialect: gnmi.SONiC, Hostname: name}, nil
			}
		})
	}
	if _, err := named("sonic").Apply(t.Context(), dev, marks(1000)); err != nil {
		t.Error(err)
	}
	_, err := named("tor-7").Apply(t.Context(), dev, marks(2000))
	refused(t, "another", err, driver.ErrConflict, `calls itself "sonic", want "tor-7"`)
	_, err = named("").Apply(t.Context(), dev, marks(2000))
	refused(t, "the fabric's", err, driver.ErrConflict, `calls itself "sonic", want "leaf-1"`, `hostname: "sonic"`)
	if n := r.sets("leaf-1"); n != 1 {
		t.Errorf("%d Sets, want 1", n)
	}
}

func TestSwitchWithoutAReportedName(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(c tables){
		"no name":  func(c tables) { delete(c["DEVICE_METADATA"]["localhost"], "hostname") },
		"no row":   func(c tables) { delete(c["DEVICE_METADATA"], "localhost") },
		"no table": func(c tables) { delete(c, "DEVICE_METADATA") },
	} {
		r, s := newRig(t), roceSwitch(2)
		r.add(t, "leaf-1", s)
		s.config(change)
		d, dev := r.driver(t, gnmi.SONiC), switchDevice("leaf-1", 2)
		if _, err := d.Apply(t.Context(), dev, marks(1000)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		found := func() string {
			list, err := d.Preflight(t.Context(), dev, gnmi.Expectation{DSCP: 26, Queue: 3})
			if err != nil {
				t.Fatal(err)
			}
			var codes []string
			for _, f := range list {
				codes = append(codes, f.Code)
			}
			return strings.Join(codes, " ")
		}
		if got := found(); got != gnmi.FindingNameless {
			t.Errorf("%s: findings %q", name, got)
		}
		s.call("leaf-1")
		if got := found(); got != "" {
			t.Errorf("%s, and then one: findings %q", name, got)
		}
	}
}

// TestFailedNameQuery checks that a failed query does not count as a missing name.
func TestFailedNameQuery(t *testing.T) {
	t.Parallel()
	for code, kind := range map[codes.Code]error{codes.Unavailable: driver.ErrUnreachable, codes.ResourceExhausted: driver.ErrBusy, codes.PermissionDenied: driver.ErrInvalid} {
		r := newRig(t)
		r.add(t, "leaf-1", roceSwitch(2))
		r.with("leaf-1", func(w *messageFaults) { w.failGets = status.Error(code, "not now") })
		_, err := r.driver(t, gnmi.SONiC).Apply(t.Context(), switchDevice("leaf-1", 2), marks(1000))
		refused(t, code.String(), err, kind, "hostname of", "not now")
		if n := r.sets("leaf-1"); n != 0 {
			t.Errorf("%s: %d Sets", code, n)
		}
	}
}

func TestAnswersWithAName(t *testing.T) {
	t.Parallel()
	text := func(s string) *gpb.TypedValue {
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(s)}}
	}
	for _, c := range []struct {
		dialect gnmi.Dialect
		value   *gpb.TypedValue
		want    string
		fails   bool
	}{
		{gnmi.OpenConfig, text(`"leaf-1"`), "leaf-1", false},
		{gnmi.OpenConfig, &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: "leaf-1"}}, "leaf-1", false},
		{gnmi.OpenConfig, text(`{"hostname":"leaf-1"}`), "", true},
		{gnmi.OpenConfig, &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 7}}, "", true},
		{gnmi.SONiC, text(`{"hostname":"leaf-1","hwsku":"x"}`), "leaf-1", false},
		{gnmi.SONiC, text(`{"hwsku":"x"}`), "", false},
		{gnmi.SONiC, text(`"leaf-1"`), "", true},
		{gnmi.SONiC, &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: "leaf-1"}}, "", true},
	} {
		got, err := gnmi.NameIn(c.dialect, c.value)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%s %v: %q, %v", c.dialect, c.value, got, err)
		}
	}
}

// TestSimulatedSwitchesReportTheirNames swaps switches of the simulator.
func TestSimulatedSwitchesReportTheirNames(t *testing.T) {
	t.Parallel()
	for dialect, o := range map[gnmi.Dialect]gnmidev.SwitchOptions{gnmi.SONiC: {Unguarded: true}, gnmi.OpenConfig: {Dialect: gnmidev.OpenConfig}} {
		s, r := simulatedDevices(t)
		w, odd := addSwitch(t, s, "leaf-1", o), addSwitch(t, s, "leaf 2", o)
		d := r.driver(t, dialect)
		if _, err := d.Apply(t.Context(), switchDevice("leaf-1", 4), marks(1000)); err != nil {
			t.Errorf("%s: %v", dialect, err)
		}
		w.Edit("DEVICE_METADATA", "localhost", map[string]string{"hostname": "leaf-9"})
		before := fmt.Sprint(w.Marking())
		_, err := d.Apply(t.Context(), switchDevice("leaf-1", 4), marks(2000))
		refused(t, string(dialect), err, driver.ErrConflict, `calls itself "leaf-9"`)
		if got := fmt.Sprint(w.Marking()); got != before || w.Marking()[0].Marking.Min != 1000 || w.Hostname() != "leaf-9" {
			t.Errorf("%s: %s is marked %s, was %s", dialect, w.Hostname(), got, before)
		}
		// The switch does not report a name that is not a valid host name.
		dev := switchDevice("leaf 2", 4)
		dev.ID = ident.PortID{Node: 0x98}
		_, err = d.Apply(t.Context(), dev, marks(2000))
		refused(t, string(dialect), err, driver.ErrConflict, `calls itself "leaf-2", want "leaf 2"`)
		if odd.Hostname() != "leaf-2" {
			t.Errorf("the switch with the invalid name reports %q", odd.Hostname())
		}
	}
}
