// Package fabric is a packet-level model of an InfiniBand fabric: links, input-buffered switches with credits and virtual
// lanes, channel adapters with queue pairs, and the congestion control of IBTA annex A10 in the data path.
//
// # Model
//
// Time is in integer picoseconds. One Network is one simulation, used by one goroutine at a time. The same topology,
// configuration, seed and calls give bit-identical packets.
//
// Switches are store-and-forward: a packet is completely in the input buffer of its (port, VL) before the switch queues it
// for an output. The linear forwarding table gives the output for the DLID, and SL2VL gives the VL for (input, output, SL).
// Each output port and VL serves the inputs round robin, packet by packet. The VL arbiter (high and low table, weights in
// units of 64 bytes, limit of high priority in units of 4 KiB; IBTA vol. 1, 7.6.9) selects among the VLs that have both a
// packet and the credits for it. A packet's credits, in blocks of 64 bytes, start back when its last byte has left the
// buffer, and arrive one propagation delay later. Packets are lost only on links that are down or not active, and when there
// is no route (XmitDiscards).
//
// A switch output marks data packets with FECN while its (port, VL) holds more bytes than the threshold: on average, one
// packet in Marking_Rate. The output is the root of the congestion while it has credits. A VL that waits for credits, or
// whose last packet did, is a victim and marks only if Victim_Mask is set. Acknowledgements are never marked. Under
// MarkByUse, the threshold applies to the utilization of the output's link instead of the queued bytes.
//
// A channel adapter serves its queue pairs round robin per VL, acknowledgements first. A queue pair sends at line rate unless
// its congestion control table delays it: after a packet of transmission time t, the next packet may start
// t·multiplier/2^shift after the end of that packet, with the CCTI at the time of that start. There is one CCTI per queue
// pair or, in SL mode, one per (port, SL). The delay of SL mode applies between any two packets of that SL on that port.
//
// A receiver consumes packets immediately. It acknowledges every AckEvery packets, and immediately after a packet with FECN.
// A new acknowledgement merges with an unsent one of the same queue pair. Retransmission is not modelled, with one exception:
// the bytes that a finite flow loses on a failing link return to its queue pair.
//
// Credits make credit loops possible: cyclic routes can fill a cycle of buffers, and then no packet in it ever moves again.
// Network.Deadlock finds and names such a loop.
//
// # Events
//
// There are two kinds of events: a port checks for a packet to send, and the first packet on a link arrives. Links and
// returning credits are queues in time order with at most one pending event each, so the number of pending events grows with
// busy ports, not with packets or queue pairs.
package fabric
