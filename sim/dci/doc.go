// Package dci implements the switch at the edge of a data centre (DCI switch) of BiCC, "BiCC: bilateral congestion control in
// cross-datacenter RDMA networks" (INFOCOM 2024), which WRCC (S0) uses for comparison. It handles the traffic between data
// centres; end hosts run DCQCN.
//
// BiCC splits the control loop across the long haul into loops within one data centre:
//
//	      data centre of the sender           long haul          data centre of the receiver
//	sender ──► switches ──► Near ════════════════════════════► Far ─VOQ─► switches ──► receiver
//	   ▲                      │ ▲                              │ ▲                        │
//	   └──── CNP for a mark ──┘ └─── notice: rate of a VOQ ────┘ └──────── CNP ───────────┘
//	         near-source loop          end-to-end loop              near-destination loop
//
// The three loops:
//
//   - Near source: the DCI switch itself answers the mark of a data packet from its own data centre, and removes the mark, so
//     that the receiver does not answer it again.
//   - Near destination: packets from the long haul wait in virtual output queues (VOQs), one per destination, and leave at a
//     paced rate. The DCI switch consumes a receiver's CNP and lowers the rate of that destination's VOQ. Packets for other
//     destinations are not delayed.
//   - End to end: the far switch sends the drain rate of a destination's VOQ to the near switch, as long as it is below line
//     rate or the VOQ exceeds its target. The near switch simulates a virtual queue of that rate for the destination, and
//     sends CNPs to flows that overfill it.
//
// The paper's listings are not public. Its abstract and descriptions by others (S0 among them) give the three loops, their
// locations and the number of VOQs, 128. The rest is our design: each VOQ is paced by a complete DCQCN reaction point (any
// cc.Algorithm), a notice carries a rate, and the virtual queue lets the sender's data centre control its senders locally. A
// simple "slow down" message across the long haul does not work with DCQCN at the end hosts: its senders recover from one CNP
// well within a long round trip, and stop almost completely under a stream of CNPs.
//
// # Usage
//
// A switch model holds one SenderSide and one ReceiverSide for each DCI switch. It stores the packets itself and calls:
//
//	data packet about to leave into the long haul    sender.Outbound: clear its mark, send a CNP back
//	notice from the far switch                       sender.Notice
//	data packet from the long haul                   receiver.Arrive: the VOQ to queue it in; send a notice
//	free to move a packet                            receiver.Next: which VOQ, from when; then receiver.Leave
//	CNP or marked ACK on its way to the long haul    receiver.CNP, receiver.Echo: drop it, clear its mark
//	flow slot or host number first used              sender.Reserve, sender.Start, receiver.Reserve
//
// After Arrive and Leave the switch calls Next and schedules one event for the result if it is in the future. A CNP takes
// effect from the second packet after it. The package has no clock, does not allocate on a packet's path, and does not depend
// on the network; all state is flat.
package dci
