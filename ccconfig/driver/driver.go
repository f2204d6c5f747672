// Package driver is the common contract between Fairlane and devices of every protocol. A driver receives the complete desired
// state of a device, computes the difference to the current state, writes it, and reports an outcome per field. It never
// reports success: only a later Read can verify the state.
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

// Device identifies one manageable unit: a port of a channel adapter or NIC, or a whole switch (Port 0).
type Device struct {
	Plane subnet.Plane    `json:"plane"`
	ID    ident.PortID    `json:"id"`   // node GUID and port; port 0 for a switch
	Name  string          `json:"name"` // for display: node description and port
	Kind  subnet.NodeKind `json:"kind"`
	LID   ident.LID       `json:"lid"`   // LID of its management agents; 0 on Ethernet
	Ports int             `json:"ports"` // number of external ports of a switch
}

// Capabilities are the supported settings of a device.
type Capabilities struct {
	TableEntries     int  `json:"table_entries"` // largest number of CCT entries: ControlTableCap x 64
	PerQP            bool `json:"per_qp"`        // QP mode available
	PerSL            bool `json:"per_sl"`        // SL mode available
	PortMarking      bool `json:"port_marking"`  // supports SwitchPortCongestionSetting
	CreditStarvation bool `json:"credit_starvation"`
	PerSLCounters    bool `json:"per_sl_counters"` // supports PortXmitDataSL and PortRcvDataSL

	WRCC   *WRCCCapabilities  `json:"wrcc,omitempty"`   // of a WRCC switch
	NIC    *NICCapabilities   `json:"nic,omitempty"`    // of a NIC port on Ethernet
	Queues *QueueCapabilities `json:"queues,omitempty"` // of a switch on PlaneRoCE
}

// WRCCCapabilities are the table sizes of a WRCC switch, in entries.
type WRCCCapabilities struct {
	Ports   int `json:"ports"`   // with a fair rate
	Weights int `json:"weights"` // of classes; 0 when the switch applies no class weights itself
	Domains int `json:"domains"` // ports that can be assigned to a data centre
}

// Settings is the complete desired or observed congestion-control state of one device. Parts that do not apply to the device's
// plane and kind are nil.
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

// Outcome is the result of an Apply for one field.
type Outcome string

// Outcomes. Acknowledged is not success: only a read-back verifies the value.
const (
	OutcomeUnchanged    Outcome = "unchanged"    // already at the desired value, nothing sent
	OutcomeAcknowledged Outcome = "acknowledged" // the device answered the write with status 0
	OutcomeSent         Outcome = "sent"         // written, but no answer received
	OutcomeRefused      Outcome = "refused"      // the device returned an error
	OutcomeSkipped      Outcome = "skipped"      // not attempted, because an earlier field failed
)

// FieldReceipt is the outcome of one field or attribute block.
type FieldReceipt struct {
	Field   string  `json:"field"` // such as "cct[0..63]", "ca.sl", "switch.defaults", "switch.ports[0..31]"
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail,omitempty"` // in English
	// Said is Detail as a sentence. Receipts of earlier versions do not have it.
	Said *phrase.Text `json:"said,omitempty"`
}

// Receipt lists the outcomes of one Apply in the order of the writes.
type Receipt struct {
	Fields []FieldReceipt `json:"fields"`
}

// Note adds a field's outcome, with what there is to say about it: the zero Text is nothing.
func (r *Receipt) Note(field string, o Outcome, detail phrase.Text) {
	f := FieldReceipt{Field: field, Outcome: o, Detail: detail.String()}
	if detail.ID != "" {
		f.Said = &detail
	}
	r.Fields = append(r.Fields, f)
}

// NoteError adds a field's outcome with an error; nil is none.
func (r *Receipt) NoteError(field string, o Outcome, err error) {
	f := FieldReceipt{Field: field, Outcome: o}
	if err != nil {
		f.Detail, f.Said = err.Error(), new(Said(err))
	}
	r.Fields = append(r.Fields, f)
}

// Driver reads and writes the devices of one plane. Methods are safe for concurrent use on different devices.
type Driver interface {
	// Capabilities returns the capabilities that the device reports.
	Capabilities(ctx context.Context, d Device) (Capabilities, error)
	// Read returns the complete observed state.
	Read(ctx context.Context, d Device) (Settings, error)
	// Apply changes the device's settings to want and sends only differences. It is idempotent and may be interrupted at any point; a
	// second call completes it. The receipt is valid even if err is not nil.
	Apply(ctx context.Context, d Device, want Settings) (Receipt, error)
}

// Examiner is a Driver that checks the prerequisites of congestion control on a device, beyond the settings of a plan.
type Examiner interface {
	// Examine evaluates the prerequisites of a plan on a device; got is the state just read from it. It writes nothing. After
	// an error every prerequisite is unknown.
	Examine(ctx context.Context, d Device, got Settings, n prereq.Needs) ([]prereq.Item, error)
}

// Examine calls the Examiner that a driver implements or wraps (Unwrap). It returns no items for other drivers or nil needs. An
// error becomes an item of state Unknown.
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
		return []prereq.Item{{ID: prereq.Readable, Scope: prereq.ScopeDevice, Field: d.Name, State: prereq.Unknown, Why: phrase.Of("device.unreadable", "reason", Said(err))}}
	}
	return items
}

// Error kinds, for errors.Is.
var (
	ErrUnreachable = errors.New("device unreachable")               // retry
	ErrBusy        = errors.New("device busy")                      // retry later
	ErrUnsupported = errors.New("not supported by the device")      // do not retry; record the missing capability
	ErrInvalid     = errors.New("refused as invalid by the device") // an error of the caller
	ErrConflict    = errors.New("changed by another manager")       // another client changed the device
)

// ErrUnsent marks an error of Apply that occurred before any change was sent to the device. It accompanies an error kind.
var ErrUnsent = errors.New("nothing was sent")

// Unsent marks an error of Apply that occurred before any change was sent to the device.
func Unsent(err error) error { return fmt.Errorf("%w: %w", ErrUnsent, err) }

// Refusef returns an error of a kind with which Apply rejects the desired state before it sends anything; format and args are
// as in fmt.Errorf.
func Refusef(kind error, format string, args ...any) error {
	return fmt.Errorf("%w: %w: %w", kind, ErrUnsent, fmt.Errorf(format, args...))
}

// Said returns an error of a driver as a sentence: its own one, or its kind with the text, which protocols and devices
// word in English, as a quotation. It is the text of the error in English.
func Said(err error) phrase.Text {
	if said := phrase.OfError(err); !said.IsVerbatim() {
		return said
	}
	return SaidAs(err, err.Error())
}

// SaidAs returns a text of a device or a protocol as a quotation, with the kind of an error.
func SaidAs(kind error, answer string) phrase.Text {
	text := phrase.Quoted(answer)
	switch {
	case errors.Is(kind, ErrBusy):
		return phrase.Of("device.busy", "text", text)
	case errors.Is(kind, ErrInvalid):
		return phrase.Of("device.refused", "text", text)
	case errors.Is(kind, ErrUnsupported):
		return phrase.Of("device.unsupported", "text", text)
	case errors.Is(kind, ErrConflict):
		return phrase.Of("device.changed", "text", text)
	case errors.Is(kind, ErrUnreachable):
		return phrase.Of("device.unreachable", "text", text)
	}
	return text
}

// KindOf returns the error kind of err, or ErrUnreachable if it has none.
func KindOf(err error) error {
	for _, kind := range []error{ErrBusy, ErrInvalid, ErrUnsupported, ErrConflict} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return ErrUnreachable
}

// OutcomeOf returns the outcome of a write that ended with err, which may be nil.
func OutcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return OutcomeAcknowledged
	case errors.Is(KindOf(err), ErrUnreachable):
		return OutcomeSent
	}
	return OutcomeRefused
}
