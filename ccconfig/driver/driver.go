// Package driver is the one contract between Fairlane and a device, whatever protocol the
// device speaks. A driver is told what the device should be, works out the difference,
// writes it, and says per field what happened; it never judges success, which only a later
// Read can do.
package driver

import (
	"context"
	"errors"
	"fmt"

	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/prereq"
	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// Device names one manageable unit: a port of a channel adapter or NIC, or a whole switch (Port 0).
type Device struct {
	Plane subnet.Plane    `json:"plane"`
	ID    ident.PortID    `json:"id"`   // node GUID and port; port 0 for a switch
	Name  string          `json:"name"` // for people: node description and port
	Kind  subnet.NodeKind `json:"kind"`
	LID   ident.LID       `json:"lid"`   // where its agents answer; 0 on Ethernet
	Ports int             `json:"ports"` // external ports of a switch
}

// Capabilities is what a device can be told.
type Capabilities struct {
	TableEntries     int  `json:"table_entries"` // most CCT entries: ControlTableCap x 64
	PerQP            bool `json:"per_qp"`        // QP mode available
	PerSL            bool `json:"per_sl"`        // SL mode available
	PortMarking      bool `json:"port_marking"`  // SwitchPortCongestionSetting answered
	CreditStarvation bool `json:"credit_starvation"`
	PerSLCounters    bool `json:"per_sl_counters"` // PortXmitDataSL and PortRcvDataSL answered

	WRCC   *WRCCCapabilities  `json:"wrcc,omitempty"`   // of a WRCC switch
	NIC    *NICCapabilities   `json:"nic,omitempty"`    // of a NIC port on Ethernet
	Queues *QueueCapabilities `json:"queues,omitempty"` // of a switch on PlaneRoCE
}

// WRCCCapabilities is what a WRCC switch can be told: the sizes of its tables, entries.
type WRCCCapabilities struct {
	Ports   int `json:"ports"`   // with a fair rate
	Weights int `json:"weights"` // of classes; 0 when the switch weighs none itself
	Domains int `json:"domains"` // ports with a data centre
}

// Settings is the whole desired or observed congestion-control state of one device. The half
// that does not apply to the device's plane and kind is nil.
type Settings struct {
	CA     *ibcc.CASettings `json:"ca,omitempty"`
	Switch *SwitchState     `json:"switch,omitempty"`
	WRCC   *WRCCState       `json:"wrcc,omitempty"`   // of a switch on PlaneWRCC
	NIC    *NICState        `json:"nic,omitempty"`    // of a NIC port on PlaneRoCE or PlaneWRCC
	Queues *QueueState      `json:"queues,omitempty"` // of a switch on PlaneRoCE
}

// WRCCState is the fair-rate settings of a WRCC switch.
type WRCCState = wrcc.SwitchConfig

// SwitchState is the marking of a switch: the defaults and, by port number, the overrides
// (index 0 is port 0; length Device.Ports+1).
type SwitchState struct {
	Defaults ibcc.SwitchSettings `json:"defaults"`
	Ports    []ibcc.PortMarking  `json:"ports"`
}

// Outcome is what became of one field of an Apply.
type Outcome string

// Outcomes. Acknowledged is not success: only reading the value back is.
const (
	OutcomeUnchanged    Outcome = "unchanged"    // already as wanted, nothing sent
	OutcomeAcknowledged Outcome = "acknowledged" // the device answered the write with status 0
	OutcomeSent         Outcome = "sent"         // written, no answer seen
	OutcomeRefused      Outcome = "refused"      // the device answered with an error
	OutcomeSkipped      Outcome = "skipped"      // not attempted, because an earlier field failed
)

// FieldReceipt is the outcome of one field or attribute block.
type FieldReceipt struct {
	Field   string  `json:"field"` // such as "cct[0..63]", "ca.sl", "switch.defaults", "switch.ports[0..31]"
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail,omitempty"`
}

// Receipt lists the outcomes of one Apply in the order of writing.
type Receipt struct {
	Fields []FieldReceipt `json:"fields"`
}

// Note adds a field.
func (r *Receipt) Note(field string, o Outcome, detail string) {
	r.Fields = append(r.Fields, FieldReceipt{Field: field, Outcome: o, Detail: detail})
}

// Driver reads and writes one plane's devices. Methods are safe for concurrent use on
// different devices.
type Driver interface {
	// Capabilities asks the device what it supports.
	Capabilities(ctx context.Context, d Device) (Capabilities, error)
	// Read returns the whole observed state.
	Read(ctx context.Context, d Device) (Settings, error)
	// Apply brings the device to want, sending only what differs. It is idempotent and may be
	// interrupted anywhere; running it again finishes the job. The receipt is valid even when
	// err is not nil.
	Apply(ctx context.Context, d Device, want Settings) (Receipt, error)
}

// Examiner is a Driver that checks what congestion control needs on a device beside the settings of a plan.
type Examiner interface {
	// Examine judges the prerequisites of a plan on a device; got was just read from it. It writes nothing. After an error every
	// prerequisite is unknown.
	Examine(ctx context.Context, d Device, got Settings, n prereq.Needs) ([]prereq.Item, error)
}

// Examine calls the Examiner that a driver is or wraps (Unwrap); other drivers, and nil needs, have no items. An error becomes an item
// of state Unknown.
func Examine(ctx context.Context, to Driver, d Device, got Settings, n *prereq.Needs) []prereq.Item {
	x, ok := to.(Examiner)
	for !ok {
		inner, wraps := to.(interface{ Unwrap() Driver })
		if !wraps {
			break
		}
		to = inner.Unwrap()
		x, ok = to.(Examiner)
	}
	if !ok || n == nil {
		return nil
	}
	items, err := x.Examine(ctx, d, got, *n)
	if err != nil {
		return []prereq.Item{{ID: prereq.Readable, Scope: prereq.ScopeDevice, Field: d.Name, State: prereq.Unknown, Why: phrase.Of("device.unreadable", "reason", err.Error())}}
	}
	return items
}

// Error kinds, for errors.Is.
var (
	ErrUnreachable = errors.New("device unreachable")               // retry
	ErrBusy        = errors.New("device busy")                      // retry later
	ErrUnsupported = errors.New("not supported by the device")      // give up, record the capability
	ErrInvalid     = errors.New("refused as invalid by the device") // our fault
	ErrConflict    = errors.New("changed by someone else")          // another manager writes too
)

// ErrUnsent marks, beside its kind, an error of Apply that came before anything was sent to change the device.
var ErrUnsent = errors.New("nothing was sent")

// Unsent is an error of Apply that came before anything was sent to change the device.
func Unsent(err error) error { return fmt.Errorf("%w: %w", ErrUnsent, err) }

// Refusef is an error of a kind by which Apply refuses what is wanted before anything is sent, in words as of fmt.Errorf.
func Refusef(kind error, format string, args ...any) error {
	return fmt.Errorf("%w: %w: %w", kind, ErrUnsent, fmt.Errorf(format, args...))
}

// KindOf is the error kind that err has, ErrUnreachable when it has none of them.
func KindOf(err error) error {
	for _, kind := range []error{ErrBusy, ErrInvalid, ErrUnsupported, ErrConflict} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return ErrUnreachable
}

// OutcomeOf says what is known of a write that ended with err, which may be nil.
func OutcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return OutcomeAcknowledged
	case errors.Is(KindOf(err), ErrUnreachable):
		return OutcomeSent
	}
	return OutcomeRefused
}
