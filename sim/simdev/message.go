package simdev

import (
	"time"

	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Message is one management datagram with the addressing of its envelope.
type Message struct {
	DLID, SLID ident.LID // both ident.PermissiveLID on a directed-route packet; SLID 0: fill in the sender's
	DQP, SQP   ident.QPN
	// Length is how many bytes of MAD are in use, as the sender says; 0 stands for all. It is
	// less only in subnet administration's answers between clients.
	Length int
	MAD    mad.Packet
}

// turn makes the message the answer to itself: addresses swapped.
func (m *Message) turn() {
	m.DLID, m.SLID = m.SLID, m.DLID
	m.DQP, m.SQP = m.SQP, m.DQP
	m.Length = 0
}

// Outcome is what became of a message that was handed to Devices.Handle.
type Outcome uint8

// Outcomes.
const (
	// Dropped: nothing comes back, now or later.
	Dropped Outcome = iota
	// Replied: the message now holds the response.
	Replied
	// Undeliverable: no route, or the agent stays silent; the message is as it was sent. Over
	// the ibsim protocol it goes back with envelope status 110, an early timeout.
	Undeliverable
	// Forwarded: the message is for the client at Verdict.To; it holds the request or
	// response with the sender's LID filled in.
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
	Delay   time.Duration  // wall time to hold the response back; an injected fault
}
