package structure

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// span is a row of a table about a range of queues or groups of one port or more.
type span struct {
	key       string
	low, high int
}

// parseSpan parses the key of a row, such as "Ethernet0|3-4". Older releases permit several ports in one key.
func parseSpan(key string) (ports []string, s span, ok bool) {
	at := strings.LastIndexByte(key, '|')
	if at < 0 {
		return nil, span{}, false
	}
	first, last, ranged := strings.Cut(key[at+1:], "-")
	if !ranged {
		last = first
	}
	low, err := strconv.Atoi(first)
	high, err2 := strconv.Atoi(last)
	return strings.Split(key[:at], ","), span{key, low, high}, err == nil && err2 == nil && low >= 0 && low <= high && high <= 255
}

// spans returns the rows of a table about a port, by key. A row that set has made is found by its key alone.
func (p *planner) spans(table, port string) []span {
	if of, known := p.index[table]; known {
		return of[port]
	}
	of := map[string][]span{}
	for _, key := range slices.Sorted(maps.Keys(p.after[table])) {
		ports, s, ok := parseSpan(key)
		for _, name := range ports {
			switch {
			case ok:
				of[name] = append(of[name], s)
			case p.before["PORT"][name] != nil:
				p.obstacle(BadKey, name, table+"|"+key)
			}
		}
	}
	p.index[table] = of
	return of[port]
}

// covers returns the row of a table about a queue or group of a port; false if there is none.
func (p *planner) covers(table, port string, n int) (span, bool) {
	own := fmt.Sprintf("%s|%d", port, n)
	spans := p.spans(table, port)
	if p.after[table][own] != nil {
		return span{own, n, n}, true
	}
	for _, s := range spans {
		if n >= s.low && n <= s.high {
			return s, true
		}
	}
	return span{}, false
}

// field returns a field of the row about a queue or group of a port.
func (p *planner) field(table, port string, n int, field string) string {
	s, _ := p.covers(table, port, n)
	return plain(p.after[table][s.key][field])
}

// set sets a field of the row about a queue or group of a port, and splits a row about several.
func (p *planner) set(table, port string, n int, field, value string) {
	s, ok := p.covers(table, port, n)
	own := fmt.Sprintf("%s|%d", port, n)
	switch {
	case ok && strings.Contains(s.key, ","):
		p.obstacle(SeveralPorts, port, table+"|"+s.key)
		return
	case ok && s.key != own:
		row := p.after[table][s.key]
		delete(p.after[table], s.key)
		p.index[table][port] = slices.DeleteFunc(p.index[table][port], func(o span) bool { return o == s })
		for i := s.low; i <= s.high; i++ {
			if key := fmt.Sprintf("%s|%d", port, i); p.after[table][key] == nil {
				p.put(table, key, maps.Clone(row))
			}
		}
	case !ok:
		p.put(table, own, map[string]string{})
	}
	row := maps.Clone(p.after[table][own])
	row[field] = value
	p.put(table, own, row)
}

// countUsers counts the queues and ports that refer to each scheduler.
func (p *planner) countUsers() {
	for key, r := range p.after["QUEUE"] {
		ports, s, ok := parseSpan(key)
		n := 2 // of a broken key: the scheduler is left alone
		if ok {
			n = len(ports) * (s.high - s.low + 1)
		}
		p.users[plain(r["scheduler"])] += n
	}
	for _, r := range p.after["PORT_QOS_MAP"] {
		p.users[plain(r["scheduler"])]++
	}
}

// queue gives the queue of a class a scheduler of its own, whose weight can change without a port going down, and marking.
func (p *planner) queue(port string, q int) {
	now := p.field("QUEUE", port, q, "scheduler")
	s := p.after["SCHEDULER"][now]
	_, unknown := s["priority"] // SONiC ignores a row with a field that it does not know
	if s["type"] != "DWRR" || unknown || p.users[now] != 1 {
		name := p.fresh("SCHEDULER", fmt.Sprintf("fairlane_%s_%d", port, q))
		p.put("SCHEDULER", name, map[string]string{"type": "DWRR", "weight": strconv.Itoa(int(p.w.Weight))})
		p.set("QUEUE", port, q, "scheduler", name)
		p.users[now]--
		p.users[name]++
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
	return p.named("WRED_PROFILE", ownName, row)
}

// strict gives the queue of notifications a strict scheduler.
func (p *planner) strict(port string, q int) {
	if p.after["SCHEDULER"][p.field("QUEUE", port, q, "scheduler")]["type"] == "STRICT" {
		return
	}
	p.set("QUEUE", port, q, "scheduler", p.named("SCHEDULER", "fairlane_strict", map[string]string{"type": "STRICT"}))
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
