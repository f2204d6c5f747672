package dcqcn

// Acknowledgements as assumed in predictions and simulations: packets per acknowledgement, and bytes on the wire. The number of
// packets per acknowledgement differs between devices. Even a few acknowledgements cause queues and marks on a link that data
// alone would exactly fill.
const (
	AckEvery   = 8
	AckWire    = 60
	PacketWire = 1048
)

// AckShare returns the bandwidth of a flow's acknowledgements on its return path, as a fraction of the flow's rate on the wire.
// It is the same at every rate.
func AckShare(float64) float64 { return float64(AckWire) / PacketWire / AckEvery }

// MaxAckShare is the largest AckShare of any device: one acknowledgement for each packet, as for queue pairs whose packets are further
// apart than a receiver waits.
const MaxAckShare = float64(AckWire) / PacketWire
