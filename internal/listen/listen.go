// Package listen opens the addresses of a service, serves them, and shuts down without losing open requests.
package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Endpoint is a handler with its addresses.
type Endpoint struct {
	Server    *http.Server
	Listeners []net.Listener
}

// On opens addresses, HOST:PORT or unix:PATH, with TLS if secure is not nil. If one cannot be opened, On closes the
// others.
func On(ctx context.Context, addresses []string, secure *tls.Config) ([]net.Listener, error) {
	var open []net.Listener
	for _, a := range addresses {
		l, err := listenOne(ctx, a)
		if err != nil {
			for _, l := range open {
				err = errors.Join(err, l.Close())
			}
			return nil, err
		}
		if secure != nil {
			l = tls.NewListener(l, secure)
		}
		open = append(open, l)
	}
	return open, nil
}

func listenOne(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	path, isUnix := strings.CutPrefix(address, "unix:")
	if !isUnix {
		l, err := lc.Listen(ctx, "tcp", address)
		if err != nil {
			return nil, fmt.Errorf("listen on %s: %w", address, err)
		}
		return l, nil
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// removeStale removes a socket that a killed process left. It keeps one that answers, and files that are not sockets.
func removeStale(ctx context.Context, path string) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("listen on unix:%s: that file is not a socket: remove it or choose another path", path)
	}
	var d net.Dialer
	if c, err := d.DialContext(ctx, "unix", path); err == nil {
		return errors.Join(fmt.Errorf("listen on unix:%s: another process serves it", path), c.Close())
	}
	return os.Remove(path)
}

// Ending configures the shutdown of a service.
type Ending struct {
	Begin        func()        // called first, before anything is closed, to report "not ready"
	Delay, Drain time.Duration // Delay before the listeners are closed; Drain is the limit for open requests
	Abandoned    func()        // called if requests did not finish within Drain
}

// Serve serves endpoints until the context ends or one of them fails, and then shuts down. During Delay it serves
// everything as before. Then it accepts no new requests, and aborts those that are not answered after Drain. The last
// endpoint ends last, so that operations can be observed while the others drain.
func Serve(ctx context.Context, endpoints []Endpoint, e Ending) error {
	var g errgroup.Group
	failed, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, p := range endpoints {
		for _, l := range p.Listeners {
			g.Go(func() error {
				err := p.Server.Serve(l)
				if errors.Is(err, http.ErrServerClosed) {
					return nil
				}
				cancel(err)
				return fmt.Errorf("serve %s: %w", l.Addr(), err)
			})
		}
	}
	<-failed.Done()
	if e.Begin != nil {
		e.Begin()
	}
	if ctx.Err() != nil {
		time.Sleep(e.Delay) // only the end of the process interrupts it
	}
	var faults []error
	for _, p := range endpoints {
		faults = append(faults, shut(ctx, p.Server, e))
	}
	return errors.Join(append(faults, g.Wait())...)
}

// shut shuts down one server.
func shut(ctx context.Context, s *http.Server, e Ending) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.Drain)
	defer cancel()
	err := s.Shutdown(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if e.Abandoned != nil {
		e.Abandoned()
	}
	return s.Close()
}
