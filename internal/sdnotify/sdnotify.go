// Package sdnotify tells systemd what state a service is in (sd_notify(3)): a datagram to the socket that NOTIFY_SOCKET
// names.
package sdnotify

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"
)

// Notifier tells systemd. Without a socket it does nothing.
type Notifier struct {
	socket   string
	watchdog time.Duration // half of systemd's limit; 0: none is set
}

// New is the notifier of an environment.
func New(getenv func(string) string) Notifier {
	n := Notifier{socket: getenv("NOTIFY_SOCKET")}
	if us, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64); err == nil && us > 0 {
		n.watchdog = time.Duration(us) * time.Microsecond / 2
	}
	return n
}

// Send tells a state such as "READY=1". That systemd cannot be told is no reason to stop: the error is for the log.
func (n Notifier) Send(ctx context.Context, state string) error {
	if n.socket == "" {
		return nil
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unixgram", n.socket)
	if err != nil {
		return fmt.Errorf("tell systemd %s: %w", state, err)
	}
	defer func() { _ = c.Close() }() // a datagram is sent or not when Write returns
	if _, err := c.Write([]byte(state)); err != nil {
		return fmt.Errorf("tell systemd %s: %w", state, err)
	}
	return nil
}

// Beat keeps systemd's watchdog quiet until the context ends. What the service depends on being away is no reason to miss
// a beat: a restart would not bring it back.
func (n Notifier) Beat(ctx context.Context) {
	if n.watchdog == 0 {
		return
	}
	tick := time.NewTicker(n.watchdog)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = n.Send(ctx, "WATCHDOG=1") // a missed beat is what the watchdog is for
		}
	}
}
