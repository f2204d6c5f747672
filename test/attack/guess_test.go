package attack

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// guess signs in with wrong passwords, under existing and unknown names, and tries tokens. The answers must not reveal
// which names exist.
func (a *attack) guess(r *rand.Rand) {
	for i := 0; a.turn(); i++ {
		from := fmt.Sprintf("127.0.5.%d", 1+r.IntN(250))
		c := newCaller("guesser", "", from)
		if r.IntN(3) == 0 {
			c.token = pick(r, "flt_", "x", "") + fmt.Sprintf("%064x", r.Uint64())
			got := a.send(a.ctx, c, a.serving(), request{method: "GET", path: pick(r, "/me", "/fabrics", "/users", "/fabrics/lab/tenants/red")})
			if got.err == nil && got.status != http.StatusUnauthorized && got.status != http.StatusTooManyRequests && got.status != http.StatusServiceUnavailable {
				a.book.violation("a guessed token gets in", "%s", got)
			}
			a.book.tally("guessed tokens")
			c.http.CloseIdleConnections()
			continue
		}
		// "ada" signs in legitimately and is not guessed; under the other names every password is wrong.
		a.twin(c, i)
		c.http.CloseIdleConnections()
	}
}

// twin tries an existing and an unknown name in the same way, at the same manager. Each pair of names gets the same
// number of tries.
func (a *attack) twin(c *caller, i int) {
	m := a.serving()
	wrong := fmt.Sprintf("wrong-password-%d-%d", *seed, i)
	a.secret(wrong)
	var got [2]answer
	for k, name := range []string{"grace", "grxce"} {
		got[k] = a.send(a.ctx, c, m, jsonRequest("POST", "/sign-in", object{"name": name, "password": wrong}))
		a.book.tally("guessed passwords")
		if got[k].err == nil && got[k].status < 400 {
			a.book.violation("a wrong password signs in", "%s: %s", name, got[k])
		}
	}
	// The lock of one may have ended just before the other's, or the address may be blocked by now.
	if got[0].err == nil && got[1].err == nil && got[0].status == http.StatusUnauthorized && got[1].status == http.StatusUnauthorized {
		if x, y := shape(got[0], "/sign-in", map[string]string{"name": "grace"}), shape(got[1], "/sign-in", map[string]string{"name": "grxce"}); x != y {
			a.book.violation("an existence leaks", "sign-in with a name that exists: %s\nand one that does not: %s", x, y)
		}
	}
}

// signInAll signs in legitimately throughout: guessing under other names from other addresses must not lock out users.
func (a *attack) signInAll(*rand.Rand) {
	for a.pause(2 * time.Second) {
		c := newCaller("ada", "", "127.0.0.1")
		m := a.serving()
		got := a.send(a.ctx, c, m, jsonRequest("POST", "/sign-in", object{"name": "ada", "password": a.password}))
		for _, k := range (&http.Response{Header: got.header}).Cookies() {
			if len(k.Value) > 20 {
				a.secret(k.Value)
			}
		}
		c.http.CloseIdleConnections()
		a.book.tally("honest sign-ins")
		if a.ctx.Err() == nil && got.err == nil && got.status != http.StatusOK && !a.excused(got) {
			a.book.violation("a rightful user is locked out", "ada at %s: %s", m.name, got)
		}
		if a.ctx.Err() == nil && got.err == nil && !m.troubledSince(got.begun.Add(-freed)) {
			a.book.high("ms of an honest sign-in", float64(got.took.Milliseconds()))
		}
	}
}
