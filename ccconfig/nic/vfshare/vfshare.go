// Package vfshare implements the two interfaces for rates of virtual functions on Linux: devlink rates of port
// functions, for cards in switchdev mode, and the older rates by route netlink, for cards in legacy mode. A card
// supports one of them. Using both is an error that the kernel does not report, so callers must check the mode first.
//
// Devlink is accessed through iproute2's program with JSON output, as documented in devlink-rate(8) and devlink-port(8). It has
// not been tested on hardware.
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

// Limits of decoding.
const (
	MaxBytes     = 8 << 20 // of a text
	maxFunctions = nicparam.MaxFunctions
	classes      = 8
)

// Mode is the mode of a card's e-switch.
type Mode string

// Modes.
const (
	Legacy    Mode = "legacy"
	Switchdev Mode = "switchdev"
)

// Rate holds devlink's values of a leaf. Devlink omits zero values.
type Rate struct {
	TxShare uint64 // bytes/s
	TxMax   uint64 // bytes/s; 0 means no limit
	Weight  uint64 // 0 means not set
	Parent  string // its group; may be empty
	// TCBW are the relative shares of traffic classes; nil if the kernel or the program does not support them.
	TCBW *[classes]uint64
}

// Function is a virtual function of a port.
type Function struct {
	Index  int    // from 0
	Handle string // of its devlink port, such as "pci/0000:3b:00.0/65537"
	NetDev string // its representor; may be empty
}

// Tool runs iproute2's devlink with arguments and returns its output. If the program fails, it returns an error with the
// output.
type Tool interface {
	Run(ctx context.Context, args []string) (stdout []byte, err error)
}

// ModeArgs returns the arguments that query the mode of a card's e-switch, by the PCI address of its function.
func ModeArgs(pci string) []string {
	return []string{"-j", "dev", "eswitch", "show", "pci/" + pci}
}

// PortArgs returns the arguments that list devlink's ports.
func PortArgs() []string { return []string{"-j", "port", "show"} }

// RateArgs returns the arguments that list the rates of functions.
func RateArgs() []string { return []string{"-j", "port", "function", "rate", "show"} }

// SetArgs returns the arguments that set the rates of a function, in the order of attributes.
func SetArgs(handle string, attributes []Attribute) []string {
	out := []string{"port", "function", "rate", "set", handle}
	for _, a := range attributes {
		out = append(out, a.Name)
		out = append(out, a.Words...)
	}
	return out
}

// Attribute is one attribute of a command, with its words.
type Attribute struct {
	Name  string
	Words []string
}

// FormatError reports output that is not in devlink's format.
type FormatError struct {
	Part    string // such as "rate pci/0000:3b:00.0/1 tx_share"
	Found   string
	Allowed string
}

// Error contains the part, the value found and the allowed values.
func (e *FormatError) Error() string {
	return fmt.Sprintf("devlink: %s: found %s, want %s", e.Part, e.Found, e.Allowed)
}

// section decodes the named object, an object of objects.
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

// ParseMode parses the mode of a card's e-switch.
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

// ParsePorts returns the virtual functions of one physical function of a card, by index. pf is the number of the physical
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
			continue // functions of another host, on a card with its own CPU
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

// ParseRates returns the rates of leaves, by handle.
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

// shares parses shares of classes: an object with a member for each, or a list of such objects. The actual output format is not
// documented.
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

// number parses a number, which older programs quote.
func number(raw json.RawMessage) (uint64, error) {
	return strconv.ParseUint(strings.Trim(string(raw), `"`), 10, 64)
}

// word parses a string; any other value becomes empty.
func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
