package ibcc

import (
	"fmt"

	"fairlane/internal/fieldwise"
)

// MaxThreshold is the largest Threshold and CS_Threshold, which are 4 bits wide (annex A10).
const MaxThreshold = 15

// Validate returns a *fieldwise.Error for a shift above MaxShift or a multiplier above MaxMultiplier. Both would overwrite the
// neighbouring bits of the wire form.
func (e Entry) Validate() error {
	switch {
	case e.Shift > MaxShift:
		return fieldwise.Bad("shift", e.Shift, "0 to 3")
	case e.Multiplier > MaxMultiplier:
		return fieldwise.Bad("multiplier", e.Multiplier, "0 to 16383")
	}
	return nil
}

// ValidateRanges checks only that the settings can be encoded and that every device can hold them: the table covers 0..Limit,
// has at most MaxTableEntries, and every entry fits its encoding. It accepts any state that a device may have, written by any
// manager, so that such a state can be restored. Settings to be written must also pass Validate. Errors are *fieldwise.Error.
func (c *CASettings) ValidateRanges() error {
	if len(c.Table) > MaxTableEntries {
		return fieldwise.Bad("cct", fmt.Sprintf("%d entries", len(c.Table)), fmt.Sprintf("at most %d", MaxTableEntries))
	}
	if len(c.Table) <= int(c.Limit) {
		return fieldwise.Bad("ccti_limit", c.Limit, fmt.Sprintf("less than the %d entries of the table", len(c.Table)))
	}
	for i, e := range c.Table {
		if err := e.Validate(); err != nil {
			return fieldwise.Under(fmt.Sprintf("cct[%d].", i), err)
		}
	}
	return nil
}

// Validate checks ValidateRanges and the consistency of the settings. The first entry must have no delay, because an unmarked
// flow must run at line rate (CCTI_Min is the setting for a permanent cap). The delays of entries 0..Limit must never fall,
// because a flow with more marks must not get faster. No CCTI_Min may exceed CCTI_Limit. Errors are *fieldwise.Error.
func (c *CASettings) Validate() error {
	if err := c.ValidateRanges(); err != nil {
		return err
	}
	if c.Table[0].Multiplier != 0 {
		return fieldwise.Bad("cct[0]", c.Table[0], "0:0, no delay")
	}
	for i := 1; i <= int(c.Limit); i++ {
		if a, b := c.Table[i-1], c.Table[i]; b.Eighths() < a.Eighths() {
			return fieldwise.Bad(fmt.Sprintf("cct[%d]", i), b, fmt.Sprintf("no less delay than the entry before it, %s", a))
		}
	}
	for sl, p := range c.SLs {
		if int(p.Min) > int(c.Limit) {
			return fieldwise.Bad(fmt.Sprintf("sl[%d].min", sl), p.Min, fmt.Sprintf("at most ccti_limit, %d", c.Limit))
		}
	}
	return nil
}

// Reacts reports whether the port reacts to BECNs on any SL, that is, whether any Increase is above zero.
func (c *CASettings) Reacts() bool {
	for _, p := range c.SLs {
		if p.Increase != 0 {
			return true
		}
	}
	return false
}

// HighestMin returns the largest CCTI_Min of all SLs.
func (c *CASettings) HighestMin() uint8 {
	var m uint8
	for _, p := range c.SLs {
		m = max(m, p.Min)
	}
	return m
}

// Validate returns a *fieldwise.Error for a threshold above 15 or an invalid CS_ReturnDelay. The other fields may have any
// value of their types. Callers with a given switch must check with PortMask.Max that the masks contain only its ports.
func (s *SwitchSettings) Validate() error {
	switch {
	case s.Threshold > MaxThreshold:
		return fieldwise.Bad("threshold", s.Threshold, "0 to 15")
	case s.CSThreshold > MaxThreshold:
		return fieldwise.Bad("cs_threshold", s.CSThreshold, "0 to 15")
	}
	return fieldwise.Under("cs_return_delay.", s.CSReturnDelay.Validate())
}

// Validate returns a *fieldwise.Error for a threshold above 15, and for a packet size or marking rate on a valid
// credit-starvation element, where both are reserved.
func (m PortMarking) Validate() error {
	starve := m.Valid && m.CreditStarvation
	switch {
	case m.Threshold > MaxThreshold:
		return fieldwise.Bad("threshold", m.Threshold, "0 to 15")
	case starve && m.PacketSize != 0:
		return fieldwise.Bad("packet_size", m.PacketSize, "0 with credit_starvation")
	case starve && m.MarkingRate != 0:
		return fieldwise.Bad("marking_rate", m.MarkingRate, "0 with credit_starvation")
	}
	return nil
}
