package gnmi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/headroom"
)

// stateDB has the limits of the ASIC.
const stateDB = "STATE_DB"

// maxPFC is the highest priority with pause.
const maxPFC = 7

// Headroom is the lossless part of a switch's configuration.
type Headroom struct {
	Ports  []PortHeadroom     // front ports, by number
	Groups []headroom.Group   // lossless priority groups with a profile
	Pools  []headroom.Verdict // by ASIC and name
}

// PortHeadroom is the lossless part of one port.
type PortHeadroom struct {
	Port       string        // name on the switch
	Link       headroom.Link // rate 0 and length 0 where the switch does not state them
	Priorities []uint8       // with pause, ascending; empty means a lossy port
	Groups     []uint8       // priority groups with headroom, ascending
	Most       int64         // bytes of headroom that the ASIC permits on the port; 0 means not reported
	Reserved   int64         // bytes that the profiles of the groups take on the port
}

// Headroom reads the priority groups of a switch and compares their needs with the memory. It returns driver.ErrUnsupported for
// OpenConfig, which has no model of priority groups.
func (d *Driver) Headroom(ctx context.Context, dev driver.Device) (Headroom, error) {
	by, release, err := d.switchOf(ctx, dev)
	if err != nil {
		return Headroom{}, err
	}
	defer release()
	c, ok := by.(*sonicSwitch)
	if !ok {
		return Headroom{}, fmt.Errorf("%w: %s: OpenConfig has no model of priority groups", driver.ErrUnsupported, dev)
	}
	if err := c.begin(ctx, dev, false); err != nil {
		return Headroom{}, err
	}
	var out Headroom
	for i := range c.asics {
		on := dev
		if !c.single() {
			on = c.asics[i].on(dev)
		}
		one, err := c.asics[i].local.headroom(ctx, on)
		if err != nil {
			return Headroom{}, err
		}
		out.Ports, out.Groups, out.Pools = append(out.Ports, one.Ports...), append(out.Groups, one.Groups...), append(out.Pools, one.Pools...)
	}
	slices.SortStableFunc(out.Ports, func(a, b PortHeadroom) int { return compareNames(a.Port, b.Port) })
	return out, nil
}

// headroom reads the lossless part of one ASIC.
func (c *sonic) headroom(ctx context.Context, dev driver.Device) (Headroom, error) {
	t, err := c.tables(ctx, dev, configDB, append([]string{"PORT", "PORT_QOS_MAP"}, bufferTables()...)...)
	if err != nil {
		return Headroom{}, err
	}
	names := c.at.portsOf(t["PORT"])
	if len(names) < dev.Ports {
		return Headroom{}, fmt.Errorf("%w: %s has %d ports in its table PORT, want the %d of the inventory", driver.ErrInvalid, dev, len(names), dev.Ports)
	}
	b, err := c.buffers(ctx, dev, t, names[:dev.Ports])
	if err != nil {
		return Headroom{}, err
	}
	return b.report(), nil
}

func bufferTables() []string {
	return []string{"BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE", "CABLE_LENGTH", "TC_TO_PRIORITY_GROUP_MAP"}
}

// pgRow is the profile of one priority group of a port.
type pgRow struct {
	profile string
	fields  row  // of the profile; nil if it does not exist
	dynamic bool // the switch computes the profile
}

// buffers is the memory of a switch for lossless traffic.
type buffers struct {
	t      map[string]table
	at     asicPlace
	names  []string
	groups map[string]map[uint8]pgRow // by port and group
	cables map[string]int             // metres
	most   table                      // limits of the ASIC by port
	known  bool                       // the switch shows its priority groups
}

// buffers parses the tables of buffers. Where the switch computes profiles itself, it reads those that are in force.
func (c *sonic) buffers(ctx context.Context, dev driver.Device, t map[string]table, names []string) (*buffers, error) {
	b := &buffers{t: t, at: c.at, names: names, groups: map[string]map[uint8]pgRow{}, cables: map[string]int{}, known: len(t["BUFFER_PG"]) > 0}
	if !b.known {
		return b, nil
	}
	for _, lengths := range t["CABLE_LENGTH"] {
		for port, word := range lengths {
			if v, ok := headroom.ParseCable(word); ok {
				b.cables[port] = v
			}
		}
	}
	dynamic := b.parse()
	state, err := c.tables(ctx, dev, stateDB, "BUFFER_MAX_PARAM_TABLE")
	if err != nil {
		return nil, err
	}
	b.most = state["BUFFER_MAX_PARAM_TABLE"]
	if !dynamic {
		return b, nil
	}
	acting, err := c.tables(ctx, dev, applDB, "BUFFER_PG_TABLE", "BUFFER_PROFILE_TABLE")
	if err != nil {
		return nil, err
	}
	b.applied(acting)
	return b, nil
}

// parse parses BUFFER_PG, and reports whether the switch computes profiles itself.
func (b *buffers) parse() (dynamic bool) {
	for _, key := range slices.Sorted(maps.Keys(b.t["BUFFER_PG"])) {
		ports, low, high, err := parseQueueKey(key)
		if err != nil || high > maxPFC {
			continue
		}
		name := b.t["BUFFER_PG"][key].name("profile")
		one := pgRow{profile: name, fields: b.t["BUFFER_PROFILE"][name], dynamic: name == "NULL" || name == ""}
		dynamic = dynamic || one.dynamic
		for _, port := range ports {
			if b.groups[port] == nil {
				b.groups[port] = map[uint8]pgRow{}
			}
			for g := low; g <= high; g++ {
				b.groups[port][uint8(g)] = one // at most maxPFC
			}
		}
	}
	return dynamic
}

// applied sets the profiles that the switch has computed. A group without one was refused for lack of memory, or not computed yet.
func (b *buffers) applied(t map[string]table) {
	of := map[string]string{}
	for key, r := range t["BUFFER_PG_TABLE"] {
		port, numbers, ok := strings.Cut(key, ":")
		_, low, high, err := parseQueueKey(port + "|" + numbers)
		if !ok || err != nil || high > maxPFC {
			continue
		}
		for g := low; g <= high; g++ {
			of[fmt.Sprintf("%s|%d", port, g)] = strings.TrimSuffix(strings.TrimPrefix(r["profile"], "[BUFFER_PROFILE_TABLE:"), "]")
		}
	}
	for port, groups := range b.groups {
		for g, one := range groups {
			if one.dynamic {
				one.profile = of[fmt.Sprintf("%s|%d", port, g)]
				one.fields = t["BUFFER_PROFILE_TABLE"][one.profile]
				groups[g] = one
			}
		}
	}
}

// link returns the properties of a port that determine its headroom. Missing ones count as least: the need is then a lower bound.
func (b *buffers) link(port string) headroom.Link {
	r := b.t["PORT"][port]
	return headroom.Link{Rate: speedOf(r), Metres: b.cables[port], MTU: headroom.ParseMTU(r["mtu"])}
}

// bytes returns a field as a number of bytes; 0 if it is missing or invalid.
func (r row) bytes(field string) int64 {
	v, err := strconv.ParseInt(r[field], 10, 64)
	if err != nil || v < 0 {
		return 0
	}
	return v
}

// lossless returns the groups of a port that have headroom, ascending.
func (b *buffers) lossless(port string) []headroom.Group {
	var out []headroom.Group
	for _, g := range slices.Sorted(maps.Keys(b.groups[port])) {
		one := b.groups[port][g]
		if x := one.fields.bytes("xoff"); x > 0 {
			out = append(out, headroom.Group{Port: port, Number: g, Link: b.link(port), XOff: x, Pool: one.fields.name("pool")})
		}
	}
	return out
}

// priorities returns the priorities with pause of a port, ascending. A row of PORT_QOS_MAP for all ports cannot set them.
func priorities(t map[string]table, port string) []uint8 {
	var out []uint8
	for word := range strings.SplitSeq(t["PORT_QOS_MAP"][port]["pfc_enable"], ",") {
		if v, err := strconv.ParseUint(strings.TrimSpace(word), 10, 8); err == nil && v <= maxPFC && !slices.Contains(out, uint8(v)) {
			out = append(out, uint8(v))
		}
	}
	slices.Sort(out)
	return out
}

// report returns the values of all ports, and the verdict on each pool.
func (b *buffers) report() Headroom {
	var out Headroom
	for _, name := range b.names {
		p := PortHeadroom{Port: name, Link: b.link(name), Priorities: priorities(b.t, name), Most: b.most[name].bytes("max_headroom_size")}
		for _, g := range b.lossless(name) {
			out.Groups = append(out.Groups, g)
			p.Groups = append(p.Groups, g.Number)
			p.Reserved += b.groups[name][g.Number].fields.bytes("size") // SONiC's own check adds no xoff, which size contains or a pool has
		}
		out.Ports = append(out.Ports, p)
	}
	var pools []headroom.Pool
	for _, name := range slices.Sorted(maps.Keys(b.t["BUFFER_POOL"])) {
		pools = append(pools, headroom.Pool{Name: name, Size: b.t["BUFFER_POOL"][name].bytes("xoff")})
	}
	out.Pools = headroom.Judge(out.Groups, pools)
	out.Pools = slices.DeleteFunc(out.Pools, func(v headroom.Verdict) bool { return v.Groups == 0 })
	return out
}

// memory adds findings of lossless groups whose headroom is too small: by their profiles, by the limit of the port and by the memory
// that all share. most is the largest permitted ratio of demand to shared memory.
func (f *findings) memory(b *buffers, most float64) {
	if !b.known {
		return
	}
	r := b.report()
	for _, g := range headroom.Short(r.Groups) {
		f.add(FindingHeadroom, g.Port, fmt.Sprintf("priority group %d has headroom of %d bytes by profile %s, and at least %d arrive after a pause at %s with %d m of cable and MTU %d: it loses packets: give it a larger profile, or correct CABLE_LENGTH",
			g.Number, g.XOff, b.groups[g.Port][g.Number].profile, g.Link.Floor(), g.Link.Rate, g.Link.Metres, g.Link.MTU))
	}
	for i := range r.Ports {
		if p := &r.Ports[i]; p.Most > 0 && p.Reserved > p.Most {
			f.add(FindingHeadroom, p.Port, fmt.Sprintf("the priority groups take %d bytes of headroom and the ASIC permits %d on a port, so that SONiC leaves the last profile out: make fewer priorities lossless, or the cable shorter", p.Reserved, p.Most))
		}
	}
	for _, v := range r.Pools {
		if v.Ratio <= most {
			continue
		}
		text := fmt.Sprintf("%d lossless priority groups may need %d bytes of headroom together and share the %d of pool %s: %.1f times as much, want at most %.1f: make fewer priorities lossless, or enlarge xoff of the pool",
			v.Groups, v.Demand, v.Pool.Size, v.Pool.Name, v.Ratio, most)
		for _, port := range v.Ports {
			f.add(FindingHeadroom, port, text)
		}
	}
}

// group adds deviations of the priority group of a lossless class on one port. priority is that of its pause.
func (f *findings) group(b *buffers, port, tc string, priority uint8) {
	if !b.known {
		f.add(FindingHeadroomUnknown, port, "the switch shows no row of BUFFER_PG, so that headroom of lossless traffic is not known: allow the manager to read the tables of buffers")
		return
	}
	if g, mapped := b.t["TC_TO_PRIORITY_GROUP_MAP"][mapOf(b.t, port, "tc_to_pg_map")][tc]; mapped && g != strconv.Itoa(int(priority)) {
		f.add(FindingOtherGroup, port, fmt.Sprintf("class %s is in priority group %s, and pause of priority %d is sent for group %d: change tc_to_pg_map", tc, g, priority, priority))
		return
	}
	one, ok := b.groups[port][priority]
	switch {
	case !ok:
		f.add(FindingHeadroom, port, fmt.Sprintf("priority group %d has no row in BUFFER_PG and so no headroom, while pause is on: it loses packets: make a row with a lossless profile", priority))
	case one.fields == nil && one.dynamic:
		f.add(FindingHeadroom, port, fmt.Sprintf("the switch has applied no profile to priority group %d: its headroom exceeds what the port may have, or PORT or CABLE_LENGTH lacks a value: see the switch's log", priority))
	case one.fields == nil:
		f.add(FindingDangling, port, danglingText("BUFFER_PG", "profile", one.profile, "BUFFER_PROFILE"))
	case one.fields.bytes("xoff") == 0:
		f.add(FindingHeadroom, port, fmt.Sprintf("priority group %d has profile %s, which has no xoff and so no headroom, while pause is on: it loses packets: refer to a lossless profile", priority, one.profile))
	}
}

// egress adds a finding if the egress buffer of a lossless queue drops packets.
func (f *findings) egress(b *buffers, port, queue string) {
	n, err := strconv.Atoi(queue)
	if err != nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(b.t["BUFFER_QUEUE"])) {
		ports, low, high, err := parseQueueKey(key)
		if err != nil || n < low || n > high || !slices.ContainsFunc(ports, func(p string) bool { name, ok := b.at.front(p); return ok && name == port }) {
			continue
		}
		profile := b.t["BUFFER_QUEUE"][key].name("profile")
		if pool := b.t["BUFFER_PROFILE"][profile].name("pool"); strings.Contains(pool, "lossy") {
			f.add(FindingLossyQueue, port, fmt.Sprintf("queue %s carries a lossless class and has profile %s of pool %s, which drops packets: refer to a profile of the lossless pool in BUFFER_QUEUE", queue, profile, pool))
		}
	}
}
