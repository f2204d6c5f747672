// Package wrcc is the arithmetic of WRCC, the WAN RDMA congestion control of "Congestion control
// for RDMA with end-network collaboration in computing power network" (Journal on Communications,
// 2026; S0): the fair rate that a switch computes for each egress port (Algorithm 1), the sender
// that follows it (Algorithm 2), the parameters that a topology calls for, the margins of the
// control loop and the headers on the wire.
//
// The loop, in words. A sender writes its rate into every data packet. A switch port whose fair rate
// is lower overwrites it, so the packet arrives with the least fair rate of its path; the receiver
// copies it into the acknowledgement and the sender adopts it. A switch in the sender's own data
// centre does not wait for that: it turns a too fast packet of a burst, or of a flow that leaves the
// data centre, into a fast congestion notification (FCNP) straight back to the sender.
//
// # Weights
//
// S0 gives every flow of a port the same rate. Here a rate in a header is normalised: a sender of
// weight w writes its rate divided by w and sends at w times what it is told. Switches stay as they
// are, because they compare and copy normalised rates and measure physical bytes. Where n_i senders
// of weight w_i meet, the port is at rest when the sum of n_i·w_i times the fair rate is its target:
// shares are exactly in proportion to weight.
//
// Headers bound the weights that are of use. Their FairRate has 32 bits of Mbit/s, so a sender of
// line rate B can say B/w for weights from B/4.29 Pbit/s on: 0.0001 at 400 Gbit/s. Below, it asks for
// less than its line. And a fair rate, which is the target over the sum of the weights that meet, is
// told to within half a unit: to 1 % while it is 50 Mbit/s or more, a sum of 2,000 at 100 Gbit/s; at a
// sum of 100,000 it is the one unit that a header cannot go below. Ratios between flows hold
// throughout, because all are told the same number. A switch's settings bound the same things closer:
// a lone flow of weight w has at most w·Fmax, and flows whose weights sum to W are never held below
// W·Fmin together. DefaultParams suits weights of 1 and more with sums up to 1000; Derive takes others.
//
// # Errors in print
//
// S0's listings differ from its prose in two places, where only the prose can work:
//
//   - Algorithm 1, line 7 sets the excess queue to Qmax - Qp. It would shrink as the queue grows and
//     punish a queue just over its limit most. Table 1 calls it "length over the limit", so it is
//     Qp - QRatioMax·Qmax here.
//   - Algorithm 2, line 17 sets the rate to max(2·Rc, Bsend), which is line rate at the first
//     expiry of the timer. The prose says that the sender doubles its rate; it is the minimum here.
//
// Formula (1) calls the sampling period WRCC where table 1 and formula (2) say WRCCT.
//
// Everything is a value. Nothing here has a clock, allocates on a packet's path or logs.
package wrcc
