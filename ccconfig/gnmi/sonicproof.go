package gnmi

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
)

// Some ASICs mark by a profile with ecn only if wred_green_enable is true, and others regardless: profiles of current AI switches have it
// false on purpose. The configuration does not tell, so the counters decide.

// unclear reports whether the ASIC decides that a profile marks.
func unclear(r row) bool {
	return r["ecn"] != "" && r["ecn"] != "ecn_none" && !ownThresholds(r) && r["wred_green_enable"] != "true"
}

// unproven returns the names of the classes' queues whose marking depends on the ASIC and that have not marked a packet yet. It stores those that have.
func (c *sonic) unproven(ctx context.Context, dev driver.Device, m *sonicMarking, classes []Expectation) (map[queueKey]string, error) {
	out := map[queueKey]string{}
	var queues []uint8
	for _, s := range m.slots {
		wanted := slices.ContainsFunc(classes, func(x Expectation) bool { return x.Queue == s.queue })
		if s.port == 0 || !wanted || !unclear(m.profiles[s.profile]) {
			continue
		}
		out[s.queueKey] = m.ports[s.port-1]
		if !slices.Contains(queues, s.queue) {
			queues = append(queues, s.queue)
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	list, err := c.count(ctx, dev, 0, queues)
	if err != nil && !errors.Is(err, driver.ErrUnsupported) {
		return nil, err
	}
	for _, q := range list {
		k := queueKey{q.Port, q.Queue}
		if _, asked := out[k]; asked && q.Marked != nil && *q.Marked > 0 {
			delete(out, k)
			m.proven = append(m.proven, ecn.QueueMarking{Port: q.Port, Queue: q.Queue})
		}
	}
	for k := range out { // a profile with false is reported as one that does not mark
		if slices.ContainsFunc(m.slots, func(s slot) bool { return s.queueKey == k && m.profiles[s.profile]["wred_green_enable"] == "false" }) {
			delete(out, k)
		}
	}
	return out, nil
}

// unproven adds findings of queues whose marking depends on the ASIC.
func (f *findings) unproven(list map[queueKey]string) {
	keys := make([]queueKey, 0, len(list))
	for k := range list {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b queueKey) int { return int(a.port)<<8 + int(a.queue) - int(b.port)<<8 - int(b.queue) })
	for _, k := range keys {
		f.add(FindingUnproven, list[k], fmt.Sprintf("the profile of queue %d has ecn and no wred_green_enable, with which some ASICs never mark, and its counter shows no marked packet: set wred_green_enable to true", k.queue))
	}
}
