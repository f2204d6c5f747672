package ccalgo

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Slots is the number of algorithm slots of NVIDIA's programmable congestion control.
const Slots = 16

// statusSlot is reported by its status alone; the list of algorithms does not contain it.
const statusSlot = 15

// Commands of the firmware's register PPCC.
const (
	commandStatus = 0x3  // whether a slot's algorithm is active
	commandList   = 0x10 // which slots contain an algorithm
)

// MaxOutput bounds the output of one query, in bytes.
const MaxOutput = 64 << 10

// ListArgs returns the arguments of mstreg, or mlxreg, that list the algorithm slots of a port, 1 to 255, of a PCI function.
func ListArgs(pci string, port int) []string {
	return ppccArgs(pci, commandList, fmt.Sprintf("local_port=%d,pnat=0,lp_msb=0", port))
}

// StatusArgs returns the arguments that read the status of a slot, 0 to 15.
func StatusArgs(pci string, port, slot int) []string {
	return ppccArgs(pci, commandStatus, fmt.Sprintf("local_port=%d,pnat=0,lp_msb=0,algo_slot=%d", port, slot))
}

func ppccArgs(pci string, command int, indexes string) []string {
	return []string{"-d", pci, "--reg_name", "PPCC", "--get", "--op", fmt.Sprintf("cmd_type=0x%x", command), "--indexes", indexes}
}

// ParseList returns the slots of which to read the status: those with an algorithm, and the last one.
func ParseList(out []byte) ([]int, error) {
	fields, err := parseRegister(out)
	if err != nil {
		return nil, err
	}
	var slots []int
	found := false
	for i := range Slots {
		v, ok := fields["text["+strconv.Itoa(i)+"]"]
		found = found || ok
		if v != 0 && i != statusSlot {
			slots = append(slots, i)
		}
	}
	if !found {
		return nil, fmt.Errorf("register PPCC: found no field text[0] to text[%d], want the list of algorithms", Slots-1)
	}
	return append(slots, statusSlot), nil
}

// ParseStatus reports whether the slot's algorithm is active.
func ParseStatus(out []byte) (bool, error) {
	fields, err := parseRegister(out)
	if err != nil {
		return false, err
	}
	v, ok := fields["value"]
	switch {
	case !ok:
		return false, fmt.Errorf("register PPCC: found no field value, want 0 or 1")
	case v > 1:
		return false, fmt.Errorf("register PPCC: value: found %d, want 0 or 1", v)
	}
	return v == 1, nil
}

// parseRegister reads the fields of a register from lines such as "value | 0x00000001". Other lines are titles and rules.
func parseRegister(out []byte) (map[string]uint64, error) {
	if len(out) > MaxOutput {
		return nil, fmt.Errorf("register PPCC: found %d bytes, want at most %d", len(out), MaxOutput)
	}
	fields := map[string]uint64{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, MaxOutput+1)
	for n := 1; lines.Scan(); n++ {
		name, text, ok := strings.Cut(lines.Text(), "|")
		name, text = strings.TrimSpace(name), strings.TrimSpace(text)
		if !ok || name == "" || !strings.HasPrefix(text, "0x") {
			continue
		}
		v, err := strconv.ParseUint(text[2:], 16, 32)
		if err != nil {
			return nil, fmt.Errorf("register PPCC: line %d: %.64q: found %.64q, want 0x and up to 8 hexadecimal digits", n, name, text)
		}
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("register PPCC: line %d: two values of field %.64q, want one", n, name)
		}
		fields[name] = v
	}
	return fields, lines.Err()
}

// Status is the result of reading the slots of a port.
type Status struct {
	Active []int // slots with an active algorithm, ascending
	// Fixed is the non-volatile flag of the fixed-function DCQCN; nil when it is unknown.
	Fixed *bool
	Err   error // the slots could not be read: then Active is meaningless
}

// Judge returns the algorithm of an NVIDIA NIC and the evidence. Slot 0 is that of DCQCN.
func (s Status) Judge() (name Name, evidence string) {
	switch {
	case s.Err != nil:
		return Unverified, "status of algorithms not read: " + s.Err.Error()
	case len(s.Active) == 1 && s.Active[0] == 0:
		return DCQCN, "register PPCC: slot 0 (DCQCN) is the only active one"
	case len(s.Active) > 0:
		return Programmable, "register PPCC: active slots " + strings.Trim(fmt.Sprint(s.Active), "[]")
	case s.Fixed != nil && *s.Fixed:
		return DCQCN, "register PPCC: no slot is active; ROCE_CC_LEGACY_DCQCN is 1"
	case s.Fixed != nil:
		return Inactive, "register PPCC: no slot is active; ROCE_CC_LEGACY_DCQCN is 0"
	}
	return Unverified, "register PPCC: no slot is active; ROCE_CC_LEGACY_DCQCN is unknown"
}
