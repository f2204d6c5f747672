package dcqcn

// Acknowledgements as predictions and simulations assume them: packets for each, and bytes on the wire. How many packets a receiver acknowledges
// at once differs by device. Even few acknowledgements make a link queue and mark that data alone fills exactly.
const (
	AckEvery   = 8
	AckWire    = 60
	PacketWire = 1048
)

// AckShare is what the acknowledgements of a flow take of the links on its way back, as a part of its rate on the wire: the same at every
// rate.
func AckShare(float64) float64 { return float64(AckWire) / PacketWire / AckEvery }
