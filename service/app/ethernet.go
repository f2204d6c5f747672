package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/grpclink"
	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/prereq"
	"fairlane/internal/usage"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/inventory"
	"fairlane/wrcc/p4rt"
)

// inventories keeps what inventory files say while they stay as they are: a large fabric takes a noticeable time to read.
// The zero value is ready.
type inventories struct {
	mu   sync.Mutex
	kept map[string]*keptInventory // by path; at most maxInventories
}

// maxInventories bounds the inventories kept.
const maxInventories = 8

// keptInventory is an inventory on its fabric.
type keptInventory struct {
	fabric  *subnet.Fabric
	devices inventory.Directory
	file    *inventory.Inventory
	path    string
	stamps  [2]stamp // of the inventory and its fabric file
}

// stamp tells whether a file was changed.
type stamp struct {
	at   time.Time
	size int64
}

func stampOf(path string) stamp {
	st, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{st.ModTime(), st.Size()}
}

// open reads an inventory and its fabric, or returns what was read before when neither file was changed.
func (v *inventories) open(path string) (*keptInventory, error) {
	v.mu.Lock()
	k := v.kept[path]
	v.mu.Unlock()
	if k != nil && k.stamps == [2]stamp{stampOf(path), stampOf(k.beside(k.file.Fabric))} {
		return k, nil
	}
	k, err := readInventory(path)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.kept == nil || len(v.kept) >= maxInventories {
		v.kept = map[string]*keptInventory{}
	}
	v.kept[path] = k
	return k, nil
}

// readInventory reads an inventory and the fabric file that it names.
func readInventory(path string) (*keptInventory, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, usage.Errorf("%s: want a regular file", path)
	}
	k := &keptInventory{path: path}
	k.stamps[0] = stampOf(path)
	r, err := os.Open(path)
	if err != nil {
		return nil, &usage.Error{Err: err}
	}
	defer func() { _ = r.Close() }() // read only
	if k.file, err = inventory.Read(path, r); err != nil {
		return nil, &usage.Error{Err: err}
	}
	topo := k.beside(k.file.Fabric)
	k.stamps[1] = stampOf(topo)
	if k.fabric, err = readFabric(topo); err != nil {
		return nil, err
	}
	if k.devices, err = k.file.On(k.fabric, path); err != nil {
		return nil, &usage.Error{Err: err}
	}
	return k, nil
}

// beside is a path that the inventory names.
func (k *keptInventory) beside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(k.path), path)
}

// plane is the one that the fabric's switches are for.
func (k *keptInventory) plane() string {
	for _, e := range k.devices {
		if e.Protocol == inventory.P4Runtime {
			return driver.PlaneWRCC
		}
	}
	return driver.PlaneRoCE
}

// switchPlane is plane, or "" where no switch answers: hosts are the same on both.
func (k *keptInventory) switchPlane() string {
	for id := range k.devices {
		if n, ok := k.fabric.NodeByGUID(id); ok && k.fabric.Nodes[n].Kind == subnet.KindSwitch {
			return k.plane()
		}
	}
	return ""
}

// tls reads the certificates that the inventory names; nil is plain text. Errors name files, never what is in them.
func (k *keptInventory) tls() (*tls.Config, error) {
	t := k.file.TLS
	if t == nil {
		return nil, nil //nolint:nilnil // plain text
	}
	ca, err := os.ReadFile(k.beside(t.CA))
	if err != nil {
		return nil, fmt.Errorf("certificates of the fabric's devices: %w", err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool(), ServerName: t.ServerName}
	if !c.RootCAs.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s: found no certificate, want at least one in PEM", k.beside(t.CA))
	}
	if t.Certificate == "" {
		return c, nil
	}
	own, err := tls.LoadX509KeyPair(k.beside(t.Certificate), k.beside(t.Key))
	if err != nil {
		return nil, fmt.Errorf("the manager's certificate %s and its key: %w", k.beside(t.Certificate), err)
	}
	c.Certificates = []tls.Certificate{own}
	return c, nil
}

// etherDriver is the driver of all devices of an Ethernet fabric: each is reached as the inventory says.
type etherDriver struct {
	devices inventory.Directory
	gnmi    *gnmi.Driver
	p4rt    *p4rt.Driver
}

var _ driver.Examiner = (*etherDriver)(nil)

// etherInFlight bounds the operations under way on a fabric.
const etherInFlight = 256

// connect makes the driver of an inventory's devices. Nothing is dialed until a device is asked for.
func (k *keptInventory) connect() (*etherDriver, error) {
	secure, err := k.tls()
	if err != nil {
		return nil, err
	}
	d := &etherDriver{devices: k.devices}
	link := grpclink.Options{TLS: secure, Insecure: secure == nil, InFlight: etherInFlight}
	if d.gnmi, err = gnmi.New(gnmi.Options{Options: link, Target: d.gnmiTarget}); err != nil {
		return nil, err
	}
	if d.p4rt, err = p4rt.New(p4rt.Options{Options: link, Target: d.p4Target}); err != nil {
		return nil, errors.Join(err, d.gnmi.Close())
	}
	return d, nil
}

func (d *etherDriver) close() error { return errors.Join(d.gnmi.Close(), d.p4rt.Close()) }

// endpoint is where a device answers.
func (d *etherDriver) endpoint(dev driver.Device) (inventory.Endpoint, error) {
	e, ok := d.devices[dev.ID.Node]
	if !ok {
		return e, errors.New("the fabric's inventory has no address for it")
	}
	return e, nil
}

func (d *etherDriver) gnmiTarget(dev driver.Device) (gnmi.Target, error) {
	e, err := d.endpoint(dev)
	return gnmi.Target{Address: e.Address, Name: e.Target, Dialect: gnmi.Dialect(e.Protocol), Hostname: e.Hostname}, err
}

func (d *etherDriver) p4Target(dev driver.Device) (p4rt.Target, error) {
	e, err := d.endpoint(dev)
	return p4rt.Target{Address: e.Address, DeviceID: e.DeviceID}, err
}

// of is the driver that speaks with a device.
func (d *etherDriver) of(dev driver.Device) (driver.Driver, error) {
	e, err := d.endpoint(dev)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", driver.ErrUnreachable, dev, err)
	}
	wants := driver.PlaneRoCE
	if e.Protocol == inventory.P4Runtime {
		wants = driver.PlaneWRCC
	}
	if dev.Kind == subnet.KindSwitch && dev.Plane != wants {
		return nil, fmt.Errorf("%w: %s speaks %s, which switches on plane %s do, not on plane %s: correct the fabric's inventory or its plane", driver.ErrUnsupported, dev, e.Protocol, wants, dev.Plane)
	}
	if e.Protocol == inventory.P4Runtime {
		return d.p4rt, nil
	}
	return d.gnmi, nil
}

// Capabilities implements driver.Driver.
func (d *etherDriver) Capabilities(ctx context.Context, dev driver.Device) (driver.Capabilities, error) {
	to, err := d.of(dev)
	if err != nil {
		return driver.Capabilities{}, err
	}
	return to.Capabilities(ctx, dev)
}

// Read implements driver.Driver.
func (d *etherDriver) Read(ctx context.Context, dev driver.Device) (driver.Settings, error) {
	to, err := d.of(dev)
	if err != nil {
		return driver.Settings{}, err
	}
	return to.Read(ctx, dev)
}

// Examine implements driver.Examiner. WRCC's switches have no classes of service to look at.
func (d *etherDriver) Examine(ctx context.Context, dev driver.Device, got driver.Settings, n prereq.Needs) ([]prereq.Item, error) {
	to, err := d.of(dev)
	if err != nil {
		return nil, err
	}
	return driver.Examine(ctx, to, dev, got, &n), nil
}

// Apply implements driver.Driver.
func (d *etherDriver) Apply(ctx context.Context, dev driver.Device, want driver.Settings) (driver.Receipt, error) {
	to, err := d.of(dev)
	if err != nil {
		return driver.Receipt{}, err
	}
	r, err := to.Apply(ctx, dev, want)
	if errors.Is(err, driver.ErrUnsupported) && want.NIC != nil {
		err = withoutShares(ctx, to, dev, want.NIC, err)
	}
	return r, err
}

// withoutShares adds what to do to the refusal of a port that cannot be divided as a plan wants it to be. Nothing of the
// plan is written to such a port: with its other settings alone the tenants on it would not have what they are promised, and it
// would read back as neither wanted nor as before.
func withoutShares(ctx context.Context, to driver.Driver, dev driver.Device, want *driver.NICState, refused error) error {
	needs, tenants := 0, 0
	for _, p := range want.Params {
		if p.Name == driver.ShareParam {
			needs, tenants = max(needs, p.Index+1), tenants+1
		}
	}
	if needs == 0 {
		return refused
	}
	caps, err := to.Capabilities(ctx, dev)
	if err != nil || caps.NIC == nil {
		return refused // that is told already, or will be
	}
	has := caps.NIC.VFs
	if !slices.Contains(caps.NIC.Params, driver.ShareParam) {
		has = 0
	}
	if has >= needs {
		return refused
	}
	return fmt.Errorf("%w: the plan divides this port among %d tenants by rates of virtual functions (%s), and its host offers %d such functions, of which the plan needs %d: "+
		"make virtual functions with rates on the host, or give each tenant a port of its own and make another plan", refused, tenants, driver.ShareParam, has, needs)
}

// portDevice is a NIC port of a fabric.
func portDevice(f *subnet.Fabric, ref subnet.PortRef, plane string) driver.Device {
	return driver.Device{Plane: plane, ID: f.PortID(ref), Name: f.PortName(ref), Kind: subnet.KindCA}
}

// switchDevice is a switch of a fabric.
func switchDevice(f *subnet.Fabric, node int32, plane string) driver.Device {
	n := &f.Nodes[node]
	return driver.Device{Plane: plane, ID: ident.PortID{Node: n.GUID}, Name: n.Name, Kind: subnet.KindSwitch, Ports: len(n.Ports) - 1}
}
