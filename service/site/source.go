package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"fairlane/ccconfig/prereq"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/internal/yamltree"
	"fairlane/service/config"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/ibsim"
	"fairlane/subnet/mad"
	"fairlane/subnet/topofile"
	"fairlane/subnet/umad"
)

// Source is the origin of a fabric: exactly one of the first four fields is set.
type Source struct {
	File     string    // path of a fabric file
	IBSim    string    // address for ibsim.Dial
	UMAD     umad.Name // port of this machine
	Ethernet string    // path of an inventory
	MKey     mad.Key   // of a live InfiniBand fabric; 0: no key
	CCKey    mad.Key   // as mKey
	// needs are the prerequisites of plans for RoCE that discovery checks; nil are those of plans without traffic classes.
	needs   *prereq.Needs
	examine bool // discovery checks the prerequisites of InfiniBand devices
}

// sourceForms lists the forms of sources.
var sourceForms = oneOf("file:PATH", "umad:CA:PORT", "ibsim:unix:NAME", "ibsim:udp:HOST:PORT", "ethernet:PATH")

// InfiniBandForms lists the forms of sources of InfiniBand fabrics.
var InfiniBandForms = oneOf("file:PATH", "umad:CA:PORT", "ibsim:unix:NAME", "ibsim:udp:HOST:PORT")

// LiveForms lists the forms of sources of live InfiniBand fabrics.
var LiveForms = oneOf("umad:CA:PORT", "ibsim:unix:NAME", "ibsim:udp:HOST:PORT")

func oneOf(forms ...string) phrase.Text {
	last := len(forms) - 1
	return phrase.Of("list.or", "list", forms[:last], "last", forms[last])
}

// ParseSource parses "file:PATH", "ethernet:PATH", "umad:CA:PORT" or "ibsim:ADDR". ADDR is an address for ibsim.Dial,
// or a bare name of an abstract Unix socket.
func ParseSource(s string) (Source, error) { return ParseSourceOf(s, sourceForms) }

// ParseSourceOf is ParseSource for callers that accept fewer forms; forms lists these.
func ParseSourceOf(s string, forms phrase.Text) (Source, error) {
	kind, rest, _ := config.CutSource(s)
	switch kind {
	case config.KindFile:
		return Source{File: rest}, nil
	case config.KindEthernet:
		return Source{Ethernet: rest}, nil
	case config.KindUMAD:
		n, err := umad.ParseName(rest)
		if err != nil {
			return Source{}, usage.Wrap(phrase.Because(err, phrase.Of("source.want-because", "source", strconv.Quote(s), "want", forms, "reason", err)))
		}
		return Source{UMAD: n}, nil
	case config.KindUnix:
		return Source{IBSim: "unix:" + rest}, nil
	case config.KindUDP:
		return Source{IBSim: "udp:" + rest}, nil
	}
	return Source{}, usage.Of(phrase.Of("source.want", "source", strconv.Quote(s), "want", forms))
}

// Transport is an attachment to a live InfiniBand fabric.
type Transport interface {
	mad.Transport
	io.Closer
}

// String returns the source; that of a live InfiniBand fabric without its kind.
func (s Source) String() string {
	switch {
	case s.File != "":
		return config.KindFile + s.File
	case s.Ethernet != "":
		return config.KindEthernet + s.Ethernet
	case s.UMAD != umad.Name{}:
		return s.UMAD.String()
	}
	return s.IBSim
}

// isFile reports whether a source is a file on this machine.
func isFile(s Source) bool { return s.File+s.Ethernet != "" }

// Dial opens a management transport to the live fabric of a source. mKeyFile holds its M_Key; empty means no key.
func Dial(ctx context.Context, from, mKeyFile string) (Transport, error) {
	s, err := ParseSource(from)
	if err != nil {
		return nil, err
	}
	if s.MKey, err = MKey(mKeyFile); err != nil {
		return nil, err
	}
	return s.Dial(ctx)
}

// Dial opens a management transport to a live fabric.
func (s Source) Dial(ctx context.Context) (Transport, error) { return s.DialBy(ctx, umad.Options{}) }

// DialBy is Dial with options for the port of this machine.
func (s Source) DialBy(ctx context.Context, o umad.Options) (Transport, error) {
	switch {
	case s.UMAD != umad.Name{}:
		c, err := umad.Open(ctx, s.UMAD, o)
		if absent := new(umad.AbsentError); errors.As(err, &absent) {
			return nil, usage.Wrap(err)
		} else if err != nil {
			return nil, phrase.Because(err, phrase.Of("source.attach", "reason", err))
		}
		return withMKey(c, s.MKey), nil
	case s.IBSim == "":
		return nil, usage.Of(phrase.Of("source.want-live", "source", s.String(), "want", LiveForms))
	}
	c, err := ibsim.Dial(ctx, s.IBSim, ibsim.Options{InFlight: 256})
	if err != nil {
		return nil, phrase.Because(err, phrase.Of("source.attach-to", "fabric", s.IBSim, "reason", err))
	}
	return withMKey(c, s.MKey), nil
}

// SweepParallel is the number of requests of a sweep that are outstanding at a time.
const SweepParallel = 256

// Found is a discovered fabric.
type Found struct {
	Fabric   *subnet.Fabric
	Stats    control.DiscoverStats
	Warnings []phrase.Text
	Settings int // number of warnings about devices that answered as expected, but do not meet a plan's prerequisites
	Asked    int // devices of an inventory that were queried
	Answered int // number of those that answered
}

// DiscoverSource builds the model from a source: it reads a file, sweeps an InfiniBand fabric, or queries the devices
// of an inventory for their identities. progress may be nil.
func DiscoverSource(ctx context.Context, s Source, progress func(discover.Progress)) (*Found, error) {
	start := time.Now()
	out := &Found{}
	var err error
	switch {
	case s.File != "":
		out.Fabric, err = ReadFabric(s.File)
	case s.Ethernet != "":
		err = out.ask(ctx, s, progress)
	default:
		err = out.sweep(ctx, s, progress)
	}
	if err != nil {
		return nil, err
	}
	out.Stats.Wall = time.Since(start)
	return out, nil
}

// ask reads an inventory and queries its devices.
func (o *Found) ask(ctx context.Context, s Source, progress func(discover.Progress)) error {
	k, err := ReadInventory(s.Ethernet)
	if err != nil {
		return err
	}
	var report func(asked, of int)
	if progress != nil {
		report = func(asked, of int) { progress(discover.Progress{Nodes: asked, MADs: of}) }
	}
	o.Fabric, o.Asked, o.Stats.Plane = k.Fabric, len(k.devices), k.switchPlane()
	return o.census(ctx, k, cmp.Or(s.needs, device.RoCENeeds(nil, false)), report)
}

// sweep discovers an InfiniBand fabric.
func (o *Found) sweep(ctx context.Context, s Source, progress func(discover.Progress)) error {
	c, err := s.Dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // the slot is released in any case
	r, err := discover.Sweep(ctx, c, discover.Options{Parallel: SweepParallel, Progress: progress})
	if err != nil {
		return fmt.Errorf("discover fabric %s: %w", s, err)
	}
	o.Fabric, o.Stats.MADsSent = r.Fabric, int64(r.MADs)
	for _, w := range r.Warnings {
		o.Warnings = append(o.Warnings, w.Sentence())
	}
	if !s.examine {
		return nil
	}
	unmet, err := examineDevices(ctx, c, s.CCKey, r.Fabric)
	o.Warnings = append(o.Warnings, unmet...)
	return err
}

// ReadFabric reads a fabric file of either form.
func ReadFabric(path string) (*subnet.Fabric, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, usage.Of(phrase.Of("file.want-regular", "file", path))
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	defer func() { _ = r.Close() }() // read only
	f, err := topofile.Read(path, r)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	return f, nil
}

// withoutContent removes a file's contents from an error for a client of the service: the caller may be allowed to name
// a file to the service but not to read it.
func withoutContent(source string, err error) error {
	if err == nil {
		return nil
	}
	_, where, _ := strings.Cut(source, ":")
	var fabric *topofile.ParseError
	var inventory *yamltree.Fault
	switch {
	case errors.As(err, &fabric) && fabric.Line > 0:
		where = fmt.Sprintf("%s:%d", fabric.File, fabric.Line)
	case errors.As(err, &inventory) && inventory.Line > 0:
		where = fmt.Sprintf("%s:%d", inventory.File, inventory.Line)
	}
	return fmt.Errorf("%s cannot be read; on the machine of the service, `fairlane discover --from %s` says why", where, source)
}
