package gnmi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/subnet/ident"
)

// tables holds the values of fields, by the names of table, row and field.
type tables map[string]map[string]map[string]string

func (t tables) clone() tables {
	out := tables{}
	for name, rows := range t {
		out[name] = map[string]map[string]string{}
		for key, fields := range rows {
			out[name][key] = maps.Clone(fields)
		}
	}
	return out
}

// fakeSwitch is a SONiC switch's databases by native paths, with a guard of WRED_PROFILE.
type fakeSwitch struct {
	injected

	dbs      map[string]tables
	guarded  bool
	refuse   error // of the guard
	readOnly bool
	base     int               // number of its first port, from 0 on
	meta     map[string]string // further fields of its row in DEVICE_METADATA
}

// roceSwitch is a switch of a RoCE fabric: queue 3 of every port refers to AZURE_LOSSLESS.
func roceSwitch(ports int) *fakeSwitch {
	s := &fakeSwitch{refuse: gnmitree.Errorf(codes.Internal, "Modification of WRED_PROFILE table is illegal")}
	s.reset(ports)
	return s
}

func (s *fakeSwitch) reset(ports int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := tables{
		"PORT": {}, "QUEUE": {}, "PORT_QOS_MAP": {},
		"WRED_PROFILE": {"AZURE_LOSSLESS": {
			"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "250000", "green_max_threshold": "1048576", "green_drop_probability": "5",
			"wred_yellow_enable": "true", "yellow_min_threshold": "1048576", "yellow_max_threshold": "2097152",
		}},
		"SCHEDULER":                 {"scheduler.0": {"type": "DWRR", "weight": "14"}},
		"DSCP_TO_TC_MAP":            {"AZURE": {"26": "3", "48": "6"}},
		"TC_TO_QUEUE_MAP":           {"AZURE": {"3": "3", "6": "6"}},
		"MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": {"3": "3"}},
		"TC_TO_PRIORITY_GROUP_MAP":  {"AZURE": {"3": "3", "6": "0"}},
		"BUFFER_POOL":               {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "136200192", "xoff": "31457280"}},
		"BUFFER_PROFILE":            {"pg_lossless": {"pool": "ingress_lossless_pool", "size": "18432", "dynamic_th": "0", "xon": "18432", "xoff": "165888"}},
		"BUFFER_PG":                 {},
		"CABLE_LENGTH":              {"AZURE": {}},
		"FLEX_COUNTER_TABLE":        {"QUEUE": {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "10000"}},
	}
	counters := tables{"COUNTERS_QUEUE_NAME_MAP": {"": {}}, "COUNTERS": {}}
	for p := range ports {
		name := fmt.Sprint("Ethernet", 4*(p+s.base))
		c["PORT"][name] = map[string]string{"index": strconv.Itoa(p + 1), "speed": "100000"}
		c["QUEUE"][name+"|3"] = map[string]string{"scheduler": "scheduler.0", "wred_profile": "AZURE_LOSSLESS"}
		c["QUEUE"][name+"|6"] = map[string]string{"scheduler": "scheduler.0"}
		c["PORT_QOS_MAP"][name] = map[string]string{"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "tc_to_pg_map": "AZURE", "pfc_to_queue_map": "AZURE", "pfc_enable": "3"}
		c["BUFFER_PG"][name+"|3"] = map[string]string{"profile": "pg_lossless"}
		c["CABLE_LENGTH"]["AZURE"][name] = "5m"
		oid := fmt.Sprintf("oid:0x1500000000%04x", p)
		counters["COUNTERS_QUEUE_NAME_MAP"][""][name+":3"] = oid
		counters["COUNTERS"][oid] = map[string]string{"SAI_QUEUE_STAT_BYTES": "1000", "SAI_QUEUE_STAT_PACKETS": "10", "SAI_QUEUE_STAT_DROPPED_PACKETS": "0"}
	}
	s.dbs = map[string]tables{"CONFIG_DB": c, "COUNTERS_DB": counters}
	s.metadata()
}

// metadata creates the row with the switch's name. The caller holds the lock.
func (s *fakeSwitch) metadata() {
	s.dbs["CONFIG_DB"]["DEVICE_METADATA"] = map[string]map[string]string{"localhost": {"hwsku": "fake", "hostname": s.name}}
	maps.Copy(s.dbs["CONFIG_DB"]["DEVICE_METADATA"]["localhost"], s.meta)
}

func (s *fakeSwitch) call(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name = name
	s.metadata()
}

func (s *fakeSwitch) config(change func(t tables)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.dbs["CONFIG_DB"])
}

func (s *fakeSwitch) Info() gnmitree.Info {
	return gnmitree.Info{
		Models: []gnmitree.Model{{Name: "sonic-db", Organization: "SONiC", Version: "0.1.0"}}, Origins: []string{"sonic-db"}, Types: []gnmitree.Type{gnmitree.TypeAll},
	}
}

func (s *fakeSwitch) Get(_ context.Context, q gnmitree.Query) ([][]gnmitree.Leaf, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([][]gnmitree.Leaf, len(q.Paths))
	for i, p := range q.Paths {
		names := namesOf(p)
		if len(names) < 3 || names[1] != "localhost" {
			return nil, gnmitree.Errorf(codes.Unimplemented, "path %s: want database, instance and table", p)
		}
		var v any
		rows, ok := s.dbs[names[0]][names[2]]
		switch fields, row := rows[strings.Join(names[3:min(len(names), 4)], "")], len(names) == 4; {
		case !ok, row && fields == nil:
			continue
		case row:
			v = fields
		default:
			v = rows
			if only, ok := rows[""]; ok {
				v = only
			}
		}
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		out[i] = []gnmitree.Leaf{{Path: p, Value: gnmitree.JSON(text), Class: gnmitree.ClassConfig}}
	}
	return out, nil
}

func namesOf(p gnmitree.Path) (out []string) {
	for _, e := range p.Elems {
		out = append(out, e.Name)
	}
	return out
}

// Set validates the whole patch before it applies any part.
func (s *fakeSwitch) Set(_ context.Context, ops []gnmitree.Operation) (gnmitree.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readOnly {
		return gnmitree.Result{}, gnmitree.Errorf(codes.Unimplemented, "native write is not enabled")
	}
	next := s.dbs["CONFIG_DB"].clone()
	for i, o := range ops {
		n := namesOf(o.Path)
		if s.guarded && n[2] == "WRED_PROFILE" {
			fields := []string{"green_min_threshold", "green_max_threshold", "green_drop_probability"}
			if o.Op != gnmitree.OpReplace || len(n) != 5 || n[3] != "AZURE_LOSSLESS" || !slices.Contains(fields, n[4]) {
				return gnmitree.Result{}, s.refuse
			}
		}
		if s.partial && i >= (len(ops)+1)/2 {
			continue
		}
		if err := s.do(next[n[2]], n[3:], o); err != nil {
			return gnmitree.Result{}, gnmitree.Errorf(codes.InvalidArgument, "%s: %v", o.Path, err)
		}
	}
	if err := valid(next); err != nil {
		return gnmitree.Result{}, gnmitree.Errorf(codes.InvalidArgument, "%v", err)
	}
	s.dbs["CONFIG_DB"], s.partial = next, false
	s.clip()
	return gnmitree.Result{}, nil
}

func (s *fakeSwitch) clip() {
	for _, p := range s.dbs["CONFIG_DB"]["WRED_PROFILE"] {
		if v, _ := strconv.Atoi(p["green_max_threshold"]); s.clamp && v > drivertest.ClampedBytes {
			p["green_max_threshold"], p["green_min_threshold"] = strconv.Itoa(drivertest.ClampedBytes), "0"
		}
	}
}

func (s *fakeSwitch) do(rows map[string]map[string]string, at []string, o gnmitree.Operation) error {
	key := at[0]
	if o.Op == gnmitree.OpDelete {
		if rows[key] == nil {
			return fmt.Errorf("nothing to delete")
		}
		delete(rows, key)
		return nil
	}
	if len(at) == 2 {
		word, err := o.Value.AsString()
		if err != nil {
			return err
		}
		if _, there := rows[key][at[1]]; rows[key] == nil || o.Op == gnmitree.OpReplace && !there {
			return fmt.Errorf("nothing to replace")
		}
		rows[key][at[1]] = word
		return nil
	}
	var fields map[string]string
	if err := json.Unmarshal(o.Value.JSON(), &fields); err != nil {
		return err
	}
	if rows[key] == nil {
		rows[key] = map[string]string{}
	}
	maps.Copy(rows[key], fields)
	return nil
}

// valid checks what the switch's model checks: references exist, and minimum thresholds are below maximum ones.
func valid(t tables) error {
	for key, q := range t["QUEUE"] {
		if p := strings.Trim(strings.TrimPrefix(q["wred_profile"], "[WRED_PROFILE|"), "]"); p != "" && t["WRED_PROFILE"][p] == nil {
			return fmt.Errorf("QUEUE|%s refers to %s, which does not exist", key, p)
		}
	}
	for name, p := range t["WRED_PROFILE"] {
		if name == "p" {
			continue // a profile of a test, which may be invalid
		}
		least, _ := strconv.Atoi(p["green_min_threshold"])
		if most, _ := strconv.Atoi(p["green_max_threshold"]); least > most {
			return fmt.Errorf("WRED_PROFILE|%s has %d above %d", name, least, most)
		}
	}
	return nil
}

// marking reads the tables independently of the driver. A row may cover one queue or several.
func (s *fakeSwitch) marking(ports int) (out []ecn.QueueMarking) {
	s.config(func(c tables) {
		for p := range ports {
			for q := range uint8(8) {
				r := c["QUEUE"][fmt.Sprintf("Ethernet%d|%d", 4*p, q)]
				profile := c["WRED_PROFILE"][r["wred_profile"]]
				if profile == nil {
					continue
				}
				m := ecn.Marking{}
				_, _ = fmt.Sscan(profile["green_min_threshold"], &m.Min)
				_, _ = fmt.Sscan(profile["green_max_threshold"], &m.Max)
				_, _ = fmt.Sscan(profile["green_drop_probability"], &m.PMaxPct)
				out = append(out, ecn.QueueMarking{Port: ident.PortNum(p + 1), Queue: q, Marking: m})
			}
		}
	})
	return out
}

func (s *fakeSwitch) mark(to []ecn.QueueMarking) {
	s.config(func(c tables) {
		for i, q := range to {
			name := "AZURE_LOSSLESS"
			if i > 0 && q.Marking != to[0].Marking {
				name = "OTHER"
				c["WRED_PROFILE"][name] = maps.Clone(c["WRED_PROFILE"]["AZURE_LOSSLESS"])
			}
			p := c["WRED_PROFILE"][name]
			p["green_min_threshold"], p["green_max_threshold"], p["green_drop_probability"] = fmt.Sprint(q.Marking.Min), fmt.Sprint(q.Marking.Max), fmt.Sprint(q.Marking.PMaxPct)
			c["QUEUE"][fmt.Sprintf("Ethernet%d|%d", 4*(int(q.Port)-1), q.Queue)]["wred_profile"] = name
		}
	})
}

// sonicHarness is a driver over two switches.
func sonicHarness(t testing.TB, guarded bool) drivertest.Harness {
	t.Helper()
	first, second := roceSwitch(4), roceSwitch(6)
	first.guarded, second.guarded = guarded, guarded
	h := switchHarness(t, gnmi.SONiC, first, second)
	if guarded {
		h.Samples = func(d driver.Device, c driver.Capabilities) []driver.Settings {
			c.Queues.Profiles = 1
			return drivertest.Samples(d, c)
		}
	}
	return h
}

func TestConformanceOfSONiC(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t testing.TB) drivertest.Harness { return sonicHarness(t, false) })
}

func TestConformanceOfGuardedSONiC(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t testing.TB) drivertest.Harness { return sonicHarness(t, true) })
}
