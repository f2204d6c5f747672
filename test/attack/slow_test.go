package attack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"
)

// dial opens a connection to a manager from an address of this machine.
func dial(ctx context.Context, m *manager, from string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	return d.DialContext(ctx, "tcp", strings.TrimPrefix(m.URL, "http://"))
}

// How long the service may keep a stalled connection: the head of a request has 10 s, a body at most a minute, and the
// rest of a rejected one is read for 5 s. An idle connection has two minutes.
const (
	longestHead = 10*time.Second + 10*time.Second
	longestBody = time.Minute + 15*time.Second
)

// slowClient is one method of keeping a connection busy.
type slowClient struct {
	name string
	// head is sent at once, then drop at every beat.
	head func(a *attack, c *caller) string
	drop string
	beat time.Duration
	// within is the time in which the service must end the connection; 0: no limit.
	within time.Duration
	// reads a byte at each beat; the others read only the end.
	reads bool
}

func post(path string, c *caller, length int) string {
	return fmt.Sprintf("POST /api/v1%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", path, c.token, length)
}

var slowClients = []slowClient{
	{name: "slow heads", head: func(*attack, *caller) string { return "GET /api/v1/health HTTP/1.1\r\nX-1: " }, drop: "a", beat: time.Second, within: longestHead},
	{name: "silent connections", head: func(*attack, *caller) string { return "" }, within: longestHead},
	{name: "slow sign-ins", head: func(_ *attack, c *caller) string {
		return strings.Replace(post("/sign-in", c, 200), "Authorization: Bearer "+c.token+"\r\n", "", 1)
	}, drop: " ", beat: time.Second, within: longestHead + 10*time.Second},
	{name: "slow bodies", head: func(_ *attack, c *caller) string { return post("/fabrics/lab/tenants/red/classes", c, 200_000) }, drop: " ", beat: time.Second, within: longestBody},
	{name: "slow bodies of 8 MiB", head: func(_ *attack, c *caller) string {
		return strings.Replace(post("/fabrics/decoy/tenants", c, 8<<20), "POST", "PUT", 1)
	}, drop: strings.Repeat(" ", 2048), beat: 200 * time.Millisecond, within: longestBody + 30*time.Second},
	{name: "bodies that stop", head: func(_ *attack, c *caller) string { return post("/fabrics/lab/tenants/red/classes", c, 100) }, within: longestBody},
	{name: "event streams that nobody reads", head: func(_ *attack, c *caller) string {
		return "GET /api/v1/fabrics/lab/events/stream?after=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.token + "\r\n\r\n"
	}},
	{name: "event streams that are read slowly", head: func(_ *attack, c *caller) string {
		return "GET /api/v1/fabrics/lab/events/stream?after=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.token + "\r\n\r\n"
	}, beat: 500 * time.Millisecond, reads: true},
	{name: "lists that are read slowly", head: func(_ *attack, c *caller) string {
		return strings.Repeat("GET /api/v1/fabrics/lab/events?limit=1000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+c.token+"\r\n\r\n", 20)
	}, beat: 300 * time.Millisecond, reads: true},
}

// wave is the number of concurrent slow clients.
const wave = 120

// crawl keeps many stalled connections open.
func (a *attack) crawl(r *rand.Rand) {
	var wg sync.WaitGroup
	defer wg.Wait()
	places := make(chan struct{}, wave)
	for a.ctx.Err() == nil {
		kind, n := pick(r, slowClients...), 5+r.IntN(40)
		for range n {
			select {
			case <-a.ctx.Done():
				return
			case places <- struct{}{}:
			}
			m, c, from := a.serving(), pick(r, a.red, a.blue, a.decoy, a.nobody, a.auditor), fmt.Sprintf("127.0.4.%d", 1+r.IntN(20))
			wg.Go(func() {
				defer func() { <-places }()
				a.slow(m, c, from, kind)
			})
			a.book.high("slow clients at once", float64(len(places)))
			if !a.pause(20 * time.Millisecond) {
				return
			}
		}
		a.pause(time.Duration(r.IntN(3000)) * time.Millisecond)
	}
}

// slow is one slow client. It ends after two minutes, or when the service ends the connection.
func (a *attack) slow(m *manager, c *caller, from string, kind slowClient) {
	ctx, cancel := context.WithTimeout(a.ctx, 2*time.Minute)
	defer cancel()
	conn, err := dial(ctx, m, from)
	if err != nil {
		return // garble checks that
	}
	defer func() { _ = conn.Close() }()
	a.book.tally("slow clients: " + kind.name)
	begun := time.Now()
	if _, err := io.WriteString(conn, kind.head(a, c)); err != nil {
		return
	}
	var ended chan struct{}
	if kind.within > 0 {
		ended = make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = io.Copy(io.Discard, conn) // until either side ends it
		}()
	}
	beat := time.NewTicker(max(kind.beat, 100*time.Millisecond))
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			_ = conn.Close()
			if ended != nil {
				<-ended
			}
			return
		case <-ended:
			a.book.tally("slow clients ended by the service")
			return
		case <-beat.C:
		}
		if kind.drop != "" {
			if _, err := io.WriteString(conn, kind.drop); err != nil {
				return
			}
		}
		if kind.reads {
			_ = conn.SetReadDeadline(time.Now().Add(time.Second))
			var b [1]byte
			if _, err := conn.Read(b[:]); errors.Is(err, io.EOF) {
				return
			}
		}
		if took := time.Since(begun); kind.within > 0 && took > kind.within && !m.troubledSince(begun.Add(-graceOfManager)) {
			a.book.violation("a slow client is kept", "%s of %s at %s for %v: want %v at most", kind.name, c.name, m.name, took, kind.within)
			return
		}
	}
}
