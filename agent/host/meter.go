package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strconv"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"

	"fairlane/agent"
	"fairlane/ccconfig/nic/adopt"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
)

// errno returns an error number of the kernel, with its text.
func errno(n int32) error { return syscall.Errno(n) }

// meter reads a port's counters.
type meter struct {
	host *Host
	port PortFound
}

func (m *meter) Link(ctx context.Context) (agent.Link, error) {
	if err := ctx.Err(); err != nil {
		return agent.Link{}, err
	}
	dir := netClass + m.port.NetDev
	state, err := m.host.files.Read(dir + "/operstate")
	if err != nil {
		return agent.Link{}, fmt.Errorf("link of %s: %w", m.port.NetDev, err)
	}
	v := inventory{files: m.host.files}
	return agent.Link{MAC: v.text(dir + "/address"), Up: strings.TrimSpace(string(state)) == "up", SpeedMbps: v.speed(m.port.NetDev)}, nil
}

// Counters implements agent.Meter: the RDMA port's own counters and those of the InfiniBand form, whose port_xmit_data
// and port_rcv_data count words of four octets; the network device's by ethtool; and further ones by RDMA netlink.
func (m *meter) Counters(ctx context.Context) (niccount.Counters, error) {
	out, err := nicfiles.HWCounters(m.host.files, m.port.RDMA, m.port.RDMAPort)
	if out == nil {
		out = niccount.Counters{}
	}
	basic, basicErr := m.basic()
	add(out, basic)
	ethtool, ethErr := m.ethtool(ctx, m.port.NetDev)
	add(out, ethtool)
	if m.host.counts != nil {
		if rdma, err := m.host.counts.RDMACounters(ctx, m.port.RDMA, m.port.RDMAPort); err == nil {
			add(out, rdma)
		}
	}
	if len(out) == 0 {
		return nil, errors.Join(err, basicErr, ethErr, ctx.Err())
	}
	// An unreadable directory is reported in addition to the counters of other sources, because the names in it are
	// unknown.
	if errors.Is(err, nicfiles.ErrAbsent) {
		err = nil
	}
	return out, errors.Join(err, basicErr, ctx.Err())
}

// add adds counters of another source; existing ones stay.
func add(to, from niccount.Counters) {
	for name, c := range from {
		if have, ok := to[name]; !ok || have.Err != nil {
			to[name] = c
		}
	}
}

// basic reads the counters that every RDMA port has.
func (m *meter) basic() (niccount.Counters, error) {
	dir := fmt.Sprintf("%s%s/ports/%d/counters", rdmaClass, m.port.RDMA, m.port.RDMAPort)
	names, err := m.host.files.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("/%s: %w: %w", dir, nicfiles.ErrUnreadable, err)
	}
	out := niccount.Counters{}
	for _, name := range names {
		c := niccount.Counter{Name: name}
		b, err := m.host.files.Read(dir + "/" + name)
		if err == nil {
			c.Value, err = strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
		}
		if err != nil {
			c.Value, c.Err = 0, fmt.Errorf("/%s/%s: %w: %w", dir, name, nicfiles.ErrUnreadable, err)
		}
		out[name] = c
	}
	return out, nil
}

// ethtool reads the statistics of a network device.
func (m *meter) ethtool(ctx context.Context, netdev string) (niccount.Counters, error) {
	out, err := m.host.options.Ethtool.Run(ctx, []string{"-S", netdev})
	if err != nil {
		return nil, err
	}
	s, err := adopt.Ethtool("ethtool -S "+netdev, string(out))
	if err != nil {
		return nil, err
	}
	return maps.Clone(s.Counters), nil
}

// Functions implements agent.Meter. If a function's network device is on the host, that device counts the function's
// RDMA traffic. For a function of a guest, its representor or else route netlink counts all of the function's
// traffic, at the switch or the card. Its congestion control is counted by its RDMA device alone, which is found anew at
// each reading, since a container may take it and give it back at any time.
func (m *meter) Functions(ctx context.Context) ([]agent.Function, error) {
	if len(m.port.Functions) == 0 {
		return nil, nil
	}
	var byLink map[int]octets
	var linkErr error
	out := make([]agent.Function, len(m.port.Functions))
	for i, f := range m.port.Functions {
		out[i] = agent.Function{Index: f.Index, Name: f.NetDev}
		switch {
		case f.NetDev != "":
			out[i].TxOctets, out[i].RxOctets = m.pair(ctx, f.NetDev, "tx_vport_rdma_unicast_bytes", "rx_vport_rdma_unicast_bytes")
		case f.Representor != "":
			out[i].Name = f.Representor
			// The representor receives the packets that the function sends.
			out[i].TxOctets, out[i].RxOctets = m.pair(ctx, f.Representor, "vport_rx_bytes", "vport_tx_bytes")
		default:
			if byLink == nil {
				byLink, linkErr = m.octets(ctx)
			}
			out[i].Name = m.port.NetDev + " vf " + strconv.Itoa(f.Index)
			o, ok := byLink[f.Index]
			switch {
			case linkErr != nil:
				o.err = linkErr
			case !ok:
				o.err = niccount.ErrAbsent
			}
			if o.err != nil {
				o = octets{err: fmt.Errorf("%s: %w", out[i].Name, o.err)}
			}
			out[i].TxOctets = niccount.Counter{Name: "tx_octets", Value: o.sent, Err: o.err}
			out[i].RxOctets = niccount.Counter{Name: "rx_octets", Value: o.received, Err: o.err}
		}
		out[i].Problem = agent.ErrFunctionElsewhere
		if devices := m.host.mapper.devices(f.PCI); len(devices) == 1 && f.PCI != "" {
			out[i].RDMA = devices[0]
			out[i].Counters, out[i].Problem = nicfiles.HWCounters(m.host.files, devices[0], functionPort)
		}
	}
	return out, ctx.Err()
}

// functionPort is the only port of a function's RDMA device.
const functionPort = 1

// pair reads two statistics of a network device.
func (m *meter) pair(ctx context.Context, netdev, tx, rx string) (sent, received niccount.Counter) {
	all, err := m.ethtool(ctx, netdev)
	read := func(name string) niccount.Counter {
		if err != nil {
			return niccount.Counter{Name: name, Err: fmt.Errorf("%s of %s: %w", name, nicparam.Clip(netdev), err)}
		}
		v, err := all.Read(name)
		if err != nil {
			err = fmt.Errorf("%s of %s: %w", name, netdev, err)
		}
		return niccount.Counter{Name: name, Value: v, Err: err}
	}
	return read(tx), read(rx)
}

// octets are the octets that a function sent and received, by route netlink.
type octets struct {
	sent, received uint64
	err            error
}

// octets reads the traffic of functions by route netlink.
func (m *meter) octets(ctx context.Context) (map[int]octets, error) {
	if m.host.counts == nil {
		return map[int]octets{}, nil
	}
	vfs, err := m.host.counts.functions(ctx, m.port.NetDev)
	return octetsOf(vfs), err
}

// errOnlyZeros means a function without statistics, or without any traffic: the kernel returns zeros for both, and
// does not report whether the driver counts.
var errOnlyZeros = fmt.Errorf("route netlink returns only zeros, as for a function that the driver does not count: %w", nicfiles.ErrUnreadable)

func octetsOf(vfs []netlink.VfInfo) map[int]octets {
	out := make(map[int]octets, len(vfs))
	for _, v := range vfs {
		o := octets{v.TxBytes, v.RxBytes, nil}
		if v.TxBytes|v.RxBytes|v.TxPackets|v.RxPackets|v.Multicast|v.Broadcast|v.TxDropped|v.RxDropped == 0 {
			o.err = errOnlyZeros
		}
		out[v.ID] = o
	}
	return out
}
