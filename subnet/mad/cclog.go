package mad

import "fairlane/subnet/ident"

// CongestionLogSize is the length of CongestionLog in bytes. CongestionLog fills the area that Packet.Data returns.
const CongestionLogSize = 224

// Kinds of CongestionLog.
const (
	LogTypeSwitch uint8 = 1
	LogTypeCA     uint8 = 2
)

// Number of events in each form of the log.
const (
	SwitchLogEvents = 15
	CALogEvents     = 13
)

// SwitchLogEvent is one packet that a switch marked.
type SwitchLogEvent struct {
	SLID, DLID ident.LID
	SL         ident.SL
	TimeStamp  uint32 // units of 1.024 us; 0 in an unused entry
}

// CongestionLogSwitch is the log of a switch (IBTA vol. 1, annex A10).
type CongestionLogSwitch struct {
	LogType       uint8 // LogTypeSwitch
	LeaseActive   bool  // the lease timer of the CC_Key runs
	EventsCounter uint16
	CurrentTime   uint32   // units of 1.024 us
	PortMap       PortMask // ports that marked packets
	Events        [SwitchLogEvents]SwitchLogEvent
}

func (a *CongestionLogSwitch) fields(c *coder) {
	field(c, "log type", 0, 8, &a.LogType)
	flag(c, 15, &a.LeaseActive)
	field(c, "events counter", 16, 16, &a.EventsCounter)
	field(c, "current time stamp", 32, 32, &a.CurrentTime)
	a.PortMap.fields(c, 64)
	for i := range a.Events {
		e, off := &a.Events[i], 320+i*96
		field(c, "SLID", off, 16, &e.SLID)
		field(c, "DLID", off+16, 16, &e.DLID)
		field(c, "SL", off+32, 4, &e.SL)
		field(c, "time stamp", off+64, 32, &e.TimeStamp)
	}
}

var _ Attribute = (*CongestionLogSwitch)(nil)

func (a *CongestionLogSwitch) Encode(dst []byte) error {
	c := encoding("CongestionLog", dst, CongestionLogSize)
	a.fields(&c)
	return c.err
}

func (a *CongestionLogSwitch) Decode(src []byte) error {
	c := decoding("CongestionLog", src, CongestionLogSize)
	a.fields(&c)
	return c.err
}

// CALogEvent records that a CCTI reached its Trigger_Threshold. Documents disagree on its layout (CCLayout.LibibmadLog):
// treat SL and service type as hints.
type CALogEvent struct {
	LocalQP   ident.QPN // 24 bits
	RemoteQP  ident.QPN // 24 bits
	SL        ident.SL
	Service   uint8     // 4 bits: 0 RC, 1 UC, 2 RD, 3 UD
	LocalLID  ident.LID // only in libibmad's layout
	RemoteLID ident.LID
	TimeStamp uint32 // units of 1.024 us; 0 in an unused entry
}

// CongestionLogCA is the log of a channel adapter (IBTA vol. 1, annex A10).
type CongestionLogCA struct {
	LogType       uint8 // LogTypeCA
	LeaseActive   bool  // the lease timer of the CC_Key runs
	EventsCounter uint16
	EventMap      uint16 // bit s: an event on SL s
	CurrentTime   uint32 // units of 1.024 us
	Events        [CALogEvents]CALogEvent
}

func (a *CongestionLogCA) fields(c *coder) {
	a.head(c)
	for i := range a.Events {
		e, off := &a.Events[i], 96+i*128
		if !c.write {
			e.LocalLID = 0
		}
		field(c, "local QP", off, 24, &e.LocalQP)
		field(c, "remote QP", off+32, 24, &e.RemoteQP)
		field(c, "SL", off+56, 4, &e.SL)
		field(c, "service type", off+60, 4, &e.Service)
		field(c, "remote LID", off+64, 16, &e.RemoteLID)
		field(c, "time stamp", off+96, 32, &e.TimeStamp)
	}
}

// head lays out the fields before the events.
func (a *CongestionLogCA) head(c *coder) {
	field(c, "log type", 0, 8, &a.LogType)
	flag(c, 15, &a.LeaseActive)
	field(c, "threshold event counter", 16, 16, &a.EventsCounter)
	field(c, "threshold event map", 32, 16, &a.EventMap)
	field(c, "current time stamp", 64, 32, &a.CurrentTime)
}

var _ Attribute = (*CongestionLogCA)(nil)

func (a *CongestionLogCA) Encode(dst []byte) error {
	c := encoding("CongestionLog", dst, CongestionLogSize)
	a.fields(&c)
	return c.err
}

func (a *CongestionLogCA) Decode(src []byte) error {
	c := decoding("CongestionLog", src, CongestionLogSize)
	a.fields(&c)
	return c.err
}
