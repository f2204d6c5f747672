// Package ident holds the identifiers of a fabric as small comparable types, each with one textual form.
package ident

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// GUID is an EUI-64 identifier of a node, a port or a chassis (IBTA vol. 1, 4.1).
// Its text form is "0x" and sixteen hexadecimal digits.
type GUID uint64

// String returns the GUID as 0x0002c90300a1b2c3.
func (g GUID) String() string { return string(g.append(make([]byte, 0, 18))) }

// append avoids fmt, because lists print thousands of ports.
func (g GUID) append(b []byte) []byte {
	b = append(b, "0x"...)
	for shift := 60; shift >= 0; shift -= 4 {
		b = append(b, "0123456789abcdef"[g>>shift&15])
	}
	return b
}

// MarshalText returns the GUID in its text form.
func (g GUID) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads what ParseGUID accepts.
func (g *GUID) UnmarshalText(b []byte) error {
	v, err := ParseGUID(string(b))
	if err == nil {
		*g = v
	}
	return err
}

// ParseGUID reads 1 to 16 hexadecimal digits, with or without "0x", or four groups
// of four digits separated by colons as Linux prints them.
func ParseGUID(s string) (GUID, error) {
	t := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(s)), "0x")
	if len(t) == 19 && t[4] == ':' && t[9] == ':' && t[14] == ':' {
		t = t[:4] + t[5:9] + t[10:14] + t[15:]
	}
	v, err := strconv.ParseUint(t, 16, 64)
	if err != nil || len(t) > 16 {
		return 0, &Error{WantGUID, s}
	}
	return GUID(v), nil
}

// LID is a local identifier (IBTA vol. 1, 4.1.3): 0 is none, 1 to 0xbfff unicast,
// 0xc000 to 0xfffe multicast, 0xffff permissive.
type LID uint16

// Bounds of the LID space.
const (
	MaxUnicastLID LID = 0xbfff
	PermissiveLID LID = 0xffff
)

// IsUnicast reports whether the LID can name a port.
func (l LID) IsUnicast() bool { return l >= 1 && l <= MaxUnicastLID }

// PKey is a partition key: 15 bits of key, and the top bit for full membership.
type PKey uint16

// DefaultPKey is the default partition with full membership.
const DefaultPKey PKey = 0xffff

// Base returns the key without the membership bit.
func (p PKey) Base() PKey { return p & 0x7fff }

// Full reports whether the membership is full; otherwise it is limited.
func (p PKey) Full() bool { return p&0x8000 != 0 }

// String returns the key as 0x7fff.
func (p PKey) String() string { return fmt.Sprintf("0x%04x", uint16(p)) }

// MarshalText returns the key in its text form.
func (p PKey) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what ParsePKey accepts.
func (p *PKey) UnmarshalText(b []byte) error {
	v, err := ParsePKey(string(b))
	if err == nil {
		*p = v
	}
	return err
}

// UnmarshalJSON accepts the text form and, for convenience, a JSON number.
func (p *PKey) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		s = string(b)
	}
	return p.UnmarshalText([]byte(s))
}

// ParsePKey reads a P_Key in hexadecimal with 0x, or in decimal.
func ParsePKey(s string) (PKey, error) {
	digits, base := strings.TrimSpace(s), 10
	if len(digits) > 2 && strings.EqualFold(digits[:2], "0x") {
		digits, base = digits[2:], 16
	}
	v, err := strconv.ParseUint(digits, base, 16)
	if err != nil {
		return 0, &Error{WantPKey, s}
	}
	return PKey(v), nil
}

// SL is a service level, 0 to 15, constant from end to end.
type SL uint8

// NumSLs is the number of service levels.
const NumSLs = 16

// VL is a virtual lane: 0 to 14 carry data, 15 management.
type VL uint8

// NumVLs is the number of virtual lanes, including VL15, and ManagementVL the lane of SMPs.
const (
	NumVLs          = 16
	ManagementVL VL = 15
	MaxDataVL    VL = 14
)

// QPN is a queue pair number, 24 bits.
type QPN uint32

// PortNum is a port number on its node: 0 is a switch's management port, channel
// adapters count from 1. 255 in a forwarding table means "drop".
type PortNum uint8

// DropPort is the forwarding-table entry of a LID without a route.
const DropPort PortNum = 255

// PortID names a port permanently: by the GUID of its node and its number there.
type PortID struct {
	Node GUID    `json:"node"`
	Port PortNum `json:"port"`
}

// String returns the port as 0x0002c90300a1b2c3:1.
func (p PortID) String() string {
	b := append(p.Node.append(make([]byte, 0, 22)), ':')
	return string(strconv.AppendUint(b, uint64(p.Port), 10))
}

// MarshalText returns the port in its text form.
func (p PortID) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what ParsePortID accepts.
func (p *PortID) UnmarshalText(b []byte) error {
	v, err := ParsePortID(string(b))
	if err == nil {
		*p = v
	}
	return err
}

// ParsePortID reads GUID:PORT, PORT from 0 to 254.
func ParsePortID(s string) (PortID, error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return PortID{}, &Error{WantPort, s}
	}
	g, err := ParseGUID(s[:i])
	if err != nil {
		return PortID{}, err
	}
	n, err := strconv.ParseUint(s[i+1:], 10, 8)
	if err != nil || n == 255 {
		return PortID{}, &Error{WantPortNumber, s}
	}
	return PortID{g, PortNum(n)}, nil
}

// Compare sorts ports by node GUID, then number.
func (p PortID) Compare(q PortID) int {
	switch {
	case p.Node != q.Node:
		if p.Node < q.Node {
			return -1
		}
		return 1
	default:
		return int(p.Port) - int(q.Port)
	}
}
