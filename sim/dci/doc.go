// Package dci decides what a switch at the edge of a data centre (DCI switch) does with the traffic
// between data centres under BiCC, "BiCC: bilateral congestion control in cross-datacenter RDMA
// networks" (INFOCOM 2024), the peer that WRCC (S0) compares itself with. End hosts run DCQCN.
//
// BiCC cuts the loop that crosses the long haul into loops as long as one data centre:
//
//	      data centre of the sender           long haul          data centre of the receiver
//	sender ──► switches ──► Near ════════════════════════════► Far ─VOQ─► switches ──► receiver
//	   ▲                      │ ▲                              │ ▲                        │
//	   └──── CNP for a mark ──┘ └─── notice: rate of a VOQ ────┘ └──────── CNP ───────────┘
//	         near-source loop          end-to-end loop              near-destination loop
//
// The three of them:
//
//   - Near source: a mark that a data packet brings from its own data centre is answered by the DCI
//     switch itself, and taken off, so that the receiver does not answer it a second time.
//   - Near destination: packets from the long haul wait in virtual output queues (VOQs), one a
//     destination, and leave at a paced rate. A receiver's CNP goes no further than the DCI switch,
//     where it lowers the rate of that destination's VOQ. Other destinations do not wait behind it.
//   - End to end: the far switch tells the near one at which rate a destination's VOQ drains, as long
//     as that is below line rate or the VOQ holds more than it should. The near switch plays a virtual
//     queue of that rate for the destination, and answers flows that overfill it with CNPs.
//
// The paper's listings are not public. Its abstract and the descriptions by others (S0 among them)
// give the three loops, their places and the number of VOQs, 128; the rest is ours: the reaction of a
// VOQ is a whole DCQCN reaction point (any cc.Algorithm), a notice carries a rate, and the virtual
// queue makes it a local affair of the sender's data centre. A plain "slow down" across the haul does
// not work with DCQCN at the ends: its senders recover from one CNP well within a long round trip, and
// fall to nothing under a stream of them.
//
// # Driving it
//
// A switch model holds one Near and one Far for each DCI switch, keeps the packets itself and asks:
//
//	data packet about to leave into the long haul    near.Outbound: clear its mark, send a CNP back
//	notice from the far switch                       near.Notice
//	data packet from the long haul                   far.Arrive: the VOQ to queue it in; send a notice
//	free to move a packet                            far.Next: which VOQ, from when; then far.Leave
//	CNP or marked ACK on its way to the long haul    far.CNP, far.Echo: drop it, clear its mark
//	flow slot or host number first used              near.Reserve, near.Start, far.Reserve
//
// After Arrive and Leave the switch asks Next and schedules one event for the answer if it is not
// now. A CNP changes the pace from the packet after the next. Nothing here has a clock, allocates on
// a packet's path or knows the network; all state is flat.
package dci
