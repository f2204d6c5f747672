package gnmi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// classes adds deviations that concern the classes of a plan together: priority groups, DSCPs of a queue, and the field by which ports
// classify packets.
func (f *findings) classes(b *buffers, classes []Expectation) {
	own := map[int]bool{cnpDSCP: true}
	for _, x := range classes {
		own[x.DSCP] = true
	}
	for _, port := range b.names {
		if _, ok := b.t["PORT_QOS_MAP"][port]; !ok {
			continue
		}
		f.trust(b.t, b.names, port)
		for _, x := range classes {
			queue, dscps, tc, mapped := queueOf(b.t, port, x.DSCP)
			if !mapped || queue != strconv.Itoa(int(x.Queue)) {
				continue
			}
			f.shared(b.t, port, dscps, queue, own)
			priority, on := pauseOf(b.t, port, queue)
			if x.Lossless && on {
				f.group(b, port, tc, priority)
				f.egress(b, port, queue)
			}
		}
	}
}

// shared adds a finding for DSCPs that are of no class and map to a class's queue.
func (f *findings) shared(t map[string]table, port, dscps, queue string, own map[int]bool) {
	var others []int
	for word := range t["DSCP_TO_TC_MAP"][dscps] {
		n, err := strconv.Atoi(word)
		if err != nil || own[n] {
			continue
		}
		if q, _, _, ok := queueOf(t, port, n); ok && q == queue {
			others = append(others, n)
		}
	}
	if len(others) == 0 {
		return
	}
	slices.Sort(others)
	words := make([]string, 0, len(others))
	for _, n := range others {
		words = append(words, strconv.Itoa(n))
	}
	f.add(FindingShared, port, fmt.Sprintf("map %s puts DSCP %s into queue %s as well, whose traffic takes part of what the plan gives to its class: map them to another class, or use another queue", dscps, strings.Join(words, ", "), queue))
}

// trust adds a finding for a port that classifies by 802.1p, if others classify by DSCP.
func (f *findings) trust(t map[string]table, names []string, port string) {
	by := mapOf(t, port, "dot1p_to_tc_map")
	if by == "" {
		return
	}
	if dscps := mapOf(t, port, "dscp_to_tc_map"); dscps != "" {
		f.add(FindingTrust, port, fmt.Sprintf("packets are classified by both dscp_to_tc_map %s and dot1p_to_tc_map %s, and the ASIC decides which one counts for tagged packets: remove one of the two", dscps, by))
		return
	}
	if slices.ContainsFunc(names, func(other string) bool { return mapOf(t, other, "dscp_to_tc_map") != "" }) {
		f.add(FindingTrust, port, fmt.Sprintf("packets are classified by 802.1p (dot1p_to_tc_map %s), and on other ports by DSCP: set dscp_to_tc_map in its place", by))
	}
}
