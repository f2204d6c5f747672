package attack

import (
	"context"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

// pair is the name of another tenant's object and one of no object. They have the same length, so that answers that
// repeat them have, too.
type pair struct{ theirs, none string }

// probe is a tenant that probes for others: for every request about another tenant's object it must get the same answer
// as for one that does not exist.
func (a *attack) probe(r *rand.Rand) {
	for a.turn() {
		c := pick(r, a.red, a.blue, a.redViewer, a.neighbour)
		tenant, word := pair{"blue", "blux"}, pair{wordOfBlue, strings.Replace(wordOfBlue, "o", "x", 1)}
		if c == a.blue {
			tenant, word = pair{"red", "rex"}, pair{wordOfRed, strings.Replace(wordOfRed, "o", "x", 1)}
		}
		op := pick(r, a.spec.ops...)
		if !strings.Contains(op.path, "{fabric}") && !strings.Contains(op.path, "{account}") && !strings.Contains(op.path, "{user}") || strings.HasSuffix(op.path, "/stream") {
			continue
		}
		theirs, none := a.values(r, op, tenant, word)
		if c == a.neighbour && strings.Contains(op.path, "{plan}") && r.IntN(2) == 0 { // a plan of lab, requested below its own fabric
			theirs, none = map[string]string{"fabric": annex, "plan": theirs["plan"]}, map[string]string{"fabric": annex, "plan": strings.Repeat("e", 64)}
		}
		if maps.Equal(theirs, none) {
			continue
		}
		q := request{method: op.method, header: http.Header{}}
		if op.hasBody {
			q = jsonRequest(op.method, "", op.example)
		}
		if r.IntN(2) == 0 {
			q.header.Set("If-Match", pick(r, "*", `"1"`))
		}
		if r.IntN(3) == 0 {
			q.header.Set("Idempotency-Key", a.key())
		}
		query := pick(r, "", "", "?dry_run=true", "?limit=1")
		m := a.serving()
		q.path = fill(op.path, theirs) + query
		first := a.send(a.ctx, c, m, q)
		is := q
		q.path = fill(op.path, none) + query
		if q.header.Get("Idempotency-Key") != "" {
			q.header = q.header.Clone()
			q.header.Set("Idempotency-Key", a.key())
		}
		second := a.send(a.ctx, c, m, q)
		a.book.tally("probes")
		if first.err != nil || second.err != nil || first.status >= 500 || second.status >= 500 || first.status == 429 || second.status == 429 {
			continue
		}
		if x, y := shape(first, is.path, theirs), shape(second, q.path, none); x != y || first.status != second.status {
			a.book.violation("an existence leaks", "%s asks %s: %s\nand %s: %s", c.name, is, first, q.path, second)
		}
		if first.status < 400 {
			a.book.violation("a probe gets in", "%s asks %s: %s", c.name, is, first)
		}
	}
}

// values sets the parameters of a path to names of other tenants' objects, and to names of none.
func (a *attack) values(r *rand.Rand, op operation, tenant, word pair) (theirs, none map[string]string) {
	things := map[string]pair{
		"tenant": tenant, "class": word, "account": word, "token": {"attack", "attick"}, "user": {"grace", "grxce"}, "port": {"host2", "host9"}, "device": {"host2", "host9"},
		"plan": {a.watch.plan("lab"), strings.Repeat("e", 64)}, "rollout": {"1", "9"}, "revision": {"1", "9"}, "simulation": {"1", "9"}, "calibration": {"1", "9"},
	}
	fabric := pair{"lab", "lab"}
	if !strings.Contains(op.path, "{tenant}") && r.IntN(2) == 0 || r.IntN(3) == 0 {
		fabric = pick(r, pair{"eth", "eti"}, pair{"race", "rxce"}, pair{"books", "bxxks"})
	}
	theirs, none = map[string]string{"fabric": fabric.theirs}, map[string]string{"fabric": fabric.none}
	vary := fabric.theirs == fabric.none
	for _, name := range slices.Sorted(maps.Keys(things)) {
		if !strings.Contains(op.path, "{"+name+"}") {
			continue
		}
		theirs[name], none[name] = things[name].theirs, things[name].theirs
		if name == "tenant" && !vary {
			continue
		}
		if vary && (name == "tenant" || r.IntN(2) == 0 || !strings.Contains(op.path, "{tenant}")) {
			none[name] = things[name].none
		}
	}
	return theirs, none
}

// shape is the part of an answer that must not depend on whether an object exists. It removes the requested path and
// the names in it.
func shape(a answer, path string, names map[string]string) string {
	path, _, _ = strings.Cut(path, "?")
	pairs := []string{path, "PATH", a.header.Get("X-Request-Id"), "ID"}
	for _, k := range slices.Sorted(maps.Keys(names)) {
		if v := names[k]; len(v) > 2 { // numbers of one digit occur everywhere
			pairs = append(pairs, v, "THING")
		}
	}
	text := strings.NewReplacer(pairs...).Replace(string(a.body))
	h := a.header.Clone()
	for _, k := range []string{"Date", "X-Request-Id"} {
		h.Del(k)
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(h)) {
		list = append(list, k+"="+strings.Join(h[k], ","))
	}
	return strings.Join(list, "\n") + "\n" + text
}

// look reads everything that tenants and the auditor may read, and follows events: send searches each answer for other
// tenants' words.
func (a *attack) look(r *rand.Rand) {
	for a.turn() {
		c := pick(r, a.red, a.blue, a.redViewer, a.neighbour, a.auditor)
		tenant := "red"
		if c == a.blue {
			tenant = "blue"
		}
		op := pick(r, a.spec.ops...)
		if op.method != http.MethodGet || strings.Contains(op.path, "/shares") && r.IntN(4) > 0 {
			continue
		}
		values := map[string]string{"fabric": pick(r, "lab", "lab", "eth"), "tenant": tenant, "plan": a.watch.plan("lab"), "rollout": "1", "revision": "1", "device": "host1", "port": "host1", "class": wordOfRed, "user": "ada"}
		if c == a.neighbour && r.IntN(3) == 0 {
			values["fabric"] = annex
		}
		q := request{method: op.method, path: fill(op.path, values)}
		if strings.HasSuffix(q.path, "/stream") {
			a.follow(c, q.path)
			continue
		}
		if op.id == "getShares" {
			q.path += "?window_ms=1"
		}
		if got := a.send(a.ctx, c, a.serving(), q); c == a.nobody && !op.public && got.err == nil && got.status != http.StatusUnauthorized {
			a.book.violation("nobody gets in", "%s: %s", q, got)
		} else if c == a.neighbour && strings.Contains(op.path, "{fabric}") && values["fabric"] != annex && got.err == nil && got.status < 400 {
			a.book.violation("another fabric's administrator gets in", "%s: %s", q, got)
		}
		a.book.tally("looks")
	}
}

// follow reads an event stream from its start for a moment.
func (a *attack) follow(c *caller, path string) {
	ctx, cancel := context.WithTimeout(a.ctx, 1500*time.Millisecond)
	defer cancel()
	q := request{method: "GET", path: path + "?after=0"}
	got := a.exchange(ctx, c, a.serving(), q)
	a.book.tally("event streams followed")
	for _, word := range c.forbidden {
		if strings.Contains(string(got.body), word) {
			a.book.violation("a leak", "%q in the events of %s: %s", word, c.name, got)
		}
	}
}
