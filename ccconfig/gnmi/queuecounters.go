package gnmi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/subnet/ident"
)

// QueueReading holds the counters of a queue of a switch port. A counter that the switch does not report is nil, and never
// zero.
type QueueReading struct {
	Port    ident.PortNum
	Queue   uint8
	At      time.Time // time of the answer by the switch's clock, which may be inaccurate
	Octets  *uint64   // sent
	Packets *uint64   // sent
	Drops   *uint64   // packets dropped for lack of buffer
	Marked  *uint64   // packets that this queue marked
	// Peak is the largest number of bytes in the queue since the switch's watermark was cleared, which others may do. SONiC polls it once a
	// minute by default. Nil with OpenConfig.
	Peak *uint64
	// Stale means that nothing has changed since a reading less than Every ago: the switch may not have polled its counters
	// since, so no rate can be computed from the two readings.
	Stale bool
	Every time.Duration // polling interval of the switch's counters; 0 means that each reading polls
}

// QueueCounters reads the counters of the given queues of all ports of a switch, by port and queue. It omits queues that the
// switch does not have. It returns driver.ErrUnsupported if the switch's queue counters are disabled, and driver.ErrInvalid for
// a device that is not a switch.
func (d *Driver) QueueCounters(ctx context.Context, dev driver.Device, queues ...uint8) ([]QueueReading, error) {
	return d.PortQueueCounters(ctx, dev, 0, queues...)
}

// PortQueueCounters is QueueCounters of one port; 0 means all. It asks a SONiC switch for that port alone.
func (d *Driver) PortQueueCounters(ctx context.Context, dev driver.Device, port ident.PortNum, queues ...uint8) ([]QueueReading, error) {
	c, release, err := d.switchOf(ctx, dev)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.count(ctx, dev, port, queues)
}

// defaultPolling is the polling interval of queue counters without a configured one.
const defaultPolling = 10 * time.Second

// counterMemory is the state between two readings of a switch's counters.
type counterMemory struct {
	oids   map[string]string // object ID of each queue, such as "Ethernet0:3"
	ports  []string          // names by port number, from port 1 on
	every  time.Duration
	before map[queueKey]sample
}

// sample is the last reading that differed from the previous one.
type sample struct {
	at     time.Time
	values [4]uint64
}

func newCounterMemory() *counterMemory { return &counterMemory{before: map[queueKey]sample{}} }

func (c *sonic) count(ctx context.Context, dev driver.Device, port ident.PortNum, queues []uint8) ([]QueueReading, error) {
	if c.counts.oids == nil {
		if err := c.learn(ctx, dev); err != nil {
			return nil, err
		}
	}
	out, err := c.sample(ctx, dev, port, queues)
	if status.Code(err) == codes.NotFound { // object IDs change at a restart
		if err := c.learn(ctx, dev); err != nil {
			return nil, err
		}
		out, err = c.sample(ctx, dev, port, queues)
	}
	if err != nil {
		c.counts.oids = nil
		return nil, c.s.classify(ctx, "counters", dev, err)
	}
	for i := range out {
		c.counts.judge(&out[i])
	}
	return out, nil
}

// learn reads properties that do not change while the switch runs: ports, object IDs and the polling interval.
func (c *sonic) learn(ctx context.Context, dev driver.Device) error {
	t, err := c.tables(ctx, dev, configDB, "PORT", "FLEX_COUNTER_TABLE")
	if err != nil {
		return err
	}
	names := portNames(t["PORT"])
	if len(names) < dev.Ports {
		return fmt.Errorf("%w: %s has %d ports in its table PORT, want the %d of the inventory", driver.ErrInvalid, dev, len(names), dev.Ports)
	}
	flex := t["FLEX_COUNTER_TABLE"]["QUEUE"]
	if flex["FLEX_COUNTER_STATUS"] == "disable" {
		return fmt.Errorf("%w: %s does not count by queue: enable it there with counterpoll queue enable", driver.ErrUnsupported, dev)
	}
	every := defaultPolling
	if ms, err := strconv.Atoi(flex["POLL_INTERVAL"]); err == nil && ms > 0 {
		every = time.Duration(ms) * time.Millisecond
	}
	answers, err := c.s.get(ctx, query{gpb.GetRequest_ALL, gpb.Encoding_JSON_IETF, []gnmitree.Path{sonicPathAt(c.at.instance, countersDB, "COUNTERS_QUEUE_NAME_MAP")}})
	if status.Code(err) == codes.NotFound {
		return fmt.Errorf("%w: %s has no counters of queues: %s", driver.ErrUnsupported, dev, status.Convert(err).Message())
	}
	if err != nil {
		return c.s.classify(ctx, "names of counters", dev, err)
	}
	oids, err := parseFields(answers[0])
	if err != nil {
		return fmt.Errorf("names of counters of %s: %w", dev, err)
	}
	c.counts.oids, c.counts.ports, c.counts.every = oids, names[:dev.Ports], every
	return nil
}

// parseFields parses the fields of one row.
func parseFields(a answer) (row, error) {
	text, err := a.json()
	if err != nil || text == nil {
		return row{}, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	if len(raw) > maxRows {
		return nil, fmt.Errorf("%d fields, want at most %d", len(raw), maxRows)
	}
	return parseRow(raw), nil
}

// maxPaths is the largest number of paths in one request.
const maxPaths = 512

// sample reads the counters of the given queues of a port, 0 for all. The error is that of the request.
func (c *sonic) sample(ctx context.Context, dev driver.Device, only ident.PortNum, queues []uint8) ([]QueueReading, error) {
	var out []QueueReading
	var paths []gnmitree.Path
	for i, port := range c.counts.ports[:min(dev.Ports, len(c.counts.ports))] {
		if only != 0 && int(only) != i+1 {
			continue
		}
		for _, q := range queues {
			if oid, ok := c.counts.oids[fmt.Sprintf("%s:%d", port, q)]; ok {
				out = append(out, QueueReading{Port: ident.PortNum(i + 1), Queue: q, Every: c.counts.every}) // at most MaxSwitchPorts
				paths = append(paths, sonicPathAt(c.at.instance, countersDB, "COUNTERS", oid))
			}
		}
	}
	at := 0
	for some := range slices.Chunk(paths, maxPaths) {
		answers, err := c.s.get(ctx, query{gpb.GetRequest_ALL, gpb.Encoding_JSON_IETF, some})
		if err != nil {
			return nil, err
		}
		for _, a := range answers {
			fields, err := parseFields(a)
			if err != nil {
				return nil, status.Errorf(codes.Internal, "counters: %v", err)
			}
			out[at].At = a.at
			if err := out[at].decode(fields); err != nil {
				return nil, status.Errorf(codes.Internal, "counters of port %d queue %d: %v", out[at].Port, out[at].Queue, err)
			}
			at++
		}
	}
	return out, nil
}

// decode decodes the fields of a queue's object.
func (q *QueueReading) decode(fields row) error {
	for name, into := range map[string]**uint64{
		"SAI_QUEUE_STAT_BYTES": &q.Octets, "SAI_QUEUE_STAT_PACKETS": &q.Packets, "SAI_QUEUE_STAT_DROPPED_PACKETS": &q.Drops,
		"SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": &q.Marked, "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES": &q.Peak,
	} {
		word, ok := fields[name]
		if !ok {
			continue
		}
		v, err := strconv.ParseUint(strings.TrimSpace(word), 10, 64)
		if err != nil {
			return fmt.Errorf("%s is %.32q, want a number", name, word)
		}
		*into = &v
	}
	return nil
}

// judge sets whether a reading may be stale, and stores it.
func (m *counterMemory) judge(q *QueueReading) {
	k := queueKey{q.Port, q.Queue}
	now := sample{at: q.At}
	for i, v := range []*uint64{q.Octets, q.Packets, q.Drops, q.Marked} {
		if v != nil {
			now.values[i] = *v
		}
	}
	before, known := m.before[k]
	if !known || before.values != now.values || now.at.Before(before.at) {
		m.before[k] = now
		return
	}
	q.Stale = now.at.Sub(before.at) < q.Every
}

// count reads the state of the queues, which OpenConfig targets poll at each reading.
func (c *openConfig) count(ctx context.Context, dev driver.Device, port ident.PortNum, queues []uint8) ([]QueueReading, error) {
	answers, err := c.s.get(ctx, query{gpb.GetRequest_STATE, gpb.Encoding_JSON_IETF, []gnmitree.Path{qosPath("interfaces")}})
	if status.Code(err) == codes.NotFound {
		return nil, fmt.Errorf("%w: %s has no queues by openconfig-qos: %s", driver.ErrUnsupported, dev, status.Convert(err).Message())
	}
	if err != nil {
		return nil, c.s.classify(ctx, "counters", dev, err)
	}
	var tree ocQoS
	if err := unqualified(answers[0], &tree.Interfaces); err != nil {
		return nil, fmt.Errorf("counters of %s: %w", dev, err)
	}
	m, err := tree.marking(dev.Ports)
	if err != nil {
		return nil, fmt.Errorf("counters of %s: %w", dev, err)
	}
	var out []QueueReading
	for i := range m.ports[:dev.Ports] { // tree.marking has sorted the interfaces
		if port != 0 && int(port) != i+1 {
			continue
		}
		for _, q := range tree.Interfaces.Interface[i].Output.Queues.Queue {
			_, n, ok := splitNumber(q.Name)
			if !ok || n > 255 || !slices.Contains(queues, uint8(n)) {
				continue
			}
			st := q.State
			out = append(out, QueueReading{
				Port: ident.PortNum(i + 1), Queue: uint8(n), At: answers[0].at,
				Octets: (*uint64)(st.TransmitOctets), Packets: (*uint64)(st.TransmitPackets), Drops: (*uint64)(st.DroppedPackets), Marked: (*uint64)(st.MarkedPackets),
			})
		}
	}
	slices.SortFunc(out, func(a, b QueueReading) int {
		return strings.Compare(fmt.Sprintf("%03d/%03d", a.Port, a.Queue), fmt.Sprintf("%03d/%03d", b.Port, b.Queue))
	})
	return out, nil
}
