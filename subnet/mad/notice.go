package mad

import "fairlane/subnet/ident"

// Lengths of Notice in bytes: without the issuer's GID, as in the 64-byte data area of a
// subnet management packet, and with it.
const (
	NoticeSize    = 64
	NoticeGIDSize = 80
)

// Trap numbers of generic notices (IBTA vol. 1, 14.2.5.1).
const (
	TrapLinkStateChange  uint16 = 128 // a link of a switch changed state
	TrapCapabilityChange uint16 = 144 // capability mask or other local change
)

// Types of a Notice.
const (
	NoticeFatal         uint8 = 0
	NoticeUrgent        uint8 = 1
	NoticeSecurity      uint8 = 2
	NoticeSubnet        uint8 = 3
	NoticeInformational uint8 = 4
)

// noticeDetails is the length of the data details in bytes.
const noticeDetails = 54

// Notice reports an event, in a Trap, a Get or a Report (IBTA vol. 1, 13.4.8.2).
type Notice struct {
	Generic    bool      // TrapNumber is the standard's; else Producer is a vendor ID
	Type       uint8     // 7 bits
	Producer   uint32    // 24 bits: node type of the issuer, or the vendor
	TrapNumber uint16    // or the vendor's device ID
	IssuerLID  ident.LID // of the port that reports
	Toggle     bool      // alternates when the notice queue is read
	Count      uint16    // 15 bits: notices waiting
	Details    [54]byte  // depends on TrapNumber: LinkStateChange, CapabilityChange, CCKeyViolation
	IssuerGID  GID       // only where the data area has room for it
}

func (a *Notice) fields(c *coder) {
	flag(c, 0, &a.Generic)
	field(c, "type", 1, 7, &a.Type)
	field(c, "producer", 8, 24, &a.Producer)
	field(c, "trap number", 32, 16, &a.TrapNumber)
	field(c, "issuer LID", 48, 16, &a.IssuerLID)
	flag(c, 64, &a.Toggle)
	field(c, "count", 65, 15, &a.Count)
	raw(c, 10, a.Details[:])
	if len(c.b) >= NoticeGIDSize {
		raw(c, NoticeSize, a.IssuerGID[:])
	}
}

// Encode implements Attribute. The issuer's GID is written when dst holds 80 bytes or more.
func (a *Notice) Encode(dst []byte) error {
	c := encoding("Notice", dst, noticeLen(dst))
	a.fields(&c)
	return c.err
}

// Decode implements Attribute. The issuer's GID is read when src holds 80 bytes or more and
// zero otherwise.
func (a *Notice) Decode(src []byte) error {
	c := decoding("Notice", src, noticeLen(src))
	a.IssuerGID = GID{}
	a.fields(&c)
	return c.err
}

func noticeLen(b []byte) int {
	if len(b) >= NoticeGIDSize {
		return NoticeGIDSize
	}
	return NoticeSize
}

// LinkStateChange is the detail of trap 128: the switch whose link changed.
type LinkStateChange struct {
	LID ident.LID
}

func (a *LinkStateChange) fields(c *coder) { field(c, "LID", 0, 16, &a.LID) }

// Encode implements Attribute, with Notice.Details as dst.
func (a *LinkStateChange) Encode(dst []byte) error {
	c := encoding("trap 128", dst, noticeDetails)
	a.fields(&c)
	return c.err
}

// Decode implements Attribute, with Notice.Details as src.
func (a *LinkStateChange) Decode(src []byte) error {
	c := decoding("trap 128", src, noticeDetails)
	a.fields(&c)
	return c.err
}

// CapabilityChange is the detail of trap 144: the port whose capabilities changed.
type CapabilityChange struct {
	LID                ident.LID
	OtherLocalChanges  bool // ChangeFlags is valid
	NewCapabilityMask  uint32
	ChangeFlags        uint16 // bit 0 node description, bit 1 link width, bit 2 link speed
	NewCapabilityMask2 uint16
}

func (a *CapabilityChange) fields(c *coder) {
	field(c, "LID", 16, 16, &a.LID)
	flag(c, 47, &a.OtherLocalChanges)
	field(c, "capability mask", 48, 32, &a.NewCapabilityMask)
	field(c, "change flags", 80, 16, &a.ChangeFlags)
	field(c, "capability mask 2", 96, 16, &a.NewCapabilityMask2)
}

// Encode implements Attribute, with Notice.Details as dst.
func (a *CapabilityChange) Encode(dst []byte) error {
	c := encoding("trap 144", dst, noticeDetails)
	a.fields(&c)
	return c.err
}

// Decode implements Attribute, with Notice.Details as src.
func (a *CapabilityChange) Decode(src []byte) error {
	c := decoding("trap 144", src, noticeDetails)
	a.fields(&c)
	return c.err
}

// CCKeyViolation is the detail of the trap that a congestion-control agent sends when a
// request carries a wrong CC_Key (IBTA vol. 1, annex A10).
type CCKeyViolation struct {
	SourceLID ident.LID
	Method    Method
	Attr      AttrID
	Modifier  uint32
	QP        ident.QPN // 24 bits
	CCKey     Key       // the key that was presented
	SourceGID GID
}

func (a *CCKeyViolation) fields(c *coder) {
	field(c, "source LID", 0, 16, &a.SourceLID)
	field(c, "method", 16, 8, &a.Method)
	field(c, "attribute ID", 32, 16, &a.Attr)
	field(c, "attribute modifier", 64, 32, &a.Modifier)
	field(c, "QP", 104, 24, &a.QP)
	field(c, "CC_Key", 128, 64, &a.CCKey)
	raw(c, 24, a.SourceGID[:])
}

// Encode implements Attribute, with Notice.Details as dst.
func (a *CCKeyViolation) Encode(dst []byte) error {
	c := encoding("CC_KeyViolation", dst, noticeDetails)
	a.fields(&c)
	return c.err
}

// Decode implements Attribute, with Notice.Details as src.
func (a *CCKeyViolation) Decode(src []byte) error {
	c := decoding("CC_KeyViolation", src, noticeDetails)
	a.fields(&c)
	return c.err
}
