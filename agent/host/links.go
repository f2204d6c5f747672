package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/vfshare"
)

// Links uses route netlink for virtual functions, and RDMA netlink for counters. It implements vfshare.Links.
type Links struct {
	// Timeout bounds each request.
	Timeout time.Duration
}

// handle opens a socket of a protocol for some requests.
func (l *Links) handle(ctx context.Context, protocol int) (*netlink.Handle, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h, err := netlink.NewHandle(protocol)
	if err != nil {
		return nil, err
	}
	if err := h.SetSocketTimeout(l.Timeout); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// functions lists the virtual functions of a network device by route netlink.
func (l *Links) functions(ctx context.Context, netdev string) ([]netlink.VfInfo, error) {
	h, err := l.handle(ctx, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("route netlink: %w", err)
	}
	defer h.Close()
	link, err := h.LinkByName(netdev)
	if err != nil {
		return nil, fmt.Errorf("route netlink: %s: %w", netdev, err)
	}
	return link.Attrs().Vfs, nil
}

var _ vfshare.Links = (*Links)(nil)

func (l *Links) Rates(ctx context.Context, netdev string) ([]vfshare.LinkRate, error) {
	vfs, err := l.functions(ctx, netdev)
	if err != nil {
		return nil, err
	}
	out := make([]vfshare.LinkRate, len(vfs))
	for i, v := range vfs {
		out[i] = vfshare.LinkRate{Function: v.ID, Min: v.MinTxRate, Max: v.MaxTxRate}
	}
	return out, nil
}

func (l *Links) SetRate(ctx context.Context, netdev string, r vfshare.LinkRate) error {
	h, err := l.handle(ctx, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("route netlink: %w", err)
	}
	defer h.Close()
	link, err := h.LinkByName(netdev)
	if err != nil {
		return fmt.Errorf("route netlink: %s: %w", netdev, err)
	}
	if err := h.LinkSetVfRate(link, r.Function, int(r.Min), int(r.Max)); err != nil {
		return fmt.Errorf("route netlink: rates of function %d of %s: %w", r.Function, netdev, err)
	}
	return nil
}

// ErrNoRDMANetlink means that the kernel has no RDMA netlink, or denies it to the agent.
var ErrNoRDMANetlink = errors.New("no RDMA netlink")

// RDMACounters reads a port of an RDMA device by RDMA netlink: its counters, including those that are off by default
// (such as cc_rx_cnp_pkts), and under names that start with resource_ the number of objects of each kind, such as queue
// pairs, on the device.
func (l *Links) RDMACounters(ctx context.Context, device string, port int) (niccount.Counters, error) {
	h, err := l.handle(ctx, unix.NETLINK_RDMA)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoRDMANetlink, err)
	}
	defer h.Close()
	link, err := h.RdmaLinkByName(device)
	if err != nil {
		return nil, fmt.Errorf("RDMA netlink: %s: %w", device, err)
	}
	out := niccount.Counters{}
	stats, err := h.RdmaPortStatisticList(link, uint32(port))
	if err != nil {
		return nil, fmt.Errorf("RDMA netlink: counters of %s port %d: %w", device, port, err)
	}
	for name, v := range stats.Statistics {
		out[name] = niccount.Counter{Name: name, Value: v}
	}
	resources, err := h.RdmaResourceList()
	if err != nil {
		const name = "resource_qp"
		out[name] = niccount.Counter{Name: name, Err: fmt.Errorf("RDMA netlink: resources of %s: %w", device, err)}
		return out, nil
	}
	for _, r := range resources {
		if r.Name != device {
			continue
		}
		for kind, v := range r.RdmaResourceSummaryEntries {
			out["resource_"+kind] = niccount.Counter{Name: "resource_" + kind, Value: v}
		}
	}
	return out, nil
}
