// Package sdnotify reports the state of a service to systemd (sd_notify(3)): a datagram to the socket named by
// NOTIFY_SOCKET.
package sdnotify

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"
)

// Notifier sends states to systemd. Without a socket it does nothing.
type Notifier struct {
	socket   string
	watchdog time.Duration // half of systemd's timeout; 0: no watchdog
}

// New returns the notifier for an environment.
func New(getenv func(string) string) Notifier {
	n := Notifier{socket: getenv("NOTIFY_SOCKET")}
	if us, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64); err == nil && us > 0 {
		n.watchdog = time.Duration(us) * time.Microsecond / 2
	}
	return n
}

// Send sends a state such as "READY=1". A failure is no reason to stop the service: the error is for the log.
func (n Notifier) Send(ctx context.Context, state string) error {
	if n.socket == "" {
		return nil
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unixgram", n.socket)
	if err != nil {
		return fmt.Errorf("tell systemd %s: %w", state, err)
	}
	defer func() { _ = c.Close() }() // the datagram was sent when Write returned
	if _, err := c.Write([]byte(state)); err != nil {
		return fmt.Errorf("tell systemd %s: %w", state, err)
	}
	return nil
}

// Beat sends watchdog beats until the context ends. An unavailable dependency is no reason to omit a beat: a restart
// would not bring it back.
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
			_ = n.Send(ctx, "WATCHDOG=1") // the watchdog handles a missed beat
		}
	}
}
