package inventory

import (
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"

	"fairlane/internal/loopback"
	"fairlane/internal/phrase"
	"fairlane/internal/yamltree"
)

// Read reads an inventory. name is the file name, for messages. The error joins *yamltree.Fault.
func Read(name string, r io.Reader) (*Inventory, error) {
	d, f := yamltree.NewDecoder(name), &fileForm{Protocol: string(SONiC)}
	d.NullIsNone = true
	d.Only(r, MaxSize, f)
	v := &Inventory{Fabric: string(f.Fabric), Agents: f.Agents.text, Switches: f.Switches.text, Protocol: Protocol(f.Protocol)}
	if d.Faults() == 0 {
		v.TLS = f.tls(d)
		v.Devices = f.devices(d)
		f.requireLoopback(d, "agents", f.Agents)
		f.requireLoopback(d, "switches", f.Switches)
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	return v, nil
}

// fileForm is the written form of an inventory, with the keys in the order of the documentation.
type fileForm struct {
	Version  string       `json:"version" want:"1" of:"1"`
	Fabric   text         `json:"fabric" want:"inventory.want-fabric"`
	TLS      *tlsForm     `json:"tls"`
	Insecure bool         `json:"insecure"`
	Agents   address      `json:"agents"`
	Switches address      `json:"switches"`
	Protocol string       `json:"protocol" of:"sonic,openconfig,p4runtime"`
	Devices  []deviceForm `json:"devices" most:"130000"`
}

type tlsForm struct {
	CA          text `json:"ca" want:"inventory.want-ca"`
	Certificate text `json:"certificate"`
	Key         text `json:"key"`
	ServerName  text `json:"server_name"`
}

type deviceForm struct {
	Node     text    `json:"node" want:"inventory.want-node-name"`
	Address  address `json:"address" want:"inventory.want-address"`
	Protocol string  `json:"protocol" of:"agent,sonic,openconfig,p4runtime"`
	Target   text    `json:"target"`
	DeviceID uint64  `json:"device_id" in:"1..18446744073709551615"`
	Hostname text    `json:"hostname"`
}

// text is a string of bounded length.
type text string

// UnmarshalText checks a text.
func (t *text) UnmarshalText(b []byte) error {
	s := string(b)
	if len(s) > MaxText || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return &phrase.Error{Text: yamltree.Found(yamltree.Quoted(s), phrase.Of("inventory.want-text", "max", MaxText))}
	}
	*t = text(s)
	return nil
}

// address is an address as host:port.
type address struct{ text, host string }

// UnmarshalText checks an address.
func (a *address) UnmarshalText(b []byte) error {
	var t text
	if err := t.UnmarshalText(b); err != nil {
		return err
	}
	host, ok := hostOf(string(t))
	if !ok {
		return &phrase.Error{Text: yamltree.Found(yamltree.Quoted(string(t)), phrase.Of("inventory.want-address"))}
	}
	a.text, a.host = string(t), host
	return nil
}

func (f *fileForm) tls(d *yamltree.Decoder) *TLS {
	switch t := f.TLS; {
	case t != nil && f.Insecure:
		d.FaultAt("insecure", phrase.Of("inventory.insecure-tls"))
	case t != nil && (t.Certificate == "") != (t.Key == ""):
		d.FaultAt("tls", phrase.Of("inventory.half-pair"))
	case t != nil:
		return &TLS{CA: string(t.CA), Certificate: string(t.Certificate), Key: string(t.Key), ServerName: string(t.ServerName)}
	case !f.Insecure:
		d.FaultAt("tls", yamltree.Missing(phrase.Of("inventory.want-tls")))
	}
	return nil
}

func (f *fileForm) devices(d *yamltree.Decoder) []Device {
	out := make([]Device, len(f.Devices))
	for i := range f.Devices {
		in, field := &f.Devices[i], fmt.Sprintf("devices[%d]", i)
		f.requireLoopback(d, field+".address", in.Address)
		out[i] = Device{
			Node: string(in.Node), Address: in.Address.text, Protocol: Protocol(in.Protocol), Target: string(in.Target),
			DeviceID: in.DeviceID, Hostname: string(in.Hostname), line: d.Line(field),
		}
	}
	return out
}

// requireLoopback rejects an address of another machine in a file without TLS.
func (f *fileForm) requireLoopback(d *yamltree.Decoder, field string, a address) {
	if a.host != "" && f.Insecure && !loopback.Is(a.host) {
		d.FaultAt(field, yamltree.Found(yamltree.Quoted(a.text), phrase.Of("inventory.want-loopback")))
	}
}

// hostOf returns the host of host:port; false without a host or without a port from 1 to 65535.
func hostOf(s string) (string, bool) {
	at := strings.LastIndexByte(s, ':')
	if at < 1 {
		return "", false
	}
	host := s[:at]
	if num, err := strconv.ParseUint(s[at+1:], 10, 16); err != nil || num == 0 {
		return "", false
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		return inner, ok && err == nil && ip.Is6()
	}
	return host, !strings.ContainsAny(host, ":/[] ")
}
