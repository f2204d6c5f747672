package ibcc

// What acknowledgements of reliable connections take: one of 30 bytes on the wire (LRH 8, BTH 12, AETH 4, ICRC 4, VCRC 2) for a message of 16
// packets of 4,122, the payload of 4,096 with its headers. Messages of other lengths have others.
const (
	AckEvery   = 16
	AckWire    = 30
	PacketWire = 4122
)

// AckShare is what the acknowledgements of a flow take of the links on its way back, as a part of its rate on the wire: the same at every
// rate.
func AckShare(float64) float64 { return float64(AckWire) / PacketWire / AckEvery }
