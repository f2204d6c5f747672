package gnmidev

import (
	"strings"
	"testing"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/dcbnl"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/sim/plane"
)

// quiet returns a server with a host and a switch but without a listener.
func quiet(t testing.TB) *Server {
	t.Helper()
	s, err := NewServer(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func quietHost(t testing.TB, driver Driver) *Host {
	t.Helper()
	h, err := quiet(t).AddHost("host", HostOptions{Cards: []CardOptions{{GUID: testGUID, Caps: richCaps(), Driver: driver, Ports: []PortOptions{{Functions: 2}, {}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// legal fails the test unless every register of the host's first port is in its range.
func legal(t *testing.T, h *Host) {
	t.Helper()
	set, _, err := h.Settings(portID(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range set {
		p, ok := h.cards[0].layout.table.Find(s.Name)
		if !ok || !p.Legal(s.Value) {
			t.Errorf("%s is %d", s.Key, s.Value)
		}
	}
	if s := h.cards[0].ports[0].state(); s.Priority() >= plane.Priorities {
		t.Errorf("priority %d", s.Priority())
	}
}

func FuzzFiles(f *testing.F) {
	f.Add(uint8(0), "sys/class/net/ens1f0np0/ecn/roce_rp/rpg_gd", "10")
	f.Add(uint8(1), "sys/class/net/ens1f0np0/ecn/roce_np/params/cnp_dscp", "0x10")
	f.Add(uint8(3), "sys/kernel/debug/mlx5/0000:3b:00.0/cc_params/np_cnp_prio", "7")
	f.Add(uint8(0), "sys/class/net/ens1f0np0/ecn/roce_rp/enable/3", "0")
	f.Add(uint8(0), "sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode", "IB/RoCE v1")
	f.Add(uint8(0), "sys/class/infiniband/mlx5_0/ports/1/hw_counters", "")
	f.Fuzz(func(t *testing.T, driver uint8, name, text string) {
		h := quietHost(t, Driver(driver%4))
		r := root{h}
		_ = r.Make(name)
		before, readErr := r.Read(name)
		err := r.Write(name, []byte(text))
		after, _ := r.Read(name)
		if (err != nil || readErr != nil) && string(before) != string(after) {
			t.Errorf("%q: a write that failed (%v) changed %q to %q", name, err, before, after)
		}
		_, _ = r.List(name)
		legal(t, h)
	})
}

func FuzzDCB(f *testing.F) {
	codec := dcbnl.Native()
	for _, m := range []dcbnl.Message{
		dcbnl.Get("ens1f0np0", 1), dcbnl.Set("ens1f0np0", 2, &dcbnl.IEEE{Apps: []dcbnl.App{{Selector: 5, Priority: 3, Protocol: 26}}}),
		dcbnl.Delete("ens1f0np0", 3, []dcbnl.App{{Selector: 5, Priority: 3, Protocol: 26}}), dcbnl.Set("ens1f0np0", 4, defaultDCB()), dcbnl.Get("none", 5),
	} {
		b, err := codec.Encode(&m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h := quietHost(t, KernelDriver)
		out, err := socket{h}.Exchange(t.Context(), b)
		if err == nil {
			if _, err := codec.Split(out); err != nil {
				t.Errorf("the response has no messages: %v", err)
			}
		}
		p := h.cards[0].ports[0]
		if o := p.ieee(); o.ETS == nil || o.PFC == nil || o.Buffer == nil || o.MaxRate == nil || !legalETS(o.ETS) {
			t.Errorf("objects %+v", o)
		}
		if s := p.state(); s.Priority() >= plane.Priorities {
			t.Errorf("priority %d", s.Priority())
		}
	})
}

func FuzzTool(f *testing.F) {
	f.Add("-d mlx5_0 -e q")
	f.Add("-d 0000:3b:00.0 -y set RPG_GD_P1=10 ROCE_CC_PRIO_MASK_P2=0x7")
	f.Add("-d mlx5_0 -y set USER_PROGRAMMABLE_CC=1")
	f.Fuzz(func(t *testing.T, line string) {
		h := quietHost(t, VendorDriver)
		_, _ = tool{h}.Run(t.Context(), strings.Fields(line))
		c := h.cards[0]
		c.firmwareReset()
		c.eachNV(func(name string, p *nicparam.Param) {
			if now, next := c.stage(name, p); now != next || !p.Legal(now) && !p.Holds(nicparam.NV, now, c.layout.table.Caps()) {
				t.Errorf("%s is %d and becomes %d", name, now, next)
			}
		})
	})
}

func FuzzSwitchSet(f *testing.F) {
	f.Add(uint8(2), "QUEUE/Ethernet0|3/scheduler", `"scheduler.0"`)
	f.Add(uint8(3), "WRED_PROFILE/X", `{"ecn":"ecn_all","green_min_threshold":"1","green_max_threshold":"2"}`)
	f.Add(uint8(1), "QUEUE/Ethernet0|3", "")
	f.Add(uint8(3), "", `{"PORT":{"Ethernet0":{}}}`)
	f.Add(uint8(2), "DSCP_TO_TC_MAP/AZURE", `{"26":"3"}`)
	f.Add(uint8(3), "PORT_QOS_MAP/Ethernet0", `{"pfc_enable":"3,4"}`)
	f.Fuzz(func(t *testing.T, op uint8, path, value string) {
		w, err := quiet(t).AddSwitch("leaf", SwitchOptions{Ports: make([]SwitchPort, 2), Unguarded: op&4 != 0})
		if err != nil {
			t.Fatal(err)
		}
		o := gnmitree.Operation{Op: gnmitree.Op(op%3 + 1), Path: gnmitree.PathOf(configDB, instance)}
		o.Path.Origin = sonicOrigin
		for _, n := range strings.Split(path, "/") {
			if n != "" {
				o.Path = o.Path.Child(n)
			}
		}
		if o.Op != gnmitree.OpDelete {
			if o.Value, err = gnmitree.ParseJSON([]byte(value)); err != nil {
				return
			}
		}
		before := string(w.Config())
		if _, err := newNative(w).Set(t.Context(), []gnmitree.Operation{o}); err != nil && string(w.Config()) != before {
			t.Errorf("a failed Set (%v) changed the configuration", err)
		}
		if err := (&schema{rules: w.rules, d: w.running}).check(); err != nil {
			t.Errorf("after %s %s: %v", o.Op, o.Path, err)
		}
		if _, err := parseConfig(w.Config()); err != nil {
			t.Errorf("the configuration cannot be read again: %v", err)
		}
	})
}
