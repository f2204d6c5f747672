// Package fabric is the InfiniBand fabric in packets: links, input-buffered switches with
// credits and virtual lanes, channel adapters with queue pairs, and the congestion control of
// IBTA annex A10 in the data path.
//
// # Model
//
// Time is integer picoseconds; one Network is one simulation, used by one goroutine at a time.
// The same topology, configuration, seed and calls give the same packets, bit for bit.
//
// A switch stores and forwards: a packet is whole in the input buffer of its (port, VL) before
// it is queued for the output that the linear forwarding table names for its DLID, on the VL
// that SL2VL gives for (input, output, SL). Each output port and VL serves the inputs round
// robin, packet by packet; the VL arbiter (high and low table, weights in 64-byte units, limit
// of high priority in 4 KiB units; IBTA vol. 1, 7.6.9) chooses among the VLs that have both a
// packet and the credits for it. A packet's credits, in blocks of 64 bytes, are on their way
// back when its last byte has left the buffer, and arrive one propagation delay later. Nothing
// is lost but on links that are down or not active and for want of a route (XmitDiscards).
//
// A switch output whose (port, VL) holds more bytes than the threshold marks the data packets
// that come for it with FECN, one in Marking_Rate on average. It is the root of the congestion
// while it has credits; a VL that waits for credits, or whose last packet did, is a victim and
// marks only where Victim_Mask says so. Acknowledgements are never marked. Under MarkByUse the
// threshold is one of the use of the output's link instead of the bytes held for it.
//
// A channel adapter sends its queue pairs in turn, round robin per VL, acknowledgements first.
// A queue pair sends at line rate unless its congestion control table delays it: after a
// packet of transmission time t the next may start t·multiplier/2^shift after that packet's
// end, by the CCTI of the moment it wants to start. There is one CCTI per queue pair, or one per
// (port, SL) in SL mode, where the delay is between any two packets of that SL on that port.
//
// A receiver consumes at once. It acknowledges every AckEvery packets, and at once when a
// packet carried FECN; while an acknowledgement still waits to be sent, a later one of the same
// queue pair merges with it. Retransmission is not modelled, except that the bytes a finite flow
// loses on a failing link return to its queue pair.
//
// Credits make credit loops possible: routes in a circle can fill a circle of buffers, and then
// nothing in it ever moves again. Network.Deadlock finds and names such a loop.
//
// # Events
//
// There are two kinds: a port may look for something to send, and the first packet on a link
// arrives. Links and returning credits are queues in time order with one pending event each at
// most, so pending events grow with busy ports, not with packets or queue pairs.
package fabric
