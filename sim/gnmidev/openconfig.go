package gnmidev

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/internal/quantity"
	"fairlane/sim/plane"
)

// openConfig is the openconfig-qos view of a switch's configuration. Profiles and the references of queues are writable; the
// rest is read-only.
type openConfig struct {
	gnmitree.Watchers
	w *Switch
}

func newOpenConfig(w *Switch) *openConfig {
	t := &openConfig{w: w}
	w.changed = append(w.changed, func(entries [][2]string) {
		var paths []gnmitree.Path
		for _, e := range entries {
			port, _, _ := strings.Cut(e[1], "|")
			switch e[0] {
			case wredTable:
				paths = append(paths, ocProfile(e[1]))
			case "QUEUE":
				paths = append(paths, ocInterface(port))
			default:
				paths = append(paths, gnmitree.PathOf("qos"))
			}
		}
		t.Changed(paths...)
	})
	return t
}

var _ gnmitree.Tree = (*openConfig)(nil)

func (t *openConfig) Info() gnmitree.Info {
	return gnmitree.Info{Models: modelsOf(OpenConfig), Origins: []string{"", "openconfig"}, Module: "openconfig-qos"}
}

func key(name, value string) gnmitree.Key { return gnmitree.Key{Name: name, Value: value} }

func ocProfile(name string) gnmitree.Path {
	return gnmitree.PathOf("qos", "queue-management-profiles").Child("queue-management-profile", key("name", name))
}

func ocInterface(port string) gnmitree.Path {
	return gnmitree.PathOf("qos", "interfaces").Child("interface", key("interface-id", port))
}

// ocSchema returns the schema, which defines the JSON containers that are lists.
func ocSchema() gnmitree.Schema {
	keys := map[string]string{
		"qos/queue-management-profiles/queue-management-profile": "name", "qos/interfaces/interface": "interface-id",
		"qos/interfaces/interface/output/queues/queue": "name", "qos/queues/queue": "name",
	}
	return gnmitree.Schema{Modules: []string{"openconfig-qos"}, Keys: func(list gnmitree.Path) []string {
		if k, ok := keys[strings.Join(namesOf(list.Elems), "/")]; ok {
			return []string{k}
		}
		return nil
	}}
}

// ocReader collects leaves.
type ocReader struct {
	w    *Switch
	kind gnmitree.Type
	now  time.Time
	out  []gnmitree.Leaf
}

func (r *ocReader) config(at gnmitree.Path, name string, v gnmitree.Value) {
	if r.kind == gnmitree.TypeAll || r.kind == gnmitree.TypeConfig {
		r.out = append(r.out, gnmitree.Leaf{Path: at.Child("config").Child(name), Value: v, Class: gnmitree.ClassConfig})
	}
	if r.kind == gnmitree.TypeAll || r.kind == gnmitree.TypeState {
		r.out = append(r.out, gnmitree.Leaf{Path: at.Child("state").Child(name), Value: v, Class: gnmitree.ClassState})
	}
}

func (r *ocReader) counter(at gnmitree.Path, name string, v uint64) {
	if r.kind != gnmitree.TypeConfig {
		r.out = append(r.out, gnmitree.Leaf{Path: at.Child("state").Child(name), Value: gnmitree.Uint(v), Class: gnmitree.ClassOperational, Sampled: true, Time: r.now})
	}
}

func (t *openConfig) Get(ctx context.Context, q gnmitree.Query) ([][]gnmitree.Leaf, error) {
	w := t.w
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([][]gnmitree.Leaf, len(q.Paths))
	parts, made := ocParts(), map[int][]gnmitree.Leaf{}
	for i, p := range q.Paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for k, part := range parts {
			if !part.at.Covers(gnmitree.Path{Elems: p.Elems}) && !p.Covers(part.at) {
				continue
			}
			leaves, ok := made[k]
			if !ok {
				r := &ocReader{w: w, kind: q.Type, now: w.clock()}
				part.read(r)
				leaves = r.out
				made[k] = leaves
			}
			out[i] = append(out[i], leaves...)
		}
	}
	return out, nil
}

// ocPart is a container with leaves.
type ocPart struct {
	at   gnmitree.Path
	read func(*ocReader)
}

func ocParts() []ocPart {
	return []ocPart{
		{gnmitree.PathOf("qos", "classifiers"), (*ocReader).classifiers},
		{gnmitree.PathOf("qos", "forwarding-groups"), (*ocReader).groups},
		{gnmitree.PathOf("qos", "interfaces"), (*ocReader).interfaces},
		{gnmitree.PathOf("qos", "queue-management-profiles"), (*ocReader).profiles},
		{gnmitree.PathOf("qos", "queues"), (*ocReader).queues},
		{gnmitree.PathOf("qos", "scheduler-policies"), (*ocReader).schedulers},
		{gnmitree.PathOf("interfaces"), (*ocReader).speeds},
		{gnmitree.PathOf("system"), (*ocReader).system},
	}
}

// profiles adds the marking profiles.
func (r *ocReader) profiles() {
	for _, name := range slices.Sorted(maps.Keys(r.w.running[wredTable])) {
		f, at := r.w.running[wredTable][name], ocProfile(name)
		r.config(at, "name", gnmitree.String(name))
		rule := at.Join(gnmitree.PathOf("wred", "uniform"))
		for _, c := range [][2]string{{"green_min_threshold", "min-threshold"}, {"green_max_threshold", "max-threshold"}} {
			if v, ok := f.count(c[0]); ok {
				r.config(rule, c[1], gnmitree.Uint(uint64(v)))
			}
		}
		r.config(rule, "enable-ecn", gnmitree.Bool(f.marks("green")))
		r.config(rule, "drop", gnmitree.Bool(f["wred_green_enable"] == "true"))
		if v, ok := f.count("green_drop_probability"); ok {
			r.config(rule, "max-drop-probability-percent", gnmitree.Uint32(uint32(v))) // at most 100, so the conversion cannot overflow
		}
	}
}

// queues adds the names of queues, which are their numbers.
func (r *ocReader) queues() {
	for q := range plane.Priorities {
		name := strconv.Itoa(q)
		at := gnmitree.PathOf("qos", "queues").Child("queue", key("name", name))
		r.config(at, "name", gnmitree.String(name))
		r.config(at, "queue-id", gnmitree.Uint32(uint32(q)))
	}
}

// eachQueueOf calls do with each queue of a port and its entry. Several queues may share an entry.
func (w *Switch) eachQueueOf(port string, do func(q int, f fields)) {
	by := map[int]fields{}
	for k, f := range w.running["QUEUE"] {
		names, first, last, ok := splitQueues(k)
		if ok && slices.Contains(splitNames(names), port) {
			for q := first; q <= last; q++ {
				by[q] = f
			}
		}
	}
	for q := range plane.Priorities {
		do(q, by[q])
	}
}

func (r *ocReader) interfaces() {
	for i := range r.w.ports {
		name := r.w.ports[i].Name
		at := ocInterface(name)
		r.config(at, "interface-id", gnmitree.String(name))
		if m := r.w.running["PORT_QOS_MAP"][name]["dscp_to_tc_map"]; m != "" {
			c := at.Join(gnmitree.PathOf("input", "classifiers")).Child("classifier", key("type", "IPV4"))
			r.config(c, "type", gnmitree.String("IPV4"))
			r.config(c, "name", gnmitree.String(m))
		}
		r.config(at.Join(gnmitree.PathOf("output", "scheduler-policy")), "name", gnmitree.String(name))
		counted := r.w.count(i + 1)
		r.w.eachQueueOf(name, func(q int, f fields) {
			at := at.Join(gnmitree.PathOf("output", "queues")).Child("queue", key("name", strconv.Itoa(q)))
			r.config(at, "name", gnmitree.String(strconv.Itoa(q)))
			if p := f["wred_profile"]; p != "" {
				r.config(at, "queue-management-profile", gnmitree.String(p))
			}
			if r.w.faults.Unreadable {
				return
			}
			c := &counted.Queues[q]
			r.counter(at, "transmit-octets", c.Octets)
			r.counter(at, "transmit-pkts", c.Packets)
			r.counter(at, "dropped-octets", c.DroppedBytes)
			r.counter(at, "dropped-pkts", c.Drops)
			r.counter(at, "max-queue-len", uint64(max(0, c.Peak)))
			if !r.w.o.NoECNCounters {
				r.counter(at, "ecn-marked-pkts", c.Marks)
			}
		})
	}
}

// bitsPerByte converts SONiC's rates, in bytes per second, to the model's rates, in bits per second.
const bitsPerByte = 8

// speeds adds the link rates, of openconfig-if-ethernet.
func (r *ocReader) speeds() {
	if r.kind == gnmitree.TypeConfig {
		return
	}
	for i := range r.w.ports {
		p := &r.w.ports[i]
		word := "SPEED_" + strconv.FormatInt(int64(p.Speed/quantity.Gbps), 10) + "GB"
		if p.Speed < quantity.Gbps || p.Speed%quantity.Gbps != 0 {
			word = "SPEED_" + strconv.FormatInt(int64(p.Speed/quantity.Mbps), 10) + "MB"
		}
		at := gnmitree.PathOf("interfaces").Child("interface", key("name", p.Name)).Child("ethernet").Child("state").Child("port-speed")
		r.out = append(r.out, gnmitree.Leaf{Path: at, Value: gnmitree.String("openconfig-if-ethernet:" + word), Class: gnmitree.ClassState})
	}
}

// system adds the switch's name, of openconfig-system.
func (r *ocReader) system() {
	if name := r.w.running.hostname(); name != "" {
		r.config(gnmitree.PathOf("system"), "hostname", gnmitree.String(name))
	}
}

// rates adds the rates of a scheduler.
func (r *ocReader) rates(at gnmitree.Path, s fields) {
	for _, rate := range []string{"cir", "pir"} {
		if v, ok := s.count(rate); ok {
			r.config(at.Child("two-rate-three-color"), rate, gnmitree.Uint(uint64(v)*bitsPerByte))
		}
	}
}

// weight adds the weight of an input: of the configuration, and in force.
func (r *ocReader) weight(input gnmitree.Path, config, acting fields) {
	if v, ok := config.count("weight"); ok && (r.kind == gnmitree.TypeAll || r.kind == gnmitree.TypeConfig) {
		r.out = append(r.out, gnmitree.Leaf{Path: input.Child("config").Child("weight"), Value: gnmitree.Uint(uint64(v)), Class: gnmitree.ClassConfig})
	}
	if v, ok := acting.count("weight"); ok && (r.kind == gnmitree.TypeAll || r.kind == gnmitree.TypeState) {
		r.out = append(r.out, gnmitree.Leaf{Path: input.Child("state").Child("weight"), Value: gnmitree.Uint(uint64(v)), Class: gnmitree.ClassState})
	}
}

// schedulers adds one policy per port, because SONiC assigns a scheduler to each queue. The port's own scheduler follows those
// of its queues and has no inputs.
func (r *ocReader) schedulers() {
	for i := range r.w.ports {
		name := r.w.ports[i].Name
		at := gnmitree.PathOf("qos", "scheduler-policies").Child("scheduler-policy", key("name", name))
		r.config(at, "name", gnmitree.String(name))
		r.w.eachQueueOf(name, func(q int, f fields) {
			s := r.w.running["SCHEDULER"][f["scheduler"]]
			if s == nil {
				return
			}
			number := strconv.Itoa(q)
			at := at.Child("schedulers").Child("scheduler", key("sequence", number))
			r.config(at, "sequence", gnmitree.Uint32(uint32(q)))
			if s["type"] == "STRICT" {
				r.config(at, "priority", gnmitree.String("STRICT"))
			}
			input := at.Child("inputs").Child("input", key("id", number))
			r.config(input, "id", gnmitree.String(number))
			r.config(input, "queue", gnmitree.String(number))
			r.weight(input, s, r.w.acting[f["scheduler"]])
			r.rates(at, s)
		})
		if s := r.w.running["SCHEDULER"][r.w.running["PORT_QOS_MAP"][name]["scheduler"]]; s != nil {
			at := at.Child("schedulers").Child("scheduler", key("sequence", strconv.Itoa(plane.Priorities)))
			r.config(at, "sequence", gnmitree.Uint32(plane.Priorities))
			r.rates(at, s)
		}
	}
}

// classifiers adds the maps from DSCPs to classes.
func (r *ocReader) classifiers() {
	for _, name := range slices.Sorted(maps.Keys(r.w.running["DSCP_TO_TC_MAP"])) {
		at := gnmitree.PathOf("qos", "classifiers").Child("classifier", key("name", name))
		r.config(at, "name", gnmitree.String(name))
		r.config(at, "type", gnmitree.String("IPV4"))
		f := r.w.running["DSCP_TO_TC_MAP"][name]
		for _, dscp := range slices.Sorted(maps.Keys(f)) {
			n, err := strconv.ParseUint(dscp, 10, 8)
			if err != nil {
				continue
			}
			term := at.Child("terms").Child("term", key("id", dscp))
			r.config(term, "id", gnmitree.String(dscp))
			r.config(term.Join(gnmitree.PathOf("conditions", "ipv4")), "dscp", gnmitree.Uint32(uint32(n)))
			r.config(term.Child("actions"), "target-group", gnmitree.String("tc"+f[dscp]))
		}
	}
}

// groups adds the traffic classes and their queues, from the map of the first port that has one.
func (r *ocReader) groups() {
	for i := range r.w.ports {
		f := r.w.running["TC_TO_QUEUE_MAP"][r.w.running["PORT_QOS_MAP"][r.w.ports[i].Name]["tc_to_queue_map"]]
		if f == nil {
			continue
		}
		for _, tc := range slices.Sorted(maps.Keys(f)) {
			at := gnmitree.PathOf("qos", "forwarding-groups").Child("forwarding-group", key("name", "tc"+tc))
			r.config(at, "name", gnmitree.String("tc"+tc))
			r.config(at, "output-queue", gnmitree.String(f[tc]))
		}
		return
	}
}

func (t *openConfig) Set(_ context.Context, ops []gnmitree.Operation) (gnmitree.Result, error) {
	w := t.w
	if w.o.ReadOnly {
		return gnmitree.Result{}, gnmitree.Errorf(codes.Unimplemented, "Set is not enabled on this switch")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	after := w.running.clone()
	if w.faults.Partial && len(ops) > 0 {
		w.faults.Partial = false
		ops = ops[:len(ops)/2]
	}
	for _, op := range ops {
		if err := w.ocSet(after, op); err != nil {
			return gnmitree.Result{}, err
		}
	}
	w.clamp(after)
	if err := (&schema{rules: w.rules, d: after, was: w.running}).check(); err != nil {
		return gnmitree.Result{}, err
	}
	w.commit(after, true)
	return gnmitree.Result{}, nil
}

// ocSet applies one operation to a configuration.
func (w *Switch) ocSet(d database, op gnmitree.Operation) error {
	if op.Op == gnmitree.OpDelete {
		return w.ocDelete(d, op.Path)
	}
	leaves, err := gnmitree.Flatten(op.Path, op.Value, ocSchema())
	if err != nil {
		return gnmitree.Errorf(codes.InvalidArgument, "%s: %v", op.Path, err)
	}
	if op.Op == gnmitree.OpReplace && op.Value.Kind() == gnmitree.KindJSON {
		if err := w.ocDelete(d, op.Path); err != nil {
			return err
		}
	}
	for _, l := range leaves {
		if err := w.ocLeaf(d, l); err != nil {
			return err
		}
	}
	return nil
}

// Writable nodes, by the names of their path.
const (
	ocProfileNode = "qos/queue-management-profiles/queue-management-profile"
	ocQueueNode   = "qos/interfaces/interface/output/queues/queue"
	ocWeightLeaf  = "qos/scheduler-policies/scheduler-policy/schedulers/scheduler/inputs/input/config/weight"
)

// ocDelete deletes a profile, its rule, or a queue's reference.
func (w *Switch) ocDelete(d database, p gnmitree.Path) error {
	name := strings.Join(namesOf(p.Elems), "/")
	switch name {
	case ocProfileNode:
		delete(d[wredTable], p.Key(2, "name"))
		return nil
	case ocProfileNode + "/wred/uniform/config":
		if d[wredTable][p.Key(2, "name")] != nil {
			d.put(wredTable, p.Key(2, "name"), fields{})
		}
		return nil
	case ocQueueNode + "/config/queue-management-profile":
		return w.ocReference(d, p, "")
	}
	return gnmitree.Errorf(codes.Unimplemented, "path %s cannot be deleted on this switch", p)
}

// ocLeaf writes one leaf.
func (w *Switch) ocLeaf(d database, l gnmitree.Leaf) error {
	name := strings.Join(namesOf(l.Path.Elems), "/")
	switch {
	case strings.HasPrefix(name, ocProfileNode+"/"):
		return w.ocProfileLeaf(d, l, strings.TrimPrefix(name, ocProfileNode+"/"))
	case name == ocQueueNode+"/config/queue-management-profile":
		v, err := l.Value.AsString()
		if err != nil {
			return gnmitree.Errorf(codes.InvalidArgument, "%s: %v", l.Path, err)
		}
		return w.ocReference(d, l.Path, v)
	case name == ocWeightLeaf:
		return w.ocWeight(d, l)
	case name == ocQueueNode+"/name", name == ocQueueNode+"/config/name", name == "qos/interfaces/interface/interface-id", name == "qos/interfaces/interface/config/interface-id":
		return w.ocSame(l)
	}
	return gnmitree.Errorf(codes.Unimplemented, "path %s cannot be written on this switch", l.Path)
}

// ocSame checks that a leaf agrees with the key of its list entry.
func (w *Switch) ocSame(l gnmitree.Leaf) error {
	v, err := l.Value.AsString()
	for _, e := range slices.Backward(l.Path.Elems) {
		if len(e.Keys) > 0 && err == nil {
			if v != e.Keys[0].Value {
				return gnmitree.Errorf(codes.InvalidArgument, "%s: found %q, want %q as the key", l.Path, v, e.Keys[0].Value)
			}
			return nil
		}
	}
	return gnmitree.Errorf(codes.InvalidArgument, "%s: want a string", l.Path)
}

// ocProfileLeaf writes a leaf of a profile.
func (w *Switch) ocProfileLeaf(d database, l gnmitree.Leaf, rest string) error {
	f := d.entry(wredTable, l.Path.Key(2, "name"))
	if len(f) == 0 {
		f["ecn"] = "ecn_none"
	}
	fail := func(err error) error { return gnmitree.Errorf(codes.InvalidArgument, "%s: %v", l.Path, err) }
	rule, of := strings.CutPrefix(rest, "wred/uniform/config/")
	if !of {
		if rest == "name" || rest == "config/name" {
			return w.ocSame(l)
		}
		return gnmitree.Errorf(codes.Unimplemented, "path %s cannot be written on this switch", l.Path)
	}
	switch rule {
	case "min-threshold", "max-threshold":
		v, err := l.Value.AsUint()
		if err != nil {
			return fail(err)
		}
		f.colours(strings.ReplaceAll(rule, "-", "_"), strconv.FormatUint(v, 10))
	case "max-drop-probability-percent":
		v, err := l.Value.AsUint()
		if err != nil {
			return fail(err)
		}
		f.colours("drop_probability", strconv.FormatUint(v, 10))
	case "enable-ecn", "drop":
		v, err := l.Value.AsBool()
		if err != nil {
			return fail(err)
		}
		if rule == "enable-ecn" {
			f["ecn"] = map[bool]string{true: "ecn_all", false: "ecn_none"}[v]
			return nil
		}
		for _, c := range colours {
			f["wred_"+c+"_enable"] = strconv.FormatBool(v)
		}
	default:
		return gnmitree.Errorf(codes.Unimplemented, "path %s has no counterpart on this switch", l.Path)
	}
	return nil
}

// colours sets a field for all packet colours.
func (f fields) colours(name, v string) {
	for _, c := range colours {
		f[c+"_"+name] = v
	}
}

// ocWeight changes the weight of an input of a port's policy.
func (w *Switch) ocWeight(d database, l gnmitree.Leaf) error {
	port, queue := l.Path.Key(2, "name"), l.Path.Key(6, "id")
	q, err := strconv.ParseUint(queue, 10, 8)
	if w.index[port] == 0 || err != nil || q >= plane.Priorities || l.Path.Key(4, "sequence") != queue {
		return gnmitree.Errorf(codes.NotFound, "%s: no such input", l.Path)
	}
	v, err := l.Value.AsUint()
	if err != nil {
		return gnmitree.Errorf(codes.InvalidArgument, "%s: %v", l.Path, err)
	}
	w.ownScheduler(d, port, int(q))["weight"] = strconv.FormatUint(v, 10)
	return nil
}

// ocReference sets or removes a queue's reference to a profile.
func (w *Switch) ocReference(d database, p gnmitree.Path, profile string) error {
	port, queue := p.Key(2, "interface-id"), p.Key(5, "name")
	q, err := strconv.ParseUint(queue, 10, 8)
	if w.index[port] == 0 || err != nil || q >= plane.Priorities {
		return gnmitree.Errorf(codes.NotFound, "%s: no queue %q on interface %q", p, queue, port)
	}
	f := w.split(d, port, int(q))
	if profile == "" {
		delete(f, "wred_profile")
		return nil
	}
	f["wred_profile"] = profile
	return nil
}

// split returns the entry of one queue of a port: it splits an entry for several queues.
func (w *Switch) split(d database, port string, queue int) fields {
	for k, f := range d["QUEUE"] {
		names, first, last, ok := splitQueues(k)
		ports := splitNames(names)
		if !ok || !slices.Contains(ports, port) || queue < first || queue > last {
			continue
		}
		if len(ports) == 1 && first == last {
			return f
		}
		delete(d["QUEUE"], k)
		for _, p := range ports {
			for q := first; q <= last; q++ {
				d.put("QUEUE", p+"|"+strconv.Itoa(q), maps.Clone(f))
			}
		}
		break
	}
	return d.entry("QUEUE", port+"|"+strconv.Itoa(queue))
}
