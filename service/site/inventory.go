package site

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/certpool"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/subnet"
	"fairlane/subnet/inventory"
)

// inventories caches parsed inventory files until they change, because parsing that of a large fabric takes noticeable
// time. The zero value is ready to use.
type inventories struct {
	mu   sync.Mutex
	kept map[string]*Inventory // by path; at most maxInventories
}

// maxInventories is the maximum number of cached inventories.
const maxInventories = 8

// Inventory is a parsed inventory with its fabric.
type Inventory struct {
	Fabric  *subnet.Fabric
	devices inventory.Directory
	file    *inventory.Inventory
	path    string
	stamps  [2]stamp // of the inventory and its fabric file
}

// stamp identifies the state of a file, to detect changes.
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

// open reads an inventory and its fabric, or returns the cached ones if neither file has changed.
func (v *inventories) open(path string) (*Inventory, error) {
	v.mu.Lock()
	k := v.kept[path]
	v.mu.Unlock()
	if k != nil && k.unchanged() {
		return k, nil
	}
	k, err := ReadInventory(path)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.kept == nil || len(v.kept) >= maxInventories {
		v.kept = map[string]*Inventory{}
	}
	v.kept[path] = k
	return k, nil
}

// unchanged reports whether the files of an inventory are those that were read.
func (k *Inventory) unchanged() bool {
	return k.stamps == [2]stamp{stampOf(k.path), stampOf(k.resolve(k.file.Fabric))}
}

// ReadInventory reads an inventory and the fabric file that it names.
func ReadInventory(path string) (*Inventory, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, usage.Of(phrase.Of("file.want-regular", "file", path))
	}
	k := &Inventory{path: path}
	k.stamps[0] = stampOf(path)
	r, err := os.Open(path)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	defer func() { _ = r.Close() }() // read only
	if k.file, err = inventory.Read(path, r); err != nil {
		return nil, usage.Wrap(err)
	}
	topo := k.resolve(k.file.Fabric)
	k.stamps[1] = stampOf(topo)
	if k.Fabric, err = ReadFabric(topo); err != nil {
		return nil, err
	}
	if k.devices, err = k.file.On(k.Fabric, path); err != nil {
		return nil, usage.Wrap(err)
	}
	return k, nil
}

// resolve returns a path in the inventory, relative to the inventory's directory.
func (k *Inventory) resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(k.path), path)
}

// plane returns the plane that the fabric's switches serve.
func (k *Inventory) plane() subnet.Plane {
	for _, e := range k.devices {
		if e.Protocol == inventory.P4Runtime {
			return driver.PlaneWRCC
		}
	}
	return driver.PlaneRoCE
}

// switchPlane is plane, or "" if the inventory has no address of a switch: hosts are the same on both planes.
func (k *Inventory) switchPlane() subnet.Plane {
	for id := range k.devices {
		if n, ok := k.Fabric.NodeByGUID(id); ok && k.Fabric.Nodes[n].Kind == subnet.KindSwitch {
			return k.plane()
		}
	}
	return ""
}

// tls reads the certificates that the inventory names; nil means plain text. Errors name files and never contain their
// contents.
func (k *Inventory) tls() (*tls.Config, error) {
	t := k.file.TLS
	if t == nil {
		return nil, nil //nolint:nilnil // plain text
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	var err error
	if c.RootCAs, err = certpool.Read(k.resolve(t.CA)); err != nil {
		return nil, fmt.Errorf("certificates of the fabric's devices: %w", err)
	}
	if t.Certificate == "" {
		return c, nil
	}
	own, err := tls.LoadX509KeyPair(k.resolve(t.Certificate), k.resolve(t.Key))
	if err != nil {
		return nil, fmt.Errorf("the manager's certificate %s and its key: %w", k.resolve(t.Certificate), err)
	}
	c.Certificates = []tls.Certificate{own}
	return c, nil
}
