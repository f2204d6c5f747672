package structure

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// covers returns the key and the range of the row of a table about a queue or group of a port; false if there is none.
func (p *planner) covers(table, port string, n int) (key string, low, high int, ok bool) {
	if _, exact := p.after[table][fmt.Sprintf("%s|%d", port, n)]; exact {
		return fmt.Sprintf("%s|%d", port, n), n, n, true
	}
	for _, key := range slices.Sorted(maps.Keys(p.after[table])) {
		at := strings.LastIndexByte(key, '|')
		if at < 0 || !slices.Contains(strings.Split(key[:at], ","), port) {
			continue
		}
		first, last, ranged := strings.Cut(key[at+1:], "-")
		if !ranged {
			last = first
		}
		low, err := strconv.Atoi(first)
		high, err2 := strconv.Atoi(last)
		switch {
		case err != nil || err2 != nil || low < 0 || low > high || high > 255:
			p.obstacle(BadKey, port, table+"|"+key)
		case n >= low && n <= high:
			return key, low, high, true
		}
	}
	return "", 0, 0, false
}

// field returns a field of the row about a queue or group of a port.
func (p *planner) field(table, port string, n int, field string) string {
	key, _, _, _ := p.covers(table, port, n)
	return plain(p.after[table][key][field])
}

// set sets a field of the row about a queue or group of a port, and splits a row about several.
func (p *planner) set(table, port string, n int, field, value string) {
	key, low, high, ok := p.covers(table, port, n)
	own := fmt.Sprintf("%s|%d", port, n)
	switch {
	case ok && strings.Contains(key, ","):
		p.obstacle(SeveralPorts, port, table+"|"+key)
		return
	case ok && low < high:
		row := p.after[table][key]
		delete(p.after[table], key)
		for i := low; i <= high; i++ {
			p.put(table, fmt.Sprintf("%s|%d", port, i), maps.Clone(row))
		}
	case !ok:
		p.put(table, own, map[string]string{})
	}
	row := maps.Clone(p.after[table][own])
	row[field] = value
	p.put(table, own, row)
}

// users returns the number of queues and ports that refer to a scheduler.
func (p *planner) users(name string) int {
	n := 0
	for key, r := range p.after["QUEUE"] {
		if plain(r["scheduler"]) != name {
			continue
		}
		n++
		at := strings.LastIndexByte(key, '|')
		if at >= 0 && (strings.Contains(key[at:], "-") || strings.Contains(key[:at], ",")) {
			n++ // several queues
		}
	}
	for _, r := range p.after["PORT_QOS_MAP"] {
		if plain(r["scheduler"]) == name {
			n++
		}
	}
	return n
}

// queue gives the queue of a class a scheduler of its own, whose weight can change without a port going down, and marking.
func (p *planner) queue(port string, q int) {
	now := p.field("QUEUE", port, q, "scheduler")
	s := p.after["SCHEDULER"][now]
	_, unknown := s["priority"] // SONiC ignores a row with a field that it does not know
	if s["type"] != "DWRR" || unknown || p.users(now) != 1 {
		name := fmt.Sprintf("fairlane_%s_%d", port, q)
		for i := 2; p.after["SCHEDULER"][name] != nil; i++ {
			name = fmt.Sprintf("fairlane_%s_%d_%d", port, q, i)
		}
		p.put("SCHEDULER", name, map[string]string{"type": "DWRR", "weight": strconv.Itoa(int(p.w.Weight))})
		p.set("QUEUE", port, q, "scheduler", name)
	}
	if marks(p.after["WRED_PROFILE"][p.field("QUEUE", port, q, "wred_profile")]) {
		return
	}
	p.set("QUEUE", port, q, "wred_profile", p.profile())
}

// marks reports whether a profile marks green packets.
func marks(r map[string]string) bool {
	return (r["ecn"] == "ecn_all" || strings.HasPrefix(r["ecn"], "ecn_green")) && r["green_min_threshold"] != "" && r["green_max_threshold"] != ""
}

// profile returns the name of a profile that marks, and makes one with the stock thresholds. A plan of weights sets them later.
func (p *planner) profile() string {
	for _, name := range slices.Sorted(maps.Keys(p.after["WRED_PROFILE"])) {
		if marks(p.after["WRED_PROFILE"][name]) {
			return name
		}
	}
	row := map[string]string{"ecn": "ecn_all"}
	for _, color := range []string{"green", "yellow", "red"} {
		row["wred_"+color+"_enable"] = "true" // some ASICs mark only with it
		row[color+"_min_threshold"], row[color+"_max_threshold"], row[color+"_drop_probability"] = "1048576", "2097152", "5"
	}
	return p.named("WRED_PROFILE", row)
}

// strict gives the queue of notifications a strict scheduler.
func (p *planner) strict(port string, q int) {
	if p.after["SCHEDULER"][p.field("QUEUE", port, q, "scheduler")]["type"] == "STRICT" {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(p.after["SCHEDULER"])) {
		if maps.Equal(p.after["SCHEDULER"][name], map[string]string{"type": "STRICT"}) {
			p.set("QUEUE", port, q, "scheduler", name)
			return
		}
	}
	p.put("SCHEDULER", "fairlane_strict", map[string]string{"type": "STRICT"})
	p.set("QUEUE", port, q, "scheduler", "fairlane_strict")
}

// buffers gives a lossless class a priority group with headroom, and an egress buffer that does not drop.
func (p *planner) buffers(port string, q int) {
	if now := p.field("BUFFER_PG", port, q, "profile"); !p.lossless(now) && now != "NULL" {
		name := p.like(port)
		if name == "" {
			p.obstacle(NoProfile, port, fmt.Sprintf("BUFFER_PG|%s|%d", port, q))
			return
		}
		p.set("BUFFER_PG", port, q, "profile", name)
	}
	if !strings.Contains(p.after["BUFFER_PROFILE"][p.field("BUFFER_QUEUE", port, q, "profile")]["pool"], "lossy") {
		return
	}
	if p.after["BUFFER_PROFILE"]["egress_lossless_profile"] == nil {
		p.obstacle(NoProfile, port, fmt.Sprintf("BUFFER_QUEUE|%s|%d", port, q))
		return
	}
	p.set("BUFFER_QUEUE", port, q, "profile", "egress_lossless_profile")
}

// lossless reports whether a profile has headroom.
func (p *planner) lossless(profile string) bool {
	x, err := strconv.ParseInt(p.after["BUFFER_PROFILE"][profile]["xoff"], 10, 64)
	return err == nil && x > 0
}

// like returns the lossless profile of another group of the port, or of a port with the same rate and cable; empty if there is none.
func (p *planner) like(port string) string {
	for _, other := range append([]string{port}, p.ports...) {
		if p.link(other) != p.link(port) {
			continue
		}
		for n := range 8 {
			if name := p.field("BUFFER_PG", other, n, "profile"); p.lossless(name) {
				return name
			}
		}
	}
	return ""
}
