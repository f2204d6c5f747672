package gnmi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/gnmi/gnmitree"
)

// guardMemory is the time for which a switch that rejected a new profile is assumed to reject all new profiles. Its
// operator may extend the guard file in the meantime.
const guardMemory = 10 * time.Minute

// sonic is the dialect of switches with SONiC's native paths.
type sonic struct {
	s      *session
	at     asicPlace
	counts *counterMemory
	*writeMemory
}

// writeMemory is what writes to an ASIC have shown. Zero times mean never.
type writeMemory struct {
	refused   time.Time // of the last rejection of a profile by the guard
	unweighed time.Time // of the last rejection of a weight
	weighed   time.Time // of the last change of a weight
}

func newSONiC(s *session, at asicPlace) *sonic {
	return &sonic{s: s, at: at, counts: newCounterMemory(), writeMemory: &writeMemory{}}
}

// guarded reports whether the switch is known to reject new profiles.
func (c *sonic) guarded() bool { return !c.refused.IsZero() && time.Since(c.refused) < guardMemory }

// tables reads tables of a database. A missing table is empty.
func (c *sonic) tables(ctx context.Context, dev driver.Device, db string, names ...string) (map[string]table, error) {
	s := c.s
	out := make(map[string]table, len(names))
	paths := make([]gnmitree.Path, len(names))
	for i, n := range names {
		paths[i] = sonicPathAt(c.at.instance, db, n)
	}
	answers, err := s.get(ctx, query{gpb.GetRequest_ALL, gpb.Encoding_JSON_IETF, paths})
	if status.Code(err) == codes.NotFound && len(names) > 1 {
		for _, n := range names { // a table, or the switch, does not exist
			one, err := c.tables(ctx, dev, db, n)
			if err != nil {
				return nil, err
			}
			out[n] = one[n]
		}
		return out, nil
	}
	if status.Code(err) == codes.NotFound {
		return map[string]table{names[0]: {}}, nil
	}
	if err != nil {
		return nil, s.classify(ctx, db, dev, err)
	}
	for i, n := range names {
		text, err := answers[i].json()
		if err == nil && text != nil {
			out[n], err = parseTable(text)
		}
		if err != nil {
			return nil, fmt.Errorf("table %s of %s: %w", n, dev, err)
		}
	}
	return out, nil
}

// marking reads the marking from the switch's tables, and returns an error if they are inconsistent.
func (c *sonic) marking(ctx context.Context, dev driver.Device) (*sonicMarking, error) {
	m, err := c.survey(ctx, dev)
	if err != nil {
		return nil, err
	}
	if err := m.consistent(); err != nil {
		return nil, fmt.Errorf("tables of %s: %w", dev, err)
	}
	return m, nil
}

// survey reads the marking from the switch's tables, also if they are partly inconsistent.
func (c *sonic) survey(ctx context.Context, dev driver.Device) (*sonicMarking, error) {
	t, err := c.tables(ctx, dev, configDB, "PORT", "QUEUE", "WRED_PROFILE", "SCHEDULER", "PORT_QOS_MAP")
	if err != nil {
		return nil, err
	}
	if len(t["PORT"]) == 0 {
		return nil, fmt.Errorf("%w: %s has no table PORT by native paths: is it a SONiC switch, and the target %q one of %s?", driver.ErrUnsupported, dev, c.s.target.Name, c.s.target.Address)
	}
	m, err := parseMarking(t, dev.Ports, c.at)
	if err != nil {
		return nil, fmt.Errorf("tables of %s: %w", dev, err)
	}
	return m, nil
}

func (c *sonic) capabilities(ctx context.Context, dev driver.Device) (driver.Capabilities, error) {
	m, err := c.survey(ctx, dev)
	if err != nil {
		return driver.Capabilities{}, err
	}
	q := &driver.QueueCapabilities{Ports: len(m.ports), Queues: ecn.MaxQueue + 1}
	if c.guarded() {
		q.Profiles = 1
	}
	q.Marked = markedQueues(m.observed())
	if !c.fixedWeights() {
		q.Weighted = m.weights.own()
	}
	return driver.Capabilities{Queues: q}, nil
}

func (c *sonic) read(ctx context.Context, dev driver.Device) (driver.Settings, error) {
	m, err := c.marking(ctx, dev)
	if err == nil {
		err = c.verifyWeights(ctx, dev, m)
	}
	if err != nil {
		return driver.Settings{}, err
	}
	return settingsOf(m.observed(), &m.weights), nil
}

// sonicSet is a change that has been checked and not been sent.
type sonicSet struct {
	want   *driver.QueueState
	change queueChange
	ops    []gnmitree.Operation
	judge  func(cause, err error) error
	heavy  bool
}

// apply changes profiles, references of queues to them, and weights of schedulers in one Set.
func (c *sonic) apply(ctx context.Context, dev driver.Device, want driver.Settings) (driver.Receipt, error) {
	set, err := c.prepare(ctx, dev, want.Queues)
	if err != nil {
		return driver.Receipt{}, err
	}
	return c.send(ctx, dev, set)
}

// send sends a prepared change.
func (c *sonic) send(ctx context.Context, dev driver.Device, set *sonicSet) (driver.Receipt, error) {
	if set.heavy {
		c.weighed = time.Now()
	}
	return c.s.execute(ctx, dev, set.want, set.change, set.ops, set.judge)
}

// prepare plans a change. It returns an error with driver.ErrUnsent if the switch is known to refuse it.
func (c *sonic) prepare(ctx context.Context, dev driver.Device, want *driver.QueueState) (*sonicSet, error) {
	m, err := c.marking(ctx, dev)
	if err != nil {
		return nil, driver.Unsent(err)
	}
	plan, err := m.planFor(want.Marking)
	if err != nil {
		return nil, driver.Refusef(driver.ErrUnsupported, "%s: %w", dev, err)
	}
	weights, err := m.weights.planFor(want.Weights, m.queueLabel)
	if err != nil {
		return nil, driver.Refusef(driver.ErrUnsupported, "%s: %w", dev, err)
	}
	bold, heavy := plan.guardRejects(m.stock) || m.ownChange(plan), len(weights) > 0
	if bold && c.guarded() {
		return nil, driver.Refusef(driver.ErrUnsupported, "%s refuses changes of WRED profiles but to %s: %s", dev, m.stockName(), m.explainGuard(plan, want.Marking))
	}
	if heavy && c.fixedWeights() {
		return nil, driver.Refusef(driver.ErrUnsupported, "%s refuses changes of weights: %s", dev, weightsRefused)
	}
	return &sonicSet{
		want: want, change: queueChange{markingPlan: plan, weights: m.weights.changedQueues(weights)}, heavy: heavy,
		ops: append(m.operations(plan), m.weightOperations(weights)...),
		judge: func(cause, err error) error {
			return c.refusal(ctx, dev, cause, err, bold, heavy, func() string { return m.explainGuard(plan, want.Marking) })
		},
	}, nil
}

// guardCodes returns the codes with which switches reject a change by the guard or the model; servers differ.
func guardCodes() []codes.Code {
	return []codes.Code{codes.Internal, codes.Unknown, codes.InvalidArgument, codes.FailedPrecondition, codes.PermissionDenied, codes.Aborted}
}

func (m *sonicMarking) stockName() string {
	if m.stock == "" {
		return "none of them"
	}
	return m.stock
}

// ownChange reports whether the plan changes only thresholds of ECN, which no guard lists.
func (m *sonicMarking) ownChange(plan markingPlan) bool {
	for name := range plan.change {
		if ownThresholds(m.profiles[name]) {
			return true
		}
	}
	return false
}

// operations returns the operations of the Set for a plan. Leaves that a guard may protect are replaced, never updated, because
// a switch treats an update as an addition, which guards reject.
func (m *sonicMarking) operations(plan markingPlan) []gnmitree.Operation {
	var out []gnmitree.Operation
	for _, name := range slices.Sorted(maps.Keys(plan.change)) {
		out = append(out, m.thresholds(name, plan.change[name])...)
	}
	for _, name := range slices.Sorted(maps.Keys(plan.create)) {
		out = append(out, gnmitree.Operation{Op: gnmitree.OpUpdate, Path: m.at.path("WRED_PROFILE", name), Value: object(newProfile(plan.create[name]))})
	}
	left := maps.Clone(plan.refer)
	for i := range m.rows {
		out = append(out, m.rewrite(&m.rows[i], left)...)
	}
	for _, k := range slices.SortedFunc(maps.Keys(left), func(a, b queueKey) int { return strings.Compare(a.String(), b.String()) }) {
		key := m.at.key(m.ports[k.port-1], k.queue)
		out = append(out, gnmitree.Operation{Op: gnmitree.OpUpdate, Path: m.at.path("QUEUE", key), Value: object(row{"wred_profile": left[k]})})
	}
	return out
}

// thresholds replaces the differing leaves of a profile, in an order in which the minimum never exceeds the maximum.
func (m *sonicMarking) thresholds(name string, to ecn.Marking) []gnmitree.Operation {
	fields := thresholdFields(ownThresholds(m.profiles[name]))
	var out []gnmitree.Operation
	replace := func(i int, v int64) {
		is := strconv.FormatInt(v, 10)
		was, there := m.profiles[name][fields[i]]
		if was == is {
			return
		}
		op := gnmitree.OpReplace
		if !there {
			op = gnmitree.OpUpdate
		}
		out = append(out, gnmitree.Operation{Op: op, Path: m.at.path("WRED_PROFILE", name, fields[i]), Value: gnmitree.String(is)})
	}
	if to.Min > m.markingState.profiles[name].marking.Max { // increasing: the maximum first
		replace(1, to.Max)
		replace(0, to.Min)
	} else {
		replace(0, to.Min)
		replace(1, to.Max)
	}
	replace(2, int64(to.PMaxPct))
	return out
}

// newProfile returns a profile that marks packets of all colours equally.
func newProfile(m ecn.Marking) row {
	r := row{"ecn": "ecn_all"}
	for _, color := range []string{"green", "yellow", "red"} {
		r["wred_"+color+"_enable"] = "true"
		r[color+"_min_threshold"] = strconv.FormatInt(m.Min, 10)
		r[color+"_max_threshold"] = strconv.FormatInt(m.Max, 10)
		r[color+"_drop_probability"] = strconv.Itoa(m.PMaxPct)
	}
	return r
}

// rewrite changes the references of a row's queues to their new profiles, and removes the queues from left. It splits a row of
// several queues that no longer have the same profile.
func (m *sonicMarking) rewrite(r *queueRow, left map[queueKey]string) []gnmitree.Operation {
	was := r.fields.name("wred_profile")
	type part struct{ key, profile string }
	var parts []part
	same, changed := true, false
	for _, port := range r.ports {
		for q := r.low; q <= r.high; q++ {
			p := part{fmt.Sprintf("%s|%d", port, q), was}
			k := queueKey{numberOf(m.number(port), q), uint8(q)} // at most 255
			if to, ok := left[k]; ok && k.port > 0 {
				p.profile, changed = to, true
				delete(left, k)
			}
			parts = append(parts, p)
			same = same && p.profile == parts[0].profile
		}
	}
	if !changed {
		return nil
	}
	if same {
		op := gnmitree.OpReplace
		if was == "" {
			op = gnmitree.OpUpdate
		}
		return []gnmitree.Operation{{Op: op, Path: m.at.path("QUEUE", r.key, "wred_profile"), Value: gnmitree.String(parts[0].profile)}}
	}
	out := []gnmitree.Operation{{Op: gnmitree.OpDelete, Path: m.at.path("QUEUE", r.key)}}
	for _, p := range parts {
		fields := maps.Clone(r.fields)
		if fields["wred_profile"] = p.profile; p.profile == "" {
			delete(fields, "wred_profile")
		}
		out = append(out, gnmitree.Operation{Op: gnmitree.OpUpdate, Path: m.at.path("QUEUE", p.key), Value: object(fields)})
	}
	return out
}

func object(r row) gnmitree.Value {
	text, err := json.Marshal(r)
	if err != nil {
		return gnmitree.Value{}
	}
	return gnmitree.JSON(text)
}
