package gnmi_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/subnet/ident"
)

// fakeChassis is a SONiC switch of several ASICs, each with databases of its own. The global databases have only its name.
type fakeChassis struct {
	injected

	asics []*fakeSwitch
	voq   bool
}

// chassis returns a switch with ports divided among two ASICs.
func chassis(ports int, voq bool) *fakeChassis {
	c := &fakeChassis{voq: voq}
	for i := range 2 {
		a := &fakeSwitch{refuse: gnmitree.Errorf(codes.Internal, "Modification of WRED_PROFILE table is illegal"), base: i * ports / 2}
		a.meta = map[string]string{"asic_name": fmt.Sprint("asic", i), "sub_role": "FrontEnd"}
		if voq {
			a.meta["switch_type"] = "voq"
		}
		c.asics = append(c.asics, a)
	}
	c.reset(ports)
	return c
}

func (c *fakeChassis) owner(port int) int { return port * len(c.asics) / c.ports() }

func (c *fakeChassis) ports() int {
	n := 0
	for _, a := range c.asics {
		n += len(a.dbs["CONFIG_DB"]["PORT"]) - 1 // one is between the ASICs
	}
	return n
}

func (c *fakeChassis) reset(ports int) {
	for i, a := range c.asics {
		a.reset(ports / len(c.asics))
		a.config(func(t tables) {
			t["PORT"][fmt.Sprint("Ethernet-BP", 4*i)] = map[string]string{"role": "Int", "speed": "400000"}
		})
	}
	c.keys()
}

// keys gives the rows of QUEUE their form: with virtual output queues, every ASIC has rows for the ports of all.
func (c *fakeChassis) keys() {
	for _, a := range c.asics {
		a.config(func(t tables) {
			if !c.voq {
				return
			}
			t["QUEUE"] = map[string]map[string]string{}
			for p := range c.ports() {
				t["QUEUE"][c.key(p, 3)] = map[string]string{"scheduler": "scheduler.0", "wred_profile": "AZURE_LOSSLESS"}
				t["QUEUE"][c.key(p, 6)] = map[string]string{"scheduler": "scheduler.0"}
			}
		})
	}
}

// key returns the key of a queue of a port, from 0 on.
func (c *fakeChassis) key(port int, queue uint8) string {
	if !c.voq {
		return fmt.Sprintf("Ethernet%d|%d", 4*port, queue)
	}
	return fmt.Sprintf("%s|Asic%d|Ethernet%d|%d", c.name, c.owner(port), 4*port, queue) // compared without case
}

func (c *fakeChassis) call(name string) {
	c.name = name
	for _, a := range c.asics {
		a.call(name)
	}
	c.keys()
}

func (c *fakeChassis) inject(change func(*injected)) {
	for _, a := range c.asics {
		a.inject(change)
	}
}

func (c *fakeChassis) Info() gnmitree.Info { return c.asics[0].Info() }

// at returns the ASIC of a path, and the path in its databases.
func (c *fakeChassis) at(p gnmitree.Path) (*fakeSwitch, gnmitree.Path, error) {
	var i int
	if n, _ := fmt.Sscanf(namesOf(p)[1], "asic%d", &i); n != 1 || i < 0 || i >= len(c.asics) {
		return nil, p, gnmitree.Errorf(codes.NotFound, "path %s: no such instance", p)
	}
	p.Elems = slices.Clone(p.Elems)
	p.Elems[1].Name = "localhost"
	return c.asics[i], p, nil
}

func (c *fakeChassis) Get(ctx context.Context, q gnmitree.Query) ([][]gnmitree.Leaf, error) {
	out := make([][]gnmitree.Leaf, len(q.Paths))
	for i, p := range q.Paths {
		if n := namesOf(p); n[1] == "localhost" {
			global := &fakeSwitch{dbs: map[string]tables{"CONFIG_DB": {"DEVICE_METADATA": {"localhost": {"hostname": c.name}}}}}
			list, err := global.Get(ctx, gnmitree.Query{Paths: []gnmitree.Path{p}, Type: q.Type})
			if err != nil {
				return nil, err
			}
			out[i] = list[0]
			continue
		}
		a, at, err := c.at(p)
		if err != nil {
			return nil, err
		}
		list, err := a.Get(ctx, gnmitree.Query{Paths: []gnmitree.Path{at}, Type: q.Type})
		if err != nil {
			return nil, err
		}
		for j := range list[0] {
			list[0][j].Path = p
		}
		out[i] = list[0]
	}
	return out, nil
}

// Set accepts operations on one ASIC: a patch has one scope.
func (c *fakeChassis) Set(ctx context.Context, ops []gnmitree.Operation) (gnmitree.Result, error) {
	var to *fakeSwitch
	for i := range ops {
		a, at, err := c.at(ops[i].Path)
		if err != nil {
			return gnmitree.Result{}, err
		}
		if to != nil && to != a {
			return gnmitree.Result{}, gnmitree.Errorf(codes.InvalidArgument, "a patch of two ASICs")
		}
		if n := namesOf(at); n[2] == "QUEUE" && (strings.Count(n[3], "|") == 3) != c.voq {
			return gnmitree.Result{}, gnmitree.Errorf(codes.InvalidArgument, "QUEUE|%s: a key of the wrong form", n[3])
		}
		to, ops[i].Path = a, at
	}
	return to.Set(ctx, ops)
}

// marking returns what all ASICs that have the queue agree on.
func (c *fakeChassis) marking(ports int) []ecn.QueueMarking {
	var out []ecn.QueueMarking
	for p := range ports {
		for q := range uint8(8) {
			var all []ecn.QueueMarking
			for i, a := range c.asics {
				a.config(func(t tables) {
					key := c.key(p, q)
					r := t["QUEUE"][key]
					if r == nil {
						key = strings.ToLower(key[:strings.LastIndex(key, "Ethernet")]) + key[strings.LastIndex(key, "Ethernet"):]
						r = t["QUEUE"][key]
					}
					profile := t["WRED_PROFILE"][r["wred_profile"]]
					if profile == nil || !c.voq && i != c.owner(p) {
						return
					}
					m := ecn.QueueMarking{Port: ident.PortNum(p + 1), Queue: q}
					_, _ = fmt.Sscan(profile["green_min_threshold"], &m.Marking.Min)
					_, _ = fmt.Sscan(profile["green_max_threshold"], &m.Marking.Max)
					_, _ = fmt.Sscan(profile["green_drop_probability"], &m.Marking.PMaxPct)
					all = append(all, m)
				})
			}
			want := 1
			if c.voq {
				want = len(c.asics)
			}
			if len(all) == want && all[0] == all[len(all)-1] {
				out = append(out, all[0])
			}
		}
	}
	return out
}

func (c *fakeChassis) mark(to []ecn.QueueMarking) {
	for i, a := range c.asics {
		a.config(func(t tables) {
			for j, q := range to {
				if !c.voq && c.owner(int(q.Port)-1) != i {
					continue
				}
				name := fmt.Sprint("OTHER", j)
				p := maps.Clone(t["WRED_PROFILE"]["AZURE_LOSSLESS"])
				p["green_min_threshold"], p["green_max_threshold"], p["green_drop_probability"] = fmt.Sprint(q.Marking.Min), fmt.Sprint(q.Marking.Max), fmt.Sprint(q.Marking.PMaxPct)
				t["WRED_PROFILE"][name] = p
				key := c.key(int(q.Port)-1, q.Queue)
				if t["QUEUE"][key] == nil {
					t["QUEUE"][key] = map[string]string{}
				}
				t["QUEUE"][key]["wred_profile"] = name
			}
		})
	}
}

func chassisHarness(t testing.TB, voq bool) drivertest.Harness {
	t.Helper()
	h := switchHarness(t, gnmi.SONiC, chassis(4, voq), chassis(6, voq))
	h.Atomic, h.Parts = false, true
	return h
}

func TestConformanceOfMultiASICSONiC(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t testing.TB) drivertest.Harness { return chassisHarness(t, false) })
}

func TestConformanceOfVOQSONiC(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t testing.TB) drivertest.Harness { return chassisHarness(t, true) })
}
