package gnmidev

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"fairlane/ccconfig/nic/nicparam"
)

// nonVolatile holds the non-volatile settings of a card that differ from the factory settings.
type nonVolatile struct {
	next map[string]uint64 // values after the next boot, by name with the suffix _Pn
	now  map[string]uint64
}

// boot makes the next values the current ones.
func (n *nonVolatile) boot() { n.now = maps.Clone(n.next) }

// current returns the current value, from which a run-time register starts. It returns false if there is none.
func (n *nonVolatile) current(p *nicparam.Param, port int) (uint64, bool) {
	name, err := p.NVName(port)
	if err != nil {
		return 0, false
	}
	v, ok := n.now[name]
	return v, ok
}

// value returns the current value of a port's parameter.
func (n *nonVolatile) value(base string, port int) (uint64, bool) {
	v, ok := n.now[base+"_P"+strconv.Itoa(port)]
	return v, ok
}

// flag reports whether the current value of a full name is not 0. On a card with factory settings every value is 0.
func (n *nonVolatile) flag(name string) bool { return n != nil && n.now[name] != 0 }

// tool is mstconfig on a host.
type tool struct{ host *Host }

var errTool = errors.New("exit status 3")

// Run implements nicfiles.Runner, for the arguments of a query and of a set.
func (t tool) Run(ctx context.Context, args []string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := t.card(args)
	if c == nil {
		return []byte("-E- Failed to open the device\n"), errTool
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.virtual || c.faults.NoTool:
		return []byte("-E- Failed to open device: No such file or directory\n"), errTool
	case args[len(args)-1] == "q" || args[len(args)-1] == "query":
		return []byte(c.query()), nil
	case len(args) > 4 && args[3] == "set":
		return c.setNV(args[4:])
	}
	return []byte("-E- unknown command\n"), errTool
}

// card returns the card selected by "-d".
func (t tool) card(args []string) *card {
	if len(args) < 3 || args[0] != "-d" {
		return nil
	}
	for _, c := range t.host.cards {
		if args[1] == c.name || args[1] == c.ports[0].pci {
			return c
		}
	}
	return nil
}

// eachNV calls do with each name of the card's non-volatile configuration.
func (c *card) eachNV(do func(name string, p *nicparam.Param)) {
	for _, p := range c.layout.table.By(nicparam.NV) {
		if p.Scope == nicparam.ScopeDevice {
			if name, err := p.NVName(0); err == nil {
				do(name, p)
			}
			continue
		}
		for _, at := range c.ports {
			if name, err := p.NVName(at.number); err == nil {
				do(name, p)
			}
		}
	}
}

// query returns the output of mstconfig for "-e q".
func (c *card) query() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nDevice #1:\n----------\n\nDevice type:    %s\nDevice:         %s\n\nConfigurations:    Default     Current     Next Boot\n", model, c.ports[0].pci)
	c.eachNV(func(name string, p *nicparam.Param) {
		if c.lacksNV(name) {
			return
		}
		now, next := c.stage(name, p)
		mark := " "
		if now != next {
			mark = "*"
		}
		fmt.Fprintf(&b, "%s        %-40s%-20s%-20s%s\n", mark, name, nvText(p, p.Default), nvText(p, now), nvText(p, next))
	})
	b.WriteString("The '*' shows parameters with next value different from default/current value.\n")
	return b.String()
}

// lacksNV reports whether the firmware does not have the name.
func (c *card) lacksNV(name string) bool {
	base, number := nicparam.SplitNV(name)
	p, ok := c.layout.table.ByNV(base)
	if !ok {
		return true
	}
	for _, at := range c.ports {
		if at.number == number || number == 0 {
			if err := at.faults.readable(p.Name); err != nil {
				return true
			}
		}
	}
	return false
}

// stage returns the current value and the value for the next boot.
func (c *card) stage(name string, p *nicparam.Param) (now, next uint64) {
	now, next = p.Default, p.Default
	if c.nv != nil {
		if v, ok := c.nv.now[name]; ok {
			now = v
		}
		if v, ok := c.nv.next[name]; ok {
			next = v
		}
	}
	return now, next
}

// nvText formats a value as the tool does.
func nvText(p *nicparam.Param, v uint64) string {
	switch {
	case p.Kind == nicparam.Bool && v == 0:
		return "False(0)"
	case p.Kind == nicparam.Bool:
		return "True(1)"
	}
	for _, e := range p.Values {
		if e.Number == v {
			return fmt.Sprintf("%s(%d)", e.Name, v)
		}
	}
	return strconv.FormatUint(v, 10)
}

// setNV stores values for the next boot, all or none.
func (c *card) setNV(words []string) ([]byte, error) {
	next := map[string]uint64{}
	if c.nv != nil {
		next = maps.Clone(c.nv.next)
	}
	for _, w := range words {
		name, text, _ := strings.Cut(w, "=")
		base, number := nicparam.SplitNV(name)
		p, ok := c.layout.table.ByNV(base)
		v, err := strconv.ParseUint(text, 0, 64)
		switch {
		case !ok || c.lacksNV(name) || (p.Scope == nicparam.ScopeDevice) != (number == 0):
			return []byte("-E- The Device doesn't support " + name + " parameter\n"), errTool
		case err != nil || !p.Legal(v) && !p.Holds(nicparam.NV, v, c.layout.table.Caps()):
			return []byte("-E- Failed to set " + name + ": value out of range\n"), errTool
		}
		skip := false
		for _, at := range c.ports {
			if at.number != number {
				continue
			}
			if skip, err = at.faults.writable(p.Name); err != nil {
				return []byte("-E- Failed to set configuration: " + name + "\n"), errTool
			}
			v = at.faults.keep(p, v)
		}
		if !skip {
			next[name] = v
		}
	}
	if c.nv == nil {
		c.nv = &nonVolatile{}
	}
	c.nv.next = next
	return []byte("Applying... Done!\n-I- Please reboot machine to load new configurations.\n"), nil
}
