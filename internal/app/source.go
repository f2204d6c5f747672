package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"fairlane/internal/control"
	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/ibsim"
	"fairlane/subnet/topofile"
)

// source is where a fabric comes from: exactly one field is set.
type source struct {
	file  string // path of a fabric file
	ibsim string // address for ibsim.Dial
}

// parseSource reads "file:PATH" or "ibsim:ADDR", ADDR as ibsim.Dial takes it or a bare name
// for abstract Unix sockets.
func parseSource(s string) (source, error) {
	kind, rest, _ := strings.Cut(s, ":")
	switch {
	case rest == "":
	case kind == "file":
		return source{file: rest}, nil
	case kind == "ibsim" && (strings.HasPrefix(rest, "unix:") || strings.HasPrefix(rest, "udp:")):
		return source{ibsim: rest}, nil
	case kind == "ibsim" && !strings.Contains(rest, ":") && rest != "unix" && rest != "udp": // those lack their address
		return source{ibsim: "unix:" + rest}, nil
	}
	return source{}, usagef("source %q: want file:PATH, ibsim:unix:NAME or ibsim:udp:HOST:PORT", s)
}

// dial opens a management transport to a live fabric.
func (s source) dial(ctx context.Context) (*ibsim.Client, error) {
	if s.ibsim == "" {
		return nil, usagef("source file:%s: want a live fabric, ibsim:unix:NAME or ibsim:udp:HOST:PORT", s.file)
	}
	c, err := ibsim.Dial(ctx, s.ibsim, ibsim.Options{InFlight: 256})
	if err != nil {
		return nil, fmt.Errorf("attach to fabric %s: %w", s.ibsim, err)
	}
	return c, nil
}

// discoverSource turns a source into the model: a file is read, a live fabric is swept.
func discoverSource(ctx context.Context, s source, progress func(discover.Progress)) (*subnet.Fabric, control.DiscoverStats, []discover.Warning, error) {
	start := time.Now()
	if s.file != "" {
		f, err := readFabric(s.file)
		return f, control.DiscoverStats{Wall: time.Since(start)}, nil, err
	}
	c, err := s.dial(ctx)
	if err != nil {
		return nil, control.DiscoverStats{}, nil, err
	}
	defer func() { _ = c.Close() }() // the slot is gone either way
	r, err := discover.Sweep(ctx, c, discover.Options{Parallel: 256, Progress: progress})
	if err != nil {
		return nil, control.DiscoverStats{}, nil, fmt.Errorf("discover fabric %s: %w", s.ibsim, err)
	}
	return r.Fabric, control.DiscoverStats{Wall: time.Since(start), MADsSent: int64(r.MADs)}, r.Warnings, nil
}

// readFabric reads a fabric file of either form.
func readFabric(path string) (*subnet.Fabric, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, usagef("%s: want a regular file", path)
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, &UsageError{Err: err}
	}
	defer func() { _ = r.Close() }() // read only
	f, err := topofile.Read(path, r)
	if err != nil {
		return nil, &UsageError{Err: err}
	}
	return f, nil
}

// withoutContent keeps what a file holds out of an error that goes to a client of the service: whoever may name a file
// to the service need not be one who may read it.
func withoutContent(path string, err error) error {
	if err == nil {
		return nil
	}
	where := path
	var fault *topofile.ParseError
	if errors.As(err, &fault) && fault.Line > 0 {
		where = fmt.Sprintf("%s:%d", path, fault.Line)
	}
	return fmt.Errorf("%s cannot be read as a fabric file; on the machine of the service, `fairlane discover --from file:%s` says why", where, path)
}
