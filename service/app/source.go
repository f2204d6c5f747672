package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/service/control"
	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/ibsim"
	"fairlane/subnet/mad"
	"fairlane/subnet/topofile"
	"fairlane/subnet/umad"
)

// source is where a fabric comes from: exactly one of the first four fields is set.
type source struct {
	file     string    // path of a fabric file
	ibsim    string    // address for ibsim.Dial
	umad     umad.Name // port of this machine
	ethernet string    // path of an inventory
	mKey     mad.Key   // of a live InfiniBand fabric; 0 is none
	ccKey    mad.Key   // as mKey
	examine  bool      // discovery checks the prerequisites of InfiniBand devices
}

// sourceForms says what sources look like.
const sourceForms = "file:PATH, umad:CA:PORT, ibsim:unix:NAME, ibsim:udp:HOST:PORT or ethernet:PATH"

// infiniBandForms says what sources of InfiniBand fabrics look like.
const infiniBandForms = "file:PATH, " + liveForms

// liveForms says what sources of live InfiniBand fabrics look like.
const liveForms = "umad:CA:PORT, ibsim:unix:NAME or ibsim:udp:HOST:PORT"

// parseSource reads "file:PATH", "ethernet:PATH", "umad:CA:PORT" or "ibsim:ADDR", ADDR as ibsim.Dial takes it or a bare
// name for abstract Unix sockets.
func parseSource(s string) (source, error) { return parseSourceOf(s, sourceForms) }

// parseSourceOf is parseSource for those who take fewer forms; forms says which.
func parseSourceOf(s, forms string) (source, error) {
	kind, rest, _ := strings.Cut(s, ":")
	switch {
	case rest == "":
	case kind == "file":
		return source{file: rest}, nil
	case kind == "ethernet":
		return source{ethernet: rest}, nil
	case kind == "umad":
		n, err := umad.ParseName(rest)
		if err != nil {
			return source{}, usage.Errorf("source %q: want %s: %w", s, forms, err)
		}
		return source{umad: n}, nil
	case kind == "ibsim" && (strings.HasPrefix(rest, "unix:") || strings.HasPrefix(rest, "udp:")):
		return source{ibsim: rest}, nil
	case kind == "ibsim" && !strings.Contains(rest, ":") && rest != "unix" && rest != "udp": // those lack their address
		return source{ibsim: "unix:" + rest}, nil
	}
	return source{}, usage.Errorf("source %q: want %s", s, forms)
}

// transport is an attachment to a live InfiniBand fabric.
type transport interface {
	mad.Transport
	io.Closer
}

// String prints the source; that of a live InfiniBand fabric without its kind.
func (s source) String() string {
	switch {
	case s.file != "":
		return "file:" + s.file
	case s.ethernet != "":
		return "ethernet:" + s.ethernet
	case s.umad != umad.Name{}:
		return s.umad.String()
	}
	return s.ibsim
}

// isFile reports whether a source is a file on this machine.
func isFile(s source) bool { return s.file+s.ethernet != "" }

// dial opens a management transport to the live fabric that a source names. mKeyFile holds its M_Key; empty is no key.
func dial(ctx context.Context, from, mKeyFile string) (transport, error) {
	s, err := parseSource(from)
	if err != nil {
		return nil, err
	}
	if s.mKey, err = mKey(mKeyFile); err != nil {
		return nil, err
	}
	return s.dial(ctx)
}

// dial opens a management transport to a live fabric.
func (s source) dial(ctx context.Context) (transport, error) { return s.dialBy(ctx, umad.Options{}) }

// dialBy is dial with options for the port of this machine.
func (s source) dialBy(ctx context.Context, o umad.Options) (transport, error) {
	switch {
	case s.umad != umad.Name{}:
		c, err := umad.Open(ctx, s.umad, o)
		if absent := new(umad.AbsentError); errors.As(err, &absent) {
			return nil, &usage.Error{Err: err}
		} else if err != nil {
			return nil, fmt.Errorf("attach to the fabric: %w", err)
		}
		return withMKey(c, s.mKey), nil
	case s.ibsim == "":
		return nil, usage.Errorf("source %s: want a live InfiniBand fabric, %s", s, liveForms)
	}
	c, err := ibsim.Dial(ctx, s.ibsim, ibsim.Options{InFlight: 256})
	if err != nil {
		return nil, fmt.Errorf("attach to fabric %s: %w", s.ibsim, err)
	}
	return withMKey(c, s.mKey), nil
}

// sweepParallel is how many requests of a sweep are under way.
const sweepParallel = 256

// found is a fabric as its source has it.
type found struct {
	fabric   *subnet.Fabric
	stats    control.DiscoverStats
	warnings []phrase.Text
	settings int // of the warnings: settings of devices that are not as plans need them
	asked    int // devices of an inventory
	answered int // of them
}

// discoverSource turns a source into the model: a file is read, an InfiniBand fabric is swept, and the devices of an inventory
// are asked who they are. progress may be nil.
func discoverSource(ctx context.Context, s source, progress func(discover.Progress)) (*found, error) {
	start := time.Now()
	out := &found{}
	var err error
	switch {
	case s.file != "":
		out.fabric, err = readFabric(s.file)
	case s.ethernet != "":
		err = out.ask(ctx, s.ethernet, progress)
	default:
		err = out.sweep(ctx, s, progress)
	}
	if err != nil {
		return nil, err
	}
	out.stats.Wall = time.Since(start)
	return out, nil
}

// ask reads an inventory and asks its devices.
func (o *found) ask(ctx context.Context, path string, progress func(discover.Progress)) error {
	k, err := readInventory(path)
	if err != nil {
		return err
	}
	var tell func(asked, of int)
	if progress != nil {
		tell = func(asked, of int) { progress(discover.Progress{Nodes: asked, MADs: of}) }
	}
	o.fabric, o.asked, o.stats.Plane = k.fabric, len(k.devices), k.switchPlane()
	return o.census(ctx, k, tell)
}

// sweep discovers an InfiniBand fabric.
func (o *found) sweep(ctx context.Context, s source, progress func(discover.Progress)) error {
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // the slot is gone either way
	r, err := discover.Sweep(ctx, c, discover.Options{Parallel: sweepParallel, Progress: progress})
	if err != nil {
		return fmt.Errorf("discover fabric %s: %w", s, err)
	}
	o.fabric, o.stats.MADsSent = r.Fabric, int64(r.MADs)
	for _, w := range r.Warnings {
		o.warnings = append(o.warnings, w.Sentence())
	}
	if !s.examine {
		return nil
	}
	unmet, err := examineDevices(ctx, c, s.ccKey, r.Fabric)
	o.warnings = append(o.warnings, unmet...)
	return err
}

// readFabric reads a fabric file of either form.
func readFabric(path string) (*subnet.Fabric, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, usage.Errorf("%s: want a regular file", path)
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, &usage.Error{Err: err}
	}
	defer func() { _ = r.Close() }() // read only
	f, err := topofile.Read(path, r)
	if err != nil {
		return nil, &usage.Error{Err: err}
	}
	return f, nil
}

// withoutContent keeps what a file holds out of an error that goes to a client of the service: whoever may name a file
// to the service need not be one who may read it.
func withoutContent(source string, err error) error {
	if err == nil {
		return nil
	}
	_, where, _ := strings.Cut(source, ":")
	var fault *topofile.ParseError
	if errors.As(err, &fault) && fault.Line > 0 {
		where = fmt.Sprintf("%s:%d", fault.File, fault.Line)
	}
	return fmt.Errorf("%s cannot be read; on the machine of the service, `fairlane discover --from %s` says why", where, source)
}
