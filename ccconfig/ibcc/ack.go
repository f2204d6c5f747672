package ibcc

// Acknowledgements of reliable connections: one acknowledgement of 30 bytes on the wire (LRH 8, BTH 12, AETH 4, ICRC
// 4, VCRC 2) for each message of 16 packets. A packet has 4,122 bytes on the wire, 4,096 of them payload. Other
// message lengths give other shares.
const (
	AckEvery   = 16
	AckWire    = 30
	PacketWire = 4122
)

// AckShare returns the bandwidth of a flow's acknowledgements on its return path, as a fraction of the flow's rate on the wire.
// It is the same at every rate.
func AckShare(float64) float64 { return float64(AckWire) / PacketWire / AckEvery }
