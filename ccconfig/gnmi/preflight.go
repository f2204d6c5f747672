package gnmi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
)

// Expectation is what a plan takes for granted about the classes of service of a switch.
type Expectation struct {
	DSCP     int   // of RoCE traffic, 0 to 63
	Queue    uint8 // that it is to be in, 0 to 7
	Lossless bool  // whether pause is to be on for it
}

// Codes of findings.
const (
	FindingUnmapped   = "dscp-unmapped"    // nothing says what becomes of the DSCP
	FindingOtherQueue = "dscp-other-queue" // it leads to another queue
	FindingPauseOff   = "pfc-off"          // pause is not on for the queue's priority
	FindingUnmarked   = "ecn-off"          // the queue refers to no profile that marks
	FindingGuarded    = "wred-guarded"     // the switch has refused new profiles
	FindingBroken     = "wred-broken"      // thresholds of a profile make no sense
	FindingUnknown    = "not-told"         // the switch does not tell
)

// Finding is one thing that is not as a plan takes it for granted.
type Finding struct {
	Code  string   // one of the constants
	Ports []string // names of the ports that it is about; none: the switch
	Text  string   // in words, with what to do
}

// Preflight compares the classes of service of a switch with what a plan takes for granted. Nothing is written.
func (d *Driver) Preflight(ctx context.Context, dev driver.Device, x Expectation) ([]Finding, error) {
	if x.DSCP < 0 || x.DSCP > 63 || x.Queue > ecn.MaxQueue {
		return nil, fmt.Errorf("%w: DSCP %d and queue %d, want 0 to 63 and 0 to %d", driver.ErrInvalid, x.DSCP, x.Queue, ecn.MaxQueue)
	}
	s, release, err := d.begin(ctx, dev)
	if err != nil {
		return nil, err
	}
	defer release()
	switch c := s.speaks.(type) {
	case *sonic:
		return c.preflight(ctx, dev, x)
	case *openConfig:
		return c.preflight(ctx, dev, x)
	}
	return nil, fmt.Errorf("%w: %s is no switch", driver.ErrInvalid, dev)
}

// findings gathers ports with the same finding.
type findings []Finding

func (f *findings) add(code, port, text string) {
	i := slices.IndexFunc(*f, func(o Finding) bool { return o.Code == code && o.Text == text })
	if i < 0 {
		i = len(*f)
		*f = append(*f, Finding{Code: code, Text: text})
	}
	if port != "" {
		(*f)[i].Ports = append((*f)[i].Ports, port)
	}
}

func (c *sonic) preflight(ctx context.Context, dev driver.Device, x Expectation) ([]Finding, error) {
	t, err := c.s.tables(ctx, dev, configDB, "PORT", "QUEUE", "WRED_PROFILE", "PORT_QOS_MAP", "DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "MAP_PFC_PRIORITY_TO_QUEUE")
	if err != nil {
		return nil, err
	}
	m, err := parseMarking(t, dev.Ports)
	if err != nil {
		return nil, fmt.Errorf("tables of %s: %w", dev, err)
	}
	var out findings
	for _, port := range m.ports[:dev.Ports] {
		checkPort(&out, t, port, x)
	}
	out.unmarked(m.observed(), m.ports[:dev.Ports], x.Queue)
	out.broken(m.markingState.profiles)
	if c.guarded() {
		out.add(FindingGuarded, "", fmt.Sprintf("the switch has refused changes of WRED profiles but to %s: pre-provision the others, or extend its guard list", m.stockName()))
	}
	return out, nil
}

// checkPort follows the DSCP through the maps of one port.
func checkPort(out *findings, t map[string]table, port string, x Expectation) {
	own, ok := t["PORT_QOS_MAP"][port]
	field := func(name string) string {
		if v := own.name(name); v != "" {
			return v
		}
		return t["PORT_QOS_MAP"]["global"].name(name)
	}
	dscps := field("dscp_to_tc_map")
	tc, mapped := t["DSCP_TO_TC_MAP"][dscps][strconv.Itoa(x.DSCP)]
	if !ok || !mapped {
		out.add(FindingUnmapped, port, fmt.Sprintf("no map says which class DSCP %d is of: set dscp_to_tc_map in PORT_QOS_MAP", x.DSCP))
		return
	}
	queue, mapped := t["TC_TO_QUEUE_MAP"][field("tc_to_queue_map")][tc]
	if !mapped {
		queue = tc // without a map a class is its own queue
	}
	if want := strconv.Itoa(int(x.Queue)); queue != want {
		out.add(FindingOtherQueue, port, fmt.Sprintf("DSCP %d is in queue %s by map %s and class %s, and the plan sets queue %s", x.DSCP, queue, dscps, tc, want))
	}
	if !x.Lossless {
		return
	}
	byPriority := t["MAP_PFC_PRIORITY_TO_QUEUE"][field("pfc_to_queue_map")]
	for _, p := range strings.Split(field("pfc_enable"), ",") {
		p = strings.TrimSpace(p)
		q, mapped := byPriority[p]
		if !mapped {
			q = p
		}
		if p != "" && q == queue {
			return
		}
	}
	out.add(FindingPauseOff, port, fmt.Sprintf("pause is not on for queue %s: pfc_enable of PORT_QOS_MAP is %q", queue, field("pfc_enable")))
}

// unmarked finds ports on which a queue does not mark.
func (f *findings) unmarked(all []ecn.QueueMarking, ports []string, queue uint8) {
	marked := make([]bool, len(ports))
	for _, q := range all {
		if q.Queue == queue {
			marked[q.Port-1] = true
		}
	}
	for i, ok := range marked {
		if !ok {
			f.add(FindingUnmarked, ports[i], fmt.Sprintf("queue %d refers to no profile that marks packets", queue))
		}
	}
}

// broken finds profiles whose thresholds make no sense.
func (f *findings) broken(profiles map[string]profile) {
	for _, name := range slices.Sorted(maps.Keys(profiles)) {
		if profiles[name].broken {
			f.add(FindingBroken, "", fmt.Sprintf("profile %s is to mark packets, but its thresholds are no two numbers of bytes, the first the smaller", name))
		}
	}
}

func (c *openConfig) preflight(ctx context.Context, dev driver.Device, x Expectation) ([]Finding, error) {
	m, err := c.marking(ctx, dev)
	if err != nil {
		return nil, err
	}
	var out findings
	out.unmarked(m.observed(), m.ports[:dev.Ports], x.Queue)
	out.broken(m.profiles)
	if x.Lossless {
		out.add(FindingUnknown, "", "OpenConfig has no model of priority flow control: see on the switch that pause is on")
	}
	return out, nil
}
