// Package vfshare is the two ways to the rates of virtual functions on Linux: devlink rates of port functions, for cards in
// switchdev mode, and the older rates by route netlink, for cards in legacy mode. A card has one of them; using both is a
// fault that the kernel does not refuse, so whoever probes asks for the mode first.
//
// Devlink is reached by the program of iproute2 with JSON output, as devlink-rate(8) and devlink-port(8) document it. It
// has not been seen on hardware.
package vfshare

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/nic/nicparam"
)

// Bounds of what is decoded.
const (
	MaxBytes     = 8 << 20 // of a text
	maxFunctions = nicparam.MaxFunctions
	classes      = 8
)

// Mode is what the e-switch of a card does.
type Mode string

// Modes.
const (
	Legacy    Mode = "legacy"
	Switchdev Mode = "switchdev"
)

// Rate is what devlink tells of a leaf. Devlink leaves out what is zero.
type Rate struct {
	TxShare uint64 // bytes/s, as devlink has it
	TxMax   uint64 // bytes/s; 0 is no limit
	Weight  uint64 // 0 is not set
	Parent  string // its group; empty where it has none
	// TCBW is the relative shares of traffic classes; nil where the kernel or the program has none.
	TCBW *[classes]uint64
}

// Function is a virtual function of a port.
type Function struct {
	Index  int    // from 0
	Handle string // of its devlink port, such as "pci/0000:3b:00.0/65537"
	NetDev string // its representor; empty where none is told
}

// Tool runs iproute2's devlink with arguments and returns what it printed. An error of the program is an error here, with
// what it printed.
type Tool interface {
	Run(ctx context.Context, args []string) (stdout []byte, err error)
}

// ModeArgs are the arguments that ask for the mode of a card's e-switch, by the PCI address of its function.
func ModeArgs(pci string) []string {
	return []string{"-j", "dev", "eswitch", "show", "pci/" + pci}
}

// PortArgs are the arguments that list devlink's ports.
func PortArgs() []string { return []string{"-j", "port", "show"} }

// RateArgs are the arguments that list the rates of functions.
func RateArgs() []string { return []string{"-j", "port", "function", "rate", "show"} }

// SetArgs are the arguments that give a function rates, in the order of attributes.
func SetArgs(handle string, attributes []Attribute) []string {
	out := []string{"port", "function", "rate", "set", handle}
	for _, a := range attributes {
		out = append(out, a.Name)
		out = append(out, a.Words...)
	}
	return out
}

// Attribute is one attribute of a command, and its words.
type Attribute struct {
	Name  string
	Words []string
}

// FormatError is a text that cannot be what devlink prints.
type FormatError struct {
	Part    string // such as "rate pci/0000:3b:00.0/1 tx_share"
	Found   string
	Allowed string
}

// Error names the part, what was found and what is allowed.
func (e *FormatError) Error() string {
	return fmt.Sprintf("devlink: %s: found %s, want %s", e.Part, e.Found, e.Allowed)
}

// section decodes one object of objects, under a name of its own.
func section(text []byte, name string) (map[string]map[string]json.RawMessage, error) {
	if len(text) > MaxBytes {
		return nil, &FormatError{"output", strconv.Itoa(len(text)) + " bytes", "at most " + strconv.Itoa(MaxBytes)}
	}
	if len(strings.TrimSpace(string(text))) == 0 {
		return map[string]map[string]json.RawMessage{}, nil // a host without devlink devices
	}
	var top map[string]map[string]map[string]json.RawMessage
	if err := json.Unmarshal(text, &top); err != nil {
		return nil, &FormatError{"output", strconv.Quote(nicparam.Clip(string(text))), "JSON with an object \"" + name + "\" of objects: " + err.Error()}
	}
	s, ok := top[name]
	if !ok && len(top) > 0 {
		return nil, &FormatError{"output", "no \"" + name + "\"", "one"}
	}
	return s, nil
}

// ParseMode reads the mode of a card's e-switch.
func ParseMode(text []byte, pci string) (Mode, error) {
	s, err := section(text, "dev")
	if err != nil {
		return "", err
	}
	raw, ok := s["pci/"+pci]["mode"]
	if !ok {
		return "", &FormatError{"dev pci/" + pci, "no mode", "legacy or switchdev"}
	}
	var m Mode
	if err := json.Unmarshal(raw, &m); err != nil || m != Legacy && m != Switchdev {
		return "", &FormatError{"dev pci/" + pci + " mode", nicparam.Clip(string(raw)), "legacy or switchdev"}
	}
	return m, nil
}

// ParsePorts lists the virtual functions of one physical function of a card, by index. pf is the number of the physical
// function in the e-switch.
func ParsePorts(text []byte, pci string, pf int) ([]Function, error) {
	s, err := section(text, "port")
	if err != nil {
		return nil, err
	}
	var out []Function
	for handle, fields := range s {
		if !strings.HasPrefix(handle, "pci/"+pci+"/") || word(fields["flavour"]) != "pcivf" {
			continue
		}
		if n, err := number(fields["controller"]); err == nil && n != 0 {
			continue // functions of another host, on a card that is a computer itself
		}
		if n, err := number(fields["pfnum"]); err != nil || n != uint64(pf) {
			continue
		}
		n, err := number(fields["vfnum"])
		if err != nil || n >= maxFunctions {
			return nil, &FormatError{"port " + nicparam.Clip(handle) + " vfnum", nicparam.Clip(string(fields["vfnum"])), fmt.Sprintf("0..%d", maxFunctions-1)}
		}
		out = append(out, Function{int(n), handle, word(fields["netdev"])})
	}
	slices.SortFunc(out, func(a, b Function) int { return a.Index - b.Index })
	for i := 1; i < len(out); i++ {
		if out[i].Index == out[i-1].Index {
			return nil, &FormatError{"port " + nicparam.Clip(out[i].Handle), fmt.Sprintf("function %d twice", out[i].Index), "each once"}
		}
	}
	return out, nil
}

// ParseRates lists the rates of leaves, by handle.
func ParseRates(text []byte) (map[string]Rate, error) {
	s, err := section(text, "rate")
	if err != nil {
		return nil, err
	}
	out := map[string]Rate{}
	for handle, fields := range s {
		if word(fields["type"]) == "node" {
			continue
		}
		r := Rate{Parent: word(fields["parent"])}
		for _, f := range []struct {
			name string
			to   *uint64
		}{{"tx_share", &r.TxShare}, {"tx_max", &r.TxMax}, {"tx_weight", &r.Weight}} {
			raw, ok := fields[f.name]
			if !ok {
				continue
			}
			if *f.to, err = number(raw); err != nil {
				return nil, &FormatError{"rate " + nicparam.Clip(handle) + " " + f.name, nicparam.Clip(string(raw)), "0.." + strconv.FormatUint(math.MaxUint64, 10)}
			}
		}
		if raw, ok := fields["tc-bw"]; ok {
			if r.TCBW, err = shares(raw); err != nil {
				return nil, &FormatError{"rate " + nicparam.Clip(handle) + " tc-bw", nicparam.Clip(string(raw)), "classes 0..7, each with a share"}
			}
		}
		out[handle] = r
	}
	return out, nil
}

// shares reads shares of classes: an object with a member for each, or a list of such objects. Which one the program
// prints is not documented.
func shares(raw json.RawMessage) (*[classes]uint64, error) {
	objects := []map[string]uint64{}
	var one map[string]uint64
	if err := json.Unmarshal(raw, &one); err == nil {
		objects = append(objects, one)
	} else if err := json.Unmarshal(raw, &objects); err != nil {
		return nil, err
	}
	var out [classes]uint64
	for _, o := range objects {
		for name, v := range o {
			class, err := strconv.ParseUint(name, 10, 8)
			if err != nil || class >= classes {
				return nil, fmt.Errorf("class %q", name)
			}
			out[class] = v
		}
	}
	return &out, nil
}

// number reads a number, which older programs quote.
func number(raw json.RawMessage) (uint64, error) {
	return strconv.ParseUint(strings.Trim(string(raw), `"`), 10, 64)
}

// word reads a string; what is none is empty.
func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
