package driver

import (
	"fmt"
	"strings"

	"fairlane/internal/fieldwise"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// MaxSwitchPorts is the largest number of external ports of a switch: port numbers are 8 bits wide and 255 means "drop" in a
// forwarding table (IBTA vol. 1, 14.2.5.11).
const MaxSwitchPorts = 254

// Validate checks that d has a valid address and is of a kind with settings: a unicast LID, and port 0 with 1 to 254 external
// ports on a switch or port 1 to 254 on a channel adapter or NIC. On Ethernet there is no LID.
func (d Device) Validate() error {
	adapter := "channel adapter"
	if d.ethernet() {
		adapter = "NIC"
	} else if !d.LID.IsUnicast() {
		return fmt.Errorf("device %s: LID %d, want 1 to %d", d, d.LID, ident.MaxUnicastLID)
	}
	switch d.Kind {
	case subnet.KindSwitch:
		if d.ID.Port != 0 {
			return fmt.Errorf("device %s: port %d of a switch, want 0: a switch is managed as a whole", d, d.ID.Port)
		}
		if d.Ports < 1 || d.Ports > MaxSwitchPorts {
			return fmt.Errorf("device %s: %d ports, want 1 to %d", d, d.Ports, MaxSwitchPorts)
		}
	case subnet.KindCA:
		if d.ID.Port < 1 || d.ID.Port > MaxSwitchPorts {
			return fmt.Errorf("device %s: port %d of a %s, want 1 to %d", d, d.ID.Port, adapter, MaxSwitchPorts)
		}
	default:
		return fmt.Errorf("device %s: kind %d, want %d (%s) or %d (switch) on plane %q", d, d.Kind, subnet.KindCA, adapter, subnet.KindSwitch, d.Plane)
	}
	return nil
}

// String formats the device as "host-07/P1 (0x0002c90300a1b2c3:1)", or only the identifier if it has no name.
func (d Device) String() string {
	if d.Name == "" {
		return d.ID.String()
	}
	return fmt.Sprintf("%s (%s)", d.Name, d.ID)
}

// ValidateRanges checks that s is complete for d (exactly the part for its kind, one element per port) and that every value can
// be encoded. It accepts any state that d may have; settings to be written must also pass Validate.
func (s Settings) ValidateRanges(d Device) error {
	if err := s.validateShape(d); err != nil {
		return err
	}
	switch {
	case s.CA != nil:
		return s.CA.ValidateRanges()
	case s.WRCC != nil:
		return s.WRCC.ValidateRanges(d.Ports)
	case s.NIC != nil:
		return s.NIC.validateRanges()
	case s.Queues != nil:
		return s.Queues.validate(d.Ports)
	}
	return s.Switch.validateRanges(d.Ports)
}

// Validate checks ValidateRanges and consistency: the table by ibcc.CASettings.Validate, and that the masks of a switch contain
// only its ports. An observed state may have all 256 bits set.
func (s Settings) Validate(d Device) error {
	if err := s.validateShape(d); err != nil {
		return err
	}
	switch {
	case s.CA != nil:
		return s.CA.Validate()
	case s.WRCC != nil:
		return s.WRCC.Validate(d.Ports)
	case s.NIC != nil:
		return s.NIC.validate(d)
	case s.Queues != nil:
		return s.Queues.validate(d.Ports)
	}
	return s.Switch.validate(d.Ports)
}

func (s Settings) validateShape(d Device) error {
	if err := d.Validate(); err != nil {
		return err
	}
	if have := s.halves(); len(have) != 1 || have[0] != d.half() {
		return fmt.Errorf("device %s: settings for %s, want those of its kind and no others", d, presentKinds(have))
	}
	return nil
}

// half returns the display name of the part of Settings for a device's plane and kind.
func (d Device) half() string {
	switch {
	case d.ethernet() && d.Kind == subnet.KindCA:
		return "a NIC"
	case d.Plane == PlaneRoCE:
		return "an Ethernet switch"
	case d.Plane == PlaneWRCC:
		return "a WRCC switch"
	case d.Kind == subnet.KindCA:
		return "a channel adapter"
	}
	return "a switch"
}

func (s Settings) halves() []string {
	var have []string
	for _, h := range []struct {
		is   bool
		name string
	}{
		{s.CA != nil, "a channel adapter"}, {s.Switch != nil, "a switch"}, {s.WRCC != nil, "a WRCC switch"},
		{s.NIC != nil, "a NIC"}, {s.Queues != nil, "an Ethernet switch"},
	} {
		if h.is {
			have = append(have, h.name)
		}
	}
	return have
}

func presentKinds(have []string) string {
	switch len(have) {
	case 0:
		return "nothing"
	case 1:
		return have[0]
	}
	return "both " + strings.Join(have, " and ")
}

func (s *SwitchState) validate(ports int) error {
	allowed := fmt.Sprintf("ports 0 to %d", ports)
	if p := s.Defaults.VictimMask.Max(); p > ports {
		return fieldwise.Bad("victim_mask", fmt.Sprintf("port %d", p), allowed)
	}
	if p := s.Defaults.CreditMask.Max(); p > ports {
		return fieldwise.Bad("credit_mask", fmt.Sprintf("port %d", p), allowed)
	}
	return s.validateRanges(ports)
}

func (s *SwitchState) validateRanges(ports int) error {
	if err := s.Defaults.Validate(); err != nil {
		return err
	}
	if len(s.Ports) != ports+1 {
		return fieldwise.Bad("ports", fmt.Sprintf("%d elements", len(s.Ports)), fmt.Sprintf("%d: port 0 and %d external ports", ports+1, ports))
	}
	for i, p := range s.Ports {
		if err := p.Validate(); err != nil {
			return fieldwise.Under(fmt.Sprintf("ports[%d].", i), err)
		}
	}
	return nil
}
