package umad

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/madlink"
)

// Options configure a Client; the zero value is the default.
type Options struct {
	// PKey is the partition for requests to agents (QP1): the port must be in it. 0 means the default partition. Its
	// membership bit is ignored: the full member is preferred.
	PKey ident.PKey
	// InFlight bounds the requests in flight: 1 to 1024; 0 means 64.
	InFlight int
	// PerTarget bounds those to one target: 0 means 4, a negative number no bound except InFlight.
	PerTarget int
	// Timeout is how long the first try waits for its response; each further try waits twice as long as the one before,
	// up to 8 times. 0 means 500 ms; the minimum is a millisecond. Shorter tries may precede it (madlink.Options).
	Timeout time.Duration
	// Retries is how often a lost request is repeated: 0 means 2, a negative number none.
	Retries int
	// MaxTable bounds the answer to a table query, in bytes: at least 256; 0 means 64 MiB.
	MaxTable int
	// Traps, when not nil, receives the subnet management traps that reach the port, on the client's goroutine: it
	// must not wait for an Exchange. Traps go to the port of the subnet manager; the kernel delivers them to one
	// program of the machine.
	Traps func(from ident.LID, trap mad.Packet)
	// SysRoot and DevRoot are the roots of the kernel's device files; empty means /sys and /dev.
	SysRoot, DevRoot string
	// OpenDevice opens a device file; nil opens the kernel's.
	OpenDevice func(path string) (Device, error)
}

// Bounds and defaults of Options.
const (
	DefaultPerTarget = 4
	DefaultMaxTable  = 64 << 20

	maxTimeout = time.Hour // the kernel has 32 bits of milliseconds
)

// grace is how long a try waits for the kernel to report a missing response.
const grace = 5 * time.Second

func (o Options) tree() tree {
	t := tree{sys: o.SysRoot, dev: o.DevRoot}
	if t.sys == "" {
		t.sys = "/sys"
	}
	if t.dev == "" {
		t.dev = "/dev"
	}
	return t
}

// link returns the options of the link.
func (o Options) link() (madlink.Options, error) {
	l := madlink.Options{InFlight: o.InFlight, PerTarget: o.PerTarget, Timeout: o.Timeout, Retries: o.Retries, Grace: grace}
	switch {
	case l.PerTarget == 0:
		l.PerTarget = DefaultPerTarget
	case l.PerTarget < 0:
		l.PerTarget = 0
	}
	if o.Timeout != 0 && o.Timeout < time.Millisecond || o.Timeout > maxTimeout {
		return l, fmt.Errorf("timeout %s: want 1ms to %s", o.Timeout, maxTimeout)
	}
	if o.MaxTable != 0 && o.MaxTable < mad.Size {
		return l, fmt.Errorf("tables of %d bytes: want %d or more", o.MaxTable, mad.Size)
	}
	return l.WithDefaults()
}

// ErrClosed is wrapped by Exchange after Close, or when the device was removed.
var ErrClosed = madlink.ErrClosed

// Stats counts the events of a Client since Open. Retries are the client's: the kernel sends each datagram once.
type Stats = madlink.Stats

// Client is a mad.Transport over a umad file. It is safe for concurrent use.
type Client struct {
	port     Port
	dev      Device
	host     binary.ByteOrder
	link     *madlink.Link
	maxTable int
	traps    func(ident.LID, mad.Packet)

	close  sync.Once
	reader sync.WaitGroup
}

var _ mad.Transport = (*Client)(nil)

// Open opens the umad file of a port and registers agents for the classes of package mad. It fails when the port does not
// exist (*AbsentError), is not an InfiniBand port, is down or not in the partition, and when the file may not be opened
// (fs.ErrPermission); errors name the remedy. Close the client when done.
func Open(ctx context.Context, n Name, o Options) (*Client, error) {
	lo, err := o.link()
	if err != nil {
		return nil, err
	}
	p, err := Inspect(n, o)
	if err != nil {
		return nil, err
	}
	if err := p.Usable(o.PKey); err != nil {
		return nil, err
	}
	pkey, _ := p.PKeyIndex(partition(o.PKey))
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	dev, path, err := o.open(p)
	if err != nil {
		return nil, err
	}
	w := &wire{dev: dev, host: binary.NativeEndian, smSL: p.SMSL, pkeyIndex: pkey}
	if w.agents, err = register(dev, w.host, o.Traps != nil); err != nil {
		return nil, errors.Join(fmt.Errorf("port %s: %s: %w", n, path, err), dev.Close())
	}
	c := &Client{port: p, dev: dev, host: w.host, maxTable: o.MaxTable, traps: o.Traps, link: madlink.New(lo, headerSize, w)}
	if c.maxTable == 0 {
		c.maxTable = DefaultMaxTable
	}
	w.closed = c.link.ClosedErr
	c.reader.Go(c.read)
	return c, nil
}

// open opens the device file of a port.
func (o Options) open(p Port) (d Device, path string, err error) {
	open := o.OpenDevice
	if open == nil {
		open = openFile
	}
	path = o.tree().file(p.Device)
	if d, err = open(path); err != nil {
		return nil, path, fmt.Errorf("port %s: %w", p.Name, openError(path, err))
	}
	return d, path, nil
}

// Access opens the device file of a port and closes it again. Like the error of Open, its error gives the reason why
// the current user cannot open the file.
func Access(p Port, o Options) error {
	d, _, err := o.open(p)
	if err != nil {
		return err
	}
	return d.Close()
}

// partition returns the default partition for 0.
func partition(k ident.PKey) ident.PKey {
	if k == 0 {
		return ident.DefaultPKey
	}
	return k
}

// Usable rejects a port that cannot manage a fabric: one that is not InfiniBand, is down, or is not in the partition, 0
// for the default one.
func (p *Port) Usable(k ident.PKey) error {
	if !p.InfiniBand() {
		return fmt.Errorf("port %s: its link layer is %s: want InfiniBand; devices of an Ethernet fabric are reached by an inventory (ethernet:PATH)", p.Name, p.LinkLayer)
	}
	switch p.State {
	case "INIT", "ARMED", "ACTIVE":
	default:
		return fmt.Errorf("port %s: its state is %s: want a cable that is plugged in, and a link that is up (INIT, ARMED or ACTIVE)", p.Name, p.State)
	}
	if _, ok := p.PKeyIndex(partition(k)); !ok {
		return fmt.Errorf("port %s: it is not in partition %s: want one of %s, which its subnet manager gave it", p.Name, partition(k).Base(), p.partitions())
	}
	return nil
}

// partitions formats the non-empty entries of the partition table.
func (p *Port) partitions() string {
	s := ""
	for _, k := range p.PKeys {
		if k != 0 {
			s += ", " + k.String()
		}
	}
	if s == "" {
		return "none"
	}
	return s[2:]
}

// Port returns the kernel's description of the port when the client was opened.
func (c *Client) Port() Port { return c.port }

// LID returns the LID that the port had when the client was opened; 0 before a subnet manager
// assigned one.
func (c *Client) LID() ident.LID { return c.port.LID }

// Stats returns the counters.
func (c *Client) Stats() Stats { return c.link.Stats() }

// Exchange implements mad.Transport. Besides mad.ErrTimeout it returns the context's error, ErrClosed (with ErrRemoved
// when the device was removed), and errors of a request that does not fit its target or that the kernel rejects. A target
// with SL 0 is addressed on the SL of the subnet manager. Of an answer longer than 256 bytes it returns the start: see
// Table.
func (c *Client) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	return c.link.Exchange(ctx, to, req)
}

// Close closes the file, with which the kernel drops the pending requests, ends every Exchange with ErrClosed and waits
// for the client's goroutine. Further calls do nothing and return nil.
func (c *Client) Close() error {
	var err error
	c.close.Do(func() {
		c.link.Close()
		if err = c.dev.Close(); errors.Is(err, os.ErrClosed) {
			err = nil // from a device that was removed
		}
		c.reader.Wait()
	})
	return err
}
