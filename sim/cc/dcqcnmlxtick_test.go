package cc

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
)

// tickMlx is a reference model of the vendor's reaction point. It executes every timer expiry, one microsecond at a time:
// alpha, then the increase timer, then the monitor period, then packets. It shares no code with the lazy implementation.
type tickMlx struct {
	v                    Values
	line                 float64
	now                  int64 // us
	on                   bool
	began, raised        int64 // us: start of the limiter, and last start of the increase timer
	cut                  int64 // us: the last cut, or the attachment
	a, rate, target      float64
	t, b                 int
	sent                 int
	alphaSees, cutSees   bool
	lastByTime, lastByte bool
}

func (m *tickMlx) top() float64 {
	if most := m.v["rpg_max_rate"]; most > 0 {
		return min(most, m.line)
	}
	return m.line
}

func (m *tickMlx) run(until int64) {
	for m.now < until {
		m.now++
		if m.on && (m.now-m.began)%m.us("dce_tcp_rtt") == 0 {
			keep := m.v["dce_tcp_g"]
			if m.v["alpha_filter"] == 1 {
				keep = 1024 - keep
			}
			m.a *= keep / 1024
			if m.v["alpha_state"] == 1 {
				m.a = math.Floor(m.a)
			}
			if m.alphaSees {
				m.a = min(1023, m.a+1024-keep)
			}
			m.alphaSees = false
		}
		if m.on && (m.now-m.raised)%m.us("rpg_time_reset") == 0 {
			m.t++
			m.raise()
			m.lastByTime, m.lastByte = true, false
			m.leave()
		}
		if m.on && (m.now-m.began)%m.us("rate_reduce_monitor_period") == 0 && m.cutSees {
			m.lower()
		}
	}
}

func (m *tickMlx) us(name string) int64 { return int64(m.v[name] / 1e6) }

func (m *tickMlx) lower() {
	if m.v["clamp_tgt_rate"] == 1 || m.lastByte || m.lastByTime && m.v["clamp_tgt_rate_after_time_inc"] == 1 {
		m.target = m.rate
	}
	factor := 1 - math.Floor(m.a)/math.Pow(2, m.v["rpg_gd"])
	m.rate = max(m.rate*max(factor, m.v["rpg_min_dec_fac"]/100), min(m.v["rpg_min_rate"], m.top()))
	m.t, m.b, m.sent, m.raised, m.cut = 0, 0, 0, m.now, m.now
	m.cutSees, m.lastByTime, m.lastByte = false, false, false
}

func (m *tickMlx) raise() {
	f := int(m.v["rpg_threshold"] - m.v["stage_compare"]) // below F means at most F-1
	switch {
	case m.t > f && m.b > f && m.v["hyper_by_stage"] == 1:
		m.target += m.v["rpg_hai_rate"] * float64(min(m.t, m.b)-f)
	case m.t > f && m.b > f:
		m.target += m.v["rpg_hai_rate"]
	case m.t > f || m.b > f:
		m.target += m.v["rpg_ai_rate"]
	}
	m.target = min(m.target, m.top())
	m.rate = (m.rate + m.target) / 2
}

func (m *tickMlx) leave() {
	if !m.cutSees && m.rate >= m.top()-1e6 {
		*m = tickMlx{v: m.v, line: m.line, now: m.now, rate: m.line, target: m.line, a: m.v["initial_alpha_value"]}
	}
}

func (m *tickMlx) notified() {
	spaced := m.v["cut_reading"] == 1
	switch {
	case m.on && !spaced:
		m.alphaSees, m.cutSees = true, true
		return
	case m.on:
		m.alphaSees = true
		if m.now-m.cut >= m.us("rate_reduce_monitor_period") {
			m.lower()
		}
		return
	}
	m.on, m.cutSees, m.began, m.raised, m.cut = true, !spaced, m.now, m.now, m.now
	m.rate = m.top()
	if first := m.v["rate_to_set_on_first_cnp"]; first > 0 {
		m.rate = min(max(first, m.v["rpg_min_rate"]), m.top())
	}
	m.target = m.rate
}

func (m *tickMlx) send(bytes int) {
	if !m.on || m.v["rpg_byte_reset"] == 0 {
		return
	}
	m.sent += bytes
	if limit := int(m.v["rpg_byte_reset"]) * 64; m.sent >= limit {
		m.sent %= limit
		m.b++
		m.raise()
		m.lastByTime, m.lastByte = false, true
		m.leave()
	}
}

func TestLazyVendorEqualsTickingVendor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, unit float64, choices ...float64) float64 {
			return rapid.SampledFrom(choices).Draw(t, name) * unit
		}
		v := Values{
			"dce_tcp_rtt": draw("rtt", 1e6, 1, 2, 3), "rate_reduce_monitor_period": draw("monitor", 1e6, 1, 4, 6),
			"rpg_time_reset": draw("time", 1e6, 3, 12, 300), "rpg_byte_reset": draw("bytes", 1, 0, 200, 32767),
			"rpg_threshold": draw("threshold", 1, 0, 1, 3), "rpg_gd": draw("gd", 1, 9, 10, 11, 13),
			"rpg_min_dec_fac": draw("factor", 1, 1, 50, 90), "dce_tcp_g": draw("g", 1, 1019, 900, 10),
			"clamp_tgt_rate": draw("clamp", 1, 0, 1), "clamp_tgt_rate_after_time_inc": draw("after time", 1, 0, 1),
			"rpg_ai_rate": draw("ai", 1e6, 5, 2000), "rpg_hai_rate": draw("hai", 1e6, 50, 9000),
			"rpg_max_rate": draw("most", 1e6, 0, 40000), "initial_alpha_value": draw("initial", 1, 1023, 500),
			"alpha_state": draw("state", 1, 0, 1), "alpha_filter": draw("filter", 1, 0, 1), "cut_reading": draw("reading", 1, 0, 1),
			"stage_compare": draw("compare", 1, 0, 1), "hyper_by_stage": draw("by stage", 1, 0, 1),
			"rpg_min_rate": draw("least", 1e6, 1, 3000, 50000), "rate_to_set_on_first_cnp": draw("first", 1e6, 0, 1000, 20000),
		}
		if most := v["rpg_max_rate"]; most > 0 {
			v["rpg_min_rate"] = min(v["rpg_min_rate"], most)
		}
		a := mustBuild(t, new(dcqcnMlxSpec()), v)
		c := a.Start(0, 0, &Flow{LineRate: testLine})
		m := &tickMlx{v: v, line: testLine, rate: testLine, target: testLine, a: v["initial_alpha_value"]}
		var g [3]float64
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			m.run(m.now + rapid.SampledFrom([]int64{0, 1, 1, 3, 4, 12, 300, 2000}).Draw(t, "us"))
			now := quantity.Picoseconds(m.now) * testUS
			a.Settle(0, now, &c)
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				a.Notify(0, &Notification{Now: now}, &c)
				m.notified()
			case 1:
				for range 12 {
					a.Sent(0, now, 4096, &c)
					m.send(4096)
				}
			}
			a.Read(0, g[:])
			if !sameValue(c.Rate, m.rate, 1e-9) || !sameValue(g[0], m.target, 1e-9) || math.Abs(g[1]-m.a/1024) > 1e-9 || int(g[2]) != max(m.t, m.b) {
				t.Fatalf("at %s: rate %v, target %v, alpha %v, stage %v; ticking: %v, %v, %v, %d", now, c.Rate, g[0], g[1], g[2], m.rate, m.target, m.a/1024, max(m.t, m.b))
			}
		}
	})
}
