package gnmi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/prereq"
)

// Expectation holds a plan's assumptions about the classes of service of a switch.
type Expectation struct {
	DSCP     int   // of RoCE traffic, 0 to 63
	Queue    uint8 // its expected queue, 0 to 7
	Lossless bool  // pause is expected to be enabled for the queue
	Lossy    bool  // pause is expected to be disabled for the queue
	Weighted bool  // plans set the weight of the queue
}

// Expect returns a plan's assumptions about switches.
func Expect(n prereq.Needs) []Expectation {
	var out []Expectation
	for _, c := range n.Traffic() {
		out = append(out, Expectation{DSCP: int(c.DSCP), Queue: c.Queue, Lossless: c.Lossless, Lossy: !c.Lossless, Weighted: len(n.Classes) > 0})
	}
	return out
}

// Preflight compares the classes of service of a switch with a plan's assumptions. It writes nothing.
func (d *Driver) Preflight(ctx context.Context, dev driver.Device, classes ...Expectation) ([]Finding, error) {
	for _, x := range classes {
		if x.DSCP < 0 || x.DSCP > 63 || x.Queue > ecn.MaxQueue {
			return nil, fmt.Errorf("%w: DSCP %d and queue %d, want 0 to 63 and 0 to %d", driver.ErrInvalid, x.DSCP, x.Queue, ecn.MaxQueue)
		}
	}
	c, release, err := d.switchOf(ctx, dev)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.preflight(ctx, dev, classes)
}

// nameless adds a finding if a switch does not report its name.
func (f *findings) nameless(s *session) {
	if s.nameless {
		f.add(FindingNameless, "", "the switch does not report its name, so another switch at its address would not be detected: set its hostname, and allow the manager to read it")
	}
}

// preflight adds the deviations of an ASIC, and returns the names of its ports.
func (c *sonic) preflight(ctx context.Context, dev driver.Device, classes []Expectation, out *findings) ([]string, error) {
	t, err := c.tables(ctx, dev, configDB, preflightTables()...)
	if err != nil {
		return nil, err
	}
	if err := c.referred(ctx, dev, t); err != nil {
		return nil, err
	}
	m, err := parseMarking(t, dev.Ports, c.at)
	if err != nil {
		return nil, fmt.Errorf("tables of %s: %w", dev, err)
	}
	ports := m.ports[:dev.Ports]
	all := make([]bool, len(ports))
	for i := range all {
		all[i] = true
	}
	for _, x := range classes {
		for i, marked := range markedPorts(m.observed(), len(ports), x.Queue) {
			all[i] = all[i] && marked
		}
	}
	var asked []string
	for i, name := range ports {
		if _, ok := t["PORT_QOS_MAP"][name]; !ok || !all[i] {
			asked = append(asked, name)
		}
	}
	unproven, err := c.unproven(ctx, dev, m, classes)
	if err != nil {
		return nil, err
	}
	linked, err := c.linked(ctx, dev, t, asked)
	if err != nil {
		return nil, err
	}
	if err := c.verifyWeights(ctx, dev, m); err != nil {
		return nil, err
	}
	b, err := c.buffers(ctx, dev, t, ports)
	if err != nil {
		return nil, err
	}
	for _, x := range classes {
		out.sonic(m, t, linked, x, dev.Ports)
	}
	out.unproven(unproven)
	out.classes(b, classes)
	out.memory(b, c.s.d.o.Oversubscription)
	out.idle(m.weights.idle())
	if c.guarded() {
		out.add(FindingGuarded, "", fmt.Sprintf("the switch has refused changes of WRED profiles but to %s: pre-provision the others, or extend its guard list", m.stockName()))
	}
	return ports, nil
}

// sonic adds the deviations in a switch's tables. linked contains the ports without a row in PORT_QOS_MAP and those whose queue
// does not mark, and whether they have a link.
func (f *findings) sonic(m *sonicMarking, t map[string]table, linked map[string]bool, x Expectation, ports int) {
	names := m.ports[:ports]
	for _, port := range names {
		if _, ok := t["PORT_QOS_MAP"][port]; ok {
			checkPort(f, t, port, x)
		} else if linked[port] {
			f.add(FindingNoMap, port, "there is a link and no row in PORT_QOS_MAP, so that neither its classes nor pause are set: make one with dscp_to_tc_map, tc_to_queue_map and pfc_enable")
		}
	}
	f.rows(m, t)
	f.unmarked(append(m.observed(), m.proven...), names, x.Queue, func(port string) bool {
		_, twice := m.twice[m.at.key(port, x.Queue)]
		return twice || !linked[port]
	})
	f.broken(m.markingState.profiles)
	f.schedules(m.scheduling(t, ports), x, func(port string) int {
		if _, ok := t["PORT_QOS_MAP"][port]; !ok {
			return noMaps
		}
		queue, _, _, mapped := queueOf(t, port, cnpDSCP)
		n, err := strconv.Atoi(queue)
		if !mapped || err != nil {
			return noQueue
		}
		return n
	})
}

// mapOf returns the name in a field of a port's row in PORT_QOS_MAP. The row for all ports has dscp_to_tc_map only.
func mapOf(t map[string]table, port, field string) string {
	if v := t["PORT_QOS_MAP"][port].name(field); v != "" || field != "dscp_to_tc_map" {
		return v
	}
	return t["PORT_QOS_MAP"]["global"].name(field)
}

// queueOf returns the class and queue of a DSCP by the maps of one port; false if no map contains it.
func queueOf(t map[string]table, port string, dscp int) (queue, dscps, tc string, mapped bool) {
	dscps = mapOf(t, port, "dscp_to_tc_map")
	if tc, mapped = t["DSCP_TO_TC_MAP"][dscps][strconv.Itoa(dscp)]; !mapped {
		return "", dscps, "", false
	}
	queue, ok := t["TC_TO_QUEUE_MAP"][mapOf(t, port, "tc_to_queue_map")][tc]
	if !ok {
		queue = tc // without a map, the queue number is the class number
	}
	return queue, dscps, tc, true
}

// checkPort checks the queue of the DSCP, and the pause of one port.
func checkPort(out *findings, t map[string]table, port string, x Expectation) {
	queue, dscps, tc, mapped := queueOf(t, port, x.DSCP)
	if !mapped {
		out.add(FindingUnmapped, port, fmt.Sprintf("no map says which class DSCP %d is of: set dscp_to_tc_map in PORT_QOS_MAP", x.DSCP))
		return
	}
	if want := strconv.Itoa(int(x.Queue)); queue != want {
		out.add(FindingOtherQueue, port, fmt.Sprintf("DSCP %d is in queue %s by map %s and class %s, and the plan sets queue %s: change the maps, or the DSCP of RoCE traffic", x.DSCP, queue, dscps, tc, want))
	}
	priority, on := pauseOf(t, port, queue)
	if x.Lossy && on {
		out.add(FindingPauseOn, port, fmt.Sprintf("pause is on for queue %s by priority %d, and its class is lossy: a full queue stops the peer's traffic of that priority: remove it from pfc_enable", queue, priority))
	}
	if !x.Lossless || on {
		return
	}
	if list, ok := t["PORT_QOS_MAP"][port]["pfc_enable"]; ok {
		out.add(FindingPauseOff, port, fmt.Sprintf("pause is not on for queue %s: pfc_enable of PORT_QOS_MAP is %q: add its priority", queue, list))
		return
	}
	out.add(FindingPauseOff, port, fmt.Sprintf("pause is not on for queue %s: its row of PORT_QOS_MAP has no pfc_enable, with which SONiC turns pause off on the port: write the whole row with it", queue))
}

// pauseOf returns the priority whose pause stops a queue of a port; false if pause is off for it.
func pauseOf(t map[string]table, port, queue string) (uint8, bool) {
	byPriority := t["MAP_PFC_PRIORITY_TO_QUEUE"][mapOf(t, port, "pfc_to_queue_map")]
	for _, p := range priorities(t, port) {
		q, mapped := byPriority[strconv.Itoa(int(p))]
		if !mapped {
			q = strconv.Itoa(int(p))
		}
		if q == queue {
			return p, true
		}
	}
	return 0, false
}

// markedPorts returns, for each port, whether a queue marks there.
func markedPorts(all []ecn.QueueMarking, ports int, queue uint8) []bool {
	marked := make([]bool, ports)
	for _, q := range all {
		if q.Queue == queue {
			marked[q.Port-1] = true
		}
	}
	return marked
}

// unmarked adds ports on which a queue does not mark, except those for which needNot returns true.
func (f *findings) unmarked(all []ecn.QueueMarking, ports []string, queue uint8, needNot func(port string) bool) {
	for i, ok := range markedPorts(all, len(ports), queue) {
		if !ok && !needNot(ports[i]) {
			f.add(FindingUnmarked, ports[i], fmt.Sprintf("queue %d refers to no profile that marks packets: a plan that sets its marking makes it refer to one", queue))
		}
	}
}

// broken adds profiles with invalid thresholds.
func (f *findings) broken(profiles map[string]profile) {
	for _, name := range slices.Sorted(maps.Keys(profiles)) {
		if profiles[name].broken {
			f.add(FindingBroken, "", fmt.Sprintf("profile %s is to mark packets, but its thresholds are no two numbers of bytes, the first the smaller", name))
		}
	}
}

func (c *openConfig) preflight(ctx context.Context, dev driver.Device, classes []Expectation) ([]Finding, error) {
	m, err := c.marking(ctx, dev)
	if err != nil {
		return nil, err
	}
	q, served, err := c.serving(ctx, dev, m)
	if err != nil {
		return nil, err
	}
	ports := m.ports[:dev.Ports]
	var out findings
	out.nameless(c.s)
	for _, x := range classes {
		out.unmarked(m.observed(), ports, x.Queue, func(string) bool { return false })
	}
	out.broken(m.profiles)
	for _, s := range m.slots {
		if _, ok := m.profiles[s.profile]; s.profile != "" && !ok && s.port > 0 {
			out.add(FindingDangling, m.ports[s.port-1], fmt.Sprintf("queue-management-profile %s is referred to and is not there: make it, or refer to another", s.profile))
		}
	}
	lossless := false
	for _, x := range classes {
		out.schedules(served, x, func(port string) int { return q.queueOf(m, port, cnpDSCP) })
		lossless = lossless || x.Lossless
	}
	weights := q.weights(m, dev.Ports)
	out.idle(weights.idle())
	if lossless {
		out.add(FindingUnknown, "", "OpenConfig has no model of priority flow control: see on the switch that pause is on")
	}
	return out.listed(ports), nil
}
