package attack

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// broken makes bodies that every operation must reject, from a valid one.
var broken = []struct {
	name string
	make func(r *rand.Rand, fits []byte) []byte
}{
	{"NUL in a name", func(_ *rand.Rand, b []byte) []byte { return into(b, `"a\u0000":1`) }},
	{"NUL in a value", func(_ *rand.Rand, b []byte) []byte { return into(b, `"name":"a\u0000b"`) }},
	{"half a surrogate pair", func(_ *rand.Rand, b []byte) []byte { return into(b, `"name":"\ud800"`) }},
	{"the other half", func(_ *rand.Rand, b []byte) []byte { return into(b, `"\udc00x":1`) }},
	{"a field twice", func(_ *rand.Rand, b []byte) []byte { return into(b, `"name":"x1","name":"x2"`) }},
	{"a field twice, escaped", func(_ *rand.Rand, b []byte) []byte { return into(b, `"name":"x1","n\u0061me":"x2"`) }},
	{"not UTF-8", func(_ *rand.Rand, b []byte) []byte { return into(b, "\"name\":\"\xff\xfe\"") }},
	{"overlong UTF-8", func(_ *rand.Rand, b []byte) []byte { return into(b, "\"name\":\"\xc0\x80\"") }},
	{"deep lists", func(r *rand.Rand, _ []byte) []byte {
		n := 33 + r.IntN(20000)
		return []byte(strings.Repeat("[", n) + strings.Repeat("]", n))
	}},
	{"deep objects", func(r *rand.Rand, b []byte) []byte {
		n := 33 + r.IntN(2000)
		return into(b, `"a":`+strings.Repeat(`{"a":`, n)+"1"+strings.Repeat("}", n))
	}},
	{"objects without an end", func(r *rand.Rand, _ []byte) []byte { return []byte(strings.Repeat(`{"a":`, 1+r.IntN(30000))) }},
	{"a number beyond all", func(_ *rand.Rand, b []byte) []byte { return into(b, `"weight":1e999999999`) }},
	{"a number of many digits", func(r *rand.Rand, b []byte) []byte {
		return into(b, `"weight":`+strings.Repeat("9", 400+r.IntN(100000)))
	}},
	{"cut off", func(r *rand.Rand, b []byte) []byte { return b[:r.IntN(len(b))] }},
	{"twice", func(_ *rand.Rand, b []byte) []byte { return append(slices.Clone(b), b...) }},
	{"UTF-16", func(_ *rand.Rand, b []byte) []byte {
		out := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(string(b))) {
			out = append(out, byte(u), byte(u>>8))
		}
		return out
	}},
	{"packed", func(_ *rand.Rand, b []byte) []byte {
		var z bytes.Buffer
		p := gzip.NewWriter(&z)
		_, _ = p.Write(b) // a buffer in memory
		_ = p.Close()
		return z.Bytes()
	}},
	{"of another kind", func(r *rand.Rand, _ []byte) []byte {
		return []byte(pick(r, "null", "true", `"text"`, "0", "[]", "NaN", "Infinity", "-", "'a'", "{a:1}", "// {}", "\x00", " "))
	}},
	{"a byte changed to 0", func(r *rand.Rand, b []byte) []byte {
		out := slices.Clone(b)
		out[r.IntN(len(out))] = 0
		return out
	}},
}

// into adds a field to an object.
func into(b []byte, field string) []byte {
	if len(b) < 3 {
		return []byte("{" + field + "}")
	}
	return append([]byte("{"+field+","), b[1:]...)
}

// oddities are texts that are known to break software.
var oddities = []string{
	"", " ", "%00", "%ff", "..%2f..", "%2e%2e", "/", "\\", "%s%n", "$(reboot)", "${jndi:ldap://x}", "<script>", "\u202e", "🦀", "İ", "-", "--help", "0", "-1", "1e9",
	"9223372036854775808", "NaN", "null", "*", "c.", "c.-1", "c.99999999999999999999", "2026-02-30T25:61:00Z", "lab' OR '1'='1", "0xffffffffffffffff:255", "true",
}

// malform sends requests of the contract with something wrong in them, as callers of all kinds.
func (a *attack) malform(r *rand.Rand) {
	for a.turn() {
		c := pick(r, a.decoy, a.decoy, a.decoy, a.auditor, a.red, a.blue, a.nobody, a.redViewer, a.neighbour)
		op := pick(r, a.spec.ops...)
		if strings.HasSuffix(op.path, "/stream") || op.id == "signIn" { // both have their own attackers
			continue
		}
		q, refused := a.malformed(r, c, op)
		ctx, cancel := context.WithTimeout(a.ctx, time.Minute)
		got := a.send(ctx, c, a.serving(), q)
		cancel()
		a.book.tally("malformed requests")
		if c == a.neighbour && strings.Contains(op.path, "{fabric}") && got.err == nil && got.status < 400 {
			a.book.violation("another fabric's administrator gets in", "%s: %s", q, got)
		}
		if refused != "" && got.err == nil && got.status < 400 {
			a.book.violation("taken", "a body with %s: %s of %s: %s", refused, q, c.name, got)
		}
	}
}

// malformed builds a request and says why it must be rejected, if it must.
func (a *attack) malformed(r *rand.Rand, c *caller, op operation) (q request, refused string) {
	fabric := "decoy"
	measures := strings.Contains(op.path, "/shares") // it takes as long as requested if there is something to measure
	if c != a.decoy && r.IntN(2) == 0 && !measures {
		fabric = "lab"
	}
	values := map[string]string{
		"fabric": fabric, "tenant": pick(r, "red", "blue", "ghost"), "class": pick(r, "bulk", "x1"), "account": "x1", "token": "x1", "user": pick(r, "ada", "x1"),
		"port": "host1", "device": "host1", "plan": pick(r, "0000", "abcdef"), "rollout": "1", "revision": "1", "simulation": "1", "calibration": "1",
	}
	if r.IntN(3) == 0 {
		names := []string{"fabric", "tenant", "class", "account", "token", "port", "device", "plan", "rollout", "revision"}
		values[pick(r, names...)] = url.PathEscape(pick(r, oddities...) + strings.Repeat("a", r.IntN(2)*r.IntN(5000)))
	}
	q = request{method: op.method, path: fill(op.path, values), header: http.Header{}}
	q.path += a.oddQuery(r, op)
	if op.hasBody {
		fits, err := json.Marshal(op.example)
		if err != nil {
			fits = []byte("{}")
		}
		q.body, q.header = fits, http.Header{"Content-Type": {"application/json"}}
		switch n := r.IntN(10); {
		case n < 7 || op.id == "startCalibration" || op.id == "startSimulation":
			b := pick(r, broken...)
			q.body, refused = b.make(r, fits), b.name
			q.header.Set("Content-Type", pick(r, "application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;charset=\"UTF-8\"", "application/JSON ; charset=UTF-8"))
		case n == 7:
			q.header.Set("Content-Type", pick(r, "", "text/plain", "application/xml", "application/json; charset=utf-16", "application/json, text/plain", "application/jsonx", "multipart/form-data; boundary=x"))
			refused = "media type " + q.header.Get("Content-Type")
		case n == 8:
			q.header.Set("Content-Encoding", pick(r, "gzip", "br", "identity, gzip", "x"))
			refused = "Content-Encoding"
		case r.IntN(40) == 0:
			q.body, refused = into(fits, `"name":"`+strings.Repeat("a", 9<<20)+`"`), "9 MiB"
		}
	}
	a.oddHeaders(r, &q)
	return q, refused
}

func (a *attack) oddQuery(r *rand.Rand, op operation) string {
	if r.IntN(3) > 0 {
		return ""
	}
	if r.IntN(3) == 0 {
		return "?" + pick(r, "limit=1&limit=2", "a=b;c=d", "cursor=c.%00", "limit=%F0%28", strings.Repeat("x=1&", 200), "dry_run=TRUE", "%zz", "=", "limit=1e400", "&&&", "limit[]=1")
	}
	name := "limit"
	if len(op.query) > 0 {
		name = pick(r, op.query...)
	}
	return "?" + url.QueryEscape(name) + "=" + url.QueryEscape(pick(r, oddities...))
}

func (a *attack) oddHeaders(r *rand.Rand, q *request) {
	name := pick(r, "If-Match", "If-Match", "If-Match", "Idempotency-Key", "X-Request-ID", "Accept", "Accept-Encoding", "Range", "Last-Event-ID", "traceparent", "Cookie", "Origin", "Host", "Expect", "X-CSRF-Token", "none")
	value := pick(r, "*", `"1"`, `W/"1"`, `"`, "0", "-1", "text/html", "gzip;q=9", "bytes=0-1,2-3", "00-00000000000000000000000000000000-0000000000000000-01", "https://evil.example",
		"__Host-fairlane=x", "fairlane_session=x; fairlane_session=y", strings.Repeat("x", 5000), "\xff\xfe", "100-continue", "k1")
	if name == "Expect" { // for any other value, net/http answers 417 and closes the connection without reading the body
		value = "100-continue"
	}
	q.header.Set(name, value)
}

// garbage returns texts that are not, or hardly, requests.
func garbage(r *rand.Rand, host string) string {
	get := func(more string) string {
		return "GET /api/v1/fabrics HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n"
	}
	post := func(more string) string {
		return "POST /api/v1/sign-in HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\n" + more
	}
	noise := make([]byte, 1+r.IntN(2000))
	for i := range noise {
		noise[i] = byte(r.IntN(256))
	}
	return pick(r,
		string(noise), "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"+string(noise), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /api/v1/health HTTP/1.0\r\n\r\n",
		"GET http://evil.example/api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: x\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "TRACE /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n",
		get("Host: other\r\n"), get("X: "+strings.Repeat("a", 70000)+"\r\n"), get("X\x00: 1\r\n"), get("X: a\x00b\r\n"), get(" folded: 1\r\n"), get("Authorization: Bearer \r\nAuthorization: Bearer x\r\n"),
		get("Transfer-Encoding: chunked\r\n"), get("Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"), get("Connection: upgrade\r\nUpgrade: websocket\r\n"),
		post("Content-Length: -1\r\n\r\n{}"), post("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), post("Content-Length: 99999999999999999999\r\n\r\n{}"), post("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
		post("Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}"), post("Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nTrailer: x\r\n\r\n"), post("Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
		post("Transfer-Encoding: chunked\r\n\r\n2;"+strings.Repeat("x", 5000)+"\r\n{}\r\n0\r\n\r\n"), post("Content-Length: 2\r\n\r\n{}GET /api/v1/users HTTP/1.1\r\n\r\n"), strings.Repeat(get(""), 20),
		"GET /api/v1/fabrics/%00 HTTP/1.1\r\nHost: x\r\n\r\n", "GET /api/v1/fabrics/\xff HTTP/1.1\r\nHost: x\r\n\r\n", "GET /api/v1/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", "GET //evil.example/%2f.. HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /"+strings.Repeat("a", 70000)+" HTTP/1.1\r\nHost: x\r\n\r\n", "HEAD /api/v1/fabrics HTTP/1.1\r\nHost: x\r\n\r\n", "P\xc3\x96ST /api/v1/sign-in HTTP/1.1\r\nHost: x\r\n\r\n",
	)
}

// garble sends bytes that are not requests.
func (a *attack) garble(r *rand.Rand) {
	for a.turn() {
		m := a.serving()
		begun := time.Now()
		text := garbage(r, strings.TrimPrefix(m.URL, "http://"))
		conn, err := dial(a.ctx, m, fmt.Sprintf("127.0.3.%d", 1+r.IntN(200)))
		if err != nil {
			if a.ctx.Err() == nil && !m.troubledSince(begun.Add(-graceOfManager)) {
				a.book.violation("no connection", "to %s: %v", m.name, err)
			}
			continue
		}
		a.book.tally("garbage")
		_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
		_, _ = io.WriteString(conn, text)     // it may be rejected in the middle
		back := make([]byte, 4096)            // enough for the status of the first answer
		n, _ := io.ReadAtLeast(conn, back, 9) // the connection may be closed without an answer, and an endless text waits
		_ = conn.Close()
		var status int
		if _, err := fmt.Sscanf(string(back[:n]), "HTTP/1.1 %d", &status); err == nil && status >= 500 && status != http.StatusNotImplemented && status != http.StatusHTTPVersionNotSupported &&
			!strings.Contains(string(back[:n]), "Retry-After") && !m.troubledSince(begun.Add(-graceOfManager)) {
			a.book.violation("server error", "to %.300q at %s: %.300q", text, m.name, back[:n])
		}
	}
}
