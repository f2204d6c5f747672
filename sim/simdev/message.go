package simdev

import (
	"time"

	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Message is one management datagram with the addressing of its envelope.
type Message struct {
	DLID, SLID ident.LID // both ident.PermissiveLID on a directed-route packet; SLID 0 means the sender's LID
	DQP, SQP   ident.QPN
	// Length is the number of used bytes of MAD, as stated by the sender; 0 means all. It is smaller only in subnet
	// administration's answers between clients.
	Length int
	MAD    mad.Packet
}

// turn turns the message into its answer: it swaps the addresses.
func (m *Message) turn() {
	m.DLID, m.SLID = m.SLID, m.DLID
	m.DQP, m.SQP = m.SQP, m.DQP
	m.Length = 0
}

// Outcome is the result for a message passed to Devices.Handle.
type Outcome uint8

// Outcomes.
const (
	// Dropped means that no response follows.
	Dropped Outcome = iota
	// Replied means that the message now holds the response.
	Replied
	// Undeliverable means that the message has no route, or that no subnet manager is attached at the destination; the message
	// is unchanged. Over the ibsim protocol it returns with envelope status 110, an early timeout.
	Undeliverable
	// Forwarded means that the message is for the client at Verdict.To; it holds the request or response with the sender's LID.
	Forwarded
)

// String names the outcome.
func (o Outcome) String() string {
	switch o {
	case Replied:
		return "replied"
	case Undeliverable:
		return "undeliverable"
	case Forwarded:
		return "forwarded"
	default:
		return "dropped"
	}
}

// Verdict is the result of Devices.Handle.
type Verdict struct {
	Outcome Outcome
	To      subnet.PortRef // the destination port of a Forwarded message
	Delay   time.Duration  // injected delay of the response, wall time
}
