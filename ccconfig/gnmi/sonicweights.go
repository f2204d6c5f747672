package gnmi

import (
	"context"
	"errors"
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
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/qos"
)

// SONiC's orchestration agent changes the weight of a row of SCHEDULER in place, at once on every port whose queues refer to it. Its generic
// config updater permits replace of the leaf on a DWRR scheduler since 2026-01-27; earlier guard lists refuse every change of a row.

const sonicRemedy = "provision one scheduler of type DWRR with a weight for each port and class, or one for each class where all ports need the same weight, and make the queues refer to it; SONiC takes a port down when its queues change, so do this in a maintenance window"

// asicDB and asicSchedulers are the database and table with the schedulers that the ASIC has.
const (
	asicDB         = "ASIC_DB"
	asicSchedulers = "ASIC_STATE:SAI_OBJECT_TYPE_SCHEDULER"
)

// schedulerFields are the fields of SCHEDULER that the orchestration agent knows. It ignores a row with any other field.
func schedulerFields() []string {
	return []string{"type", "weight", "meter_type", "cir", "cbs", "pir", "pbs"}
}

// parseWeights parses the weights of SCHEDULER, and what refers to them.
func (m *sonicMarking) parseWeights(t map[string]table) {
	m.weights = weightState{objects: make(map[string]weigher, len(t["SCHEDULER"])), remedy: sonicRemedy}
	for name, r := range t["SCHEDULER"] {
		w := weigher{label: "scheduler " + name}
		w.weight, w.fault = weightOf(r)
		w.acting = w.weight
		m.weights.objects[name] = w
	}
	for i := range m.rows {
		r := &m.rows[i]
		name := r.fields.name("scheduler")
		for _, port := range r.ports {
			for q := r.low; q <= r.high && name != "" && m.at.schedules(port); q++ {
				m.weights.users = append(m.weights.users, weightUser{queueKey{numberOf(m.number(port), q), uint8(q)}, fmt.Sprintf("%s|%d", port, q), name}) // at most 255
			}
		}
	}
	for _, port := range slices.Sorted(maps.Keys(t["PORT_QOS_MAP"])) {
		if name := t["PORT_QOS_MAP"][port].name("scheduler"); name != "" {
			m.weights.users = append(m.weights.users, weightUser{name: "port " + port, object: name})
		}
	}
}

// weightOf returns the weight of a row of SCHEDULER, or the reason why it has none that can be replaced.
func weightOf(r row) (weight uint8, fault string) {
	for _, field := range slices.Sorted(maps.Keys(r)) {
		if !slices.Contains(schedulerFields(), field) && field != "NULL" {
			return 0, fmt.Sprintf("has field %s, with which SONiC ignores the whole row: delete the field", field)
		}
	}
	if kind := r["type"]; kind != "DWRR" {
		return 0, fmt.Sprintf("has type %q, want DWRR", kind)
	}
	v, err := strconv.ParseUint(r["weight"], 10, 8)
	if err != nil || v < 1 || v > qos.MaxWeight {
		return 0, fmt.Sprintf("has weight %q, want 1 to %d", r["weight"], qos.MaxWeight)
	}
	return uint8(v), ""
}

// queueLabel returns the name of a queue on the switch.
func (m *sonicMarking) queueLabel(k queueKey) string {
	if i := int(k.port) - 1; i >= 0 && i < len(m.ports) {
		return fmt.Sprintf("%s|%d", m.ports[i], k.queue)
	}
	return k.String()
}

// weightOperations replace the weights of schedulers.
func (m *sonicMarking) weightOperations(change map[string]uint8) []gnmitree.Operation {
	var out []gnmitree.Operation
	for _, name := range slices.Sorted(maps.Keys(change)) {
		out = append(out, gnmitree.Operation{
			Op: gnmitree.OpReplace, Path: m.at.path("SCHEDULER", name, "weight"), Value: gnmitree.String(strconv.Itoa(int(change[name]))),
		})
	}
	return out
}

// Times for a new weight to reach the ASIC: the server acknowledges a Set when CONFIG_DB has it, and the orchestration agent follows.
const (
	applyTime  = 5 * time.Second
	applyPause = 100 * time.Millisecond
	applyTries = 10
)

// verifyWeights compares the configured weights with those that the ASIC has. A weight that fewer of the ASIC's schedulers have than rows
// of SCHEDULER is not in force. Where the switch does not show ASIC_DB, the configuration counts. After a
// change the ASIC may follow late.
func (c *sonic) verifyWeights(ctx context.Context, dev driver.Device, m *sonicMarking) error {
	rows := map[uint8]int{}
	for _, o := range m.weights.objects {
		if o.fault == "" {
			rows[o.weight]++
		}
	}
	if len(rows) == 0 {
		return nil
	}
	for try := 0; ; try++ {
		has, shown, err := c.asicWeights(ctx, dev)
		if err != nil || !shown {
			return err
		}
		var missing []uint8
		for weight, n := range rows {
			if has[weight] < n {
				missing = append(missing, weight)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		if try < applyTries && time.Since(c.weighed) < applyTime {
			if err := pause(ctx, applyPause); err != nil {
				return err
			}
			continue
		}
		for name, o := range m.weights.objects {
			if slices.Contains(missing, o.weight) {
				o.acting = 0
				m.weights.objects[name] = o
			}
		}
		return nil
	}
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// asicWeights returns the number of the ASIC's DWRR schedulers by weight; shown is false where the switch does not show them.
func (c *sonic) asicWeights(ctx context.Context, dev driver.Device) (count map[uint8]int, shown bool, err error) {
	answers, err := c.s.get(ctx, query{gpb.GetRequest_ALL, gpb.Encoding_JSON_IETF, []gnmitree.Path{sonicPathAt(c.at.instance, asicDB, asicSchedulers)}})
	switch status.Code(err) {
	case codes.OK:
	case codes.NotFound, codes.Unimplemented, codes.InvalidArgument, codes.PermissionDenied:
		return nil, false, nil
	default:
		return nil, false, c.s.classify(ctx, asicDB, dev, err)
	}
	text, err := answers[0].json()
	if err != nil || text == nil {
		return nil, false, nil //nolint:nilerr // an answer in another form is no table of schedulers
	}
	t, err := parseTable(text)
	if err != nil {
		return nil, false, nil //nolint:nilerr // as above
	}
	return countWeights(t), true, nil
}

// countWeights counts the DWRR schedulers of ASIC_STATE by weight.
func countWeights(t table) map[uint8]int {
	out := map[uint8]int{}
	for _, r := range t {
		v, err := strconv.ParseUint(r["SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT"], 10, 8)
		if err == nil && r["SAI_SCHEDULER_ATTR_SCHEDULING_TYPE"] == "SAI_SCHEDULING_TYPE_DWRR" {
			out[uint8(v)]++
		}
	}
	return out
}

// refusal judges the failure of a Set with changes of profiles that guards may refuse (bold), or of weights (heavy). The text of the switch names the table;
// otherwise a Set with both does not show which of the two is refused.
func (c *sonic) refusal(ctx context.Context, dev driver.Device, cause, err error, bold, heavy bool, explain func() string) error {
	code, text := status.Code(cause), status.Convert(cause).Message()
	if strings.Contains(text, "SCHEDULER") != strings.Contains(text, "WRED_PROFILE") {
		bold, heavy = bold && strings.Contains(text, "WRED_PROFILE"), heavy && strings.Contains(text, "SCHEDULER")
	}
	switch {
	case ctx.Err() != nil, errors.Is(err, driver.ErrConflict):
		return err
	case !slices.Contains(guardCodes(), code):
		return err
	case bold && !heavy:
		c.refused = time.Now()
		return fmt.Errorf("set of %s: %w: the switch refuses it (%s: %s): %s", dev, driver.ErrUnsupported, code, text, explain())
	case heavy && !bold:
		c.unweighed = time.Now()
		return fmt.Errorf("set of %s: %w: the switch refuses it (%s: %s): %s", dev, driver.ErrUnsupported, code, text, weightsRefused)
	case bold:
		return fmt.Errorf("set of %s: %w: the switch refuses it (%s: %s): %s; %s", dev, driver.ErrUnsupported, code, text, explain(), weightsRefused)
	case code == codes.Internal || code == codes.Unknown:
		return fmt.Errorf("set of %s: %w: %s: %s", dev, driver.ErrInvalid, code, text)
	}
	return err
}

const weightsRefused = "it must permit replace of weight in SCHEDULER: use an image with the guard list of 2026-01-27 or later, or extend the guard list"

// fixedWeights reports whether the switch is known to refuse changes of weights.
func (c *sonic) fixedWeights() bool {
	return !c.unweighed.IsZero() && time.Since(c.unweighed) < guardMemory
}
